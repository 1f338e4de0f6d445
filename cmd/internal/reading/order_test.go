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

// A sheet is an output.
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

// makeParts makes every nth of some parts, of a number of lines each.
func makeParts(m *maker, from, n, parts int, lines func(nr int) int) error {
	defer close(m.blocks)
	buf := make([]byte, 0, 64)
	for nr := from; nr < parts; nr += n {
		var err error
		for i := range lines(nr) {
			if buf, err = m.Keep(append(buf, line(nr, i)...)); err != nil {
				break
			}
			if len(buf) > 0 {
				return errors.New("the memory is not empty")
			}
		}
		if err := m.end(nr+1, err); err != nil {
			return err
		}
	}
	return nil
}

// Whoever is faster, the parts come in their order.
func TestOrder(t *testing.T) {
	const makers, parts = 3, 200
	lines := func(nr int) int { return []int{0, 1, 5, 3 * mostBlocks}[nr*nr%7%4] }
	want, frames := "", []int(nil)
	for nr := range parts {
		for i := range lines(nr) {
			want += line(nr, i)
		}
	}
	var out sheet
	o := newOrder(makers)
	var all sync.WaitGroup
	for from, m := range o.makers {
		all.Go(func() {
			if err := makeParts(m, from, makers, parts, lines); err != nil {
				t.Error(err)
			}
		})
	}
	err := o.write(&out, func(frame int) { frames = append(frames, frame) })
	all.Wait()
	if got := out.String(); err != nil || got != want {
		t.Errorf("got %d bytes and %v, want %d", len(got), err, len(want))
	}
	if len(frames) != parts || frames[0] != 1 || frames[parts-1] != parts {
		t.Errorf("frames: got %v", frames)
	}
}

// The part that is due goes on at once. The others wait, up to a limit.
func TestOrderOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out sheet
		o := newOrder(2)
		first, second := o.makers[0], o.makers[1]
		ended := false
		go func() { ended = o.write(&out, func(int) {}) == nil }()
		if _, err := first.Write([]byte{'a'}); err != nil {
			t.Fatal(err)
		}
		long := false
		go func() {
			for range mostBlocks + 1 {
				_, _ = second.Keep([]byte{'b'})
			}
			long = true
			_ = second.end(0, nil)
			close(second.blocks)
		}()
		synctest.Wait()
		if got := out.String(); got != "a" || long {
			t.Errorf("%d blocks may wait: got %q, %v", mostBlocks, got, long)
		}
		if err := first.end(0, nil); err != nil {
			t.Fatal(err)
		}
		close(first.blocks)
		synctest.Wait()
		if got, want := out.String(), "a"+strings.Repeat("b", mostBlocks+1); got != want || !long || !ended {
			t.Errorf("got %q, %v, %v", got, long, ended)
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
		text string
	}{
		{"the output", 3, -1, errFull, line(0, 0) + line(1, 0)},
		{"a part", 0, 2, errMade, line(0, 0) + line(1, 0) + line(2, 0)},
		{"the first", 0, 0, errMade, line(0, 0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := sheet{left: tt.full}
			o := newOrder(3)
			var all sync.WaitGroup
			for nr, m := range o.makers {
				all.Go(func() {
					for ; ; nr += len(o.makers) {
						_, err := m.Keep([]byte(line(nr, 0)))
						if nr == tt.bad {
							err = errMade
						}
						if err = m.end(0, err); err != nil {
							if !errors.Is(err, tt.want) && !errors.Is(err, errStopped) {
								t.Errorf("part %d: got %v", nr, err)
							}
							return
						}
					}
				})
			}
			if err := o.write(&out, func(int) {}); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			all.Wait() // all makers must end
			if got := out.String(); got != tt.text {
				t.Errorf("got %q, want %q", got, tt.text)
			}
		})
	}
}

// Blocks are reused, except for very large ones.
func TestOrderMemory(t *testing.T) {
	o := newOrder(1)
	m := o.makers[0]
	written := make(chan error)
	go func() { written <- o.write(new(sheet), func(int) {}) }()
	text := make([]byte, 0, 1<<16)
	for range 1000 {
		var err error
		if text, err = m.Keep(append(text, 'x')); err != nil {
			t.Fatal(err)
		}
	}
	if empty, err := m.Keep(make([]byte, 1, keepBlock+1)); err != nil || cap(empty) > keepBlock {
		t.Errorf("after a huge block: %v, %d bytes", err, cap(empty))
	}
	close(m.blocks)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	for len(o.free) > 0 {
		if b := <-o.free; cap(b) > keepBlock || len(b) > 0 {
			t.Errorf("a block of %d bytes with %d in it is kept", cap(b), len(b))
		}
	}
}
