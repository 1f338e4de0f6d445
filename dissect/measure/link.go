package measure

import (
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// link has the counts and the state of one direction.
type link struct {
	Link // counts. The names and computed values stay empty.

	spaces    [2]space
	gaps      *gaps // nil while there are no gaps
	rtt       spread
	slowest   moment // when the message with the longest round trip was sent
	rates     *rates // nil until they are measured
	last      moment // time of the last datagram
	keepalive moment // time of the last keepalive
	spacing   mean   // time between keepalives
	lap       lap
}

// lap has the counts of the current lap.
type lap struct {
	before    Lap // the link's counts when the lap began
	rtt       mean
	rttMax    time.Duration
	updates   int64
	silence   time.Duration
	silenceAt time.Time
}

// endLap returns the lap and begins the next.
func (l *link) endLap() Lap {
	out, was := Lap{Datagrams: l.Datagrams, Bytes: l.Bytes, Messages: l.Messages, Class: l.Both()}, &l.lap.before
	next := lap{before: out}
	out.Datagrams -= was.Datagrams
	out.Bytes -= was.Bytes
	out.Messages -= was.Messages
	out.Class.add(&was.Class, -1)
	out.RTTs, out.RTT, out.RTTMax = l.lap.rtt.n, l.lap.rtt.value(), l.lap.rttMax
	out.Updates, out.Silence, out.SilenceAt = l.lap.updates, l.lap.silence, l.lap.silenceAt
	l.lap = next
	return out
}

// mean sums times.
type mean struct {
	n   int64
	sum float64 // in nanoseconds. An integer could overflow by hostile times.
}

func (m *mean) add(ns int64) { m.n, m.sum = m.n+1, m.sum+float64(ns) }

func (m *mean) value() time.Duration {
	if m.n == 0 {
		return 0
	}
	return packet.Duration(m.sum / float64(m.n))
}

// sizeOf returns the length of a datagram's payload on the network.
func sizeOf(d *dissect.Datagram) int64 { return int64(max(d.Full, len(d.Payload))) }

// class returns the counts and the sequence space of a message. For an
// acknowledgement, it returns those of the acknowledged message.
func (l *link) class(h *transport.Header) (*Class, *space) {
	if h.Control() {
		return &l.Control, &l.spaces[0]
	}
	return &l.Data, &l.spaces[1]
}

// datagram counts a datagram.
func (l *link) datagram(d *dissect.Datagram, at moment, rates bool) {
	size := sizeOf(d)
	l.Datagrams++
	l.Bytes += size
	if !at.known {
		return
	}
	if gap, ok := at.since(l.last); ok {
		l.silent(time.Duration(gap))
	}
	if l.First.IsZero() {
		l.First = d.Time
	}
	l.Last, l.last = d.Time, at
	if rates {
		b := l.bucket(at.ns)
		b.datagrams++
		b.bytes += uint64(size)
	}
}

// bucket returns the bucket of a time.
func (l *link) bucket(ns int64) *bucket {
	if l.rates == nil {
		l.rates = new(rates)
	}
	return l.rates.at(ns)
}

// silent notes the time between the last two datagrams.
func (l *link) silent(gap time.Duration) {
	if gap > l.lap.silence {
		l.lap.silence, l.lap.silenceAt = gap, l.Last
	}
	if gap > l.Silence {
		l.Silence, l.SilenceAt = gap, l.Last
	}
}

// message counts a transport message.
func (l *link) message(r *dissect.Record, at moment, rates bool) {
	l.Messages++
	alive := r.Keepalive() || r.Challenge()
	repeated := r.Repeat && !alive
	if rates && at.known {
		b := l.bucket(at.ns)
		b.messages++
		if repeated {
			b.repeated++
		}
	}
	h := &r.Transport
	if h.Reliable && !alive {
		c, _ := l.class(h)
		c.Reliable++
		if repeated {
			c.Repeated++
		}
	}
	if alive {
		l.Keepalives++
		if gap, ok := at.since(l.keepalive); ok {
			l.spacing.add(gap)
			l.KeepaliveMax = max(l.KeepaliveMax, time.Duration(gap))
		}
		l.keepalive = at
	}
}

// reliable counts a message with a number.
func (l *link) reliable(r *dissect.Record, at moment, lost *GivenUp) {
	h := &r.Transport
	c, s := l.class(h)
	if r.Repeat {
		if k := keyOf(h); !s.waiting.repeated(k, c.transmissions()) && !r.Keepalive() && s.acknowledged(k).key == k {
			c.Duplicates++
		}
		return // its number was already counted, and an 8-bit number may have wrapped since
	}
	if r.Gap > 0 || r.Late {
		l.missed(r, at)
	}
	c.Lost += int64(r.Gap)
	if r.Late {
		c.Lost--
		c.Late++
	}
	if s.send(keyOf(h), at, c.transmissions()) {
		lost.Outstanding++
	}
}

// acknowledge handles an acknowledgement for a message of this link.
func (l *link) acknowledge(h *transport.Header, at moment) {
	c, s := l.class(h)
	sent, ok := s.acknowledge(keyOf(h), at)
	if !ok {
		return
	}
	c.Acknowledged++
	if c == &l.Data {
		l.settled = max(l.settled, sent.nth)
	}
	if sent.ambiguous {
		return
	}
	if ns, ok := at.since(sent.at); ok {
		if l.rtt.n == 0 || ns > l.rtt.max {
			l.slowest = sent.at
		}
		l.rtt.add(ns)
		l.lap.rtt.add(ns)
		l.lap.rttMax = max(l.lap.rttMax, time.Duration(ns))
	}
}

// restart resets the numbers for a new connection. Neither side will acknowledge the
// messages of the old one, also if the other side had ended it long before.
func (l *link) restart() {
	now := l.Data.transmissions()
	l.moot += now - l.settled
	l.settled = now
	for i := range l.spaces {
		l.spaces[i].restart()
	}
	l.last, l.keepalive, l.gaps = moment{}, moment{}, nil
}

// result returns the link with its computed values.
func (l *link) result(c *conversation, now int64) Link {
	out := l.Link
	out.Host, out.Client, out.Player, out.Peer, out.Restarts = c.host, c.client, c.player, c.peer, c.restarts
	out.Dir, out.pending = dissect.ToHost, l.unsettled()
	if l == &c.links[side(dissect.FromHost)] {
		out.Dir = dissect.FromHost
	}
	out.KeepaliveMean = l.spacing.value()
	out.RTT = l.rtt.result()
	if l.slowest.known {
		out.RTT.MaxAt = time.Unix(0, l.slowest.ns).UTC()
	}
	if !l.First.IsZero() && l.rates != nil {
		out.Rate = l.rates.result(now, packet.Nanos(l.First))
	}
	return out
}
