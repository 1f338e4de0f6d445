package capture

import (
	"bytes"
	"net/netip"
	"slices"
	"time"

	"github.com/google/gopacket/layers"
)

// Limits of the joiner's memory. The buffers of all datagrams together
// take 16 MiB at most.
const (
	maxUnfinished = 256
	maxWhole      = 1 << 16               // bytes of one IP datagram
	maxSpans      = 128                   // gaps in one datagram
	maxPieces     = maxWhole / 8          // frames of one datagram that are remembered
	maxPieceAge   = 30 * time.Second      // in capture time, since the first fragment
	maxDoubleAge  = 50 * time.Millisecond // how long after a datagram a copy of it may follow if the network doubled its fragments
)

// A piece is one IP fragment.
type piece struct {
	key    pieceKey
	next   layers.IPProtocol // protocol of the whole datagram, if offset is 0
	offset int
	more   bool // not the last
	data   []byte
	full   int // length on the network, not less than len(data)
	frame  int // number of its frame
}

// A pieceKey identifies the fragments of one datagram.
type pieceKey struct {
	src, dst netip.Addr
	id       uint32
	protocol layers.IPProtocol // IPv4 only
}

// A whole is a joined datagram. Its data are valid until the next fragment is
// added.
type whole struct {
	data   []byte // up to the first missing byte
	full   int
	next   layers.IPProtocol
	frames []int // frame numbers of the fragments except the last
}

// A joiner reassembles IP fragments in any order. Where fragments overlap, the
// first bytes stay, so a repeated fragment does no harm. If the network doubles each
// fragment of a datagram, the joiner yields the datagram twice.
//
// gopacket's ip4defrag is not used: it has no bounds, never joins fragments that
// overlap, and knows IPv4 only.
type joiner struct {
	parts   map[pieceKey]*part
	order   []*part // oldest first
	free    []*part
	evicted int
}

// A part is an incomplete datagram.
type part struct {
	key   pieceKey
	since time.Time
	data  []byte
	spans []span // received spans, in order, none touching the next
	full  int    // -1 until the last fragment arrives
	held  int    // the snap length cut off data from here on
	next  layers.IPProtocol

	frames []int // frame numbers of its fragments

	again  []span    // received twice
	copies []int     // frames of these pieces
	done   time.Time // when the datagram was complete: this is a copy of it
}

type span struct{ lo, hi int }

// add takes a fragment. It returns the whole if that is complete now.
func (j *joiner) add(now time.Time, p *piece) (whole, outcome) {
	end := p.offset + p.full
	if p.full <= 0 || end >= maxWhole || p.more && p.full%8 != 0 {
		return whole{}, malformed
	}
	for len(j.order) > 0 && now.Sub(j.order[0].since) > maxPieceAge {
		j.evict(j.order[0])
	}
	u := j.parts[p.key]
	if u != nil && (now.Sub(u.since).Abs() > maxPieceAge || u.isCopy() && now.Sub(u.done).Abs() > maxDoubleAge) {
		j.evict(u) // an older datagram with the same identification
		u = nil
	}
	switch {
	case u == nil:
		u = j.begin(now, p.key)
	case u.repeats(p, end):
		if again := cover(u.again, p.offset, end); len(again) <= maxSpans && len(u.copies) < maxPieces {
			u.again, u.copies = again, append(u.copies, p.frame)
		}
		return whole{}, fragment
	}
	if !u.insert(p, end) {
		j.evict(u)
		return whole{}, malformed
	}
	if p.offset == 0 {
		u.next = p.next
	}
	if u.full < 0 || len(u.spans) != 1 || u.spans[0] != (span{0, u.full}) {
		if len(u.frames) < maxPieces {
			u.frames = append(u.frames, p.frame)
		}
		return whole{}, fragment
	}
	// The data stay until the next call, also in the free list.
	w := whole{u.data[:min(u.full, u.held)], u.full, u.next, u.frames}
	if len(u.again) == 0 {
		j.drop(u)
		return w, gaveDatagram
	}
	u.spans, u.again, u.frames, u.copies, u.done = u.again, u.spans[:0], u.copies, nil, now
	if u.spans[len(u.spans)-1].hi != u.full {
		u.full = -1
	}
	return w, gaveDatagram
}

