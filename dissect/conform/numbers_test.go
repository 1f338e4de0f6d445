package conform

import (
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

func TestNumbers(t *testing.T) {
	type seen struct {
		seq    uint16
		digest uint64
	}
	for _, c := range []struct {
		name  string
		eight bool
		seen  []seen
		want  []int64 // -1 for a repetition
	}{
		{"in order", false, []seen{{0, 1}, {1, 2}, {2, 3}}, []int64{0, 1, 2}},
		{"repeated", false, []seen{{0, 1}, {1, 2}, {0, 1}, {1, 2}, {2, 2}}, []int64{0, 1, -1, -1, 2}},
		{"late", false, []seen{{0, 1}, {2, 3}, {1, 2}, {1, 2}}, []int64{0, 2, 1, -1}},
		{"wrap", false, []seen{{65534, 1}, {65535, 2}, {0, 3}, {1, 1}}, []int64{65534, 65535, 65536, 65537}},
		{"wrap of 8 bits", true, []seen{{254, 1}, {255, 2}, {0, 3}, {1, 1}}, []int64{254, 255, 256, 257}},
		{"same bytes a lap later", true, lap(func(i int) seen { return seen{uint16(i % 256), uint64(i % 4)} }), counted(300)},
		{"as a number to come, but said before", true, append(lap(func(i int) seen { return seen{uint16(i % 256), uint64(i)} }), seen{uint16(150), 150}), append(counted(300), -1)},
		{"begins late", false, []seen{{500, 1}, {501, 2}, {499, 3}}, []int64{500, 501, 499}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n numbers
			for i, s := range c.seen {
				got, fresh := n.take(s.seq, s.digest, c.eight)
				if !fresh {
					got = -1
				}
				if got != c.want[i] {
					t.Fatalf("message %d: got %d, want %d", i, got, c.want[i])
				}
			}
		})
	}
}

// lap makes 300 of a thing: more than one lap of numbers of 8 bits.
func lap[T any](f func(i int) T) (list []T) {
	for i := range 300 {
		list = append(list, f(i))
	}
	return list
}

func counted(n int) (list []int64) {
	for i := range n {
		list = append(list, int64(i))
	}
	return list
}

func TestHeld(t *testing.T) {
	var q held
	for _, n := range []int64{5, 2, 9, 3} {
		q.put(&Event{Number: n})
	}
	for i, want := range []int64{2, 3, 5, 9} {
		if got := q.events[i].Number; got != want {
			t.Errorf("place %d: got %d, want %d", i, got, want)
		}
	}
}

// A message that the host has acknowledged, and the capture does not hold, does
// not come any more.
func TestHeldAcknowledged(t *testing.T) {
	for _, tt := range []struct {
		seq  uint16
		wide bool
		want bool
	}{{300, true, true}, {44, true, false}, {44, false, true}, {43, false, false}, {301, true, false}} {
		q := held{begun: true, next: 300}
		if q.acknowledged(tt.seq, tt.wide); q.got != tt.want {
			t.Errorf("%d, %v: got %v, want %v", tt.seq, tt.wide, q.got, tt.want)
		}
	}
	var q held
	if q.acknowledged(0, false); q.got {
		t.Error("nothing was waited for")
	}
}

func TestPieces(t *testing.T) {
	for _, c := range []struct {
		name   string
		index  []uint8
		broken bool
	}{
		{"in order", []uint8{0, 1, 2}, false},
		{"doubled", []uint8{0, 0, 1, 1, 2}, true},
		{"reversed", []uint8{2, 1, 0}, true},
		{"first missing", []uint8{1, 2, 0}, true},
	} {
		var p pieces
		var got bool
		for i, x := range c.index {
			got = p.take(&transport.Header{Seq: 7, Index: x}, i == len(c.index)-1)
		}
		if got != c.broken {
			t.Errorf("%s: got %v, want %v", c.name, got, c.broken)
		}
		if p.take(&transport.Header{Seq: 8}, true) {
			t.Errorf("%s: the next message is broken, too", c.name)
		}
	}
}

// TestLag: ranges are a sixteenth wide at most, and quantiles those of the
// sorted list.
func TestLag(t *testing.T) {
	for _, d := range []time.Duration{0, time.Microsecond, 31 * time.Microsecond, time.Millisecond, 33 * time.Millisecond, time.Second, time.Hour} {
		if got := lagOf(lagIndex(d)); got < d-d/16 || got > d+d/16+time.Microsecond {
			t.Errorf("%v becomes %v", d, got)
		}
	}
	r := Report{rows: map[rowKey]*Row{}}
	for i := 1; i <= 100; i++ {
		r.lag(transport.Standard, msg.OpChat, time.Duration(i)*time.Millisecond)
	}
	row := r.row(transport.Standard, msg.OpChat)
	for _, c := range []struct {
		part float64
		want time.Duration
	}{{0.5, 50 * time.Millisecond}, {0.95, 95 * time.Millisecond}, {1, 100 * time.Millisecond}} {
		if got := row.quantile(c.part); got < c.want-c.want/16 || got > c.want+c.want/16 {
			t.Errorf("%v of 1 to 100 ms: got %v, want about %v", c.part, got, c.want)
		}
	}
}
