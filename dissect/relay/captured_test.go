package relay

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A captured game is the same whether messages are handed over or travel in
// datagrams, and also if the configuration asks for a public host. Judges have
// a model without a public host's hardening.
func TestCapturedByHand(t *testing.T) {
	for _, like := range []decode.Dialect{decode.Stock, decode.OpenBC} {
		t.Run(like.String(), func(t *testing.T) {
			sent, handed := playCaptured(like, false, false), playCaptured(like, true, false)
			hardened := playCaptured(like, false, true)
			for i := range sent {
				if !slices.Equal(sent[i], hardened[i]) {
					t.Errorf("client %d got\n%q\nand of a public host\n%q", i, sent[i], hardened[i])
				}
				if len(sent[i]) < 20 {
					t.Errorf("client %d got %d messages", i, len(sent[i]))
				}
				// Messages of different priority may overtake each other in
				// datagrams.
				slices.Sort(sent[i])
				slices.Sort(handed[i])
				if !slices.Equal(sent[i], handed[i]) {
					t.Errorf("client %d got by datagrams\n%q\nby hand\n%q", i, sent[i], handed[i])
				}
			}
		})
	}
}

// playCaptured plays a game of three captured clients, and returns the messages
// that each got. A public host would put the leave off, and pass it on without
// the address that the client claimed.
func playCaptured(like decode.Dialect, byHand, public bool) (got [3][]string) {
	var clients [len(got)]*Client
	addr := func(i int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 6000)
	}
	type way struct {
		i int
		m Message
	}
	var in, out []way
	now := start
	cfg := Config{Mission: "m", Like: like, Captured: true, Mode: Playable, Public: public, Random: func() uint32 { return 0 }}
	if byHand {
		cfg.Deliver = func(to netip.AddrPort, m Message) {
			out = append(out, way{int(to.Addr().As4()[3]), m})
		}
	}
	h := NewHost(cfg)
	for i := range clients {
		c := ClientConfig{
			Name: fmt.Sprint("Kirk", i), Nonce: uint32(i) + 1, Enter: true,
			Answer: func(round uint8) *msg.ChecksumResponse { return &msg.ChecksumResponse{Round: round, Found: true} },
			Deliver: func(_ time.Time, m *Message) {
				got[i] = append(got[i], fmt.Sprintf("%v %v %v %x", m.Type, m.Reliable, m.Priority, m.Body))
			},
		}
		if byHand {
			c.Sent = func(m Message) { in = append(in, way{i, m}) }
		}
		clients[i] = NewClient(c)
	}
	run := func() {
		for again := true; again; {
			again = len(in)+len(out) > 0
			for len(out) > 0 {
				w := out[0]
				out = out[1:]
				if clients[w.i].Take(now, &w.m); w.m.Type == transport.Connect {
					h.Hear(now, addr(w.i))
				}
			}
			for _, w := range in {
				h.Take(now, addr(w.i), w.m)
			}
			in = nil
			for i, c := range clients {
				for d, ok := c.Datagram(now); ok && !byHand; d, ok = c.Datagram(now) {
					h.Receive(now, addr(i), d)
					again = true
				}
			}
			h.Advance(now)
			for to, d, ok := h.Send(); ok; to, d, ok = h.Send() {
				clients[to.Addr().As4()[3]].Receive(now, d)
				again = true
			}
		}
		now = now.Add(time.Second)
	}
	for _, c := range clients {
		c.Connect(now, nil)
		run()
	}
	for i, c := range clients {
		c.Say(now, msg.OpChat, &msg.Chat{Sender: int32(c.ID), Text: []byte("hello")})
		c.Send(now, arq.Message{Type: transport.Standard, Priority: true, Body: []byte{byte(msg.OpStartFiring), 1, 2, 3}})
		c.Send(now, arq.Message{Type: transport.Standard, Body: append([]byte{byte(msg.OpStartFiring)}, make([]byte, 500*(i+1))...)})
		run()
	}
	h.Kick(now, clients[1].ID, transport.BootKicked)
	clients[0].Leave(now)
	run()
	return got
}

