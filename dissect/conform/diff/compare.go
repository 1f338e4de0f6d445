package diff

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Options configure a comparison.
type Options struct {
	// Timing, unless 0, is how much earlier or later an equal message may come.
	Timing time.Duration
	// Both omits conversations that only one capture has.
	Both bool
}

// MaxFindings is the maximum number of findings in a report. Others are only
// counted.
const MaxFindings = 200

// A Report is the result of a comparison.
type Report struct {
	A, B     *Capture
	Pairs    []*Pair    `json:"conversations"`
	Findings []*Finding // first findings of each kind in conversations of both captures
	Found    int        // number of all findings
	Renamed  int        `json:"renamed"`      // ids of objects and players, and addresses, that differ in B
	Skipped  int        `json:"not_compared"` // messages that were not compared because the other capture is a log without such messages
	Cut      int        `json:"cut"`          // messages that were not compared because they, or their place in the other capture, were truncated

	Alone [Kinds]int // messages of conversations that only one capture has

	kinds  map[Kind]int
	stands func(a, b id) bool // reports whether an id of A is the counterpart of an id of B
}

// Equal reports whether the captures have the same messages.
func (r *Report) Equal() bool { return r.Found == 0 && r.A.Left == 0 && r.B.Left == 0 }

// Strange reports whether the captures have almost nothing in common: less than
// a tenth of the messages of the smaller one have an equal message.
func (r *Report) Strange() bool {
	equal := 0
	for _, p := range r.Pairs {
		for k := range p.Ways {
			equal += p.Ways[k].Equal
		}
	}
	return r.Found > 0 && equal*10 < min(r.A.Messages, r.B.Messages)-r.Skipped-r.Cut
}

// Count returns the number of differences of a kind.
func (r *Report) Count(k Kind) int { return r.kinds[k] + r.Alone[k] }

// An End is a conversation in one capture.
type End struct {
	Host     netip.AddrPort `json:"host"`
	Client   netip.AddrPort `json:"client"`
	Name     wire.Untrusted `json:"player_name,omitempty"` // name of the player
	GameSpy  bool           `json:"gamespy,omitempty"`
	First    int            `json:"frame"`
	Messages int            `json:"messages"`
}

// A Pair is a conversation of both captures, or of one capture if the other End
// is nil.
type Pair struct {
	A    *End   `json:"a,omitempty"`
	B    *End   `json:"b,omitempty"`
	Ways [2]Way `json:"directions"` // from the client and from the host
}

// Equal reports whether both captures have the same messages in the
// conversation.
func (p *Pair) Equal() bool {
	for k := range p.Ways {
		if w := &p.Ways[k]; w.OnlyA+w.OnlyB+w.Differ+w.Reorder+w.Timing > 0 {
			return false
		}
	}
	return true
}

// A Way counts the messages of one direction of a conversation.
type Way struct {
	Dir     dissect.Dir `json:"dir" as:"text"`
	Equal   int         `json:"equal"`
	OnlyA   int         `json:"only_a"`
	OnlyB   int         `json:"only_b"`
	Differ  int         `json:"differs"`
	Reorder int         `json:"order"`
	Timing  int         `json:"timing"`

	// Times of equal messages. Offset is the median of B's times minus A's. Off is
	// the median deviation from Offset, and Most the largest one, in frame MostA
	// of A.
	Timed  int
	Offset time.Duration `json:"offset_s,omitempty" if:"Timed" digits:"9"`
	Off    time.Duration `json:"off_ms_median,omitempty" as:"millis" if:"Timed" digits:"6"`
	Most   time.Duration `json:"off_ms_longest,omitempty" as:"millis" if:"Timed" digits:"6"`
	MostA  int           `json:"off_frame,omitempty"`
}

// A Kind is the kind of a finding.
type Kind uint8

// The kinds of findings.
const (
	OnlyA   Kind = iota // a message that B lacks
	OnlyB               // a message that A lacks
	Differs             // a message with different contents
	Order               // a message before others in A and after them in B, or the reverse
	Timing              // a message that came too early or too late

	Kinds = iota
)

// String returns the kind as written in JSON.
func (k Kind) String() string {
	return [...]string{"only-a", "only-b", "differs", "order", "timing"}[k]
}

// A Place is a message in a capture.
type Place struct {
	Frame, Part int
	Record      *dissect.Record // a copy, nil unless the capture was read again
}

