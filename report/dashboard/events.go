package dashboard

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
)

// A happening is a line of the list of events. Text is escaped.
type happening struct {
	at    time.Time
	topic topic
	text  string
	times int // how often it happened

	host  netip.AddrPort
	key   string // what copies have in common
	links []link // over which it was told
}

// link is a direction of a conversation.
type link struct{ src, dst netip.AddrPort }

const (
	// echo is within what time a host tells something to everybody.
	echo = 5 * time.Second
	// again is within what time faults of a sender make one line.
	again = 10 * time.Second
)

// tell adds a line, unless it was told to somebody else.
func (t *teller) tell(on topic, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.tellOnce(on, text, text)
}

// tellOnce adds a line, unless it is one that was told to somebody else. The author
// of a chat line and the host send it, the host to each client: of the lines
// that say the same, one that did not go over this link is the one that this is
// a copy of. The oldest of them is, since messages keep their order.
func (t *teller) tellOnce(on topic, key, text string) {
	if !t.wanted {
		return
	}
	s := t.s
	l := linkOf(t.r)
	var copied *happening
	for i := len(s.events) - 1; i >= 0; i-- {
		e := &s.events[i]
		if s.last.Sub(e.at) > echo {
			break
		}
		if e.topic == on && e.host == t.host && e.key == key && !slices.Contains(e.links, l) {
			copied = e
		}
	}
	if copied == nil {
		s.add(happening{at: s.last, topic: on, text: text, times: 1, host: t.host, key: key, links: []link{l}})
		return
	}
	if len(copied.links) < maxPlayers {
		copied.links = append(copied.links, l)
	}
}

// faulty adds a line about data that makes no sense, or counts it on the line
// that is there.
func (t *teller) faulty(text string) {
	if !t.wanted {
		return
	}
	s := t.s
	l := linkOf(t.r)
	for i := len(s.events) - 1; i >= 0; i-- {
		e := &s.events[i]
		if s.last.Sub(e.at) > again {
			break
		}
		if e.topic == onError && e.links[0] == l {
			e.times++
			return
		}
	}
	if l.src.IsValid() {
		text = l.src.String() + ": " + text
	}
	s.add(happening{at: s.last, topic: onError, text: clean(text, maxText), times: 1, links: []link{l}})
}

func linkOf(r *dissect.Record) link {
	if r.Datagram == nil {
		return link{}
	}
	return link{r.Datagram.Src, r.Datagram.Dst}
}

// add adds a line, and drops the oldest if there are too many.
func (s *state) add(e happening) {
	if len(s.events) >= maxEvents {
		s.events = slices.Delete(s.events, 0, len(s.events)-maxEvents+1)
	}
	s.events = append(s.events, e)
}
