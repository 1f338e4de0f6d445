// Not part of the library: package measure counts records and measures the
// links of a game: round trips, retransmissions, losses, silence, and the
// regularity of ship updates. The numbers are for people who look for the cause
// of lag. docs/network.md explains them.
//
// A [Meter] is a sink that counts records. It copies what it keeps. Its memory
// is bounded for any traffic, and it counts evictions. Its results can be read
// at any time, for example during a live capture.
package measure

import (
	"cmp"
	"container/list"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Limits of a meter's state.
const (
	MaxLinks       = 512  // two for each conversation. The conversation that was silent longest is evicted first.
	MaxOutstanding = 1024 // messages of a link and class that wait for their acknowledgement. A message is dropped when so many came after it.
	MaxShips       = 4096 // streams of ship updates. The stream that was silent longest is evicted first.
)

// A Link is one direction of a conversation between a client and its host. Its
// text comes from the network: escape it for a terminal.
type Link struct {
	Host   netip.AddrPort `json:"host"`
	Client netip.AddrPort `json:"client"`
	Player wire.Untrusted `json:"player_name,omitempty"` // the client's player. The latest name if there were several, or empty if unknown.
	Peer   uint8          `json:"peer,omitempty"`        // the client's peer id, 0 if unknown
	Dir    dissect.Dir    `json:"dir" as:"text"`

	First     time.Time `json:"first,omitempty"` // times of the sender's first and last datagram
	Last      time.Time `json:"last,omitempty" if:"First"`
	Restarts  int64     `json:"restarts"`  // number of new connects, each of which restarts all sequence numbers
	Datagrams int64     `json:"datagrams"` // includes doubled datagrams, but their messages count once
	Bytes     int64     `json:"bytes"`     // length of the datagrams' payloads on the network
	Messages  int64     `json:"messages"`  // transport messages, retransmissions included
	Control   Class     // reliable messages of the transport layer
	Data      Class     // reliable messages of the game
	Acks      int64     // acknowledgements sent in this direction

	RTT RTT // round trips of the messages sent in this direction

	Silence       time.Duration // longest time between two datagrams
	SilenceAt     time.Time     // when that silence began
	Keepalives    int64
	KeepaliveMean time.Duration // mean time between two keepalives, 0 if there were fewer than two
	KeepaliveMax  time.Duration

	Rate Rate // current rate

	overtaken int64 // messages in Late that were overtaken and not retransmitted
	settled   int64 // transmissions in Data until the last one whose message was acknowledged. Later ones prove no loss: the other side may have ended the connection.
	moot      int64 // transmissions in settled that neither side could acknowledge, since a new connection began
	pending   int64 // messages after settled that still wait
}

// A Class counts the reliable messages of a sequence space. A fragment counts
// as a message.
type Class struct {
	Reliable     int64 `json:"reliable" table:"reliable_messages" doc:"messages that ask for an acknowledgement, retransmissions included, keepalives not"`
	Repeated     int64 `json:"retransmissions" table:"=" doc:"of them, retransmissions"`
	Duplicates   int64 `json:"duplicates" table:"=" doc:"retransmissions of messages that had been acknowledged"` // the receiver already had them
	Acknowledged int64 `json:"acknowledged" table:"=" doc:"messages acknowledged for the first time"`
	Lost         int64 `json:"lost" table:"=" doc:"missing sequence numbers; negative if more came late than were missed"` // between the first and the last number
	Late         int64 `json:"late" table:"=" doc:"sequence numbers that came after a higher one"`
}

// add adds the counts of another class, or subtracts them if sign is -1.
func (c *Class) add(o *Class, sign int64) {
	c.Reliable += sign * o.Reliable
	c.Repeated += sign * o.Repeated
	c.Duplicates += sign * o.Duplicates
	c.Acknowledged += sign * o.Acknowledged
	c.Lost += sign * o.Lost
	c.Late += sign * o.Late
}

// Both returns the sums of both classes.
func (l *Link) Both() Class {
	sum := l.Control
	sum.add(&l.Data, 1)
	return sum
}

// An RTT tells how much time passed at the place of the capture between
// reliable messages and their first acknowledgements. Messages that were
// retransmitted before their acknowledgement do not count, since it is unknown
// which transmission was acknowledged. Median and P95 are accurate to 3.2 %,
// but not better than a microsecond.
type RTT struct {
	N      int64         `json:"rtt_n"` // number of measurements. If it is 0, the other fields are empty.
	Min    time.Duration `json:"rtt_ms_min,omitempty" as:"millis" if:"N"`
	Median time.Duration `json:"rtt_ms_median,omitempty" as:"millis" if:"N"`
	P95    time.Duration `json:"rtt_ms_p95,omitempty" as:"millis" if:"N"`
	Max    time.Duration `json:"rtt_ms_max,omitempty" as:"millis" if:"N"`
	MaxAt  time.Time     // when the message with the time Max was sent
}

// A Rate is the traffic of the last 5 seconds, per second.
type Rate struct{ Datagrams, Messages, Bytes, Repeated float64 }

// A Ship is the stream of updates of one ship in one direction of a
// conversation. Its text comes from the network: escape it for a terminal.
type Ship struct {
	Host   netip.AddrPort `json:"host"`
	Client netip.AddrPort `json:"client"`
	Player wire.Untrusted `json:"player_name,omitempty"` // the player of the conversation, as in Link
	Peer   uint8          `json:"peer,omitempty"`
	Dir    dissect.Dir    `json:"dir" as:"text"`
	Object wire.ObjectID  `json:"object_id"`
	Name   wire.Untrusted `json:"object_name,omitempty"` // the object, such as "Akira (Cady2)", or empty if unknown

	First     time.Time     `json:"first,omitempty"`
	Last      time.Time     `json:"last,omitempty" if:"First"`
	Updates   int64         `json:"updates"`
	Rate      float64       `json:"rate_per_s,omitempty" digits:"3"` // updates per second: 1 / Mean, or 0 if Mean is 0
	Intervals int64         // number of intervals between successive updates. Intervals that contain a new connect of the client do not count.
	Mean      time.Duration `json:"interval_ms_mean,omitempty" as:"millis" if:"Intervals"`    // mean interval
	Longest   time.Duration `json:"interval_ms_longest,omitempty" as:"millis" if:"Intervals"` // longest interval
	LongestAt time.Time     // when the longest interval began
	Jitter    time.Duration // mean absolute difference between successive intervals
}

// GivenUp counts evictions, and messages that are not in the report.
type GivenUp struct {
	Links       int64 // links that are missing from the report
	Outstanding int64 // evicted messages, whose acknowledgements are not measured
	Ships       int64 // streams that are missing from the report
	Undirected  int64 // messages of unknown senders
}

// A Meter measures. Its zero value is ready to use. It is not safe for
// concurrent use.
type Meter struct {
	// LinksOnly omits the streams of ship updates and the rates, which saves time.
	// It requires that all frame numbers belong to one capture.
	LinksOnly bool
	// Outstanding is how many messages of a link and class may wait for their
	// acknowledgement, at most [MaxOutstanding]. 0 means MaxOutstanding.
	Outstanding int

	conversations map[pair]*conversation
	recent        [16]*conversation // indexed by the number of the conversation, to find most of them without the map
	uses          uint64

	streams map[streamKey]*stream
	order   list.List // streams, the most recently updated first
	name    []byte

	givenUp GivenUp
	now     int64 // time of the last datagram or of Advance, in nanoseconds

	current   *link // link of the last datagram
	datagrams Datagrams
}

// pair identifies a conversation.
type pair struct{ host, client netip.AddrPort }

type conversation struct {
	pair
	number   int // number of the conversation
	index    int // index of the player, -1 if unknown
	player   wire.Untrusted
	peer     uint8
	restarts int64
	used     uint64 // when it was last used, in uses of all conversations
	ended    bool   // the client has left, or the host has removed it
	streams  int    // number of streams of ships
	links    [2]link
}

// side returns the index of the link in a direction.
func side(d dissect.Dir) int {
	if d == dissect.FromHost {
		return 1
	}
	return 0
}

// dirs are the directions of links, by index.
var dirs = [2]dissect.Dir{dissect.ToHost, dissect.FromHost}

// Close does nothing.
func (m *Meter) Close() error { return nil }

// use notes that a datagram of a conversation begins, and its time.
func (m *Meter) use(c *conversation, r *dissect.Record, at moment) {
	if c.number, c.index = r.Conversation, -1; r.Player != nil {
		c.index = r.Player.Index
	}
	m.uses++
	c.used = m.uses
	if at.known {
		m.now = at.ns
	}
}

// Record counts r. It never fails.
func (m *Meter) Record(r *dissect.Record) error {
	if r.Kind != dissect.KindMessage && r.Kind != dissect.KindMalformed || r.Datagram == nil {
		return nil
	}
	if r.DoubleOf > 0 {
		m.double(r)
		return nil
	}
	if r.Dir != dissect.ToHost && r.Dir != dissect.FromHost {
		m.givenUp.Undirected++
		return nil
	}
	id, updates := updated(r)
	if m.LinksOnly && updates && !r.Transport.Reliable && m.current != nil && m.datagrams.continues(r) {
		m.datagrams.part = r.Part
		m.current.Messages++
		m.current.lap.updates++
		return nil
	}
	d := r.Datagram
	c := m.conversation(r)
	at := moment{packet.Nanos(d.Time), !d.Time.IsZero()}
	if restarts(r) {
		m.restart(c)
	}
	if r.Client != "" {
		c.player = r.Client
	}
	if r.ClientID != 0 {
		c.peer = r.ClientID
	}
	l := &c.links[side(r.Dir)]
	m.current = l
	if m.datagrams.Begins(r) {
		m.use(c, r, at)
		l.datagram(d, at, !m.LinksOnly)
	}
	if r.Kind == dissect.KindMalformed {
		return nil
	}
	l.message(r, at, !m.LinksOnly)
	if t := r.Transport.Type; t.Ends() || t == transport.Connect {
		c.ended = t.Ends()
	}
	switch h := &r.Transport; {
	case h.Type == transport.Acknowledge:
		l.Acks++
		if h.HasSeq {
			c.links[1-side(r.Dir)].acknowledge(h, at)
		}
	case h.HasSeq && !r.Challenge():
		l.reliable(r, at, &m.givenUp)
	}
	if updates {
		l.lap.updates++
		if !m.LinksOnly {
			m.update(c, r, id, at)
		}
	}
	return nil
}

// double counts a datagram that the network or the capture doubled. It does not
// measure anything else about it, since the sender sent it only once.
func (m *Meter) double(r *dissect.Record) {
	if r.Dir == dissect.DirUnknown || !m.datagrams.Begins(r) {
		return
	}
	if l := &m.conversation(r).links[side(r.Dir)]; l.Datagrams > 0 {
		l.Datagrams++
		l.Bytes += sizeOf(r.Datagram)
	}
}

// Advance sets the time, so that the rates on a dashboard fall during silence.
// It does not affect other results.
func (m *Meter) Advance(now time.Time) {
	if t := packet.Nanos(now); t > m.now {
		m.now = t
	}
}

// Links returns the measurements in the order of host, client and direction.
func (m *Meter) Links() []Link {
	var out []Link
	for _, c := range m.conversations {
		for i := range c.links {
			if c.links[i].Datagrams > 0 {
				out = append(out, c.links[i].result(c, m.now))
			}
		}
	}
	slices.SortFunc(out, func(a, b Link) int {
		return cmp.Or(a.Host.Compare(b.Host), a.Client.Compare(b.Client), cmp.Compare(a.Dir, b.Dir))
	})
	return out
}

// A Lap has the traffic of a link since the last lap, or since the link's
// beginning. Its text comes from the network: escape it for a terminal.
type Lap struct {
	Host         netip.AddrPort `table:"host" doc:"[ip:port]"`
	Client       netip.AddrPort `table:"client" doc:"[ip:port]"`
	Dir          dissect.Dir    `table:"dir" as:"text" doc:"[c2s] or [s2c]: the direction that the row measures"`
	Conversation int            `table:"conversation,omitempty" doc:"as in [records]"`    // the latest conversation between the two
	Index        int            `table:"player" as:"index" doc:"as in [records]"`         // -1 if unknown
	Player       wire.Untrusted `table:"player_name,omitempty" doc:"name of that player"` // the latest name

	Datagrams int64         `table:"datagrams" doc:"sent"`
	Bytes     int64         `table:"bytes" doc:"of UDP payload"`
	Messages  int64         `table:"messages" doc:"transport messages"`
	Class                   // sum of both classes
	RTTs      int64         `table:"rtt_n" doc:"round trips measured"`
	RTT       time.Duration `table:"rtt_ms_mean,omitempty" as:"millis" doc:"their mean in milliseconds"` // 0 if none was measured
	RTTMax    time.Duration `table:"rtt_ms_max,omitempty" as:"millis" doc:"the longest"`
	Silence   time.Duration `table:"silence_ms_longest,omitempty" as:"millis" doc:"longest silence that ended in these seconds"`
	SilenceAt time.Time     `table:"silence_at" if:"Silence" doc:"when it began"`
	Updates   int64         `table:"updates" doc:"ship updates sent"`
}

// Laps yields the traffic of each link since the last call, in no order. It
// frees the memory of conversations that have long been silent, except for
// their results.
func (m *Meter) Laps(yield func(*Lap)) {
	for _, c := range m.conversations {
		c.rest(m.now)
		for i := range c.links {
			if l := &c.links[i]; l.Datagrams > 0 {
				out := l.endLap()
				out.Host, out.Client, out.Dir = c.host, c.client, dirs[i]
				out.Conversation, out.Index, out.Player = c.number, c.index, c.player
				yield(&out)
			}
		}
	}
}

// rest frees the memory for measuring acknowledgements of a conversation at
// rest.
func (c *conversation) rest(now int64) {
	for i := range c.links {
		if l := &c.links[i]; l.last.known && !transport.AtRest(time.Duration(packet.Minus(now, l.last.ns)), c.ended) {
			return
		}
	}
	for i := range c.links {
		l := &c.links[i]
		l.gaps = nil
		l.spaces[0].rest(math.MaxInt64) // nothing counts them
		l.spaces[1].rest(l.settled)
	}
}

// GivenUp returns what is missing from the results.
func (m *Meter) GivenUp() GivenUp { return m.givenUp }

// conversation returns the conversation of a record.
func (m *Meter) conversation(r *dissect.Record) *conversation {
	host, client := &r.Datagram.Dst, &r.Datagram.Src
	if r.Dir == dissect.FromHost {
		host, client = client, host
	}
	recent := &m.recent[uint(r.Conversation)%uint(len(m.recent))]
	if c := *recent; c != nil && c.host == *host && c.client == *client {
		return c
	}
	p := pair{*host, *client}
	c := m.conversations[p]
	if c == nil {
		c = m.open(p)
	}
	*recent = c
	return c
}

// open makes room for a conversation and adds it.
func (m *Meter) open(p pair) *conversation {
	if m.conversations == nil {
		m.conversations = map[pair]*conversation{}
	}
	var c *conversation
	if len(m.conversations) < MaxLinks/2 {
		c = new(conversation)
	} else {
		for _, other := range m.conversations {
			if c == nil || other.used < c.used {
				c = other
			}
		}
		delete(m.conversations, c.pair)
		for i := range c.links {
			if c.links[i].Datagrams > 0 {
				m.givenUp.Links++
			}
		}
		for s := range m.streamsOf(c) {
			m.drop(s)
		}
		*c = conversation{}
	}
	m.uses++
	c.pair, c.used = p, m.uses
	for i := range c.links {
		for k := range c.links[i].spaces {
			c.links[i].spaces[k].waiting.most = m.Outstanding
		}
	}
	m.conversations[p] = c
	return c
}

// restarts reports whether the record is a new connect of a client.
func restarts(r *dissect.Record) bool {
	if r.Transport.Type != transport.Connect || r.Dir != dissect.ToHost {
		return false
	}
	return slices.ContainsFunc(r.Notes, func(n dissect.Note) bool { return n.Code == "restart" })
}

// restart resets the numbers of a conversation. The time between two
// connections does not count as silence.
func (m *Meter) restart(c *conversation) {
	c.restarts++
	for i := range c.links {
		c.links[i].restart()
	}
	for s := range m.streamsOf(c) {
		s.before, s.follows = moment{}, false // the time until the next update is no interval
	}
}

// Datagrams finds where datagrams begin among the records that a sink gets.
// Frame numbers are not enough, since a sink may get several captures one after
// another.
type Datagrams struct {
	seen         bool
	number, part int // numbers of the last record
}

// Begins reports whether r is the first record of its datagram that it is
// called with.
func (d *Datagrams) Begins(r *dissect.Record) bool {
	again := d.continues(r)
	*d = Datagrams{true, r.Datagram.Number, r.Part}
	return !again
}

// continues reports whether r belongs to the same datagram as the record
// before.
func (d *Datagrams) continues(r *dissect.Record) bool {
	return d.seen && r.Datagram.Number == d.number && r.Part > d.part
}

// A moment is a time that may be missing.
type moment struct {
	ns    int64
	known bool
}

// since returns the time since an earlier moment. If it is negative, ok is
// false. Clocks can go back, and captures can be read in another order than
// they were made.
func (t moment) since(earlier moment) (ns int64, ok bool) {
	ns = packet.Minus(t.ns, earlier.ns)
	return ns, t.known && earlier.known && ns >= 0
}
