package dashboard

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/report/internal/canvas"
)

// Limits of the state and of the screen.
const (
	maxPlayers = 64  // rows of the table
	maxEvents  = 200 // lines of events
	maxName    = 48  // characters of a name
	maxText    = 400 // characters of a line of chat
)

// state collects the contents of the records. It is not safe for concurrent
// use.
type state struct {
	now   func() time.Time
	pacer *Pacer
	keep  func(*dissect.Record) bool // filter, nil to count all records

	meter measure.Meter
	tally measure.Tally // counts of all records, including those that the filter hides

	start, last time.Time // capture times of the first and the last record
	arrived     time.Time // time at which the last record arrived, from Options.Now
	stand       time.Time // capture time at the end
	closed      bool

	packets  int64
	messages series
	bytes    series
	kinds    [512]*kind // indexed by opcode, or by 256 + type for transport messages

	received, dropped uint64
	live              bool

	story  *match.Builder
	wanted bool        // the filter matches the current record
	events []happening // in order, the oldest first

	datagrams measure.Datagrams
}

// kind holds the counts of an opcode or a transport type.
type kind struct {
	name string
	series
}

// record adds a record.
func (s *state) record(r *dissect.Record) {
	_ = s.meter.Record(r) // it never returns an error
	_ = s.tally.Record(r) // it never returns an error
	if r.Datagram != nil && !r.Datagram.Time.IsZero() {
		s.last = r.Datagram.Time
		if s.start.IsZero() || s.last.Before(s.start) {
			s.start = s.last
		}
		if s.now != nil {
			s.arrived = s.now()
		}
	}
	s.wanted = s.keep == nil || s.keep(r)
	if s.wanted {
		s.count(r)
	}
	if s.story == nil {
		s.story = match.New(time.Time{})
		s.story.OnEvent = s.happened
	}
	_ = s.story.Record(r) // it never returns an error
}

// A happening is a line of the list of events.
type happening struct {
	at time.Time
	*match.Event
}

// happened adds an event to the list, and drops the oldest one if there are too
// many. It adds nothing if the filter does not match the record.
func (s *state) happened(m *match.Match, e *match.Event) {
	if !s.wanted {
		return
	}
	if len(s.events) >= maxEvents {
		s.events = slices.Delete(s.events, 0, len(s.events)-maxEvents+1)
	}
	s.events = append(s.events, happening{m.Clock(e.T), e})
}

// count counts a record that the filter matches.
func (s *state) count(r *dissect.Record) {
	sec := s.last.Unix()
	if r.Datagram != nil && s.datagrams.Begins(r) {
		s.packets++
		s.bytes.add(sec, int64(max(r.Datagram.Full, len(r.Datagram.Payload))))
	}
	if r.DoubleOf > 0 || r.Kind != dissect.KindMessage && r.Kind != dissect.KindPayload {
		return
	}
	s.messages.add(sec, 1)
	i := 256 + int(r.Transport.Type)
	if op, ok := r.Opcode(); ok {
		i = int(op)
	}
	k := s.kinds[i]
	if k == nil {
		k = &kind{name: nameOf(r)}
		s.kinds[i] = k
	}
	k.add(sec, 1)
}

// nameOf returns the name of a message.
func nameOf(r *dissect.Record) string {
	op, ok := r.Opcode()
	switch {
	case !ok && r.Transport.Fragment && r.Transport.Type == transport.Standard:
		return "fragment"
	case !ok:
		return r.Transport.Type.Kind()
	case r.Spec == nil || r.Spec.Code != op:
		return "unknown"
	}
	return r.Spec.Name
}

func (s *state) setFilter(keep func(*dissect.Record) bool) {
	s.keep = keep
	s.packets, s.messages, s.bytes = 0, series{}, series{}
	s.kinds = [512]*kind{}
	s.datagrams = measure.Datagrams{}
}

// pause is the time without records after which the clock continues on its own.
const pause = 500 * time.Millisecond

// clock returns the current capture time.
func (s *state) clock() time.Time {
	switch {
	case s.closed:
		return s.stand
	case s.last.IsZero() || s.now == nil:
		return s.last
	case s.pacer != nil:
		if t := s.pacer.Position(); t.After(s.last) && t.Sub(s.last) < longestGap {
			return t
		}
	default:
		if idle := s.now().Sub(s.arrived); idle > pause {
			return s.last.Add(idle)
		}
	}
	return s.last
}

