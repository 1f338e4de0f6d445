package report

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestASCII(t *testing.T) {
	for in, want := range map[string]string{
		"":             "",
		"Kirk ~!":      "Kirk ~!",
		"Jörg → 你好…":   "J?rg ? ???",
		"a\xffb\u0301": "a?b?",
	} {
		if got := ASCII(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// taking is a writer that keeps its input, and fails in the end.
type taking struct {
	got  []string
	fail int // the write that fails, from 1
	part bool
}

var errBroken = errors.New("broken")

func (w *taking) Write(b []byte) (int, error) {
	w.got = append(w.got, string(b))
	if len(w.got) == w.fail {
		if w.part {
			return len(b) - 1, nil
		}
		return 0, errBroken
	}
	return len(b), nil
}

// keeping keeps the text that it is given.
type keeping struct {
	taking
	kept [][]byte
	err  error
}

func (w *keeping) Keep(b []byte) ([]byte, error) {
	w.kept = append(w.kept, b)
	return nil, w.err
}

func TestLines(t *testing.T) {
	line := strings.Repeat("x", 999) + "\n"
	add := func(l *Lines, n int) (err error) {
		for range n {
			err = l.Done(append(l.Buffer(), line...))
		}
		return err
	}

	t.Run("collected", func(t *testing.T) {
		w := &taking{}
		l := NewLines(w, false)
		if err := add(l, 65); err != nil || len(w.got) != 0 {
			t.Fatalf("after 65 lines: %v, %d writes", err, len(w.got))
		}
		if err := add(l, 1); err != nil || len(w.got) != 1 {
			t.Fatalf("after 66 lines: %v, %d writes", err, len(w.got))
		}
		if err := add(l, 1); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(w.got, ""); got != strings.Repeat(line, 67) || len(w.got) != 2 {
			t.Errorf("got %d bytes in %d writes", len(got), len(w.got))
		}
		if err := l.Err(); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: got %v", err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("closed again: got %v", err)
		}
	})
	t.Run("live", func(t *testing.T) {
		w := &taking{}
		l := NewLines(w, true)
		if err := add(l, 3); err != nil || len(w.got) != 3 {
			t.Errorf("%v, %d writes", err, len(w.got))
		}
	})
	t.Run("broken", func(t *testing.T) {
		w := &taking{fail: 2}
		l := NewLines(w, true)
		if err := add(l, 2); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		if err := add(l, 1); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		if err := l.Close(); !errors.Is(err, errBroken) || len(w.got) != 2 {
			t.Errorf("close: got %v, %d writes", err, len(w.got))
		}
	})
	t.Run("kept", func(t *testing.T) {
		w := &keeping{}
		l := NewLines(w, false)
		if err := add(l, 150); err != nil || len(w.got) != 0 {
			t.Fatalf("%v, %d writes", err, len(w.got))
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Join(w.kept, nil); string(got) != strings.Repeat(line, 150) || len(w.kept) != 3 {
			t.Errorf("got %d bytes in %d pieces", len(got), len(w.kept))
		}
		w.err = errBroken
		if err := add(l, 66); !errors.Is(err, errBroken) {
			t.Errorf("broken: got %v", err)
		}
		if err := l.Close(); !errors.Is(err, errBroken) || len(w.kept) != 4 {
			t.Errorf("close: got %v, %d pieces", err, len(w.kept))
		}
	})
	t.Run("short write", func(t *testing.T) {
		l := NewLines(&taking{fail: 1, part: true}, true)
		if err := add(l, 1); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("got %v", err)
		}
	})
}
