// Not part of the library: package measure counts records and measures the
// links of a game: round trips, retransmissions, losses, silence, and the
// regularity of ship updates. The numbers are for people who look for lag;
// docs/network.md explains them.
//
// A [Meter] is a sink that counts records. It keeps copies, its memory is
// bounded for any traffic, and it counts evictions. Its results can be read at
// any time, also during a live capture.
package measure

import (
	"cmp"
	"container/list"
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
	MaxLinks       = 512  // two for each conversation; the conversation that was silent longest goes first
	MaxOutstanding = 1024 // messages of a link and class that wait for their acknowledgement; a message is given up when so many came after it
	MaxShips       = 4096 // streams of ship updates; the one that was silent longest goes first
)

// A Link is one direction of a conversation between a client and its host. Its
// text is from the network: escape it before a terminal sees it.
type Link struct {
	Host   netip.AddrPort `json:"host"`
	Client netip.AddrPort `json:"client"`
	Player wire.Untrusted `json:"player_name,omitempty"` // the client's player, the latest name if there were several; empty if it is not known
	Peer   uint8          `json:"peer,omitempty"`        // the client's peer id, 0 if it is not known
	Dir    dissect.Dir    `json:"dir" as:"text"`

	First     time.Time `json:"first,omitempty"` // times of datagrams of the sender
	Last      time.Time `json:"last,omitempty" if:"First"`
	Restarts  int64     `json:"restarts"`  // number of new connects, which restart all sequence numbers
	Datagrams int64     `json:"datagrams"` // doubled ones count twice, but their messages once
	Bytes     int64     `json:"bytes"`     // of the datagrams' payloads, as they were on the network
	Messages  int64     `json:"messages"`  // transport messages, retransmissions included
	Control   Class     // reliable messages of the transport layer itself
	Data      Class     // reliable messages of the game
	Acks      int64     // acknowledgements that were sent in this direction

	RTT RTT // of the messages sent in this direction

	Silence       time.Duration // longest time between two datagrams
	SilenceAt     time.Time     // when that began
	Keepalives    int64
	KeepaliveMean time.Duration // between two keepalives, 0 if there were less
	KeepaliveMax  time.Duration

	Rate Rate // now

	overtaken int64 // of Late: they were not sent again
	pending   int64 // of Data: their acknowledgements may still come
}

// A Class counts the reliable messages of a sequence space. A fragment counts
// as a message.
type Class struct {
	Reliable     int64 `json:"reliable" table:"reliable_messages" doc:"messages that ask for an acknowledgement, retransmissions included, keepalives not"`
	Repeated     int64 `json:"retransmissions" table:"=" doc:"of them, retransmissions"`
	Duplicates   int64 `json:"duplicates" table:"=" doc:"retransmissions of messages that had been acknowledged"` // the receiver had them already
	Acknowledged int64 `json:"acknowledged" table:"=" doc:"messages acknowledged for the first time"`
	Lost         int64 `json:"lost" table:"=" doc:"missing sequence numbers; negative if more came late than were missed"` // between the first and the last
	Late         int64 `json:"late" table:"=" doc:"sequence numbers that came after a higher one"`
}

// add adds the counts of another class, or takes them away if sign is -1.
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
// reliable messages and their first acknowledgements. Messages that were sent
// again before that do not count, since it is not known which of them was
// acknowledged. Median and P95 are off by 3.2 % at most, and by a microsecond
// where they are less than that.
type RTT struct {
	N      int64         `json:"rtt_n"` // how many were measured; 0 leaves the rest empty
	Min    time.Duration `json:"rtt_ms_min,omitempty" as:"millis" if:"N"`
	Median time.Duration `json:"rtt_ms_median,omitempty" as:"millis" if:"N"`
	P95    time.Duration `json:"rtt_ms_p95,omitempty" as:"millis" if:"N"`
	Max    time.Duration `json:"rtt_ms_max,omitempty" as:"millis" if:"N"`
	MaxAt  time.Time     // when the message of Max was sent
}

