package relay

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A bucket limits how often events happen: it fills at the rate, and each event
// takes from it.
type bucket struct {
	rate  Rate
	level float64
	last  time.Time
	rest  *bucket // if not nil, what this bucket is charged is taken from that one as well
}

// fill fills the bucket up to the time now.
func (b *bucket) fill(now time.Time) {
	if b.last.IsZero() {
		b.level = b.rate.Burst
	} else if now.After(b.last) {
		b.level = min(b.rate.Burst, b.level+b.rate.PerSecond*now.Sub(b.last).Seconds())
	}
	b.last = now
}

// charge takes for events that have happened. The bucket can go as far below
// zero as it can hold.
func (b *bucket) charge(now time.Time, n float64) {
	b.fill(now)
	b.level = max(b.level-n, -b.rate.Burst)
	if b.rest != nil {
		b.rest.charge(now, n)
	}
}

// holds reports whether the bucket is not empty.
func (b *bucket) holds(now time.Time) bool {
	b.fill(now)
	return b.level > 0
}

// earn adds n, up to what the bucket can hold.
func (b *bucket) earn(now time.Time, n float64) {
	b.fill(now)
	b.level = min(b.level+n, b.rate.Burst)
}

func (b *bucket) take(now time.Time, n float64) bool {
	b.fill(now)
	if b.level < n {
		return false
	}
	b.level -= n
	if b.rest != nil {
		b.rest.charge(now, n)
	}
	return true
}

// rates keeps a bucket for each address. If there are too many, it drops the
// full ones, at most once a second. While none is full, new addresses get
// nothing.
type rates struct {
	rate  Rate
	limit int
	by    map[netip.Addr]*bucket
	swept time.Time
}

func newRates(rate Rate, limit int) rates {
	return rates{rate: rate, limit: limit, by: map[netip.Addr]*bucket{}}
}

func (r *rates) take(now time.Time, addr netip.Addr) bool {
	b := r.by[addr]
	if b == nil {
		if len(r.by) >= r.limit && now.Sub(r.swept) >= time.Second {
			r.forget(now)
		}
		if len(r.by) >= r.limit {
			return false
		}
		b = &bucket{rate: r.rate}
		r.by[addr] = b
	}
	return b.take(now, 1)
}

// lacks reports whether there is no room for an address.
func (r *rates) lacks(addr netip.Addr) bool { return r.by[addr] == nil && len(r.by) >= r.limit }

// forget drops the buckets that are full by now, which does not change what
// their addresses may do.
func (r *rates) forget(now time.Time) {
	r.swept = now
	for addr, b := range r.by {
		if b.level+r.rate.PerSecond*now.Sub(b.last).Seconds() >= r.rate.Burst {
			delete(r.by, addr)
		}
	}
}

// A budget limits one client's traffic, and the traffic it causes.
type budget struct {
	datagrams, bytes, messages, control, games, reliable, reliableBytes, fanOut bucket

	names  bucket // names that are passed on
	ready  bucket // times that the game is sent again because the client is ready again
	bogus  bucket // acknowledgements of messages never sent
	excess bucket // messages beyond the other limits
}

// Rates of messages that a client normally sends once.
var (
	nameRate  = Rate{1, 4}
	readyRate = Rate{0.2, 3}
	bogusRate = Rate{2, 64}
)

func newBudget(l *Limits) budget {
	of := func(r Rate) bucket { return bucket{rate: r} }
	return budget{
		datagrams: of(l.PeerRate), bytes: of(l.PeerBytes), messages: of(l.MessageRate), control: of(l.ControlRate),
		games: of(l.GameRate), reliable: of(l.ReliableRate), reliableBytes: of(l.ReliableBytes), fanOut: of(l.FanOut),
		names: of(nameRate), ready: of(readyRate), bogus: of(bogusRate), excess: of(l.Patience),
	}
}