// A Finding is one message in which the captures differ.
type Finding struct {
	Kind   Kind `json:"kind" as:"text"`
	Pair   *Pair
	Dir    dissect.Dir `json:"dir" as:"text"`
	A, B   *Place      // nil if the capture lacks it
	Type   transport.Type
	Opcode decode.Opcode // opcode of a game message
	Game   bool          // it is a game message
	Late   time.Duration // for Timing: how much later it came in B
	Flags  string        `json:"header,omitempty"` // for Differs: the header in words, if it differs
	Fields []Field       // for Differs: the fields that differ. They share memory with the records.

	record dissect.Kind
}

// Compare compares two captures.
func Compare(a, b *Capture, o Options) *Report {
	r := &Report{A: a, B: b, kinds: map[Kind]int{}}
	c := comparer{r: r, o: o, a: a, b: b, votes: map[vote]int{}}
	for _, p := range c.conversations() {
		c.prepare(p[0], p[1])
	}
	c.elect()
	r.stands = c.stands
	for _, p := range c.work {
		c.pair(p)
	}
	// Sort the findings by frame.
	slices.SortStableFunc(r.Findings, func(x, y *Finding) int { return cmp.Compare(x.frame(), y.frame()) })
	return r
}

// frame returns the frame of a finding in A, or if it has none, in B.
func (f *Finding) frame() int {
	if f.A != nil {
		return f.A.Frame
	}
	return f.B.Frame
}

// A comparer compares two captures.
type comparer struct {
	r       *Report
	o       Options
	a, b    *Capture
	votes   map[vote]int
	counter map[id]uint32 // counterparts of the ids of A
	back    map[id]uint32 // counterparts of the ids of B
	work    []*work
}

// work is a pair of conversations and the pairs of their messages.
type work struct {
	a, b    *conversation
	matches [2][]match
}

// A vote suggests that an id of A is the counterpart of an id of B.
type vote struct {
	id
	b uint32
}

// maxVotes is the maximum number of pairs of ids.
const maxVotes = 1 << 19

// conversations pairs the conversations. Those of players with the same name
// come first, then those with the most messages in common, then those with the
// same addresses, and then in their order. GameSpy queries look alike, so any
// of them may be paired.
func (c *comparer) conversations() (out [][2]*conversation) {
	ofA, ofB := map[int]int{}, map[int]int{}
	c.match(ofA, ofB)
	c.match(ofA, ofB) // messages that most conversations have help to pair the last ones
	for i, a := range c.a.all {
		if j, ok := ofA[i]; ok {
			out = append(out, [2]*conversation{a, c.b.all[j]})
		} else {
			out = append(out, [2]*conversation{a, nil})
		}
	}
	for j, b := range c.b.all {
		if _, ok := ofB[j]; !ok {
			out = append(out, [2]*conversation{nil, b})
		}
	}
	return out
}

// match pairs conversations that have no counterpart yet.
func (c *comparer) match(ofA, ofB map[int]int) {
	type score struct{ a, b, name, same, address, apart int }
	shared := c.shared(ofA, ofB)
	var scores []score
	for i, a := range c.a.all {
		if _, taken := ofA[i]; taken {
			continue
		}
		for j, b := range c.b.all {
			if _, taken := ofB[j]; taken || a.GameSpy != b.GameSpy {
				continue
			}
			s := score{a: i, b: j, same: shared[[2]int{i, j}], apart: max(i-j, j-i)}
			if a.Name != "" && a.Name == b.Name {
				s.name = 1
			}
			if a.Host == b.Host && a.Client == b.Client {
				s.address = 1
			}
			if s.same > 0 || s.name > 0 || s.address > 0 || a.GameSpy {
				scores = append(scores, s)
			}
		}
	}
	slices.SortFunc(scores, func(x, y score) int {
		return cmp.Or(y.name-x.name, y.same-x.same, y.address-x.address, x.apart-y.apart, x.a-y.a)
	})
	for _, s := range scores {
		_, takenA := ofA[s.a]
		_, takenB := ofB[s.b]
		if !takenA && !takenB {
			ofA[s.a], ofB[s.b] = s.b, s.a
		}
	}
}

// mostSharing is the maximum number of conversations that may share a message
// for it to help in pairing them.
const mostSharing = 8

// owned tells that a conversation has a message.
type owned struct {
	key  uint64
	conv int32
}

