package diff

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/bcdissect/bcdissect/dissect/conform/internal/align"
)

// Limits that keep the alignment linear.
const (
	maxCells   = 1 << 18 // pairs of messages that are compared in a gap without unique messages
	deepest    = 8       // depth of gaps within gaps
	mostMoved  = 256     // how far apart messages with equal ids may be, in messages
	mostEqual  = 16      // the same if other messages are equal
	mostGap    = 64      // size of a gap in which changed messages are searched for
	leastAlike = 2       // a changed message must have 1/leastAlike of its bytes in common
)

// A match is a pair of messages, by their indices.
type match struct {
	a, b    int
	changed bool // their digests differ
}

// An aligner aligns the messages of one direction of two conversations.
type aligner struct {
	ca, cb *Capture
	a, b   []item
	exact  bool  // ids must be equal
	header uint8 // flags that are compared
	toB    []int
	toA    []int
	times  [2]map[uint64]int // how often each side has the bytes of messages without numbers
	out    []match
}

const unpaired = -1

// alignWay returns the pairs in the order of a. Of messages with equal
// contents, as many have a counterpart as both sides have, wherever they are.
func alignWay(ca, cb *Capture, a, b []item) []match {
	l := &aligner{ca: ca, cb: cb, a: a, b: b, toB: make([]int, len(a)), toA: make([]int, len(b))}
	for i := range l.toB {
		l.toB[i] = unpaired
	}
	for i := range l.toA {
		l.toA[i] = unpaired
	}
	headers := uint8(flagReliable | flagPriority)
	if ca.Bare || cb.Bare { // logs do not contain them
		headers = 0
	}
	for _, pass := range [...]struct {
		exact  bool
		header uint8
	}{{true, headers}, {false, headers}, {false, 0}} {
		l.exact, l.header = pass.exact, pass.header
		for g := range gaps(l.chain(), len(a), len(b)) {
			l.gap(g.a, g.aEnd, g.b, g.bEnd, 0)
		}
		l.moved(l.chain())
	}
	changed := map[int]bool{}
	for g := range gaps(l.chain(), len(a), len(b)) {
		l.changed(g, changed)
	}
	for i, j := range l.toB {
		if j != unpaired {
			l.out = append(l.out, match{i, j, changed[i]})
		}
	}
	return l.out
}

// digest returns the digest by which messages are compared. Retransmissions
// without their originals have a different one, since their place has no
// meaning.
func (l *aligner) digest(it *item) uint64 {
	return l.contents(it) ^ uint64(it.flags&flagResent)
}

// contents returns the digest of the contents, including the flags that are
// compared.
func (l *aligner) contents(it *item) uint64 {
	d := uint64(it.flags & l.header)
	if l.exact {
		return it.exact ^ d
	}
	return it.key ^ d
}

func (l *aligner) same(i, j int) bool {
	return l.toB[i] == unpaired && l.toA[j] == unpaired && l.digest(&l.a[i]) == l.digest(&l.b[j])
}

func (l *aligner) pair(i, j int) { l.toB[i], l.toA[j] = j, i }

// gap aligns a gap. It first pairs its common beginning and end, then the
// messages that are unique in it, and then the messages between those.
func (l *aligner) gap(a, aEnd, b, bEnd, depth int) {
	for a < aEnd && b < bEnd && l.same(a, b) {
		l.pair(a, b)
		a, b = a+1, b+1
	}
	for a < aEnd && b < bEnd && l.same(aEnd-1, bEnd-1) {
		aEnd, bEnd = aEnd-1, bEnd-1
		l.pair(aEnd, bEnd)
	}
	if a == aEnd || b == bEnd {
		return
	}
	if depth == deepest {
		l.lay(a, aEnd, b, bEnd)
		return
	}
	anchors := l.unique(a, aEnd, b, bEnd)
	if len(anchors) == 0 {
		l.lay(a, aEnd, b, bEnd)
		return
	}
	for _, m := range anchors {
		l.pair(m.a, m.b)
	}
	for _, m := range append(anchors, match{a: aEnd, b: bEnd}) {
		l.gap(a, m.a, b, m.b, depth+1)
		a, b = m.a+1, m.b+1
	}
}

// unique returns the pairs of messages that each side has exactly once, as far
// as they are in the same order.
func (l *aligner) unique(a, aEnd, b, bEnd int) []match {
	type where struct{ a, b, inA, inB int }
	seen := make(map[uint64]*where, aEnd-a)
	for i := a; i < aEnd; i++ {
		if l.toB[i] != unpaired {
			continue
		}
		w := seen[l.digest(&l.a[i])]
		if w == nil {
			w = new(where)
			seen[l.digest(&l.a[i])] = w
		}
		w.a, w.inA = i, w.inA+1
	}
	for j := b; j < bEnd; j++ {
		if w := seen[l.digest(&l.b[j])]; w != nil && l.toA[j] == unpaired {
			w.b, w.inB = j, w.inB+1
		}
	}
	var found []match
	for i := a; i < aEnd; i++ {
		if w := seen[l.digest(&l.a[i])]; w != nil && w.a == i && w.inA == 1 && w.inB == 1 && l.toB[i] == unpaired {
			found = append(found, match{a: i, b: w.b})
		}
	}
	return rising(found)
}

