package conform_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// TestTrouble: OpenBC hosts with troubled networks and clients. The expected
// values are from the server's own log.
func TestTrouble(t *testing.T) {
	for _, tt := range []struct {
		capture string
		note    string
		rule    string // by which the host differs from the stock game's
		op      decode.Opcode
		count   int // messages with the opcode that it explains
	}{
		// Behind the capture the network doubled datagrams of clients; others were lost
		// there and sent again. The server said three lines twice to three players, one
		// of them for the team.
		{"trouble/arrival.pcap", "", "acts-on-arrival", msg.OpChat, 6},
		{"trouble/arrival.pcap", "", "acts-on-arrival", msg.OpTeamChat, 3},
		// Bot1 goes on from another port, where the server knows no client.
		{"trouble/address.pcap", "The host sent nothing to 1 address of a client that had not joined. Its messages", "", 0, 0},
		// The server puts Bot0 out without a word, and gives its id to the next client.
		// All create ships for other slots; it rejects them, and knows no ship.
		{"trouble/id.pcap", "or it had dropped Bot0 without a message", "own-creations-only", msg.OpObjectCreateTeam, 3},
	} {
		t.Run(tt.capture, func(t *testing.T) {
			r := compare(t, tt.capture, decode.Undecided, nil, nil)[0]
			for _, d := range r.Differences {
				t.Errorf("%s %s in frame %d: %s", d.Kind, d.Name, d.Frame, d.Detail)
			}
			if all := strings.Join(r.Notes, "\n"); !strings.Contains(all, tt.note) {
				t.Errorf("the notes %q do not say %q", all, tt.note)
			}
			got := 0
			for _, d := range r.Deviations {
				for _, row := range d.Rows {
					if d.Rule.Name == tt.rule && row.Opcode == tt.op {
						got += d.Of(row)
					}
				}
			}
			if got != tt.count {
				t.Errorf("%s explains %d messages, want %d", tt.rule, got, tt.count)
			}
		})
	}
}

// TestRestartWithOtherIDs: a host that begins anew need not give an id that a
// client had.
func TestRestartWithOtherIDs(t *testing.T) {
	s := newSession(t, relay.Config{Players: 8, Mode: relay.Playable})
	first := s.join("First", false)
	s.create(s.join("A", false))
	s.create(s.join("B", false))
	first.Leave(s.now)
	s.run(3 * time.Second)
	s.chat("one")
	s.host = nil
	for range 20 {
		s.chat("into the void")
	}
	s.clients = s.clients[:0]
	s.start(relay.Config{Players: 8, Mode: relay.Playable})
	s.create(s.join("C", false)) // it gets the id of First
	s.chat("three")
	s.judge("sent nothing for", "A new run of the host begins")
}

// TestRestartWithoutAccept: that a host begins anew shows although the capture lacks
// its accept, and unreliable messages of the clients that it forgot are not missing.
func TestRestartWithoutAccept(t *testing.T) {
	s := newSession(t, relay.Config{Players: 8, Mode: relay.Playable})
	var all []dissect.Datagram
	s.tap = func(d *dissect.Datagram) { all = append(all, *d) }
	old := []*guest{s.join("A", false), s.join("B", false)}
	for _, g := range old {
		s.create(g)
	}
	s.chat("one")
	s.host = nil
	for n := range 50 {
		for _, g := range old {
			g.SendBody(s.now, false, update(wire.FirstObject(g.Slot), n))
		}
		s.chat("into the void")
	}
	s.clients = s.clients[:0]
	s.start(relay.Config{Players: 8, Mode: relay.Playable})
	c := s.join("C", false)
	s.create(c)
	s.create(s.join("D", false))
	for n := range 50 {
		c.SendBody(s.now, false, update(wire.FirstObject(c.Slot), n))
		s.run(100 * time.Millisecond)
	}
	accept := slices.IndexFunc(all, func(d dissect.Datagram) bool { return d.Dst == c.addr })
	r := replayed(t, slices.Delete(all, accept, accept+1))
	if notes := strings.Join(r.Notes, "\n"); r.Found > 0 || !strings.Contains(notes, "A new run of the host begins") {
		t.Errorf("%d differences, the first %v; notes %s", r.Found, r.Differences[:min(r.Found, 1)], notes)
	}
}

// TestOneSidePlayersLeave: players that the capture does not show do not become
// known by their leave.
func TestOneSidePlayersLeave(t *testing.T) {
	s := newSession(t, relay.Config{Players: 8, Mode: relay.Playable, Like: decode.OpenBC})
	s.hidden = true
	a, b := s.join("A", true), s.join("B", true)
	s.create(a)
	s.create(b)
	s.only = s.guest("C", true).addr
	s.clients[2].Connect(s.now, nil)
	s.run(2 * time.Second)
	s.create(s.clients[2])
	s.chat("one")
	a.Leave(s.now)
	b.Leave(s.now)
	s.run(3 * time.Second)
	if r := s.judge("The host names 2 players"); matched(r, msg.OpChat) != 1 {
		t.Errorf("%d lines of chat are as expected, want that of C", matched(r, msg.OpChat))
	}
}
