package measure

import (
	"cmp"
	"container/list"
	"iter"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

// streamKey identifies a stream of ship updates.
type streamKey struct {
	conv *conversation
	dir  dissect.Dir
	id   wire.ObjectID
}

// stream has the counts and the state of the updates of a ship.
type stream struct {
	streamKey
	at *list.Element // place in Meter.order

	name        wire.Untrusted
	first, last time.Time
	updates     int64
	longest     time.Duration
	longestAt   time.Time

	before    moment // time of the last update
	interval  int64  // interval before the last update
	intervals mean
	jitter    mean // differences between intervals
	follows   bool // interval is valid
}

// updated returns the object of a ship update.
func updated(r *dissect.Record) (id wire.ObjectID, ok bool) {
	if r.Status == dissect.StatusDuplicate {
		return 0, false
	}
	return msg.UpdatedObject(r.Payload)
}

// update counts an update of a ship.
func (m *Meter) update(c *conversation, r *dissect.Record, id wire.ObjectID, at moment) {
	k := streamKey{c, r.Dir, id}
	s := m.streams[k]
	if s == nil {
		s = m.begin(k)
	}
	m.order.MoveToFront(s.at)
	s.updates++
	if r.Session != nil {
		m.name = r.Session.AppendObject(m.name[:0], id)
		if len(m.name) > 0 && string(m.name) != s.name.Raw() {
			s.name = wire.Untrusted(m.name)
		}
	}
	if !at.known {
		return
	}
	if s.first.IsZero() {
		s.first = r.Datagram.Time
	}
	before := s.last
	s.last = r.Datagram.Time
	if gap, ok := at.since(s.before); ok {
		s.intervals.add(gap)
		if d := time.Duration(gap); d > s.longest {
			s.longest, s.longestAt = d, before
		}
		if s.follows {
			s.jitter.add(max(gap-s.interval, s.interval-gap))
		}
		s.interval, s.follows = gap, true
	} else {
		s.follows = false
	}
	s.before = at
}

// begin makes room for a stream and adds it.
func (m *Meter) begin(k streamKey) *stream {
	if m.streams == nil {
		m.streams = map[streamKey]*stream{}
	}
	if len(m.streams) >= MaxShips {
		m.drop(m.order.Back().Value.(*stream))
	}
	s := &stream{streamKey: k}
	s.at = m.order.PushFront(s)
	m.streams[k] = s
	k.conv.streams++
	return s
}

// drop removes a stream.
func (m *Meter) drop(s *stream) {
	m.order.Remove(s.at)
	delete(m.streams, s.streamKey)
	s.conv.streams--
	m.givenUp.Ships++
}

// streamsOf yields the streams of a conversation. The loop may drop the yielded
// one.
func (m *Meter) streamsOf(c *conversation) iter.Seq[*stream] {
	return func(yield func(*stream) bool) {
		for _, s := range m.streams {
			if c.streams == 0 || s.conv == c && !yield(s) {
				return
			}
		}
	}
}

// Ships returns the measurements of ship updates in the order of host, client,
// direction and object.
func (m *Meter) Ships() []Ship {
	var out []Ship
	for _, s := range m.streams {
		out = append(out, s.result())
	}
	slices.SortFunc(out, func(a, b Ship) int {
		return cmp.Or(a.Host.Compare(b.Host), a.Client.Compare(b.Client), cmp.Compare(a.Dir, b.Dir), cmp.Compare(a.Object, b.Object))
	})
	return out
}

func (s *stream) result() Ship {
	out := Ship{
		Host: s.conv.host, Client: s.conv.client, Dir: s.dir, Player: s.conv.player, Peer: s.conv.peer,
		Object: s.id, Name: s.name, First: s.first, Last: s.last,
		Updates: s.updates, Intervals: s.intervals.n, Mean: s.intervals.value(), Jitter: s.jitter.value(), Longest: s.longest, LongestAt: s.longestAt,
	}
	if s.intervals.sum > 0 {
		out.Rate = float64(s.intervals.n) * float64(time.Second) / s.intervals.sum
	}
	return out
}
