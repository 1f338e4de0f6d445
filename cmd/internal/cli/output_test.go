package cli

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// whole keeps the slice that it is given.
type whole struct {
	bytes.Buffer
	kept []byte
}

func (w *whole) Keep(text []byte) ([]byte, error) {
	w.kept = text
	return []byte{}, nil
}

// half writes half of each slice.
type half struct{ io.Writer }

func (h half) Write(b []byte) (int, error) { return h.Writer.Write(b[:len(b)/2]) }

func TestOutputKeeps(t *testing.T) {
	text := []byte("text")
	var w whole
	o := (&Output{}).To(&w)
	if empty, err := o.Keep(text); err != nil || len(empty) != 0 || len(w.kept) != 4 || &w.kept[0] != &text[0] || w.Len() > 0 {
		t.Errorf("a keeper: %q, %v; kept %q, written %q", empty, err, w.kept, w.String())
	}
	o = o.To(&w.Buffer)
	if empty, err := o.Keep(text); err != nil || len(empty) != 0 || cap(empty) != cap(text) || w.String() != "text" {
		t.Errorf("another: %q, %v; written %q", empty, err, w.String())
	}
	o = o.To(half{&w.Buffer})
	if _, err := o.Keep(text); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("half: got %v", err)
	}
}