// leave has another budget hold what this one leaves unused.
func (b *budget) leave(rest *budget) {
	b.datagrams.rest, b.bytes.rest, b.messages.rest = &rest.datagrams, &rest.bytes, &rest.messages
	b.control.rest, b.games.rest, b.fanOut.rest = &rest.control, &rest.games, &rest.fanOut
	b.reliable.rest, b.reliableBytes.rest = &rest.reliable, &rest.reliableBytes
}

// How many acknowledgements a client may send for a message. OpenBC's clients
// send each acknowledgement in a separate datagram. The game's clients send up
// to nine for a message.
const (
	answerTimes = 9
	answerBytes = answerTimes * 5
)

// answer makes room for the acknowledgements of messages that the client is
// sent, since it has to send them.
func (b *budget) answer(now time.Time, messages int) {
	n := float64(messages)
	b.datagrams.earn(now, n)
	b.bytes.earn(now, answerBytes*n)
	b.messages.earn(now, answerTimes*n)
}

// purse returns the budget for the client's current datagram. What comes without
// a sign may be somebody else's. It may use what the client leaves of its budget,
// but takes nothing away from the client.
func (p *peer) purse() *budget {
	if p.unsigned {
		return &p.doubtful
	}
	return &p.budget
}

// over counts a message dropped beyond the budget, and removes a client that
// goes on.
func (h *Host) over(p *peer, why Drop) {
	h.drop(why)
	if h.cfg.Captured || h.suspected(p) || p.unsigned { // the traffic may not be the client's
		return
	}
	h.complain(Limited, p, "it sends more "+why.traffic()+" than allowed; the excess is dropped")
	if !p.budget.excess.take(h.now, 1) {
		h.putOut(p, Kicked, transport.BootKicked, "it goes on sending more "+why.traffic()+" than allowed")
	}
}

// traffic returns what a drop beyond a limit had too much of.
func (d Drop) traffic() string {
	switch d {
	case DropDatagrams:
		return "datagrams"
	case DropBytes:
		return "bytes"
	case DropMessages:
		return "transport messages"
	case DropControl:
		return "control messages"
	case DropGame:
		return "game messages"
	case DropReliable:
		return "reliable game messages"
	case DropFanOut:
		return "for others to receive"
	case DropMalformed, DropStranger, DropWrongID, DropForged, DropConnects, DropCrowd, DropQueries, DropSend, Drops:
	}
	return d.String()
}

// datagramAllowed reports whether a client may send a datagram of some size.
func (h *Host) datagramAllowed(p *peer, size int) bool {
	switch {
	case h.cfg.Captured:
		return true
	case !p.purse().datagrams.take(h.now, 1):
		h.over(p, DropDatagrams)
	case !p.purse().bytes.take(h.now, float64(size)):
		h.over(p, DropBytes)
	default:
		return true
	}
	return false
}

// messageAllowed reports whether a client may send a transport message. A
// message that it may not send is not acknowledged, so that an honest client
// sends it again.
func (h *Host) messageAllowed(p *peer, m *transport.Message) bool {
	if h.cfg.Captured {
		return true
	}
	why, ok := h.within(p, m)
	if !ok {
		h.over(p, why)
	}
	return ok
}

// within takes a transport message from the budget of its sender. If the budget
// is too low, within returns the reason to drop the message.
func (h *Host) within(p *peer, m *transport.Message) (lacks Drop, ok bool) {
	b := p.purse()
	if !b.messages.take(h.now, 1) {
		return DropMessages, false
	}
	switch m.Type {
	case transport.Acknowledge, transport.DoNothing, transport.Disconnect, transport.Leave:
		return 0, true
	case transport.NameChange, transport.Connect, transport.BootPlayer:
		return DropControl, m.Short || b.control.take(h.now, 1) // short messages are keepalives of OpenBC's clients
	case transport.Standard:
	}
	switch {
	case !b.games.take(h.now, 1):
		return DropGame, false
	case !b.fanOut.holds(h.now):
		return DropFanOut, false
	case m.Reliable && p.phase != Checking && (!b.reliable.take(h.now, 1) || !b.reliableBytes.take(h.now, float64(len(m.Body)))):
		return DropReliable, false
	}
	return 0, true
}