// owners returns the messages of conversations that have no counterpart, sorted by digest.
func owners(c *Capture, paired map[int]int) []owned {
	var all []owned
	for i, v := range c.all {
		if _, taken := paired[i]; taken {
			continue
		}
		for w := range v.ways {
			for k := range v.ways[w] {
				all = append(all, owned{v.ways[w][k].key + uint64(w), int32(i)})
			}
		}
	}
	slices.SortFunc(all, func(x, y owned) int { return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.conv, y.conv)) })
	return all
}

// counts counts the first messages, which have the same digest, by
// conversation. It returns none if too many conversations have the digest.
func counts(all []owned) (n int, by [][2]int) {
	for ; n < len(all) && all[n].key == all[0].key; n++ {
		if n == 0 || all[n].conv != all[n-1].conv {
			by = append(by, [2]int{int(all[n].conv), 0})
		}
		by[len(by)-1][1]++
	}
	if len(by) > mostSharing {
		return n, nil
	}
	return n, by
}

// shared counts the messages that conversations without counterparts have in
// common.
func (c *comparer) shared(ofA, ofB map[int]int) map[[2]int]int {
	out := map[[2]int]int{}
	a, b := owners(c.a, ofA), owners(c.b, ofB)
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].key < b[0].key:
			a = a[1:]
			continue
		case a[0].key > b[0].key:
			b = b[1:]
			continue
		}
		n, ofA := counts(a)
		m, ofB := counts(b)
		for _, x := range ofA {
			for _, y := range ofB {
				out[[2]int{x[0], y[0]}] += min(x[1], y[1])
			}
		}
		a, b = a[n:], b[m:]
	}
	return out
}

// prepare aligns the messages of two conversations, and collects votes for the
// counterparts of their ids.
func (c *comparer) prepare(a, b *conversation) {
	w := &work{a: a, b: b}
	c.work = append(c.work, w)
	if a == nil || b == nil {
		return
	}
	for k := range w.matches {
		w.matches[k] = alignWay(c.a, c.b, a.ways[k], b.ways[k])
		for _, m := range w.matches[k] {
			x, y := c.a.idsOf(&a.ways[k][m.a]), c.b.idsOf(&b.ways[k][m.b])
			if len(x) != len(y) {
				continue
			}
			for i := range x {
				v := vote{x[i], y[i].value}
				if _, have := c.votes[v]; x[i].domain == y[i].domain && (have || len(c.votes) < maxVotes) {
					c.votes[v]++
				}
			}
		}
	}
}

// elect selects the counterpart of each id: the one with the most votes, and if
// several have as many, the one with the same value. A player's object that is
// named only once has no counterpart unless it has the same place among the
// player's objects.
func (c *comparer) elect() {
	c.counter, c.back = map[id]uint32{}, map[id]uint32{}
	slots := c.slots()
	most, mostBack := map[id]int{}, map[id]int{}
	for _, v := range slices.SortedFunc(maps.Keys(c.votes), func(x, y vote) int {
		return cmp.Or(cmp.Compare(x.domain, y.domain), cmp.Compare(x.value, y.value), cmp.Compare(x.b, y.b))
	}) {
		n := 2 * c.votes[v]
		if v.value == v.b {
			n++
		}
		if n == 2 && v.domain == objects && !slots.samePlace(v.value, v.b) {
			continue
		}
		if n > most[v.id] {
			most[v.id], c.counter[v.id] = n, v.b
		}
		if back := (id{v.domain, v.b}); n > mostBack[back] {
			mostBack[back], c.back[back] = n, v.value
		}
	}
	for v, b := range c.counter {
		if v.value != b && c.back[id{v.domain, b}] == v.value {
			c.r.Renamed++
		}
	}
}

// slots has, for each slot of A and of B, how many objects of the two players
// have the same place among their objects.
type slots [wire.Slots][wire.Slots]int

func (c *comparer) slots() *slots {
	var s slots
	for v := range c.votes {
		if a, b, ok := places(v.value, v.b); ok && v.domain == objects {
			s[a][b]++
		}
	}
	return &s
}

// places returns the slots of two objects of players. If the objects have
// different places among their players' objects, ok is false.
func places(x, y uint32) (a, b int, ok bool) {
	a, ofA := wire.ObjectID(x).Slot()
	b, ofB := wire.ObjectID(y).Slot()
	return a, b, ofA && ofB && x-uint32(wire.FirstObject(a)) == y-uint32(wire.FirstObject(b))
}

