package conform_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// What a capture must have for a fault that is a finding.
const (
	manyRepeats = 10               // messages that the host sends again although it has their acknowledgements
	goesOn      = 10 * time.Second // in which a player who is put out still sends
)

// A cut is the end of what a host and a client say to each other.
type cut struct {
	frame   int
	stalled bool         // both still send keepalives and control messages, otherwise the host sends nothing
	last    [2]time.Time // time of the last datagram of the client and of the host
}

// keeps changes a datagram after the cut. It reports whether anything is left of it.
func (c *cut) keeps(tb testing.TB, d *frame, fromHost bool) bool {
	tb.Helper()
	if !c.stalled {
		return !fromHost
	}
	last := &c.last[0]
	if fromHost {
		last = &c.last[1]
	}
	b := newDatagram(tb, d)
	for b.next() {
		if b.header.Control() {
			b.keep(nil, nil)
		}
	}
	if b.plain != nil && b.plain[1] == 0 && d.Time.Sub(*last) >= arq.KeepaliveAfter {
		b.add(&transport.Header{Type: transport.DoNothing}, nil)
	}
	left := b.done()
	if left {
		*last = d.Time
	}
	return left
}

// players returns the players of the tape for whom a function returns true, in the
// order in which the host first speaks to them.
func (m *meddler) players(is func(netip.AddrPort) bool) (list []netip.AddrPort) {
	for i := range m.told {
		if to := m.told[i].to; !slices.Contains(list, to) {
			list = append(list, to)
		}
	}
	return slices.DeleteFunc(list, func(to netip.AddrPort) bool { return !is(to) })
}

// speaksUntil returns the time of a player's last datagram.
func (m *meddler) speaksUntil(a netip.AddrPort) (at time.Time) {
	for i := range m.tape {
		if m.tape[i].Src == a {
			at = m.tape[i].Time
		}
	}
	return at
}

// first returns the numbered messages of the host to a player, at their first
// transmission.
func (m *meddler) first(to netip.AddrPort) (list []*told) {
	for i := range m.told {
		if o := &m.told[i]; o.to == to && o.number >= 0 && !o.again && !o.header.Fragment && len(o.payload) > 0 {
			list = append(list, o)
		}
	}
	return list
}

// dueAgain are the times after which a message is due that is not acknowledged.
var dueAgain = []time.Duration{1 * time.Second, 3 * time.Second, 6 * time.Second, 10 * time.Second, 15 * time.Second, 16 * time.Second, 18 * time.Second}

// repeats lets the host ignore the acknowledgements of one player from some message
// on: it sends each message so many times more.
func (m *meddler) repeats(kind string, times int, r *rand.Rand) {
	able := m.players(func(a netip.AddrPort) bool { return len(m.first(a)) >= 4*manyRepeats })
	if len(able) == 0 {
		return
	}
	one := fault{kind: kind, to: able[r.IntN(len(able))], enough: manyRepeats}
	list := m.first(one.to)
	for _, o := range list[r.IntN(len(list)/2):] {
		i := slices.IndexFunc(m.acks[one.to], func(a acked) bool { return a.number == o.number && a.frame > o.frame })
		if i < 0 {
			continue
		}
		ack := m.acks[one.to][i].frame
		for k, wait := range dueAgain[:times] {
			at := slices.IndexFunc(m.tape, func(d frame) bool { return d.Number > ack && d.Time.Sub(o.at) >= wait })
			if at < 0 {
				break
			}
			more := inserted{frame: m.tape[at].Number, header: o.header, body: o.payload, of: len(m.done), again: o}
			if shown := m.shown(one.to, ack, more.frame); shown > 0 && k == 0 {
				more.proof = []int{o.frame, ack, shown}
			}
			m.insert[one.to] = append(m.insert[one.to], more)
		}
	}
	slices.SortStableFunc(m.insert[one.to], func(a, b inserted) int { return a.frame - b.frame })
	m.done = append(m.done, one)
}

// shown returns the first frame before another in which the host acknowledged what a
// player said after a frame, or 0.
func (m *meddler) shown(by netip.AddrPort, after, before int) int {
	for _, s := range m.spoke[by] {
		if at := m.taken[s.numbered]; s.frame > after && at > s.frame && at < before {
			return at
		}
	}
	return 0
}

