package conform

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// maxWatched is how many of the host's latest messages in a stream are checked
// for acknowledgements, and also how many at the start of the stream.
const (
	maxWatched  = 512
	someWatched = 64
)

// An outgoing is a numbered message of the host, which may be retransmitted.
type outgoing struct {
	number  int64
	frame   int           // frame of the first transmission, 0 if there is none
	at      time.Duration // time since the start of the capture
	acked   int           // frame of the acknowledgement of the latest transmission, 0 if there is none
	again   int32         // number of retransmissions
	ignored int32         // number of retransmissions after the host had received an acknowledgement, unless only that was lost
}

// A stream is the numbered messages of one class between a host and a client.
type stream struct {
	out       []outgoing       // indexed by the low bits of their numbers
	latest    [eightBits]int64 // number that was last sent, by its low byte
	top       int64
	wide      bool
	said      [eightBits]int // frame of the client's latest unacknowledged message, by the low byte of its number
	up        measure.Trials // how often the client's messages reached the host
	since     measure.Trials // the client's messages since the host last acknowledged one
	ackCounts [len(spans)]ackCounts
}

// spans are the ends of the spans of numbers: up to 8 bits, up to 16 bits, and
// more.
var spans = [...]int64{eightBits, math.MaxUint16 + 1, math.MaxInt64}

// spanOf returns the index of the span of a number.
func spanOf(number int64) (i int) {
	for number >= spans[i] {
		i++
	}
	return i
}

// An ackCounts counts acknowledgements of messages with numbers in a span.
type ackCounts struct {
	acks   measure.Trials // first acknowledgements, which fail if the host retransmits the message
	apart  int            // datagrams with acknowledgements that failed. One loss explains all that are in the same datagram.
	last   int            // frame of the latest of them
	more   measure.Trials // later acknowledgements
	most   int32          // most failures for one message
	all    int            // number of retransmitted messages
	frame  int            // frame of the first message that was retransmitted after its acknowledgement
	number int64          // lowest number of a message that was retransmitted after its acknowledgement
}

// at returns the entry of a number. It grows the table with the number of
// messages, to save memory.
func (s *stream) at(number int64) *outgoing {
	if n := len(s.out); n < someWatched || number >= int64(n) && n < maxWatched {
		n = someWatched
		if number >= someWatched {
			n = maxWatched
		}
		s.out = append(make([]outgoing, 0, n), s.out...)[:n] // numbers below the old length keep their index
	}
	return &s.out[number%int64(len(s.out))]
}

// told handles a message of the host. The argument shown is the client's latest
// frame that the host has certainly received.
func (s *stream) told(r *dissect.Record, at time.Duration, shown int) {
	h := &r.Transport
	if s.wide = s.wide || h.Seq >= eightBits; h.Fragment || r.Number < 0 || r.Challenge() {
		return
	}
	o := s.at(r.Number)
	switch {
	case !r.Repeat && (o.frame == 0 || r.Number > o.number):
		s.done(o, shown)
		*o = outgoing{number: r.Number, frame: r.Datagram.Number, at: at}
		s.top = max(s.top, r.Number)
	case o.number != r.Number || o.frame == 0:
		return
	default:
		o.again++
		if o.acked > 0 {
			s.repeated(o, r.Datagram.Number, shown)
		}
		o.acked = 0
	}
	s.latest[uint8(h.Seq)] = r.Number
}

// repeated handles a retransmission after the acknowledgement of a message.
func (s *stream) repeated(o *outgoing, frame, shown int) {
	t := &s.ackCounts[spanOf(o.number)]
	if t.all == 0 {
		t.frame, t.number = frame, o.number
	}
	t.number = min(t.number, o.number)
	if o.again == 1 {
		t.all++
	}
	if shown <= o.acked { // the network may be slow or interrupted
		return
	}
	list := &t.more
	if o.ignored == 0 {
		if list = &t.acks; o.acked > t.last {
			t.apart, t.last = t.apart+1, o.acked
		}
	}
	list.Of, list.Failed = list.Of+1, list.Failed+1
	o.ignored++
	t.most = max(t.most, o.ignored)
}

