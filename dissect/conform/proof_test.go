package conform

import (
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// parse reads a list of elements: a letter for a message that the other list must
// have, a capital for one that it may have, and ? for a lost number.
func parse(s string) (list []element) {
	for _, c := range s {
		switch {
		case c == '?':
			list = append(list, element{lost: true})
		case c < 'a':
			list = append(list, element{key: uint64(c) + 'a' - 'A'})
		default:
			list = append(list, element{key: uint64(c), must: true})
		}
	}
	return list
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"abc", "abc", 0},
		{"abc", "ac", 1},  // b is missing
		{"ac", "abc", 1},  // or one too many
		{"a?c", "abc", 0}, // a hole explains it
		{"a?c", "ac", 0},  // a lost number need not be of this list
		{"a?c", "abbc", 1},
		{"ab?", "axb", 1}, // the hole is elsewhere
		{"aXc", "ac", 0},
		{"aXc", "axc", 0},
		{"ab", "ba", 2}, // out of order
		{"aab", "ab", 1},
		{"abab?", "ababab", 1},
		{"abab??", "ababab", 0},
	} {
		if got := distance(parse(c.a), parse(c.b)); got != c.want {
			t.Errorf("%q and %q: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// A row is a line of messages with one-letter bodies; a letter's twin is the
// first such one in the other row, unless it is a capital.
type row struct {
	text  string
	other string
}

func (r row) places() (list []int) {
	for i, c := range r.text {
		if c != '?' {
			list = append(list, i)
		}
	}
	return list
}

func (r row) len() int                 { return len(r.places()) }
func (r row) number(i int) int64       { return int64(r.places()[i]) }
func (r row) at(i int) time.Time       { return time.Unix(r.number(i), 0) }
func (r row) key(i int) (uint64, bool) { return uint64(r.text[r.number(i)] | 0x20), true }
func (r row) lost(lo, hi int64) int64  { return hi - lo - 1 }

func (r row) twin(i int) (number int64, firm, ok bool) {
	c := r.text[r.number(i)]
	for n := range r.other {
		if r.other[n] == c && c >= 'a' {
			return int64(n), true, true
		}
	}
	return 0, false, false
}

// TestLonely: X in the first row has no counterpart in the second. Only a hole
// where it should be can explain that.
func TestLonely(t *testing.T) {
	for _, c := range []struct {
		name     string
		row, not string
		want     proof
	}{
		{"missing", "abXcd", "abcd", proven},
		{"hole in its place", "abXcd", "ab?cd", holed},
		{"hole before it", "abXcd", "a?bcd", proven},
		{"hole behind it", "abXcd", "abc?d", proven},
		{"a hole for one of two", "abXYcd", "ab?cd", holed},
		{"others of the second row between", "abXcd", "abKLcd", proven},
		{"a neighbour is missing, too", "abZXcd", "abcd", proven},
		{"doubled", "abxXcd", "abxcd", proven},
		{"doubled, with a hole", "abxXcd", "abx?cd", holed},
		{"nothing behind it", "abX", "ab", unknown},
		{"nothing before it", "Xab", "ab", unknown},
	} {
		at := 0
		first := row{c.row, c.not}
		for first.text[first.number(at)] != 'X' {
			at++
		}
		if got := lonely(first, at, row{c.not, c.row}); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// TestLonelyLimits: a proof ends after a bounded number of messages.
func TestLonelyLimits(t *testing.T) {
	long := make([]byte, 0, 4*maxAligned)
	for range 2 * maxAligned {
		long = append(long, 'N')
	}
	text := "a" + string(long) + "X" + string(long) + "b"
	if got := lonely(row{text, "ab"}, 1+len(long), row{"ab", text}); got != unknown {
		t.Errorf("got %d, want %d", got, unknown)
	}
}

// TestNoCopy: a message that the second of three receivers did not get is a copy
// of none, unless the third got it, too: then a hole of the author explains it.
func TestNoCopy(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	author := new(Client)
	author.sent[1].take(10, 0, false, at(0))
	author.sent[1].take(12, 1, false, at(2)) // 11 is missing
	var r reached
	first, second, third := newDestination(new(Client), &r), newDestination(new(Client), &r), newDestination(new(Client), &r)
	came := func(d *destination, number int64, key uint64, src *source, when time.Time) {
		p := place{number: number, key: key, at: when, src: src, copied: src != nil}
		d.sights(key, sighting{at: when, number: number, came: true})
		d.order.add(p)
		if src != nil {
			src.copies = append(src.copies, copyAt{d, p})
		}
	}
	const before, it, after = 1, 2, 3
	for _, src := range []*source{{client: author, number: 10, time: at(0), key: before}, {client: author, number: 12, time: at(2), key: after}} {
		author.said.add(src)
		came(first, src.number-9, src.key, src, src.time)
		came(second, src.number/2-4, src.key, src, src.time) // no number is between
	}
	came(first, 2, it, nil, at(1))
	g := &got{Event: &Event{Kind: Output, Type: transport.Standard, Time: at(1), Number: 2}, key: it}
	c := &comparer{order: []*destination{first, second, third}}
	if got := c.noCopy(first, g, author); got != proven {
		t.Errorf("nobody else got it: got %d, want %d", got, proven)
	}
	third.byKey.at(it).gots = []*got{{Event: &Event{Time: at(1)}, key: it}}
	if got := c.noCopy(first, g, author); got != holed {
		t.Errorf("another one got it: got %d, want %d", got, holed)
	}
}

// TestChangedCopies: copies that the host changed stand in the same places as their
// originals, so that a hole between two of these explains a message between the
// copies.
func TestChangedCopies(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	author := new(Client)
	author.sent[1].take(10, 0, false, at(0))
	author.sent[1].take(12, 1, false, at(2)) // 11 is missing
	d := newDestination(new(Client), new(reached))
	const changed, it = 100, 2
	for n, src := range map[int64]*source{1: {client: author, number: 10, time: at(0), key: 1}, 3: {client: author, number: 12, time: at(2), key: 3}} {
		author.said.add(src)
		p := place{number: n, key: changed + src.key, at: src.time, src: src, copied: true}
		d.sights(p.key, sighting{at: src.time, number: n, came: true})
		d.order.add(p)
		src.copies = append(src.copies, copyAt{d, p})
	}
	d.order.add(place{number: 2, key: it, at: at(1)})
	g := &got{Event: &Event{Kind: Output, Type: transport.Standard, Time: at(1), Number: 2}, key: it}
	c := &comparer{order: []*destination{d}}
	if got := c.noCopy(d, g, author); got != holed {
		t.Errorf("got %d, want %d", got, holed)
	}
}

// TestRelated: a message may be another one changed, unless others got both.
func TestRelated(t *testing.T) {
	var r reached
	client := new(Client)
	client.to = newDestination(client, &r)
	third := newDestination(new(Client), &r)
	c := newComparer(newTimeline(msg.Catalog(), nil), nil, stockModel, stockModel)
	c.order = []*destination{client.to, third}
	status := func(index byte) []byte { // of a subsystem
		return []byte{byte(msg.OpSubsystemStatus), 0xFF, 0xFF, 0x03, 0x40, index, 0, 0, 0x80, 0x3F}
	}
	x := &expect{to: client, typ: transport.Standard, op: msg.OpSubsystemStatus, body: status(1), src: &source{kind: Input, typ: transport.Standard, op: msg.OpSubsystemStatus}}
	g := &got{Event: &Event{Kind: Output, Type: transport.Standard, Op: msg.OpSubsystemStatus, Body: status(2)}, key: 1}
	for _, step := range []struct {
		what   string
		change func()
		want   bool
	}{
		{"nobody got either", func() {}, true},
		{"others got the expected one", func() { x.src.matched = 1 }, true},
		{"others got both", func() { third.byKey.at(g.key).gots = []*got{g} }, false},
	} {
		step.change()
		if got := c.related(x, g); got != step.want {
			t.Errorf("%s: got %v, want %v", step.what, got, step.want)
		}
	}
}

// TestAhead: a copy that came before its original excuses one that did not come
// afterwards, unless it belongs to another message.
func TestAhead(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	const key = 5
	original := &source{kind: Input, number: 7, time: at(10)}
	for _, c := range []struct {
		name string
		came int // when a copy came
		src  *source
		want bool
	}{
		{"shortly before", 9, nil, true},
		{"long before", 6, nil, false},
		{"behind it", 11, nil, false},
		{"a copy of another", 9, &source{}, false},
	} {
		d := newDestination(new(Client), new(reached))
		d.sights(key, sighting{at: at(c.came), number: 3, came: true})
		d.order.add(place{number: 3, key: key, at: at(c.came), src: c.src})
		if got := d.ahead(&expect{src: original, key: key}); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