// A Rate is the traffic of the last 5 seconds, per second.
type Rate struct{ Datagrams, Messages, Bytes, Repeated float64 }

// A Ship is the stream of updates of one ship in one direction of a
// conversation. Its text is from the network: escape it before a terminal sees
// it.
type Ship struct {
	Host   netip.AddrPort `json:"host"`
	Client netip.AddrPort `json:"client"`
	Player wire.Untrusted `json:"player_name,omitempty"` // the player of the conversation, as in Link
	Peer   uint8          `json:"peer,omitempty"`
	Dir    dissect.Dir    `json:"dir" as:"text"`
	Object wire.ObjectID  `json:"object_id"`
	Name   wire.Untrusted `json:"object_name,omitempty"` // the object, such as "Akira (Cady2)"; empty if unknown

	First     time.Time     `json:"first,omitempty"`
	Last      time.Time     `json:"last,omitempty" if:"First"`
	Updates   int64         `json:"updates"`
	Rate      float64       `json:"rate_per_s,omitempty" digits:"3"` // updates a second: 1 / Mean; 0 if that is
	Intervals int64         // between successive updates; new connects of the client do not count
	Mean      time.Duration `json:"interval_ms_mean,omitempty" as:"millis" if:"Intervals"`    // of the intervals
	Longest   time.Duration `json:"interval_ms_longest,omitempty" as:"millis" if:"Intervals"` // interval
	LongestAt time.Time     // when it began
	Jitter    time.Duration // mean of the differences between successive intervals, without sign
}

// GivenUp counts evictions, and messages that have no place in the report.
type GivenUp struct {
	Links       int64 // that are missing from the report
	Outstanding int64 // evicted messages: their acknowledgements are not measured
	Ships       int64 // streams that are missing from the report
	Undirected  int64 // messages of unknown senders
}

// A Meter measures. Its zero value is ready to use. It is not safe for
// concurrent use.
type Meter struct {
	// LinksOnly leaves the streams of ship updates and the rates out, which saves
	// time. It takes frame numbers to be of one capture.
	LinksOnly bool
	// Outstanding, unless 0, is how many messages of a link and class wait for their
	// acknowledgement; it is at most [MaxOutstanding], which 0 stands for.
	Outstanding int

	conversations map[pair]*conversation
	recent        [16]*conversation // by the number of the conversation, to find most without the map
	uses          uint64

	streams map[streamKey]*stream
	order   list.List // of them, the latest updated first
	name    []byte

	givenUp GivenUp
	now     int64 // nanoseconds; time of the last datagram or of Advance

	current   *link // of the last datagram
	datagrams Datagrams
}

// pair identifies a conversation.
type pair struct{ host, client netip.AddrPort }

type conversation struct {
	pair
	number   int // of the conversation
	index    int // of the player, -1 if it is not known
	player   wire.Untrusted
	peer     uint8
	restarts int64
	used     uint64 // by which the least recently used is found
	streams  int    // of ships
	links    [2]link
}

// side returns the index of the link of a direction.
func side(d dissect.Dir) int {
	if d == dissect.FromHost {
		return 1
	}
	return 0
}

// dirs are the directions of links by their index.
var dirs = [2]dissect.Dir{dissect.ToHost, dissect.FromHost}

// Close does nothing.
func (m *Meter) Close() error { return nil }

