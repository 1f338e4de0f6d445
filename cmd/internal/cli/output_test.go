package cli

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// A discarded output leaves the folder unchanged: no new file appears, and an
// old one is unchanged.
func TestOutputDiscard(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before []byte // nil for no file
	}{{"new", nil}, {"empty", []byte{}}, {"old", []byte("report")}} {
		t.Run(tt.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "report.txt")
			if tt.before != nil {
				if err := os.WriteFile(name, tt.before, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o, err := OpenOutput(name, Streams{Graceful: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := o.Discard(); err != nil {
				t.Error(err)
			}
			after, err := os.ReadFile(name)
			if gone := errors.Is(err, fs.ErrNotExist); gone != (tt.before == nil) || !bytes.Equal(after, tt.before) {
				t.Errorf("got %q, %v", after, err)
			}
			if list, err := os.ReadDir(filepath.Dir(name)); err != nil || len(list) > 1 {
				t.Errorf("%v, %v", list, err)
			}
		})
	}
}
