package relay_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A script holds the actions of a fuzzed game, byte by byte.
type script []byte

func (s *script) byte() (b byte) {
	if len(*s) > 0 {
		b, *s = (*s)[0], (*s)[1:]
	}
	return b
}

// bytes returns as many bytes as the next one says.
func (s *script) bytes() (b []byte) {
	n := min(int(s.byte()), len(*s))
	b, *s = (*s)[:n], (*s)[n:]
	return b
}

// A fuzzed game has two clients that play and others that do as the script
// says. The network is perfect.
type fuzzed struct {
	t       *testing.T
	now     time.Time
	host    *relay.Host
	players [6]*relaytest.Client // the first two are honest
	got     [2][]string          // their messages to each other
	in, out map[netip.AddrPort]int
	queries map[netip.AddrPort]int
	proved  map[netip.AddrPort]bool // addresses that may have proved that they receive
}

func fuzzAddr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 4000)
}

// exchange carries datagrams until neither the host nor a client has any.
func (f *fuzzed) exchange() {
	for range 100000 {
		next := f.host.Advance(f.now)
		busy := false
		for {
			to, d, ok := f.host.Send()
			if !ok {
				break
			}
			busy = true
			f.sent(to, d)
		}
		for i, p := range f.players {
			if p == nil {
				continue
			}
			for {
				d, ok := p.Datagram(f.now)
				if !ok {
					break
				}
				busy = true
				f.receive(fuzzAddr(i), d)
			}
		}
		if !busy {
			if !next.IsZero() && !f.host.Advance(f.now).After(f.now) {
				f.t.Fatal("the host wants to be called at once, and has nothing to say")
			}
			return
		}
	}
	f.t.Fatal("host and clients do not come to rest")
}

func (f *fuzzed) receive(from netip.AddrPort, d []byte) {
	f.in[from] += len(d)
	if split, err := transport.Split(cipher.Decrypt(nil, d)); err == nil {
		if m, ok, err := split.Next(); ok && err == nil && m.Type != transport.Connect {
			f.proved[from] = true
		}
	}
	f.host.Receive(f.now, from, d)
}

func (f *fuzzed) sent(to netip.AddrPort, d []byte) {
	if len(d) > 0 && d[0] == '\\' {
		if len(d) > gamespy.MaxReply {
			f.t.Errorf("a reply of %d bytes", len(d))
		}
		f.queries[to]++
		return
	}
	if len(d) > transport.MaxDatagram || !transport.Plausible(cipher.Decrypt(nil, d), true) {
		f.t.Errorf("a datagram that is none: % x", d)
	}
	f.out[to] += len(d)
	for i, p := range f.players {
		if p != nil && to == fuzzAddr(i) {
			p.Receive(f.now, d)
		}
	}
}

func (f *fuzzed) advance(d time.Duration) {
	for end := f.now.Add(d); f.now.Before(end); f.exchange() {
		f.now = f.now.Add(100 * time.Millisecond)
	}
}

func (f *fuzzed) join(i int, openBC bool) {
	p := relaytest.NewClient(relaytest.Options{
		Name: fmt.Sprint("P", i), Nonce: uint32(i + 1), OpenBC: openBC, Claimed: [4]byte{10, 0, 0, byte(i)},
	})
	f.players[i] = p
	p.Connect(f.now)
	f.exchange()
}