// samePlace reports whether two objects may be the same, judging by their ids.
// Objects of the host may have any id.
func (s *slots) samePlace(x, y uint32) bool {
	a, b, ok := places(x, y)
	if _, ofA := wire.ObjectID(x).Slot(); !ok {
		_, ofB := wire.ObjectID(y).Slot()
		return !ofA && !ofB
	}
	return s[a][b] == slices.Max(s[a][:])
}

// stands reports whether an id of A is the counterpart of an id of B.
func (c *comparer) stands(a, b id) bool {
	if a.domain != b.domain { // captures may lack how their host numbers players
		return a.domain >= numbers && b.domain >= numbers && a.value == b.value
	}
	to, known := c.counter[a]
	if !known {
		return a.value == b.value
	}
	return to == b.value && c.back[b] == a.value
}

// equal reports whether two messages are equal except for ids, whose
// counterparts must match.
func (c *comparer) equal(x, y *item) bool {
	if x.key != y.key || x.kind == dissect.KindGameSpy && x.exact != y.exact || c.headers(x, y) {
		return false
	}
	a, b := c.a.idsOf(x), c.b.idsOf(y)
	return slices.EqualFunc(a, b, c.stands)
}

// headers reports whether the headers of two messages differ.
func (c *comparer) headers(x, y *item) bool {
	const header = flagReliable | flagPriority
	return (x.flags^y.flags)&header != 0 && (x.flags|y.flags)&flagUnknown == 0
}

// pair compares the messages of two conversations.
func (c *comparer) pair(w *work) {
	p := &Pair{}
	if w.a != nil {
		p.A = &w.a.End
	}
	if w.b != nil {
		p.B = &w.b.End
	}
	alone := w.a == nil || w.b == nil
	if alone && c.o.Both {
		return
	}
	c.r.Pairs = append(c.r.Pairs, p)
	for k, dir := range []dissect.Dir{dissect.ToHost, dissect.FromHost} {
		p.Ways[k].Dir = dir
		var a, b []item
		if w.a != nil {
			a = w.a.ways[k]
		}
		if w.b != nil {
			b = w.b.ways[k]
		}
		c.way(p, &p.Ways[k], a, b, w.matches[k], alone)
	}
}

func (c *comparer) way(p *Pair, way *Way, a, b []item, matches []match, alone bool) {
	inA, inB, matches := judge(a, b, matches)
	for i := range a {
		switch {
		case inA[i] == paired:
		case c.skipped(&a[i], c.b):
			c.r.Skipped++
		case inA[i] == cut && !alone:
			c.r.Cut++
		default:
			way.OnlyA++
			c.find(&Finding{Kind: OnlyA, Pair: p, Dir: way.Dir, A: placeOf(&a[i])}, &a[i])
		}
	}
	for j := range b {
		switch {
		case inB[j] == paired:
		case c.skipped(&b[j], c.a):
			c.r.Skipped++
		case inB[j] == cut && !alone:
			c.r.Cut++
		default:
			way.OnlyB++
			c.find(&Finding{Kind: OnlyB, Pair: p, Dir: way.Dir, B: placeOf(&b[j])}, &b[j])
		}
	}
	for _, m := range matches {
		x, y := &a[m.a], &b[m.b]
		if !m.changed && c.equal(x, y) {
			way.Equal++
			continue
		}
		way.Differ++
		f := &Finding{Kind: Differs, Pair: p, Dir: way.Dir, A: placeOf(x), B: placeOf(y)}
		if c.headers(x, y) {
			f.Flags = flagWords(x.flags) + " in A, " + flagWords(y.flags) + " in B"
		}
		c.find(f, x)
	}
	c.order(p, way, a, b, matches)
	c.times(p, way, a, b, matches)
}

// skipped reports whether the other capture is a log without messages of this
// kind.
func (c *comparer) skipped(it *item, other *Capture) bool {
	return other.Bare && (it.kind != dissect.KindMessage || it.typ != transport.Standard)
}