// done counts the acknowledgement that ended the retransmissions of a message.
func (s *stream) done(o *outgoing, shown int) {
	t := &s.ackCounts[spanOf(o.number)]
	switch {
	case o.frame == 0 || o.acked == 0 || shown <= o.acked:
	case o.ignored > 0:
		t.more.Of++
	default:
		t.acks.Of++
	}
}

// acknowledged handles an acknowledgement of the client, which may have 8 bits.
func (s *stream) acknowledged(h *transport.Header, frame int) {
	n := s.latest[uint8(h.Seq)]
	if s.wide {
		n = s.top - int64(uint16(s.top)-h.Seq)
	}
	if n < 0 || h.Fragment || len(s.out) == 0 {
		return
	}
	if o := s.at(n); o.frame > 0 && o.number == n && o.acked == 0 {
		o.acked = frame
	}
}

// watch handles a record with a number: a message or an acknowledgement.
func (c *Client) watch(t *timeline, r *dissect.Record) {
	h := &r.Transport
	ack := h.Type == transport.Acknowledge
	if !ack && !h.HasSeq {
		return
	}
	s := &c.streams[class(h)]
	switch fromHost := r.Dir == dissect.FromHost; {
	case fromHost && ack:
		if at := &s.said[uint8(h.Seq)]; *at > 0 {
			c.shown, *at = max(c.shown, *at), 0
			s.since.Failed--
		}
		s.up.Of, s.up.Failed, s.since = s.up.Of+s.since.Of, s.up.Failed+s.since.Failed, measure.Trials{}
	case fromHost:
		s.told(r, t.now.time.Sub(t.begun), c.shown)
	case ack:
		s.acknowledged(h, r.Datagram.Number)
	case !h.Fragment:
		s.since.Of, s.since.Failed = s.since.Of+1, s.since.Failed+1
		if !r.Repeat {
			s.said[uint8(h.Seq)] = r.Datagram.Number
		}
	}
}

// Thresholds for findings, as negative logarithms of probabilities: for a
// finding, and for what one player contributes to it.
const (
	sure   = 20.0
	adding = 4.0
)

// findings judges how the host handles numbers and acknowledgements.
func (t *timeline) findings() (list []result.Finding) {
	for _, c := range t.all {
		for k := range c.streams {
			for i := range c.streams[k].out {
				c.streams[k].done(&c.streams[k].out[i], c.shown)
			}
		}
	}
	for i := range spans {
		if f, ok := t.ignoredAcks(i); ok {
			list = append(list, f)
			if g := t.givenUp(f.Players); len(g.Players) > 0 {
				g.Chance = f.Chance
				list = append(list, g)
			}
		}
	}
	for _, c := range t.all {
		if t.dismissedWhileActive(c) && !slices.ContainsFunc(list, func(f result.Finding) bool { return slices.Contains(f.Players, &c.Player) }) {
			list = append(list, result.Finding{
				Kind: "given-up", Frame: c.dismissed.frame, Number: -1, Messages: 1, Count: 1, Players: []*result.Player{&c.Player},
				Text: fmt.Sprintf("The host tells others that %v has gone, who has not, and has acknowledged all that the host sent again.", c),
			})
		}
	}
	return append(list, t.neverRepeated()...)
}

// dismissedWhileActive reports whether the host told others that a client has
// left, although the client did not leave, still sends, and reaches the host.
// The client was not silent for long, and acknowledged the host's
// retransmissions.
func (t *timeline) dismissedWhileActive(c *Client) bool {
	s, at := &c.streams[1], c.dismissed
	if at.frame == 0 || c.Adopted || c.given == 0 || s.since.Of <= len(rounds) || c.lastFromHost.frame > at.frame {
		return false
	}
	unacknowledged := func(o outgoing) bool { return o.frame > 0 && o.again > 0 && o.acked == 0 }
	return c.seen.frame > at.frame && c.seen.time.Sub(at.time) > arq.FirstInterval && at.since(c.lastFromHost) < arq.FirstInterval && at.since(c.taken) < arq.SilenceLimit && !slices.ContainsFunc(s.out, unacknowledged)
}