// FuzzHost has a host play with two honest clients and with others that send
// anything. The honest ones must not notice, and in the end the host must have
// forgotten all of them.
func FuzzHost(f *testing.F) {
	const (
		doRaw = iota
		doPlain
		doWait
		doJoin
		doSend
		doSay
		doLeave
		deeds
	)
	f.Add([]byte{doSay, doRaw, 3, 8, '\\', 's', 't', 'a', 't', 'u', 's', '\\', doSay})
	f.Add([]byte{doPlain, 7, 9, 0xFF, 1, 3, 8, 1, 0, 0, 127, 0, doWait, 30, doSay})
	f.Add([]byte{doJoin, 0, doSend, 0, 0x32, 1, 2, 0x2A, 0x20, doSay, doSend, 0, 5, 1, 5, 2, 10, 0, 0, 0, doSay})
	f.Add([]byte{doJoin, 1, doSend, 1, 4, 1, 2, 4, 2, doSend, 1, 0, 1, 7, 2, 1, 2, 3, 4, 0, 0, doLeave, 1, doSay})
	f.Add([]byte{doJoin, 2, doJoin, 2, doWait, 255, doSend, 2, 0x32, 1, 9, 0x2D, 5, 0, 0, 0, 1, 0, 'x', 'y', doSay})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1000 {
			return
		}
		g := &fuzzed{
			t: t, now: began,
			in: map[netip.AddrPort]int{}, out: map[netip.AddrPort]int{}, queries: map[netip.AddrPort]int{}, proved: map[netip.AddrPort]bool{},
		}
		g.host = relay.NewHost(relay.Config{
			Mode: relay.Playable, Name: "Test", Mission: "Multiplayer.Episode.Mission1.Mission1", System: 1,
			TimeLimit: msg.Unlimited, FragLimit: msg.Unlimited, Report: func(relay.Event) {},
		})
		for i := range g.got {
			g.join(i, false)
			other := fmt.Sprintf("P%d says ", 1-i)
			g.players[i].Deliver = func(_ time.Time, m *arq.Message) {
				if m.Body[0] == 0x2C && len(m.Body) > 7 && bytes.HasPrefix(m.Body[7:], []byte(other)) {
					g.got[i] = append(g.got[i], string(m.Body[7:]))
				}
			}
		}
		said := 0
		for s := script(data); len(s) > 0; {
			switch s.byte() % deeds {
			case doRaw:
				g.receive(fuzzAddr(2+int(s.byte()%8)), s.bytes())
			case doPlain:
				g.receive(fuzzAddr(2+int(s.byte()%8)), cipher.Encrypt(nil, s.bytes()))
			case doWait:
				if d := time.Duration(s.byte()) * 20 * time.Millisecond; g.now.Sub(began) < 2*time.Minute {
					g.advance(d)
				}
			case doJoin:
				b := s.byte()
				g.join(2+int(b%4), b >= 128)
			case doSend:
				who, kind, flags := s.byte(), s.byte(), s.byte()
				body := append([]byte(nil), s.bytes()...)
				if len(body) > 0 && body[0] == 0x2C {
					body[0] = 0x2D // may pretend to be one of the honest
				}
				if p := g.players[2+who%4]; p != nil {
					p.Send(g.now, arq.Message{Type: transport.Type(kind), Reliable: flags&1 != 0, Priority: flags&2 != 0, Body: body})
				}
			case doSay:
				said++
				for i := range g.got {
					p := g.players[i]
					p.Say(g.now, 0x2C, &msg.Chat{Sender: int32(p.ID), Text: fmt.Appendf(nil, "P%d says %d", i, said)})
				}
			case doLeave:
				if p := g.players[2+s.byte()%4]; p != nil {
					p.Leave(g.now)
				}
			}
			g.exchange()
		}
		// Messages that the honest send too fast are dropped, and come again.
		for waited := 0; waited < 60 && (len(g.got[0]) < said || len(g.got[1]) < said); waited++ {
			g.advance(time.Second)
		}
		for i, got := range g.got {
			p := g.players[i]
			if p.Phase != relaytest.Playing || p.Err != nil {
				t.Errorf("P%d: phase %d, reason %d, %v", i, p.Phase, p.Reason, p.Err)
			}
			if len(got) != said {
				t.Fatalf("P%d got %d messages, want %d", i, len(got), said)
			}
			for n, text := range got {
				if want := fmt.Sprintf("P%d says %d", 1-i, n+1); text != want {
					t.Errorf("P%d got %q, want %q", i, text, want)
				}
			}
			p.Leave(g.now)
		}
		for i := len(g.players); i < 10; i++ {
			if a := fuzzAddr(i); !g.proved[a] && g.out[a] > 4*g.in[a] {
				t.Errorf("%v sent %d bytes and got %d", a, g.in[a], g.out[a])
			}
		}
		clear(g.players[2:])
		g.advance(2 * arq.SilenceLimit)
		for p := range g.host.Peers() {
			t.Errorf("the host still knows %v, %v", p.Addr, p.Phase)
		}
	})
}