// use notes whose datagram begins, and when.
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
	switch h := &r.Transport; {
	case h.Type == transport.Acknowledge:
		l.Acks++
		if h.HasSeq {
			c.links[1-side(r.Dir)].acknowledge(h, at)
		}
	case h.HasSeq:
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

// double counts a datagram that the network or the capture doubled. Nothing else
// is measured on it: it is not the sender's.
func (m *Meter) double(r *dissect.Record) {
	if r.Dir == dissect.DirUnknown || !m.datagrams.Begins(r) {
		return
	}
	if l := &m.conversation(r).links[side(r.Dir)]; l.Datagrams > 0 {
		l.Datagrams++
		l.Bytes += sizeOf(r.Datagram)
	}
}

// Advance sets the time, so that the rates of a dashboard fall during silence.
// Results do not depend on it otherwise.
func (m *Meter) Advance(now time.Time) {
	if t := packet.Nanos(now); t > m.now {
		m.now = t
	}
}

// Links returns the measurements, by host, client and direction.
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

// A Lap holds the traffic of a link since the last lap, or since its beginning.
// Its text is from the network: escape it before a terminal sees it.
type Lap struct {
	Host         netip.AddrPort `table:"host" doc:"[ip:port]"`
	Client       netip.AddrPort `table:"client" doc:"[ip:port]"`
	Dir          dissect.Dir    `table:"dir" as:"text" doc:"[c2s] or [s2c]: the direction that the row measures"`
	Conversation int            `table:"conversation,omitempty" doc:"as in [records]"`    // the latest between the two
	Index        int            `table:"player" as:"index" doc:"as in [records]"`         // -1 if it is not known
	Player       wire.Untrusted `table:"player_name,omitempty" doc:"name of that player"` // the latest one

	Datagrams int64         `table:"datagrams" doc:"sent"`
	Bytes     int64         `table:"bytes" doc:"of UDP payload"`
	Messages  int64         `table:"messages" doc:"transport messages"`
	Class                   // of both classes
	RTTs      int64         `table:"rtt_n" doc:"round trips measured"`
	RTT       time.Duration `table:"rtt_ms_mean,omitempty" as:"millis" doc:"their mean in milliseconds"` // 0 if none was measured
	RTTMax    time.Duration `table:"rtt_ms_max,omitempty" as:"millis" doc:"the longest"`
	Silence   time.Duration `table:"silence_ms_longest,omitempty" as:"millis" doc:"longest silence that ended in these seconds"`
	SilenceAt time.Time     `table:"silence_at" if:"Silence" doc:"when it began"`
	Updates   int64         `table:"updates" doc:"ship updates sent"`
}

// Laps yields the traffic of each link since the last call, in no order. Conversations
// that have long been silent keep no more memory than their results need.
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

// restful is after how much silence nothing that was sent before is acknowledged or sent
// again: hosts and clients have given each other up.
const restful = 2 * time.Minute

// rest frees what measures acknowledgements, if both sides have been silent for so long.
func (c *conversation) rest(now int64) {
	for i := range c.links {
		if l := &c.links[i]; l.last.known && packet.Minus(now, l.last.ns) < int64(restful) {
			return
		}
	}
	for i := range c.links {
		l := &c.links[i]
		l.gaps = nil
		for k := range l.spaces {
			l.spaces[k].rest()
		}
	}
}

// GivenUp returns the parts missing from the results.
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

// open makes room for a conversation.
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

// restart begins the numbers of a conversation again. Times between the
// connections are no silence.
func (m *Meter) restart(c *conversation) {
	c.restarts++
	for i := range c.links {
		c.links[i].restart()
	}
	for s := range m.streamsOf(c) {
		s.before, s.follows = moment{}, false // the time until the next update does not count
	}
}

// Datagrams tells where datagrams begin among the records that a sink gets. Frame
// numbers alone do not tell where one capture ends and the next begins.
type Datagrams struct {
	seen         bool
	number, part int // of the last record
}

// Begins reports whether r is the first record of its datagram that comes here.
func (d *Datagrams) Begins(r *dissect.Record) bool {
	again := d.continues(r)
	*d = Datagrams{true, r.Datagram.Number, r.Part}
	return !again
}

// continues reports whether r is of the same datagram as the record before.
func (d *Datagrams) continues(r *dissect.Record) bool {
	return d.seen && r.Datagram.Number == d.number && r.Part > d.part
}

// A moment is a time, if there is one.
type moment struct {
	ns    int64
	known bool
}

// since returns the time that passed since an earlier moment. Clocks that go
// backwards, and captures that follow each other in another order than they
// were made, tell nothing.
func (t moment) since(earlier moment) (ns int64, ok bool) {
	ns = packet.Minus(t.ns, earlier.ns)
	return ns, t.known && earlier.known && ns >= 0
}
