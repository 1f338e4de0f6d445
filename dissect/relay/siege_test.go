package relay_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// The number of the first game message of a client past its join: after five
// answers, its readiness and its ship.
const pastJoin = 7

// reliable is the header of a reliable game message.
func reliable(seq uint16) transport.Header {
	return transport.Header{Type: transport.Standard, Reliable: true, Seq: seq}
}

// chatAs returns a line of chat with id as its sender.
func chatAs(id uint8, text string) []byte {
	return append([]byte{byte(msg.OpChat), id, 0, 0, 0, byte(len(text)), byte(len(text) >> 8)}, text...)
}

// moreAttacks are further ones.
var moreAttacks = []anAttack{
	{"messages too long to be passed on", func(s *siege) func(int) {
		all := s.intruders(3)
		return func(tick int) {
			for i, p := range all {
				switch {
				case i == 0 && tick%200 == 0: // a name that fits no datagram
					seq := uint16(2 + tick/200)
					s.inject(p.addr, one(p.ID, transport.Header{Type: transport.NameChange, Priority: true, Seq: seq}, append([]byte{p.ID, 1, 2, 3, 4}, make([]byte, 700)...)))
				case i == 1 && tick%10 == 0: // pieces larger than the game's
					n := tick / 10
					h := reliable(pastJoin + uint16(n/255))
					if h.Fragment, h.Index = true, uint8(n%255); h.Index == 0 {
						h.Count = 255
					}
					s.inject(p.addr, one(p.ID, h, append([]byte{byte(msg.OpStartFiring)}, make([]byte, 900)...)))
				case i == 2 && tick == 100: // a leave that fits no datagram
					s.inject(p.addr, one(p.ID, transport.Header{Type: transport.Disconnect, Priority: true, Seq: 2}, append([]byte{p.ID}, make([]byte, 900)...)))
				}
			}
		}
	}},
	{"fragments without an end", func(s *siege) func(int) {
		all := s.intruders(7)
		return func(tick int) {
			for i, p := range all {
				s.inject(p.addr, relaytest.Fill(p.ID, func(n int) (transport.Header, []byte) {
					seq := tick*4 + n
					h := reliable(pastJoin + uint16(seq%200))
					if h.Fragment, h.Index = true, uint8(1+seq/200%253); (tick+i)%5 == 0 {
						h.Index, h.Count = 0, uint8(255-n%2)
					}
					return h, make([]byte, 100)
				}))
			}
		}
	}},
	{"names of others", func(s *siege) func(int) {
		first := s.chatters[0]
		twin := s.add(false) // a client elsewhere with the first one's name, address and nonce
		twin.Client = relaytest.NewClient(relaytest.Options{Name: first.Name, Nonce: first.Nonce, Claimed: first.Claimed})
		twin.damaged = true
		s.join(twin)
		if twin.Client.Client.Name == first.Name {
			s.t.Errorf("a second %s was let in under that name", first.Name)
		}
		p := s.intruders(1)[0]
		return func(tick int) {
			if tick%110 != 0 {
				return
			}
			victim := s.chatters[tick/110%len(s.chatters)]
			forms := []string{
				victim.Name, strings.ToLower(victim.Name), victim.Name + " ", " " + victim.Name, victim.Name + "\n", "\x1b" + victim.Name, "", " ", "\x00",
				victim.Name + "\u200b", "\u202e" + victim.Name,
			}
			name := wire.AppendWideTextOf([]byte{p.ID, 1, 2, 3, 4}, forms[tick/110%len(forms)])
			p.Send(s.now, arq.Message{Type: transport.NameChange, Body: append(name, 0, 0)})
		}
	}},
	{"chat of several lines", func(s *siege) func(int) {
		p := s.intruders(1)[0]
		return func(tick int) {
			if tick%50 == 0 {
				victim := s.chatters[tick/50%len(s.chatters)]
				p.SendBody(s.now, true, chatAs(p.ID, "hello\r\n"+victim.Name+": I cheat\x00\x1b[2J"))
			}
		}
	}},
	{"acknowledgements long past", func(s *siege) func(int) {
		all := s.intruders(4)
		return func(tick int) {
			for _, p := range all {
				for range 3 {
					s.inject(p.addr, relaytest.Fill(p.ID, func(n int) (transport.Header, []byte) {
						return transport.Header{Type: transport.Acknowledge, Seq: uint16(n % 8), AckFlags: []uint8{0, 2, 0x80, 0x82}[tick%4]}, nil
					}))
				}
			}
		}
	}},
	{"leaves and joins", func(s *siege) func(int) {
		var now []*player
		for range 6 {
			now = append(now, nil)
		}
		n := 0
		return func(tick int) {
			for i, p := range now {
				switch {
				case p == nil || p.Phase == relaytest.Gone || p.Phase == relay.ClientLeaving:
					// From three addresses, each time from another port.
					if p != nil {
						delete(s.byAddr, p.addr)
					}
					n++
					p = &player{Client: relaytest.NewClient(relaytest.Options{Name: fmt.Sprintf("loop %d", n), Nonce: 5000 + uint32(n)}), damaged: true}
					p.addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(100 + i%3)}), uint16(10000+n))
					s.byAddr[p.addr] = p
					now[i] = p
					p.Connect(s.now)
				case p.Phase == relaytest.Playing:
					p.CreateShip(s.now)
					p.Leave(s.now)
				}
				for {
					d, ok := now[i].Datagram(s.now)
					if !ok {
						break
					}
					s.send(now[i].addr, append([]byte(nil), d...), &s.trouble)
				}
			}
		}
	}},
	{"connects and queries from everywhere", func(s *siege) func(int) {
		late := s.add(false)
		late.damaged = true
		return func(tick int) {
			for n := range 2 {
				s.inject(s.forged(tick*2+n), s.connect())
				browser := netip.AddrPortFrom(s.forged(tick*2+n).Addr(), 6500)
				s.send(browser, []byte(`\status\`), &relay.Trouble{})
			}
			if tick == 1000 {
				late.Connect(s.now)
			}
			if tick == 3000 && late.Phase != relaytest.Playing {
				s.t.Errorf("who comes meanwhile has not got in after 20 s: phase %d", late.Phase)
			}
		}
	}},
	{"unreliable messages", func(s *siege) func(int) {
		all := s.intruders(7)
		return func(tick int) {
			for _, p := range all {
				for range 4 {
					s.inject(p.addr, relaytest.Fill(p.ID, func(n int) (transport.Header, []byte) {
						if n%2 == 0 {
							return transport.Header{Type: transport.Standard}, append([]byte{byte(msg.OpStateUpdate)}, append(idBytes(p), 0, 0, 0xC0, 0x7F, 0x80)...) // not a number
						}
						return transport.Header{Type: transport.Standard}, append([]byte{byte(msg.OpStartFiring)}, make([]byte, 200)...)
					}))
				}
			}
		}
	}},
	{"just within the limits", func(s *siege) func(int) {
		all := s.intruders(7)
		seq := map[*player]uint16{}
		return func(int) {
			for _, p := range all {
				s.inject(p.addr, relaytest.Fill(p.ID, func(n int) (transport.Header, []byte) {
					if n == 0 { // 100 reliable ones a second of 160 bytes, and 300 others
						seq[p]++
						return reliable(pastJoin + seq[p] - 1), chatAs(p.ID, strings.Repeat("x", 152))
					}
					return transport.Header{Type: transport.Standard}, append([]byte{byte(msg.OpStartFiring)}, make([]byte, 60)...)
				})[:2+5+159+3*(3+61)])
			}
		}
	}},
	{"the wrong dialect", func(s *siege) func(int) {
		stock := s.intruders(2)
		openBC := s.add(true)
		openBC.damaged = true
		s.join(openBC)
		return func(tick int) {
			victim := s.chatters[tick%len(s.chatters)]
			if tick%5 == 0 {
				openBC.SendBody(s.now, true, append([]byte{byte(msg.OpDestroyObject)}, idBytes(victim.player)...))
				openBC.Say(s.now, msg.OpChat, &msg.Chat{Sender: int32(victim.ID), Text: []byte("cheat 1")})
				openBC.Say(s.now, msg.OpChat, &msg.Chat{Sender: int32(victim.Slot) | 0x7F000000, Text: []byte("cheat 2")})
			}
			// Forms of OpenBC from a client of the game: short lengths, numbers of
			// eight bits, acknowledgements with OpenBC's flag, a short leave and a
			// short name of the victim.
			s.inject(stock[0].addr, []byte{stock[0].ID, 3, byte(transport.NameChange), 2, 1, byte(tick), 0, 0x82, byte(transport.Connect), 8, 1, 0, 0, 0, 127, 0})
			s.inject(stock[0].addr, one(stock[0].ID, reliable(uint16(pastJoin+tick%256)), chatAs(victim.ID, "cheat 3")))
			if tick%100 == 0 {
				s.inject(victim.addr, []byte{transport.UnassignedPeer, 1, byte(transport.Leave), 2})
				s.inject(victim.addr, []byte{transport.UnassignedPeer, 1, byte(transport.Connect), 8, 1, 0, 0, 0, 127, 0})
				s.inject(stock[1].addr, one(stock[1].ID, transport.Header{Type: transport.BootPlayer, Priority: true, Seq: uint16(2 + tick/100)}, []byte{transport.BootKicked, victim.ID}))
			}
		}
	}},
	{"ships of others", func(s *siege) func(int) { // with clocks and owners that are not theirs
		p := s.intruders(1)[0]
		return func(tick int) {
			if tick%4 != 0 {
				return
			}
			victim := s.chatters[tick/4%len(s.chatters)]
			p.Say(s.now, msg.OpStateUpdate, &msg.StateUpdate{
				Object: victim.Ship(), GameTime: wire.FloatBits(1e30), Flags: msg.DirtyPosition, Position: [3]wire.F32{wire.FloatBits(float32(tick)), 0, 0},
			})
			p.Say(s.now, msg.OpStateUpdate, &msg.StateUpdate{Object: p.Ship(), GameTime: wire.FloatBits(-1e30), Flags: msg.DirtySpeed})
		}
	}},
}

// one returns a datagram with one message of any size.
func one(id uint8, h transport.Header, body []byte) []byte {
	d, err := transport.Append([]byte{id, 1}, &h, body)
	if err != nil {
		panic(err) // the test's own message
	}
	return d
}

// Sixteen clients with the longest names get in, in the order in which they
// come, even OpenBC's clients among them, which acknowledge no names.
func TestLongNames(t *testing.T) {
	w := newWorld(t, 2, relay.Config{Mode: relay.Playable, Players: relay.MaxPlayers})
	w.trouble = relay.Trouble{Delay: 20 * time.Millisecond}
	var all []*player
	for n := range relay.MaxPlayers {
		p := w.add(n%2 == 1)
		p.Client = relaytest.NewClient(relaytest.Options{
			Name: strings.Repeat("x", 46) + fmt.Sprintf("%02d", 20+n), Nonce: uint32(n + 1), OpenBC: n%2 == 1,
		})
		all = append(all, p)
	}
	from := w.now
	w.join(all...)
	if took := w.now.Sub(from); took > relay.MaxPlayers*2*time.Second {
		t.Errorf("they took %v", took)
	}
	w.settle()
	for _, p := range all {
		for _, o := range all {
			if p.Known[o.ID] != o.Name {
				t.Errorf("%s knows %s as %q", p.Name, o.Name, p.Known[o.ID])
			}
		}
	}
}