// putsOut lets the host put a player out in the middle of the game. It tells the
// others, unless the kind is that it doesn't.
func (m *meddler) putsOut(tb testing.TB, kind string, r *rand.Rand) {
	tb.Helper()
	type end struct {
		to netip.AddrPort
		at *told
	}
	var able []end
	last := 0 // a later player would get the place that becomes free
	for _, to := range m.players(func(a netip.AddrPort) bool { return m.joined(a) < len(m.tape) }) {
		last = max(last, m.joined(to))
	}
	for _, to := range m.players(func(a netip.AddrPort) bool { return m.peers[a] > 0 && m.joined(a) < len(m.tape) }) {
		until, plays := m.speaksUntil(to), m.plays(to)
		for _, o := range m.first(to) {
			if o.frame > max(last, plays) && until.Sub(o.at) >= goesOn && len(m.others(to, o.frame)) > 0 {
				able = append(able, end{to, o})
			}
		}
	}
	if len(able) == 0 {
		return
	}
	e := able[r.IntN(len(able))]
	one := fault{kind: kind, to: e.to}
	m.cuts[e.to] = &cut{frame: e.at.frame}
	for i := range m.told {
		o := &m.told[i]
		if o.to == e.to && o.frame > e.at.frame && !o.again {
			m.drop[o] = true
		}
	}
	m.unheard(e.to, e.at.frame)
	if kind == putOut {
		one.enough = 1
		for _, to := range m.others(e.to, e.at.frame) {
			m.insert[to] = append(m.insert[to], m.goodbye(tb, e.to, e.at.frame))
		}
	}
	m.done = append(m.done, one)
}

// unheard removes what the host tells others about what a player does after a
// frame.
func (m *meddler) unheard(player netip.AddrPort, after int) {
	gone := map[numbered]bool{} // the host's messages that are removed
	for i := range m.told {
		o := &m.told[i]
		number := numbered{o.to, o.number}
		out, again := gone[number]
		if !again {
			out = o.to != player && m.concerns(o, player, after)
		}
		if o.number >= 0 {
			gone[number] = out
		}
		if out {
			m.drop[o] = true
		}
	}
}

// concerns reports whether a message of the host is about what a player does after a
// frame. If it isn't known which message it copies, and only that player sends these
// bytes, it is the latest message with them. ClientReady is an answer.
func (m *meddler) concerns(o *told, player netip.AddrPort, after int) bool {
	switch {
	case o.op == msg.OpClientReady || len(o.payload) == 0:
		return false
	case o.about > 0 && o.about == m.peers[player]:
		return o.frame > after
	case o.author.IsValid():
		return o.author == player && o.source > after
	}
	all := m.lines[original(o.payload)]
	return !slices.ContainsFunc(all, func(l said) bool { return l.client != player }) &&
		slices.ContainsFunc(all, func(l said) bool { return l.frame > after && l.frame < o.frame })
}

// joined returns the frame in which a player got the settings, or the number of
// frames.
func (m *meddler) joined(a netip.AddrPort) int {
	for i := range m.told {
		if o := &m.told[i]; o.to == a && o.op == msg.OpSettings {
			return o.frame
		}
	}
	return len(m.tape)
}

// plays returns the frame in which the host first passes on what a player does, or the
// number of frames.
func (m *meddler) plays(a netip.AddrPort) int {
	for i := range m.told {
		if o := &m.told[i]; o.author == a && len(o.payload) > 5 {
			return o.frame
		}
	}
	return len(m.tape)
}

// others returns the other players who are in the game at a frame.
func (m *meddler) others(than netip.AddrPort, at int) []netip.AddrPort {
	return m.players(func(a netip.AddrPort) bool {
		return a != than && m.joined(a) < at && slices.ContainsFunc(m.told, func(o told) bool { return o.to == a && o.frame > at })
	})
}

// goodbye returns a message that tells that a player has gone.
func (m *meddler) goodbye(tb testing.TB, gone netip.AddrPort, at int) inserted {
	tb.Helper()
	body, err := decode.Append(nil, msg.Catalog().Lookup(msg.OpPlayerAnnounce), &msg.PlayerAnnounce{
		Event: event.Event{Class: event.ClassPlayer, Code: event.CodeDeletePlayer, Player: m.peers[gone]},
	}, m.layout)
	if err != nil {
		tb.Fatal(err)
	}
	return inserted{frame: at, header: transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true}, body: body, of: len(m.done), proof: []int{}}
}

// stops lets a join stop at the host's first message, which gets lost behind the
// recording and which the host doesn't send again. Five repetitions are due before
// the client's last datagram.
func (m *meddler) stops(r *rand.Rand) {
	var able []*told
	for _, to := range m.players(func(a netip.AddrPort) bool { return m.joined(a) < len(m.tape) }) {
		if list := m.first(to); list[0].number == 0 && list[0].op == msg.OpChecksumRequest && m.speaksUntil(to).Sub(list[0].at) > arq.AllWaits+2*arq.KeepaliveAfter {
			able = append(able, list[0])
		}
	}
	if len(able) == 0 {
		return
	}
	o := able[r.IntN(len(able))]
	m.cuts[o.to] = &cut{frame: o.frame, stalled: true}
	m.unheard(o.to, o.frame)
	m.done = append(m.done, fault{kind: joinStops, to: o.to, proof: []int{o.frame}})
}