// rising returns the longest subsequence of pairs in which the indices of b
// rise. The indices of a already rise.
func rising(all []match) []match {
	pairs := make([]align.Pair, len(all))
	for i, m := range all {
		pairs[i] = align.Pair{X: i, Y: m.b}
	}
	out := make([]match, 0, len(all))
	for _, p := range align.Rising(pairs) {
		out = append(out, all[p.X])
	}
	return out
}

// lay aligns messages if none is unique, unless there are too many.
func (l *aligner) lay(a, aEnd, b, bEnd int) {
	x, atX := l.elements(l.a, l.toB, a, aEnd)
	y, atY := l.elements(l.b, l.toA, b, bEnd)
	if len(x) == 0 || len(y) == 0 || len(x) > maxCells/len(y) {
		return
	}
	g := align.Grid{X: x, Y: y}
	g.Cost()
	g.Trace()
	for i := range x {
		if j := x[i].Pair; j >= 0 {
			l.pair(atX[i], atY[j])
		}
	}
}

// elements returns the messages of a gap without a counterpart, and their
// places.
func (l *aligner) elements(all []item, to []int, from, end int) (list []align.Element, at []int) {
	for i := from; i < end; i++ {
		if to[i] == unpaired {
			list, at = append(list, align.Element{Key: l.digest(&all[i]), Pair: unpaired}), append(at, i)
		}
	}
	return list, at
}

// chain returns the longest sequence of pairs in the same order.
func (l *aligner) chain() []match {
	var all []match
	for i, j := range l.toB {
		if j != unpaired {
			all = append(all, match{a: i, b: j})
		}
	}
	return rising(all)
}

// A gap lies between two pairs of the chain.
type gap struct{ a, aEnd, b, bEnd int }

func gaps(chain []match, aEnd, bEnd int) func(yield func(gap) bool) {
	return func(yield func(gap) bool) {
		a, b := 0, 0
		for _, m := range append(slices.Clip(chain), match{a: aEnd, b: bEnd}) {
			if m.a > a && m.b > b && !yield(gap{a, m.a, b, m.b}) {
				return
			}
			a, b = m.a+1, m.b+1
		}
	}
}

// isResent reports whether a message of a pair is a retransmission without its
// original.
func isResent(a, b *item) bool { return (a.flags|b.flags)&flagResent != 0 }

// moved pairs messages that came in another order. It also pairs
// retransmissions without their originals with originals on the other side. It
// takes the nearest one, if that leaves enough for other messages with equal
// contents. If ids must be equal, a distant message with the same ids may be
// another one.
func (l *aligner) moved(chain []match) {
	left, times := map[uint64][]int{}, map[uint64]int{}
	for j := range l.b {
		if l.toA[j] == unpaired {
			k := l.contents(&l.b[j])
			left[k] = append(left[k], j)
		}
	}
	if len(left) == 0 {
		return
	}
	for i := range l.a {
		if l.toB[i] == unpaired {
			times[l.contents(&l.a[i])]++
		}
	}
	n := 0 // number of pairs of the chain before i
	for i := range l.a {
		for n < len(chain) && chain[n].a < i {
			n++
		}
		if l.toB[i] != unpaired {
			continue
		}
		at := 0 // its expected place in b
		if n > 0 {
			at = chain[n-1].b + 1
		}
		k := l.contents(&l.a[i])
		list := left[k]
		for len(list) > times[k] && distance(list[1], at) <= distance(list[0], at) {
			list = list[1:]
		}
		times[k]--
		if len(list) > 0 && (!l.exact || distance(list[0], at) <= l.most(list, i)) {
			l.pair(i, list[0])
			list = list[1:]
		}
		left[k] = list
	}
}

// most returns the largest distance of a message with the same ids.
func (l *aligner) most(list []int, i int) int {
	switch {
	case (l.a[i].flags|l.b[list[0]].flags)&flagResent != 0:
		return lookBack
	case len(list) > 1:
		return mostEqual
	}
	return mostMoved
}

func distance(j, at int) int { return max(j-at, at-j) }

// changed pairs messages of a gap that differ in a part of their bytes.
func (l *aligner) changed(g gap, changed map[int]bool) {
	b := g.b
	for i := g.a; i < g.aEnd; i++ {
		if l.toB[i] != unpaired {
			continue
		}
		best, most := unpaired, 0
		for j := b; j < min(g.bEnd, b+mostGap); j++ {
			if l.toA[j] != unpaired {
				continue
			}
			if n := l.alike(&l.a[i], &l.b[j]); n > most {
				best, most = j, n
			}
		}
		if best != unpaired {
			l.pair(i, best)
			changed[i] = true
			b = best + 1
		}
	}
}