// Once the captured host's simulation has destroyed a ship, no client is sent it any
// more, until its player has another.
func TestExploded(t *testing.T) {
	const ship = "03000208800000FFFFFF3F010000000000000000000000000000803F0000000000000000000000000000000000000001430153"
	for _, tt := range []struct {
		like   decode.Dialect
		answer string // message that answers a request for the ship
	}{{decode.Stock, ship}, {decode.OpenBC, "1DFFFFFF3F"}} {
		g := newGame(t, Config{Like: tt.like, Captured: true})
		a, b := g.join(1001), g.join(1002)
		a.say(ship)
		g.host.Exploded(0)
		g.host.Exploded(1)
		b.take()
		b.say("1EFFFFFF3F")
		if got := strings.Join(b.take(), " "); got != tt.answer {
			t.Errorf("%v: a request is answered with %s, want %s", tt.like, got, tt.answer)
		}
		if got := g.join(1003).take(); slices.Contains(got, ship) {
			t.Errorf("%v: a newcomer is sent the ship", tt.like)
		}
		a.say(ship)
		if got := g.join(1004).take(); !slices.Contains(got, ship) {
			t.Errorf("%v: a newcomer is not sent the new ship: %v", tt.like, got)
		}
	}
}

// A captured host's choice of a slot takes effect, and whoever has the slot gets
// the other one. Nothing happens if the client or the slot does not exist.
func TestSeat(t *testing.T) {
	h := NewHost(Config{Captured: true})
	addr := func(i byte) netip.AddrPort { return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, i}), 6000) }
	var list [2]*peer
	for i := range list {
		p := &peer{addr: addr(byte(i)), slot: i}
		list[i], h.slots[i], h.byAddr[p.addr] = p, p, []*peer{p}
	}
	for _, tt := range []struct {
		client byte
		slot   int
		seated bool
		want   [2]int // slots of both clients afterwards
	}{
		{0, 5, true, [2]int{5, 1}},
		{1, 5, true, [2]int{1, 5}},
		{1, MaxPlayers, false, [2]int{1, 5}},
		{1, -1, false, [2]int{1, 5}},
		{9, 2, false, [2]int{1, 5}},
	} {
		if got := h.Seat(addr(tt.client), tt.slot); got != tt.seated {
			t.Errorf("client %d in slot %d: %v", tt.client, tt.slot, got)
		}
		for i, p := range list {
			if p.slot != tt.want[i] || h.slots[p.slot] != p {
				t.Errorf("client %d in slot %d: client %d has slot %d, want %d", tt.client, tt.slot, i, p.slot, tt.want[i])
			}
		}
	}
}

// A captured client has the id that it had in the capture, unless another has it.
func TestShownID(t *testing.T) {
	shown := map[byte]uint8{1: 77, 2: 77, 3: 0, 4: lastID + 1}
	h := NewHost(Config{Captured: true, Shown: func(a netip.AddrPort) Shown {
		return Shown{ID: shown[a.Addr().As4()[3]], Slot: -1}
	}})
	h.nextID = 9
	addr := func(i byte) netip.AddrPort { return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, i}), 6000) }
	var list []*peer
	for i, want := range []uint8{77, 9, 10, 11} {
		p := &peer{addr: addr(byte(i + 1))}
		if id, ok := h.freeID(p); !ok || id != want {
			t.Fatalf("client %d has id %d, %v; want %d", i+1, id, ok, want)
		}
		p.id, h.ids[want], h.byAddr[p.addr] = want, p, []*peer{p}
		list = append(list, p)
	}
	list[0].phase = Leaving // then its id is free
	if h.Seat(addr(2), 0); list[1].id != 77 || h.ids[77] != list[1] || h.ids[9] != nil {
		t.Errorf("the second client has id %d, want 77", list[1].id)
	}
	shown[3] = 50 // the capture shows it later
	if h.Seat(addr(3), 1); list[2].id != 50 || h.ids[50] != list[2] {
		t.Errorf("the third client has id %d, want 50", list[2].id)
	}
}
