package relay_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A blind client joins in the name of a victim that says nothing: nothing that
// the host sends is read. What it sends is what another client sent that joined
// the same game before, with the ids it has to guess.
func TestBlindJoin(t *testing.T) {
	for _, tt := range []struct {
		name string
		acks func(second int) (from, n int) // numbers that it acknowledges a second
	}{
		{"nothing", func(int) (int, int) { return 0, 0 }},
		{"all that may come", func(second int) (int, int) { return 100 * second, 100 }},
		{"one number a second", func(second int) (int, int) { return 10 + second, 1 }},
		{"the last 100 numbers", func(second int) (int, int) { return max(0, 4*second-90), 100 }},
		{"as many as come", func(second int) (int, int) { return 20 + 4*second, 5 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := besiege(t, 8, relay.Config{Players: relay.MaxPlayers})
			s.trouble = relay.Trouble{Delay: 10 * time.Millisecond}
			// The recorded join.
			model := relaytest.NewClient(relaytest.Options{Name: "blind", Nonce: 77, Claimed: [4]byte{10, 9, 9, 9}})
			p := &player{Client: model, addr: netip.MustParseAddrPort("192.0.2.99:9999"), damaged: true, silent: true} // an attacker saves the answers to challenges
			s.clients, s.byAddr[p.addr] = append(s.clients, p), p
			p.Connect(s.now)
			var recorded [][]byte
			s.tap = func(from netip.AddrPort, d []byte) {
				if from == p.addr {
					recorded = append(recorded, cipher.Decrypt(nil, d))
				}
			}
			s.advance(3*time.Second, nil)
			if p.Phase != relaytest.Playing {
				t.Fatal("the model has not joined")
			}
			s.tap = nil
			p.Leave(s.now)
			s.advance(3*time.Second, nil)
			victim := netip.MustParseAddrPort("203.0.113.66:53")
			// The host gives it the id, which is one of 124: it is granted that its
			// guess was right, and that it paid for 62 wrong ones.
			s.inject(victim, recorded[0])
			s.advance(50*time.Millisecond, nil)
			id := uint8(0)
			for o := range s.host.Peers() {
				if o.Addr == victim {
					id = o.ID
				}
			}
			guesses := 0
			for _, d := range recorded[1:] {
				d[0] = id
				s.inject(victim, d)
				s.advance(60*time.Millisecond, nil)
				guesses += 61 * len(d)
			}
			in := func() bool {
				for o := range s.host.Peers() {
					if o.Addr == victim && o.Phase == relay.Playing {
						return true
					}
				}
				return false
			}
			if !in() {
				t.Fatal("the blind one has not joined")
			}
			atJoin := s.to[victim]
			second := 0
			goOn := func(tick int) {
				for i, c := range s.chatters {
					if (tick+i)%10 == 0 {
						c.Fight(s.now, tick/10)
					}
				}
				if tick%100 == 0 {
					second++
					if from, n := tt.acks(second - 1); n > 0 {
						s.inject(victim, relaytest.Fill(id, func(i int) (transport.Header, []byte) {
							return transport.Header{Type: transport.Acknowledge, Seq: uint16(from + i%n)}, nil
						})[:2+4*n])
					}
				}
			}
			s.advance(time.Minute, goOn)
			got, sent := s.to[victim], s.from[victim]
			t.Logf("joined with %d bytes (and %d for guesses); got %d at the join, %d a minute later for %d sent: %.1f, %.1f with guesses; still in: %v; %v",
				s.from[victim], guesses, atJoin, got, sent, float64(got)/float64(sent), float64(got)/float64(sent+guesses), in(), s.events[max(0, len(s.events)-2):])
			if got > 4*(sent+guesses) {
				t.Errorf("%d bytes for %d, guesses included", got, sent+guesses)
			}
			if !long() {
				return
			}
			s.advance(9*time.Minute, goOn) // later it is out
			got, sent = s.to[victim], s.from[victim]
			t.Logf("after ten minutes %d bytes for %d sent; still in: %v", got, sent, in())
			if got > 4*(sent+guesses) || in() {
				t.Errorf("after ten minutes %d bytes for %d, guesses included; still in: %v", got, sent+guesses, in())
			}
		})
	}
}

// Clients that acknowledge one message in six seconds are not sent everything
// again and again, and what others send them first are the messages that last.
func TestLaggards(t *testing.T) {
	s := besiege(t, 3, relay.Config{Players: relay.MaxPlayers})
	laggards := s.intruders(13)
	before := 0
	acked := map[*player]uint16{}
	for _, p := range laggards {
		s.byAddr[p.addr] = nil // it reads nothing; its acknowledgements are made here
		s.clients = s.clients[:3]
		before += s.to[p.addr]
		acked[p] = 30
	}
	s.chat(45*time.Second, func(tick int) {
		for i, c := range s.chatters {
			if (tick+i)%3 == 0 {
				c.Fight(s.now, tick/3)
			}
		}
		for i, p := range laggards {
			if (tick+i*40)%600 == 0 {
				acked[p]++
				s.inject(p.addr, one(p.ID, transport.Header{Type: transport.Acknowledge, Seq: acked[p]}, nil))
			}
			if tick%20 == 0 {
				s.inject(p.addr, []byte{p.ID, 1, byte(transport.DoNothing)})
			}
		}
	})
	after := 0
	for _, p := range laggards {
		after += s.to[p.addr]
	}
	t.Logf("%d bytes to the laggards in 45 s", after-before)
	if after-before > 8<<20 {
		t.Errorf("%d bytes to clients that hardly acknowledge anything", after-before)
	}
	for _, c := range s.chatters {
		if c.Phase != relaytest.Playing {
			t.Errorf("%s is out: %v", c.Name, s.events[max(0, len(s.events)-3):])
		}
	}
}