// ignoredAcks judges whether the host retransmits messages with numbers in a
// span although it received their acknowledgements. It counts only
// retransmissions that came after the host had shown that it received a later
// message of the client. The losses of the line decide whether each time only
// the acknowledgement was lost.
func (t *timeline) ignoredAcks(span int) (f result.Finding, found bool) {
	f = result.Finding{Kind: result.IgnoredAcks, Number: math.MaxInt64}
	most, players, weight, worst := int32(0), 0, 0.0, 0.0
	for _, c := range t.all {
		s := &c.streams[1]
		line := s.up
		for _, below := range s.ackCounts[:span] {
			line.Of, line.Failed = line.Of+below.acks.Of, line.Failed+below.acks.Failed
		}
		y := &s.ackCounts[span]
		by := y.more.Against(line.Most()) + measure.Trials{Of: y.acks.Of - y.acks.Failed + y.apart, Failed: y.apart}.Against(line.Most())
		if y.more.Failed+y.acks.Failed > 0 {
			players++
			weight += by
		}
		if by < adding {
			continue
		}
		f.Players = append(f.Players, &c.Player)
		f.Messages, f.Count = f.Messages+y.all, f.Count+y.acks.Failed+y.more.Failed
		f.Number, most, worst = min(f.Number, y.number), max(most, y.most), max(worst, line.Most())
		if f.Frame == 0 || y.frame < f.Frame {
			f.Frame = y.frame
		}
	}
	if weight -= float64(players); weight < sure || len(f.Players) == 0 {
		return f, false
	}
	f.Chance = -weight * math.Log10E
	from := ""
	if span > 0 {
		f.From = spans[span-1]
		from = fmt.Sprintf(" from number %d on", f.From)
		if span == 1 {
			from += ", as if it compared a longer count with acknowledgements of 8 bits"
		}
	}
	f.Text = fmt.Sprintf("The host sends messages again, up to %s, although it got their acknowledgements,%s: %d of %s (%s). The line loses at most %.0f %%; the chance that it does this is 1 : 10^%.0f.",
		plural.Count(int(most), "time"), from, f.Messages, plural.Count(len(f.Players), "player"), whoAll(f.Players), 100*worst, -f.Chance)
	return f, true
}

// whoAll returns a list of clients in words.
func whoAll(list []*result.Player) string {
	var all []string
	for _, p := range list {
		all = append(all, p.String())
	}
	return strings.Join(all, ", ")
}

// givenUp returns which players, whose acknowledgements the host ignores, it
// removes. It tells others that they have left, or sends them no keepalives any
// more although they still send.
func (t *timeline) givenUp(players []*result.Player) result.Finding {
	f := result.Finding{Kind: "given-up", Number: -1}
	for _, c := range t.all {
		told := c.dismissed.frame > 0 && (c.seen.frame > c.dismissed.frame || !t.lossy())
		silent := c.streams[1].since.Of > 0 && t.lastFromHost.since(c.lastFromHost) > arq.KeepaliveAfter
		if !slices.Contains(players, &c.Player) || !told && !silent {
			continue
		}
		f.Players, f.Count, f.Messages = append(f.Players, &c.Player), f.Count+1, f.Messages+1
		if f.Frame == 0 || c.lastFromHost.frame < f.Frame {
			f.Frame = c.lastFromHost.frame
		}
	}
	f.Text = fmt.Sprintf("The host removes %s (%s) because of the acknowledgements that it ignores.", plural.Count(len(f.Players), "player"), whoAll(f.Players))
	return f
}

// neverRepeated finds joins that stopped because a message of the host was
// lost: no acknowledgement came, and the host did not retransmit it. It
// excludes a host that repeats a client's id and waits until the client uses
// it.
func (t *timeline) neverRepeated() (list []result.Finding) {
	for _, c := range t.all {
		s, accept := &c.streams[1], &c.streams[0]
		if c.Adopted || c.settled || c.playing || len(s.out) == 0 || !c.spoke && len(accept.out) > 0 && accept.at(0).again > 0 {
			continue
		}
		waited := min(c.lastFromHost.time.Sub(t.begun), c.seen.time.Sub(t.begun))
		if o := s.at(s.top); o.frame > 0 && o.again == 0 && o.acked == 0 && waited > packet.Sum(o.at, arq.AllWaits) {
			list = append(list, result.Finding{
				Kind: "never-repeated", Frame: o.frame, Number: o.number, Messages: 1, Count: 1, Players: []*result.Player{&c.Player},
				Text: fmt.Sprintf("The join of %v stops, since the host never sends message %d again, which was not acknowledged.", c, o.number),
			})
		}
	}
	return list
}
