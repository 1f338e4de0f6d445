package badline

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
)

// Times and limits for counting copies.
const (
	settled  = 30 * time.Second // after this time a message has reached all clients, whatever the lines lost before
	entered  = 5 * time.Second  // after this time from its first copy, a client is certainly in the game
	mostKept = 1 << 16          // messages that wait for their copies
)

// A said is messages of clients with the same bytes at about the same time.
type said struct {
	body        string
	name        string
	frame       int
	first, last time.Time
	due         time.Time              // when it is judged
	by          map[netip.AddrPort]int // how often the host received it from each client
	to          map[netip.AddrPort]int // how often the host sent it to each client, without retransmissions
}

// A copies counts the messages that a host passes on unchanged. Since all
// losses are known, exactly one copy must go to each client that stays.
type copies struct {
	by     map[string]*said
	order  []*said                      // by due
	since  map[netip.AddrPort]time.Time // time of the first copy to each client
	faults []fault
	more   int // number of faults that are not listed
}

// A fault is a missing or surplus copy.
type fault struct {
	text  string
	frame int
}

func newCopies() copies {
	return copies{by: map[string]*said{}, since: map[netip.AddrPort]time.Time{}}
}

// toAll reports whether every other player gets an unchanged copy.
func toAll(r decode.Relay) bool {
	return r == decode.RelayForward || r == decode.RelaySlots || r == decode.RelayEcho
}

// takes handles a message that the host receives from a client, or sends to it.
func (c *copies) takes(client netip.AddrPort, r *dissect.Record) {
	if r.Kind != dissect.KindMessage || r.Status != dissect.StatusOK || r.Spec == nil || !toAll(r.Spec.Relay) || !r.Transport.HasSeq {
		return
	}
	s := c.by[string(r.Payload)]
	if r.Dir == dissect.FromHost {
		if s == nil {
			return
		}
		if s.to[client]++; c.since[client].IsZero() && r.Spec.Relay != decode.RelaySlots { // those also go to clients that are still loading
			c.since[client] = r.Time
		}
		return
	}
	if s == nil {
		if len(c.by) >= mostKept {
			return
		}
		s = &said{body: string(r.Payload), name: r.Spec.Name, frame: r.Datagram.Number, first: r.Time, due: r.Time.Add(settled), by: map[netip.AddrPort]int{}, to: map[netip.AddrPort]int{}}
		c.by[s.body] = s
		c.order = append(c.order, s)
	}
	s.by[client]++
	s.last = r.Time
}

// settles judges the messages whose time has come. Messages that are repeated
// all the time are judged at the end.
func (c *copies) settles(now time.Time) {
	for len(c.order) > 0 {
		s := c.order[0]
		switch {
		case now.Before(s.due):
			return
		case now.Sub(s.last) < settled:
			s.due = s.last.Add(settled)
			c.order = append(c.order[1:], s)
			continue
		}
		c.judge(s)
		delete(c.by, s.body)
		c.order = c.order[1:]
	}
}

// judge compares the copies at the clients that were in the game all the time.
func (c *copies) judge(s *said) {
	times, passed := 0, false
	for author, n := range s.by {
		if c.since[author].IsZero() { // the author has left, so copies may have waited behind a message that never came
			return
		}
		times += n
	}
	for _, n := range s.to {
		passed = passed || n > 0
	}
	for client, since := range c.since {
		_, own := s.by[client]
		if got := s.to[client]; !own && passed && got != times && s.first.Sub(since) > entered {
			if len(c.faults) >= mostLost {
				c.more++
				continue
			}
			c.faults = append(c.faults, fault{fmt.Sprintf("frame %d: %s came to the host %d times, and was sent to %v %d times", s.frame, s.name, times, client, got), s.frame})
		}
	}
}