// order reports the messages that were sent in another order, as the numbers of
// reliable messages show. The network or the recording may change the order of
// arrival. In a log without numbers, the order of the messages is used. A
// sender's reliable game messages and its transport messages are ordered
// separately.
func (c *comparer) order(p *Pair, way *Way, a, b []item, matches []match) {
	type group struct {
		owner   uint8
		control bool
	}
	groups := map[group][]match{}
	ordered := func(m match) bool { // a retransmission may come at any time
		return (a[m.a].flags|b[m.b].flags)&(flagReliable|flagUnknown) != 0 && !isResent(&a[m.a], &b[m.b])
	}
	for _, m := range matches {
		if ordered(m) {
			g := group{a[m.a].group, a[m.a].typ != transport.Standard}
			groups[g] = append(groups[g], m)
		}
	}
	stay := make([]bool, len(a))
	for _, all := range groups {
		kept := rising(all)
		if len(kept) < len(all) && !c.a.Bare && !c.b.Bare {
			if sent := byNumber(a, b, all); len(sent) > len(kept) {
				kept = sent
			}
		}
		for _, m := range kept {
			stay[m.a] = true
		}
	}
	for _, m := range matches {
		if !stay[m.a] && ordered(m) {
			way.Reorder++
			c.find(&Finding{Kind: Order, Pair: p, Dir: way.Dir, A: placeOf(&a[m.a]), B: placeOf(&b[m.b])}, &a[m.a])
		}
	}
}

// byNumber returns the longest subsequence of pairs with the same order in both
// captures, by the numbers of the messages. Equal messages are interchangeable.
func byNumber(a, b []item, all []match) []match {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y match) int { return cmp.Compare(a[x.a].num, a[y.a].num) })
	equal := map[uint64][]int{} // their numbers in B
	for _, m := range all {
		k := a[m.a].exact
		equal[k] = append(equal[k], int(b[m.b].num))
	}
	for _, list := range equal {
		slices.Sort(list)
	}
	numbers := make([]match, len(all))
	for i, m := range all {
		k := a[m.a].exact
		numbers[i] = match{a: i, b: equal[k][0]}
		equal[k] = equal[k][1:]
	}
	kept := rising(numbers)
	for i, m := range kept {
		kept[i] = all[m.a]
	}
	return kept
}

// times compares the times of the messages.
func (c *comparer) times(p *Pair, way *Way, a, b []item, matches []match) {
	if len(matches) == 0 {
		return
	}
	late := make([]int64, len(matches))
	for i, m := range matches {
		late[i] = packet.Minus(b[m.b].time, a[m.a].time)
	}
	middle := median(slices.Clone(late))
	way.Timed, way.Offset = len(late), time.Duration(middle)
	off := make([]int64, len(late))
	for i, m := range matches {
		d := time.Duration(packet.Minus(late[i], middle))
		off[i] = int64(d.Abs())
		if d.Abs() > way.Most {
			way.Most, way.MostA = d.Abs(), int(a[m.a].frame)
		}
		if c.o.Timing > 0 && d.Abs() > c.o.Timing {
			way.Timing++
			c.find(&Finding{Kind: Timing, Pair: p, Dir: way.Dir, A: placeOf(&a[m.a]), B: placeOf(&b[m.b]), Late: d}, &a[m.a])
		}
	}
	way.Off = time.Duration(median(off))
}

// median returns the middle of some values, which it sorts.
func median(all []int64) int64 {
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// find counts a finding, and stores it if it is one of the first of its kind.
func (c *comparer) find(f *Finding, it *item) {
	if f.Pair.A == nil || f.Pair.B == nil { // count one for all of the conversation
		c.r.Found++
		c.r.Alone[f.Kind]++
		return
	}
	f.Type, f.Opcode, f.record = it.typ, it.op, it.kind
	f.Game = it.kind == dissect.KindMessage && it.typ == transport.Standard
	c.r.Found++
	if c.r.kinds[f.Kind]++; c.r.kinds[f.Kind] <= MaxFindings/Kinds {
		c.r.Findings = append(c.r.Findings, f)
	}
}

func placeOf(it *item) *Place { return &Place{Frame: int(it.frame), Part: int(it.part)} }

// flagWords returns a message's header in words.
func flagWords(flags uint8) string {
	words := "unreliable"
	if flags&flagReliable != 0 {
		words = "reliable"
	}
	if flags&flagPriority != 0 {
		words += " with priority"
	}
	return words
}

// Transport reports whether the finding is about a transport message.
func (f *Finding) Transport() bool { return f.record == dissect.KindMessage && !f.Game }

// Name returns the name of the message.
func (f *Finding) Name(c *decode.Catalog) string {
	switch f.record {
	case dissect.KindGameSpy:
		return "GameSpy"
	case dissect.KindMalformed:
		return "malformed"
	case dissect.KindMessage, dissect.KindPayload, dissect.KindEvicted:
	}
	if !f.Game {
		return f.Type.Kind()
	}
	if spec := c.Lookup(f.Opcode); spec != nil {
		return spec.Name
	}
	return "unknown"
}