// alike returns the similarity of two messages of a kind in 1024ths, or 0 if
// they cannot be the same message.
func (l *aligner) alike(x, y *item) int {
	if (x.flags|y.flags)&flagCut != 0 || l.doubled(0, x) || l.doubled(1, y) || x.kind != y.kind || x.typ != y.typ || x.op != y.op {
		return 0
	}
	a, b := l.ca.bodyOf(x), l.cb.bodyOf(y)
	long := max(len(a), len(b))
	if long == 0 {
		return 1
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	same := n
	if len(a) == len(b) {
		for ; n < len(a); n++ {
			if a[n] == b[n] {
				same++
			}
		}
	} else {
		for k := 1; k <= min(len(a), len(b))-n && a[len(a)-k] == b[len(b)-k]; k++ {
			same++
		}
	}
	if same*leastAlike < long {
		return 0
	}
	return same * 1024 / long
}

// doubled reports whether a side may have received a message twice: it has no
// number, and another one has the same bytes.
func (l *aligner) doubled(side int, it *item) bool {
	c, all := l.ca, l.a
	if side == 1 {
		c, all = l.cb, l.b
	}
	sum := func(it *item) uint64 { return maphash.Bytes(c.seed, c.bodyOf(it)) }
	if l.times[side] == nil {
		l.times[side] = make(map[uint64]int, len(all))
		for i := range all {
			if all[i].flags&flagReliable == 0 {
				l.times[side][sum(&all[i])]++
			}
		}
	}
	return it.flags&flagReliable == 0 && l.times[side][sum(it)] > 1
}

// A fate tells whether a message has a counterpart.
type fate uint8

const (
	single fate = iota // without a counterpart
	paired             // with a counterpart
	cut                // without a counterpart, where a capture truncated a datagram
)

// judge returns the fates of the messages of both sides, and the pairs. A
// truncated part of a datagram may have contained any message. Messages of the
// other side without a counterpart in that place are therefore neither missing
// nor in another order.
func judge(a, b []item, matches []match) (ofA, ofB []fate, kept []match) {
	ofA, ofB = make([]fate, len(a)), make([]fate, len(b))
	isCut := func(it item) bool { return it.flags&flagCut != 0 }
	if slices.ContainsFunc(a, isCut) || slices.ContainsFunc(b, isCut) {
		chain := rising(slices.DeleteFunc(slices.Clone(matches), func(m match) bool { return m.changed || isResent(&a[m.a], &b[m.b]) }))
		back := make([]match, len(chain))
		for i, m := range chain {
			ofA[m.a], ofB[m.b] = paired, paired
			back[i] = match{a: m.b, b: m.a}
		}
		holesA, holesB := holes(a, ofA), holes(b, ofB)
		excuse(a, ofA, chain, holesB)
		excuse(b, ofB, back, holesA)
		displaced(a, ofA, b)
		displaced(b, ofB, a)
		matches = slices.DeleteFunc(slices.Clone(matches), func(m match) bool {
			return (ofA[m.a] == cut || ofB[m.b] == cut) && !isResent(&a[m.a], &b[m.b])
		})
	}
	for _, m := range matches {
		ofA[m.a], ofB[m.b] = paired, paired
	}
	return ofA, ofB, matches
}

// displaced finds the messages that the other side has in another place. Near a
// hole, a message is easily confused with another one of the same contents.
func displaced(all []item, of []fate, others []item) {
	held := map[uint64]bool{}
	for i := range others {
		held[others[i].key] = true
	}
	for i := range all {
		if of[i] == single && held[all[i].key] {
			of[i] = cut
		}
	}
}

// holes counts the truncated messages without a counterpart before each
// message.
func holes(all []item, of []fate) []int {
	n := make([]int, len(all)+1)
	for i := range all {
		n[i+1] = n[i]
		if of[i] == single && all[i].flags&flagCut != 0 {
			n[i+1]++
		}
	}
	return n
}

// excuse finds the messages that may have been truncated on the other side:
// those between the same pairs as a hole, from their first fragment on.
func excuse(all []item, of []fate, chain []match, holes []int) {
	before := func(i int) int {
		n, _ := slices.BinarySearchFunc(chain, i, func(m match, i int) int { return cmp.Compare(m.a, i) })
		return n
	}
	for i := range all {
		if of[i] != single {
			continue
		}
		first := i
		for all[i].since < all[i].frame && first > max(0, i-lookBack) && all[first-1].frame >= all[i].since {
			first--
		}
		from, to := 0, len(holes)-1
		if n := before(first); n > 0 {
			from = chain[n-1].b + 1
		}
		if n := before(i); n < len(chain) {
			to = chain[n].b
		}
		if all[i].flags&flagCut != 0 || holes[to] > holes[from] {
			of[i] = cut
		}
	}
}