// A snapshot is the data for one screen. It shares no memory with the state.
type snapshot struct {
	start, now time.Time
	closed     bool
	speed      float64 // 0 without a pacer

	packets, messages, errors int64
	messageRate, byteRate     float64
	live                      bool
	received, dropped         uint64

	players []player
	hidden  int            // number of players without a row
	links   []measure.Link // their text is escaped
	ships   []measure.Ship // their text is escaped
	kinds   []kindRow
	events  []happening // their text is escaped
}

// kindRow is a row of the table of opcodes.
type kindRow struct {
	code    string // in hexadecimal, empty for messages that are not game messages
	name    string
	total   int64
	rate    float64
	history []uint32
}

// player is a row of the table of players. Its text is escaped.
type player struct {
	match.Player // Address is zero if there is no connection

	host     netip.AddrPort
	ship     string
	linked   bool
	up, down measure.Link // from the client and to the client
}

func (p *player) gone() bool { return p.Left != nil }

func (s *state) snapshot() snapshot {
	out := snapshot{
		start: s.start, now: s.clock(), closed: s.closed,
		packets: s.packets, messages: s.messages.total, errors: s.tally.Errors,
		live: s.live, received: s.received, dropped: s.dropped,
	}
	for _, e := range s.events {
		event := *e.Event
		event.Text = wire.Untrusted(canvas.Clean(e.Text, maxText+2*maxName))
		out.events = append(out.events, happening{e.at, &event})
	}
	if s.pacer != nil {
		out.speed = s.pacer.Speed()
	}
	now, since := out.now.Unix(), s.start.Unix()
	out.messageRate, out.byteRate = s.messages.rate(now, since), s.bytes.rate(now, since)
	for i, k := range s.kinds {
		if k == nil {
			continue
		}
		row := kindRow{name: k.name, total: k.total, rate: k.rate(now, since), history: k.history(now)}
		if i < 256 {
			row.code = fmt.Sprintf("%02X", i)
		}
		out.kinds = append(out.kinds, row)
	}
	if !out.now.IsZero() {
		s.meter.Advance(out.now)
	}
	out.links, out.ships = s.meter.Links(), s.meter.Ships()
	out.players = s.players(out.links)
	for i := range out.links {
		out.links[i].Player = cleanName(out.links[i].Player)
	}
	for i := range out.ships {
		s := &out.ships[i]
		s.Player, s.Name = cleanName(s.Player), cleanName(s.Name)
	}
	if n := len(out.players) - maxPlayers; n > 0 {
		out.players, out.hidden = out.players[:maxPlayers], n
	}
	return out
}

// cleanName returns a name escaped and cut.
func cleanName(s wire.Untrusted) wire.Untrusted { return wire.Untrusted(canvas.Clean(s, maxName)) }

// players returns all players with a connection or a name, the most recently
// active first.
func (s *state) players(links []measure.Link) []player {
	var matches []*match.Match
	if s.story != nil {
		matches = s.story.Current()
	}
	var out []player
	for i := range links {
		l := &links[i]
		if n := len(out); n == 0 || out[n-1].host != l.Host || out[n-1].Address != l.Client {
			p := player{Player: match.Player{Address: l.Client, Name: cleanName(l.Player), ID: l.Peer, Slot: -1}, host: l.Host, linked: true}
			for _, m := range matches {
				for i := range m.Players {
					if m.Host == l.Host && m.Players[i].Address == l.Client {
						p.fill(m, i)
					}
				}
			}
			out = append(out, p)
		}
		p := &out[len(out)-1]
		if l.Dir == dissect.FromHost {
			p.down = *l
		} else {
			p.up = *l
		}
	}
	for _, m := range matches {
		for i := range m.Players {
			if k := &m.Players[i]; !k.Address.IsValid() && k.Name != "" {
				p := player{host: m.Host}
				p.fill(m, i)
				out = append(out, p)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b player) int {
		return cmp.Or(first(!a.gone(), !b.gone()), first(a.linked, b.linked), b.up.Last.Compare(a.up.Last))
	})
	return out
}

// fill sets the facts about a player that a match has.
func (p *player) fill(m *match.Match, i int) {
	id, name := p.ID, p.Name
	p.Player = m.Players[i]
	p.ID, p.Name = cmp.Or(p.ID, id), cmp.Or(name, cleanName(p.Name))
	for l := len(m.Lives) - 1; l >= 0; l-- {
		if life := &m.Lives[l]; life.Player == i {
			p.ship = shown(life)
			return
		}
	}
}

// shown returns the name of a ship with its state.
func shown(l *match.Life) string {
	name := canvas.Clean(l.Ship, maxName)
	switch {
	case l.EndHow == "killed" || l.EndHow == "destroyed":
		return name + " (lost)"
	case l.Cloaked:
		return name + " (cloaked)"
	}
	return name
}

// first compares two conditions for sorting. True comes before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
