package reading

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// A sheet is an output. Its orders know of no frames.
type sheet struct {
	bytes.Buffer
	left int // writes until it fails, 0 for never
}

var errFull = errors.New("full")

func (s *sheet) Write(b []byte) (int, error) {
	if s.left > 0 {
		if s.left--; s.left == 0 {
			return 0, errFull
		}
	}
	return s.Buffer.Write(b)
}

// line is a line of a part.
func line(nr, i int) string { return fmt.Sprintf("%d.%d\n", nr, i) }

// writeParts writes every nth of some parts, of a number of lines each.
func writeParts(o *order, from, n, parts int, lines func(nr int) int) error {
	p := part{order: o}
	buf := make([]byte, 0, 64)
	for p.nr = from; p.nr < parts; p.nr += n {
		var err error
		for i := range lines(p.nr) {
			if buf, err = p.Keep(append(buf, line(p.nr, i)...)); err != nil {
				break
			}
			if len(buf) > 0 {
				return errors.New("the memory is not empty")
			}
		}
		if err := p.end(p.nr+1, err); err != nil {
			return err
		}
	}
	return nil
}

// Whoever is faster, the parts come in their order.
func TestOrder(t *testing.T) {
	const writers, parts = 3, 200
	lines := func(nr int) int { return []int{0, 1, 5, 3 * mostBlocks}[nr*nr%7%4] }
	want, frames := "", []int(nil)
	for nr := range parts {
		for i := range lines(nr) {
			want += line(nr, i)
		}
	}
	var out sheet
	o := newOrder(&out, 2, func(frame int) { frames = append(frames, frame) })
	var all sync.WaitGroup
	for from := range writers {
		all.Go(func() {
			if err := writeParts(o, from, writers, parts, lines); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := out.String(); got != want {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
	if len(frames) != parts || frames[0] != 1 || frames[parts-1] != parts {
		t.Errorf("frames: got %v", frames)
	}
	if err := o.failure(); err != nil || len(o.waiting) > 0 {
		t.Errorf("in the end: %v, %d waiting", err, len(o.waiting))
	}
}

// The part that is due goes on at once. The others wait, and whoever ends the
// one before writes them.
func TestOrderOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out sheet
		o := newOrder(&out, 1, func(int) {})
		parts := make([]part, 4)
		for i := range parts {
			parts[i] = part{order: o, nr: i}
			if _, err := parts[i].Write([]byte{'a' + byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if got := out.String(); got != "a" {
			t.Errorf("begun: got %q", got)
		}
		if err := parts[1].end(0, nil); err != nil {
			t.Fatal(err)
		}
		var third, long bool
		go func() { third = parts[2].end(0, nil) == nil }()
		go func() {
			for range mostBlocks {
				_, _ = parts[3].Keep([]byte{'d'})
			}
			long = true
		}()
		synctest.Wait()
		if got := out.String(); got != "a" || third || long {
			t.Errorf("one may wait, and %d blocks of one that has not ended: got %q, %v, %v", mostBlocks, got, third, long)
		}
		if err := parts[0].end(0, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, want := out.String(), "abc"+strings.Repeat("d", mostBlocks+1); got != want || !third || !long {
			t.Errorf("got %q, %v, %v", got, third, long)
		}
	})
}

// An error of one ends all, behind the parts before it.
func TestOrderFails(t *testing.T) {
	errMade := errors.New("made")
	tests := []struct {
		name string
		full int // the output fails at this write
		bad  int // part that cannot be made
		want error
		text string // before the end
		some string // of the part that cannot be made, perhaps
	}{
		{"the output", 3, -1, errFull, line(0, 0) + line(1, 0), ""},
		{"a part", 0, 2, errMade, line(0, 0) + line(1, 0), line(2, 0)},
		{"the first", 0, 0, errMade, "", line(0, 0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := sheet{left: tt.full}
			o := newOrder(&out, 1, func(int) {})
			var all sync.WaitGroup
			for nr := range 6 {
				all.Go(func() {
					p := part{order: o, nr: nr}
					_, err := p.Keep([]byte(line(nr, 0)))
					if nr == tt.bad {
						err = errMade
					}
					if err = p.end(0, err); err != nil && !errors.Is(err, tt.want) {
						t.Errorf("part %d: got %v", nr, err)
					}
				})
			}
			<-o.failed
			all.Wait()
			if err := o.failure(); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if got := out.String(); got != tt.text && got != tt.text+tt.some {
				t.Errorf("got %q, want %q", got, tt.text)
			}
		})
	}
}

// Memory goes round: writing allocates nothing for long.
func TestOrderMemory(t *testing.T) {
	o := newOrder(new(sheet), 1, func(int) {})
	first, second := part{order: o}, part{order: o, nr: 1}
	keep := func(p *part) {
		block := o.block(1 << 16)
		if _, err := p.Keep(append(block, 'x')); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		for range 10 {
			keep(&second)
			keep(&first)
		}
		for _, p := range []*part{&second, &first} {
			if err := p.end(0, nil); err != nil {
				t.Fatal(err)
			}
			p.nr += 2
		}
	}
	if got := len(o.free); got > 32 {
		t.Errorf("%d blocks are kept, more than there were at a time", got)
	}
	huge := make([]byte, 1, keepBlock+1)
	before := len(o.free)
	if empty, err := first.Keep(huge); err != nil || cap(empty) > keepBlock || len(o.free) > before {
		t.Errorf("after a huge block: %v, %d bytes, %d kept", err, cap(empty), len(o.free))
	}
}
