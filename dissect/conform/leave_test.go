package conform_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// withhold loses all datagrams of a client with a text, before the recording, until the
// caller lets them through.
func (s *session) withhold(g *guest, text []byte) (through func()) {
	s.lose = func(from netip.AddrPort, plain []byte) bool { return from == g.addr && bytes.Contains(plain, text) }
	return func() { s.lose = nil }
}

// TestTurn: a message waits at the host until the one before it has come. In the meantime
// one player leaves, and another one comes, who gets the copy.
func TestTurn(t *testing.T) {
	s := newSession(t, relay.Config{Players: 8, Mode: relay.Playable})
	a, b := s.join("A", false), s.join("B", false)
	s.create(a)
	s.create(b)
	s.create(s.join("C", false))
	s.chat("one ")
	through := s.withhold(a, []byte("lost"))
	a.Say(s.now, msg.OpChat, &msg.Chat{Sender: int32(a.ID), Text: []byte("lost")})
	s.run(5 * time.Millisecond)
	a.Say(s.now, msg.OpChat, &msg.Chat{Sender: int32(a.ID), Text: []byte("waits")})
	s.run(5 * time.Millisecond)
	b.Leave(s.now)
	s.create(s.join("D", false))
	through()
	s.run(8 * time.Second)
	s.chat("two ")
	r := s.judge()
	// The copy for D has no verdict: the recording does not show that the message waits.
	if got, want := matched(r, msg.OpChat), 3*3+2*3+3*3-1; got != want {
		t.Errorf("%d lines of chat are compared, want %d", got, want)
	}
}

// TestLeaveInTurn: a leave waits at the host until the message before it has come. Its slot
// is not free for the player who comes in the meantime.
func TestLeaveInTurn(t *testing.T) {
	s := newSession(t, relay.Config{Players: 8, Mode: relay.Playable})
	a, b := s.join("A", false), s.join("B", false)
	s.create(a)
	s.create(b)
	through := s.withhold(a, wire.AppendWideTextOf(nil, "Renamed"))
	s.named(a, a.ID, "Renamed")
	s.run(5 * time.Millisecond)
	a.Leave(s.now)
	s.run(5 * time.Millisecond)
	c := s.join("C", false)
	s.create(c)
	through()
	s.run(8 * time.Second)
	s.chat("two ")
	if s.judge(); c.Slot != 2 {
		t.Errorf("C has slot %d, want the third", c.Slot)
	}
}
