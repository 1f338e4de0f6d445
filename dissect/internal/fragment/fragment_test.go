package fragment

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// at returns a time of the capture.
func at(seconds float64) time.Time {
	return time.Unix(1_000_000_000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// A step is a fragment and its expected outcome.
type step struct {
	at           float64 // seconds
	seq          uint16
	index, count uint8
	part         string
	want         string // as written by told
}

// told writes a result in one line.
func told(r *Result) string {
	var b strings.Builder
	b.WriteString([]string{Pending: "pending", Complete: "complete", Duplicate: "duplicate", Invalid: "invalid"}[r.Status])
	if r.Status == Complete {
		fmt.Fprintf(&b, " %q %v", r.Message, r.Frames)
	}
	for _, g := range r.Evicted {
		fmt.Fprintf(&b, "; %s", toldGroup(&g))
	}
	if r.Err != nil {
		fmt.Fprintf(&b, ": %v", r.Err)
	}
	return b.String()
}

func toldGroup(g *Group) string {
	return fmt.Sprintf("%d given up %v: %d of %d, %d bytes, frames %d to %d", g.Seq, g.Reason, g.Have, g.Count, g.Bytes, g.First, g.Last)
}

// The steps of a test have frame numbers from 1.
func TestOrders(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits Limits
		steps  []step
		flush  string
	}{
		{"in order", Limits{}, []step{
			{0, 2, 0, 3, "one", "pending"},
			{0, 2, 1, 0, "two", "pending"},
			{0, 2, 2, 0, "three", `complete "onetwothree" [1 2 3]`},
		}, ""},
		{"reversed", Limits{}, []step{
			{0, 2, 2, 0, "three", "pending"},
			{0, 2, 1, 0, "two", "pending"},
			{0, 2, 0, 3, "one", `complete "onetwothree" [3 2 1]`},
		}, ""},
		{"first in the middle", Limits{}, []step{
			{0, 2, 1, 0, "two", "pending"},
			{0, 2, 0, 3, "one", "pending"},
			{0, 2, 2, 0, "three", `complete "onetwothree" [2 1 3]`},
		}, ""},
		{"only one", Limits{}, []step{
			{0, 7, 0, 1, "all", `complete "all" [1]`},
		}, ""},
		{"the count of others means nothing", Limits{}, []step{
			{0, 2, 1, 9, "two", "pending"},
			{0, 2, 0, 2, "one", `complete "onetwo" [2 1]`},
		}, ""},
		{"empty parts", Limits{}, []step{
			{0, 2, 0, 3, "", "pending"},
			{0, 2, 2, 0, "", "pending"},
			{0, 2, 2, 0, "", "duplicate"},
			{0, 2, 1, 0, "x", `complete "x" [1 4 2]`},
			{0, 3, 0, 1, "", `complete "" [5]`},
		}, ""},
		{"two messages mixed", Limits{}, []step{
			{0, 2, 0, 2, "a", "pending"},
			{0, 3, 1, 0, "D", "pending"},
			{0, 2, 1, 0, "b", `complete "ab" [1 3]`},
			{0, 3, 0, 2, "C", `complete "CD" [4 2]`},
		}, ""},
		{"first missing", Limits{}, []step{
			{0, 2, 1, 0, "two", "pending"},
			{0, 2, 2, 0, "three", "pending"},
		}, "2 given up at the end: 2 of 0, 8 bytes, frames 1 to 2"},
		{"several missing, the longest waiting first", Limits{}, []step{
			{0, 2, 0, 3, "a", "pending"},
			{0, 3, 0, 2, "bb", "pending"},
			{0, 1, 1, 0, "c", "pending"},
			{0, 2, 2, 0, "d", "pending"},
		}, "3 given up at the end: 1 of 2, 2 bytes, frames 2 to 2\n" +
			"1 given up at the end: 1 of 0, 1 bytes, frames 3 to 3\n" +
			"2 given up at the end: 2 of 3, 2 bytes, frames 1 to 4"},
		{"duplicates before the end", Limits{}, []step{
			{0, 2, 1, 0, "two", "pending"},
			{0, 2, 1, 0, "two", "duplicate"},
			{0, 2, 0, 3, "one", "pending"},
			{0, 2, 0, 3, "one", "duplicate"},
			{0, 2, 2, 0, "three", `complete "onetwothree" [3 1 5]`},
		}, ""},
		{"a complete message begins anew", Limits{}, []step{
			{0, 2, 0, 2, "one", "pending"},
			{0, 2, 1, 0, "two", `complete "onetwo" [1 2]`},
			{1, 2, 1, 0, "two", "pending"},
			{2, 2, 0, 2, "one", `complete "onetwo" [4 3]`},
		}, ""},
		{"the same again when the first is old", Limits{}, []step{
			{0, 2, 0, 2, "one", "pending"},
			{0, 2, 1, 0, "two", `complete "onetwo" [1 2]`},
			{30.5, 2, 1, 0, "two", "pending"},
			{30.5, 2, 0, 2, "one", `complete "onetwo" [4 3]`},
		}, ""},
		{"time goes back by as much as the age", Limits{}, []step{
			{30, 2, 0, 2, "one", "pending"},
			{0, 3, 0, 1, "two", `complete "two" [2]`},
			{0, 2, 1, 0, "three", `complete "onethree" [1 3]`},
		}, ""},
		{"other bytes with the same number are another message", Limits{}, []step{
			{0, 2, 0, 2, "one", "pending"},
			{0, 2, 1, 0, "two", `complete "onetwo" [1 2]`},
			{1, 2, 0, 2, "eins", "pending"},
			{1, 2, 1, 0, "zwei", `complete "einszwei" [3 4]`},
		}, ""},
		{"another index with the same bytes is no duplicate", Limits{}, []step{
			{0, 2, 0, 2, "x", "pending"},
			{0, 2, 1, 0, "x", `complete "xx" [1 2]`},
			{0, 2, 2, 0, "x", "pending"},
		}, "2 given up at the end: 1 of 0, 1 bytes, frames 3 to 3"},
		{"wrap of 16 bits", Limits{}, []step{
			{0, 0xFFFF, 0, 2, "a", "pending"},
			{0, 0, 0, 2, "c", "pending"},
			{0, 0xFFFF, 1, 0, "b", `complete "ab" [1 3]`},
			{0, 0, 1, 0, "d", `complete "cd" [2 4]`},
		}, ""},
		{"wrap of 8 bits", Limits{}, []step{
			{0, 255, 0, 1, "a", `complete "a" [1]`},
			{1, 0, 0, 1, "b", `complete "b" [2]`},
			{20, 255, 0, 1, "c", `complete "c" [3]`},
			{21, 0, 0, 1, "d", `complete "d" [4]`},
		}, ""},
		{"conflict: the first stays", Limits{}, []step{
			{0, 2, 1, 0, "two", "pending"},
			{0, 2, 1, 0, "2", "invalid: fragment differs from the one that came before: fragment 1 has 1 bytes, in frame 1 it had 3"},
			{0, 2, 1, 0, "TWO", "invalid: fragment differs from the one that came before: fragment 1 has 3 bytes, in frame 1 it had 3"},
			{0, 2, 0, 2, "one", `complete "onetwo" [4 1]`},
		}, ""},
		{"two counts", Limits{}, []step{
			{0, 2, 0, 2, "one", "pending"},
			{0, 2, 0, 3, "one", "invalid: impossible fragment count: 3, in frame 1 it was 2"},
			{0, 2, 1, 0, "two", `complete "onetwo" [1 3]`},
		}, ""},
		{"no fragments", Limits{}, []step{
			{0, 2, 0, 0, "one", "invalid: impossible fragment count: fragment 0 announces none"},
		}, ""},
		{"index above the count", Limits{}, []step{
			{0, 2, 0, 2, "one", "pending"},
			{0, 2, 2, 0, "three", "invalid: fragment index out of range: 2, the message has 2"},
		}, "2 given up at the end: 1 of 2, 3 bytes, frames 1 to 1"},
		{"count below an index", Limits{}, []step{
			{0, 2, 5, 0, "six", "pending"},
			{0, 2, 0, 5, "one", "invalid: impossible fragment count: 5, but frame 1 brought fragment 5"},
			{0, 2, 0, 6, "one", "pending"},
		}, "2 given up at the end: 2 of 6, 6 bytes, frames 1 to 3"},
		{"index 255", Limits{}, []step{
			{0, 2, 255, 0, "x", "invalid: fragment index out of range: 255, no message has so many"},
		}, ""},
		{"too many", Limits{Groups: 2}, []step{
			{0, 1, 0, 2, "a", "pending"},
			{0, 2, 0, 2, "b", "pending"},
			{0, 1, 0, 2, "a", "duplicate"}, // does not extend its age
			{0, 3, 0, 2, "c", "pending; 1 given up for too many others: 1 of 2, 1 bytes, frames 1 to 1"},
			{0, 2, 1, 0, "B", `complete "bB" [2 5]`},
			{0, 1, 1, 0, "A", "pending"}, // its first fragment is gone
		}, "3 given up at the end: 1 of 2, 1 bytes, frames 4 to 4\n1 given up at the end: 1 of 0, 1 bytes, frames 6 to 6"},
		{"a fragment that completes its message makes room first", Limits{Groups: 1}, []step{
			{0, 1, 0, 2, "a", "pending"},
			{0, 2, 0, 1, "b", `complete "b" [2]; 1 given up for too many others: 1 of 2, 1 bytes, frames 1 to 1`},
		}, ""},
		{"too many bytes", Limits{Bytes: 10}, []step{
			{0, 1, 0, 2, "aaaa", "pending"},
			{0, 2, 0, 3, "bbbb", "pending"},
			{0, 3, 0, 2, "cccc", "pending; 1 given up for too many bytes: 1 of 2, 4 bytes, frames 1 to 1"},
			{0, 2, 1, 0, "BBBB", "pending; 3 given up for too many bytes: 1 of 2, 4 bytes, frames 3 to 3"},
			{0, 2, 2, 0, "..", `complete "bbbbBBBB.." [2 4 5]`},
		}, ""},
		{"several make room", Limits{Bytes: 10}, []step{
			{0, 1, 0, 2, "aaaa", "pending"},
			{0, 2, 0, 2, "bbb", "pending"},
			{0, 3, 0, 2, "cc", "pending"},
			{0, 4, 1, 0, "dddddddd", "pending; 1 given up for too many bytes: 1 of 2, 4 bytes, frames 1 to 1; 2 given up for too many bytes: 1 of 2, 3 bytes, frames 2 to 2"},
		}, "3 given up at the end: 1 of 2, 2 bytes, frames 3 to 3\n4 given up at the end: 1 of 0, 8 bytes, frames 4 to 4"},
		{"larger than the limit by itself", Limits{Bytes: 10}, []step{
			{0, 1, 0, 2, "aaaa", "pending"},
			{0, 2, 0, 2, "bbbbbbbbbbb", "invalid: fragments exceed the limit: 11 bytes, may hold 10"},
			{0, 1, 1, 0, "AAAAAA", `complete "aaaaAAAAAA" [1 3]`},
		}, ""},
		{"a message larger than the limit", Limits{Bytes: 10}, []step{
			{0, 1, 0, 2, "aa", "pending"},
			{0, 2, 0, 3, "bbbb", "pending"},
			{0, 2, 1, 0, "bbbbbbb", "invalid; 2 given up for too many bytes: 1 of 3, 4 bytes, frames 2 to 2: fragments exceed the limit: 11 bytes, may hold 10"},
			{0, 1, 1, 0, "AA", `complete "aaAA" [1 4]`},
		}, ""},
		{"too old", Limits{}, []step{
			{0, 1, 0, 2, "a", "pending"},
			{10, 2, 0, 2, "b", "pending"},
			{30, 3, 0, 2, "c", "pending"},
			{30.001, 4, 0, 2, "d", "pending; 1 given up after too long a time: 1 of 2, 1 bytes, frames 1 to 1"},
			{30.002, 1, 1, 0, "A", "pending"},
			{100, 5, 0, 1, "e", `complete "e" [6]; ` +
				"2 given up after too long a time: 1 of 2, 1 bytes, frames 2 to 2; " +
				"3 given up after too long a time: 1 of 2, 1 bytes, frames 3 to 3; " +
				"4 given up after too long a time: 1 of 2, 1 bytes, frames 4 to 4; " +
				"1 given up after too long a time: 1 of 0, 1 bytes, frames 5 to 5"},
		}, ""},
		{"the last fragment counts for the age, and so does a duplicate", Limits{Age: time.Second}, []step{
			{0, 1, 0, 4, "a", "pending"},
			{0.9, 1, 1, 0, "b", "pending"},
			{1.8, 1, 1, 0, "b", "duplicate"},
			{2.7, 1, 2, 0, "c", "pending"},
			{3.7, 1, 3, 0, "d", `complete "abcd" [1 2 4 5]`},
		}, ""},
		{"its own message is too old", Limits{Age: time.Second}, []step{
			{0, 1, 0, 2, "a", "pending"},
			{5, 1, 1, 0, "b", "pending; 1 given up after too long a time: 1 of 2, 1 bytes, frames 1 to 1"},
		}, "1 given up at the end: 1 of 0, 1 bytes, frames 2 to 2"},
		{"time goes back a little", Limits{}, []step{
			{10, 1, 0, 2, "a", "pending"},
			{9, 1, 1, 0, "b", `complete "ab" [1 2]`},
		}, ""},
		{"time goes back far: another capture", Limits{}, []step{
			{1000, 1, 0, 2, "a", "pending"},
			{1000, 2, 0, 1, "x", `complete "x" [2]`},
			{0, 2, 0, 1, "x", `complete "x" [3]; 1 given up after too long a time: 1 of 2, 1 bytes, frames 1 to 1`},
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := New(tt.limits)
			for i, s := range tt.steps {
				part := []byte(s.part)
				r := table.Add(at(s.at), s.seq, s.index, s.count, i+1, part)
				if got := told(&r); got != s.want {
					t.Errorf("step %d: got %s\nwant %s", i+1, got, s.want)
				}
				clear(part) // the table must not keep it
			}
			var lost []string
			for _, g := range table.Flush() {
				lost = append(lost, toldGroup(&g))
			}
			if got := strings.Join(lost, "\n"); got != tt.flush {
				t.Errorf("flush: got %s\nwant %s", got, tt.flush)
			}
			if groups, n := table.Held(); groups != 0 || n != 0 {
				t.Errorf("after flush: got %d groups of %d bytes", groups, n)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	table := New(Limits{Bytes: 100})
	table.Add(at(0), 1, 0, 2, 1, []byte("one"))
	for _, tt := range []struct {
		name         string
		index, count uint8
		part         string
		want         error
	}{
		{"index", 2, 0, "x", ErrIndex},
		{"count", 0, 3, "one", ErrCount},
		{"conflict", 0, 2, "two", ErrConflict},
		{"bytes", 1, 0, strings.Repeat("x", 98), ErrBytes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if r := table.Add(at(0), 1, tt.index, tt.count, 2, []byte(tt.part)); r.Status != Invalid || !errors.Is(r.Err, tt.want) {
				t.Errorf("got %s, want %v", told(&r), tt.want)
			}
		})
	}
}

func TestFlushForgets(t *testing.T) {
	table := New(Limits{})
	for range 2 {
		if r := table.Add(at(0), 1, 0, 1, 1, []byte("x")); r.Status != Complete {
			t.Errorf("got %s, want complete", told(&r))
		}
		table.Flush()
	}
}

func TestStrings(t *testing.T) {
	if got := fmt.Sprintf("%v, %v, %v, %v, %v, %v", AtFlush, TooOld, TooMany, TooLarge, nrReasons, Reason(9)); got != "at the end, after too long a time, for too many others, for too many bytes, ?, ?" {
		t.Errorf("got %s", got)
	}
}

// The largest message: 255 fragments, in mixed order.
func TestLargest(t *testing.T) {
	table := New(Limits{})
	var want []byte
	for i := range maxCount {
		want = append(want, partOf(i)...)
	}
	for n := range maxCount {
		i := (n*101 + 7) % maxCount
		count := uint8(0)
		if i == 0 {
			count = maxCount
		}
		r := table.Add(at(0), 9, uint8(i), count, 1000+i, partOf(i))
		if n < maxCount-1 {
			if r.Status != Pending {
				t.Fatalf("fragment %d: got %s", i, told(&r))
			}
			continue
		}
		if r.Status != Complete || !bytes.Equal(r.Message, want) || len(r.Frames) != maxCount || !slices.IsSorted(r.Frames) || r.Frames[0] != 1000 {
			t.Errorf("got %v, %d bytes, frames %v", r.Status, len(r.Message), r.Frames)
		}
	}
}

func partOf(i int) []byte { return fmt.Appendf(nil, "<%d>", i) }

// Hostile input cannot make the table grow.
func TestHostile(t *testing.T) {
	large := make([]byte, 8185)
	for _, tt := range []struct {
		name string
		part []byte
	}{{"nothing", nil}, {"much", large}} {
		t.Run(tt.name, func(t *testing.T) {
			table := New(DefaultLimits())
			for seq := range 200 {
				for index := 1; index < 255; index += 3 {
					table.Add(at(0), uint16(seq), uint8(index), 0, seq, tt.part)
				}
			}
			checkBounds(t, table)
			memory := cap(table.message) + 8*cap(table.frames) + 80*cap(table.evicted)
			for _, g := range append(slices.Clone(table.groups), table.free...) {
				memory += cap(g.data) + 40*cap(g.pieces)
			}
			if memory > 3<<20 {
				t.Errorf("the table has %d bytes of memory", memory)
			}
		})
	}
}

func checkBounds(tb testing.TB, table *Table) {
	tb.Helper()
	sum := 0
	for _, g := range table.groups {
		sum += len(g.data)
		if len(g.pieces) == 0 || len(g.pieces) > maxCount {
			tb.Errorf("a group has %d pieces", len(g.pieces))
		}
	}
	groups, held := table.Held()
	if groups > table.limits.Groups || held > table.limits.Bytes || held != sum {
		tb.Errorf("%d groups, %d bytes, counted %d", groups, held, sum)
	}
	if n := len(table.groups) + len(table.free); n > table.limits.Groups {
		tb.Errorf("%d groups are kept", n)
	}
}

func TestNoAllocation(t *testing.T) {
	table := New(Limits{})
	part := make([]byte, 405)
	seq := uint16(0)
	round := func() {
		for i := range 3 {
			part[0]++
			for range 2 { // the second is a duplicate
				table.Add(at(float64(seq)), seq, uint8(i), 3, int(seq), part)
			}
		}
		table.Add(at(float64(seq)), seq+1000, 1, 0, 1, part) // incomplete; evicted in time
		seq++
	}
	for range 200 {
		round()
	}
	if got := testing.AllocsPerRun(1000, round); got > 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

// FuzzReassemble decodes the input to fragments, four bytes each, and compares
// the table with a simple model.
func FuzzReassemble(f *testing.F) {
	f.Add([]byte{0, 0, 3, 0, 0, 1, 0, 1, 0, 2, 0, 2})
	f.Add([]byte{1, 2, 0, 0, 1, 1, 0, 1, 1, 0, 3, 2, 1, 0, 3, 2})
	f.Add([]byte{1, 0, 2, 0, 1, 0, 2, 9, 0x81, 1, 0, 0, 2, 0, 0, 0, 3, 255, 0, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		ops = ops[:min(len(ops), 256)]
		type held struct {
			count int
			parts map[uint8][]byte
			frame map[uint8]int
		}
		limits := Limits{Groups: 3, Bytes: 100, Age: 10 * time.Second}
		table := New(limits)
		open := map[uint16]*held{}
		now := at(0)
		gone := func(list []Group) {
			for _, g := range list {
				h := open[g.Seq]
				if h == nil || g.Have != len(h.parts) || g.Count != h.count {
					t.Fatalf("given up %+v, held %+v", g, h)
				}
				n := 0
				for _, p := range h.parts {
					n += len(p)
				}
				if n != g.Bytes {
					t.Fatalf("given up %+v with %d bytes", g, n)
				}
				delete(open, g.Seq)
			}
		}
		for frame := 1; len(ops) >= 4; frame++ {
			seq, index, count, b := uint16(ops[0]&7), ops[1], ops[2], ops[3]
			if ops[0]&0x80 != 0 {
				now = now.Add(time.Duration(int8(ops[0])) * 100 * time.Millisecond)
			} else {
				now = now.Add(time.Duration(ops[0]>>3) * 500 * time.Millisecond)
			}
			ops = ops[4:]
			part := bytes.Repeat([]byte{b}, int(b%64))
			kept := bytes.Clone(part)
			r := table.Add(now, seq, index, count, frame, part)
			for i := range part {
				part[i] ^= 0xFF
			}
			gone(r.Evicted)
			checkBounds(t, table)
			if (r.Status == Invalid) != (r.Err != nil) {
				t.Fatalf("got %s", told(&r))
			}
			h := open[seq]
			switch r.Status {
			case Pending, Complete:
				if h == nil {
					h = &held{parts: map[uint8][]byte{}, frame: map[uint8]int{}}
					open[seq] = h
				}
				if _, ok := h.parts[index]; ok {
					t.Fatalf("fragment %d of %d is stored twice", index, seq)
				}
				h.parts[index], h.frame[index] = kept, frame
				if index == 0 {
					h.count = int(count)
				}
			case Duplicate:
				if h == nil || !bytes.Equal(h.parts[index], kept) {
					t.Fatalf("fragment %d of %d is no duplicate", index, seq)
				}
			}
			if r.Status == Pending && h.count != 0 && len(h.parts) >= h.count {
				t.Fatalf("message %d is complete", seq)
			}
			if r.Status != Complete {
				continue
			}
			var want []byte
			var frames []int
			for i := range h.count {
				p, ok := h.parts[uint8(i)]
				if !ok {
					t.Fatalf("message %d lacks fragment %d", seq, i)
				}
				want, frames = append(want, p...), append(frames, h.frame[uint8(i)])
			}
			if len(h.parts) != h.count || !bytes.Equal(r.Message, want) || !slices.Equal(r.Frames, frames) {
				t.Fatalf("message %d: got %x, frames %v, want %x, frames %v", seq, r.Message, r.Frames, want, frames)
			}
			delete(open, seq)
		}
		gone(table.Flush())
		if len(open) > 0 {
			t.Fatalf("%d messages were neither completed nor given up", len(open))
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	table := New(Limits{})
	part := make([]byte, 406)
	now := at(0)
	seq := uint16(0)
	for b.Loop() {
		table.Add(now, seq, 0, 2, 1, part[1:])
		table.Add(now, seq, 1, 0, 2, part)
		seq++
		now = now.Add(time.Second)
	}
}