// isCopy reports whether the datagram was complete once, and the pieces are those
// that came twice.
func (u *part) isCopy() bool { return !u.done.IsZero() }

// repeats reports whether a piece holds nothing but what the part holds.
func (u *part) repeats(p *piece, end int) bool {
	return (p.more || u.full == end) && bytes.HasPrefix(u.data[min(p.offset, len(u.data)):], p.data) &&
		slices.ContainsFunc(u.spans, func(s span) bool { return s.lo <= p.offset && end <= s.hi })
}

// unfinished returns the number of incomplete datagrams.
func (j *joiner) unfinished() (n int) {
	for _, u := range j.order {
		if !u.isCopy() {
			n++
		}
	}
	return n
}

func (j *joiner) begin(now time.Time, key pieceKey) *part {
	if len(j.order) == maxUnfinished {
		j.evict(j.order[0])
	}
	var u *part
	if n := len(j.free); n > 0 {
		u, j.free = j.free[n-1], j.free[:n-1]
	} else {
		u = new(part)
	}
	*u = part{
		key: key, since: now, data: u.data[:0], spans: u.spans[:0], frames: u.frames[:0], full: -1, held: maxWhole,
		again: u.again[:0], copies: u.copies[:0],
	}
	if j.parts == nil {
		j.parts = make(map[pieceKey]*part)
	}
	j.parts[key] = u
	j.order = append(j.order, u)
	return u
}

func (j *joiner) evict(u *part) {
	if !u.isCopy() {
		j.evicted++
	}
	j.drop(u)
}

func (j *joiner) drop(u *part) {
	delete(j.parts, u.key)
	i := slices.Index(j.order, u)
	j.order = slices.Delete(j.order, i, i+1)
	j.free = append(j.free, u)
}

// insert reports whether the piece agrees with the pieces received before.
func (u *part) insert(p *piece, end int) bool {
	if !p.more {
		if u.full >= 0 && u.full != end {
			return false
		}
		u.full = end
	}
	last := end
	if n := len(u.spans); n > 0 {
		last = max(last, u.spans[n-1].hi)
	}
	if u.full >= 0 && last > u.full {
		return false
	}
	u.grow(end)

	// Fill the gaps only.
	at := p.offset
	for _, s := range u.spans {
		if s.lo > at {
			u.write(p, at, min(s.lo, end))
		}
		at = max(at, s.hi)
	}
	u.write(p, at, end)

	u.spans = cover(u.spans, p.offset, end)
	return len(u.spans) <= maxSpans
}

// cover adds a span and replaces all spans that it touches by one.
func cover(spans []span, lo, hi int) []span {
	i, _ := slices.BinarySearchFunc(spans, lo, func(s span, lo int) int { return s.hi - lo })
	n := i
	for ; n < len(spans) && spans[n].lo <= hi; n++ {
		lo, hi = min(lo, spans[n].lo), max(hi, spans[n].hi)
	}
	return slices.Replace(spans, i, n, span{lo, hi})
}

// write copies the captured bytes from lo to hi of the whole.
func (u *part) write(p *piece, lo, hi int) {
	if lo >= hi {
		return
	}
	have := p.offset + len(p.data)
	if have < hi {
		u.held = min(u.held, max(lo, have))
	}
	if lo < have {
		copy(u.data[lo:hi], p.data[lo-p.offset:])
	}
}

// grow makes room for n bytes, and for twice as many if that many are likely.
func (u *part) grow(n int) {
	if n > cap(u.data) {
		bigger := make([]byte, n, min(max(n, 2*cap(u.data)), maxWhole))
		copy(bigger, u.data)
		u.data = bigger
	}
	u.data = u.data[:max(n, len(u.data))]
}
