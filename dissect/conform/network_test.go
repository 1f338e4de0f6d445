package conform_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// says returns the test whether a datagram holds some text.
func says(text string) func(netip.AddrPort, []byte) bool {
	return func(_ netip.AddrPort, plain []byte) bool { return bytes.Contains(plain, []byte(text)) }
}

// say lets one client say something.
func (s *session) say(g *guest, text string) {
	g.Say(s.now, msg.OpChat, &msg.Chat{Sender: int32(g.ID), Text: []byte(text)})
	s.run(100 * time.Millisecond)
}

// TestNeverItsTurn: a host that acts on the messages of a client in their order
// passes none on that it had to keep until the client left, although it has
// acknowledged them. The one that they waited for may come after that, or never.
func TestNeverItsTurn(t *testing.T) {
	for name, late := range map[string]bool{"it never comes": false, "it comes too late": true} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, relay.Config{Players: 8, Mode: relay.Playable})
			a, b := s.join("A", false), s.join("B", false)
			s.say(a, "one")
			s.lose = says("lost")
			s.say(b, "lost")
			s.say(b, "two")
			s.say(b, "three")
			s.run(13 * time.Second)
			if late {
				s.lose = func(from netip.AddrPort, plain []byte) bool {
					if b.Phase == relay.ClientLeaving {
						return false
					}
					return says("lost")(from, plain)
				}
			}
			b.Leave(s.now)
			s.run(10 * time.Second)
			s.say(a, "four")
			r := s.judge()
			if got := matched(r, msg.OpChat); got != 3 {
				t.Errorf("%d chat lines are compared, want 3: one to both, and four to one", got)
			}
		})
	}
}

// TestUnproved: a host need not send anything to a client that has not used the id
// that it was given.
func TestUnproved(t *testing.T) {
	s := newSession(t, relay.Config{Players: 8, Mode: relay.Playable})
	a, b := s.join("A", false), s.guest("B", false)
	deaf := true
	s.lose = func(from netip.AddrPort, _ []byte) bool { return deaf && from == b.addr }
	b.Connect(s.now, nil)
	deaf = false
	s.run(5 * time.Millisecond)
	deaf = true // it has the accept, but nothing that it says arrives
	s.create(a)
	deaf = false
	s.run(5 * time.Second)
	s.create(b)
	s.chat("one")
	if got := matched(s.judge(), msg.OpObjectCreateTeam); got != 2 {
		t.Errorf("%d creations are compared, want 2", got)
	}
}
