package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/fixtures"
)

func TestExpandTime(t *testing.T) {
	at := time.Date(2002, 12, 31, 23, 5, 9, 0, time.Local)
	for name, want := range map[string]string{
		"a.pcapng": "a.pcapng", "%Y%m%d-%H%M%S.pcapng": "20021231-230509.pcapng", "100%%": "100%", "%%Y": "%Y", "": "",
	} {
		if got, err := expandTime(name, at); got != want || err != nil {
			t.Errorf("%s: got %q and %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"%", "a%", "%y", "%-d", "% Y"} {
		if got, err := expandTime(name, at); err == nil {
			t.Errorf("%s: got %q, want an error", name, got)
		}
	}
}

// A recording is for its owner only, and overwrites nothing unless told to.
func TestRecordingOpen(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.pcapng")
	open := func(output string, change func(*Recording), inputs ...string) error {
		r := Recording{Name: name}
		if change != nil {
			change(&r)
		}
		if err := r.Check(time.Now()); err != nil {
			return err
		}
		w, err := r.Open(output, capture.DatagramOptions(capture.WriterOptions{}), inputs...)
		if err != nil {
			return err
		}
		return w.Close()
	}
	mode := func() {
		t.Helper()
		if info, err := os.Stat(name); err != nil || !OnWindows && info.Mode().Perm() != 0o600 {
			t.Errorf("got %v and %v, want 0600", info.Mode(), err)
		}
	}
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := open("", nil); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	mode()
	if err := os.WriteFile(name, []byte("of somebody"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := open("", nil)
	if b, _ := os.ReadFile(name); !errors.Is(err, capture.ErrNotEmpty) || !strings.Contains(err.Error(), "--force") || string(b) != "of somebody" {
		t.Errorf("got %v, and the file holds %q", err, b)
	}
	force := func(r *Recording) { r.force = true }
	if err := open("", force, name); err == nil || !strings.Contains(err.Error(), "is an input file") {
		t.Errorf("an input: got %v", err)
	}
	for _, output := range []string{name, filepath.Join(dir, ".", "x", "..", "a.pcapng")} {
		if err := open(output, force); err == nil || StatusOf(err) != ExitUsage {
			t.Errorf("--output %s: got %v", output, err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := fixtures.Symlink(name, link); err == nil {
		if err := open(link, force); err == nil || StatusOf(err) != ExitUsage {
			t.Errorf("--output is a link: got %v", err)
		}
		if err := os.WriteFile(name, []byte("of somebody"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := open("", force); err != nil {
		t.Errorf("--force: %v", err)
	}
	mode()
	if b, err := os.ReadFile(name); err != nil || !bytes.HasPrefix(b, []byte{0x0A, 0x0D, 0x0D, 0x0A}) {
		t.Errorf("got %q, %v", b, err)
	}
	if err := open("", func(r *Recording) { r.Name = os.DevNull }); err != nil {
		t.Errorf("%s: %v", os.DevNull, err)
	}
}

func TestRecordingCheck(t *testing.T) {
	for want, r := range map[string]Recording{
		"--ring-buffer needs a file": {rotate: []string{"duration:1"}},
		"--force needs a file":       {force: true},
		"--autostop x:1: want":       {stop: []string{"x:1"}},
		"--write %x: the patterns":   {Name: "%x"},
		"--keep needs a series":      {Name: "a", keep: "1d"},
		"--keep 1x: not an age":      {Name: "a", rotate: []string{"duration:1"}, keep: "1x"},
		"--keep -1d: not an age":     {Name: "a", rotate: []string{"duration:1"}, keep: "-1d"},
		"--ring-buffer: files:N":     {Name: "a", rotate: []string{"files:2"}},
	} {
		if err := r.Check(time.Now()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	r := Recording{stop: []string{"duration:1.5", "packets:7"}}
	if err := r.Check(time.Now()); err != nil || r.After != 1500*time.Millisecond || r.Packets != 7 {
		t.Errorf("got %v, %v and %d", err, r.After, r.Packets)
	}
}

// A file is not changed until the report that replaces it is complete.
func TestOutputReplaces(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "report.txt")
	holds := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("got %q and %v, want %q", b, err, want)
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
			t.Errorf("got %v and %v, want one file", all, err)
		}
	}
	write := func(text string) *Output {
		t.Helper()
		o, err := OpenOutput(name, Streams{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return o
	}
	if err := write("first").Close(); err != nil {
		t.Fatal(err)
	}
	holds("first")
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	o := write("second")
	if b, err := os.ReadFile(name); err != nil || string(b) != "first" {
		t.Errorf("got %q and %v before it is complete", b, err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	holds("second")
	if info, err := os.Stat(name); err != nil || !OnWindows && info.Mode().Perm() != 0o640 {
		t.Errorf("got %v and %v, want the mode that it had", info.Mode(), err)
	}
	o = write("third")
	_ = o.file.Close() // makes writing fail
	if _, err := o.Write([]byte("more")); err == nil {
		t.Error("writing to a closed file did not fail")
	}
	_ = o.Close()
	holds("second")
}
