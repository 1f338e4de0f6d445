package wireshark

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/fixtures"
)

// buffer is a pipe that is closed once.
type buffer struct {
	bytes.Buffer
	closed int
}

func (b *buffer) Close() error { b.closed++; return nil }

// streamed returns the stream that Wireshark gets of a capture with options, and
// the number of frames that it got at once.
func streamed(t *testing.T, file string, options ...string) (pipe *buffer, frames int) {
	t.Helper()
	var e extcap
	cmd := &cobra.Command{}
	e.define(cmd)
	if err := cmd.ParseFlags(options); err != nil {
		t.Fatal(err)
	}
	cfg, err := e.Config()
	if err != nil {
		t.Fatal(err)
	}
	pipe = new(buffer)
	st := newStream(pipe, cfg, &e.Selection, false)
	st.idle = func() bool { return true }
	src, err := capture.OpenTapped([]string{fixtures.Path(file)}, nil, st)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for {
		d, err := src.Next()
		if err != nil {
			break
		}
		before := pipe.Len()
		if err := st.datagram(d); err != nil {
			t.Fatal(err)
		}
		if pipe.Len() > before {
			if frames++; d.Number != frames {
				t.Errorf("frame %d has the number %d", frames, d.Number)
			}
		}
	}
	whole := pipe.Len()
	if err := st.Close(); err != nil || pipe.closed != 1 || pipe.Len() != whole {
		t.Errorf("closed %d times with %v; %d bytes had to wait", pipe.closed, err, pipe.Len()-whole)
	}
	return pipe, frames
}

// summaries returns a line for each datagram, with the kinds of its records.
func summaries(t *testing.T, src packet.Source) (lines []string) {
	t.Helper()
	p := dissect.New(dissect.Config{})
	for {
		d, err := src.Next()
		if err != nil {
			return lines
		}
		line := fmt.Sprintf("%s %v %v (full %d)", d.Time, d.Src, d.Dst, d.Full)
		_ = p.Push(d, func(r *dissect.Record) error {
			name := fmt.Sprint("kind ", r.Kind)
			if r.Spec != nil {
				name = r.Spec.Name
			}
			line += fmt.Sprintf(" %s %v", name, r.Status)
			return nil
		})
		lines = append(lines, line)
	}
}

// Wireshark gets each frame at once and deciphered, or without those that hold
// nothing but updates of ships.
func TestStream(t *testing.T) {
	const file = "captures/lossy.pcap"
	in, err := capture.Open(fixtures.Path(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	all := summaries(t, in)
	onlyUpdates := regexp.MustCompile(`\(full \d+\)( StateUpdate [a-z]*)+$`)
	for options, want := range map[string][]string{
		"":             all,
		"--no-updates": slices.DeleteFunc(slices.Clone(all), onlyUpdates.MatchString),
	} {
		pipe, frames := streamed(t, file, strings.Fields(options)...)
		if frames != len(want) {
			t.Errorf("%s: got %d frames at once, want %d", options, frames, len(want))
		}
		b := pipe.Bytes()
		out, err := capture.NewReader("pipe", bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		for d, err := out.Next(); err == nil; d, err = out.Next() {
			if d.Form != packet.Clear {
				t.Fatalf("%s: frame %d is not marked as deciphered", options, d.Number)
			}
		}
		if out, err = capture.NewReader("pipe", bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
		if got := summaries(t, out); options == "" && !slices.Equal(got, want) || len(got) != len(want) {
			t.Errorf("%s: got %d datagrams of %d, or with other messages", options, len(got), len(want))
		}
	}
}

// A plugin with the engine receives unchanged frames.
func TestRawStream(t *testing.T) {
	pipe := new(buffer)
	var e extcap
	e.define(&cobra.Command{})
	cfg, err := e.Config()
	if err != nil {
		t.Fatal(err)
	}
	st := newStream(pipe, cfg, &e.Selection, true)
	st.idle = func() bool { return true }
	const name = "captures/stock_client.pcap"
	src, err := capture.OpenTapped([]string{fixtures.Path(name)}, nil, st)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	n := 0
	for d, err := src.Next(); err == nil; d, err = src.Next() {
		payload := bytes.Clone(d.Payload)
		if err := st.datagram(d); err != nil {
			t.Fatal(err)
		}
		if n++; !bytes.Contains(pipe.Bytes(), payload) {
			t.Fatalf("frame %d is not as it was", n)
		}
	}
	if bytes.Contains(pipe.Bytes(), []byte(capture.ClearMark)) || bytes.Contains(pipe.Bytes(), []byte(dissect.NotesMark)) || n != 345 {
		t.Errorf("%d frames, with marks of deciphered ones", n)
	}
}

// Whether the engine is installed is known from the record of the installation.
func TestEngineInstalled(t *testing.T) {
	home := t.TempDir()
	t.Setenv("WIRESHARK_CONFIG_DIR", home)
	if engineInstalled() {
		t.Error("the engine is installed where nothing is")
	}
	p := &place{config: home}
	a := []artefact{{kind: "engine", path: filepath.Join(home, engineName()), content: []byte("engine"), mode: 0o644}}
	if err := install(p, a); err != nil {
		t.Fatal(err)
	}
	if !engineInstalled() {
		t.Error("the engine is not found")
	}
	if err := os.Remove(a[0].path); err != nil || engineInstalled() {
		t.Error("an engine that is gone is found")
	}
}
