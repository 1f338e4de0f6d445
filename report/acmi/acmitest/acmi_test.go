// Package acmitest reads recordings with a parser of another project. It is a
// separate module, so that the program does not depend on the parser.
package acmitest

import (
	"archive/zip"
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/dharmab/goacmi/objects"
	"github.com/dharmab/goacmi/parsing"
	"github.com/dharmab/goacmi/properties"

	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report/acmi"
)

// recording holds the parser's findings.
type recording struct {
	tracks    map[uint64][]position
	names     map[uint64]string
	pilots    map[uint64]string
	removed   map[uint64]float64
	messages  int
	destroyed []uint64
}

type position struct{ t, x, y, z float64 }

func read(t *testing.T, text []byte) recording {
	t.Helper()
	r := recording{map[uint64][]position{}, map[uint64]string{}, map[uint64]string{}, map[uint64]float64{}, 0, nil}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if lines[0] != "FileType=text/acmi/tacview" || lines[1] != "FileVersion=2.2" {
		t.Fatalf("the head is %q", lines[:2])
	}
	now := 0.0
	for _, line := range lines[2:] {
		if strings.HasPrefix(line, "#") {
			d, err := parsing.ParseTimeFrame(line)
			if err != nil {
				t.Fatal(err)
			}
			if s := d.Seconds(); s < now {
				t.Fatalf("time goes from %v back to %v", now, s)
			} else {
				now = s
			}
			continue
		}
		u, err := parsing.ParseObjectUpdate(line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		r.update(t, u, now)
	}
	return r
}

func (r *recording) update(t *testing.T, u *objects.Update, now float64) {
	t.Helper()
	if u.IsRemoval {
		r.removed[u.ID] = now
		return
	}
	if e, ok := u.Properties["Event"]; ok && u.ID == 0 {
		switch {
		case strings.HasPrefix(e, "Message|"):
			r.messages++
		case strings.HasPrefix(e, "Destroyed|"):
			gone, err := parsing.ParseObjectUpdate(strings.Split(e, "|")[1])
			if err != nil {
				t.Fatal(err)
			}
			r.destroyed = append(r.destroyed, gone.ID)
		}
	}
	if name, ok := u.Properties[properties.Name]; ok {
		r.names[u.ID], r.pilots[u.ID] = name, u.Properties[properties.Pilot]
	}
	if _, ok := u.Properties[properties.Transform]; !ok || u.ID == 0 {
		return
	}
	o := objects.New(u.ID)
	if err := o.Update(u, 0, 0); err != nil {
		t.Fatal(err)
	}
	c, err := o.GetCoordinates(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The parser keeps one of several fields of the same text, so that only
	// longitude and latitude are always there. It cuts times to milliseconds.
	p := position{now, *c.Longitude * 111_319.5, *c.Latitude * 111_319.5, math.NaN()}
	if c.Altitude != nil {
		p.z = c.Altitude.Meters() - 10_000
	}
	r.tracks[u.ID] = append(r.tracks[u.ID], p)
}

// TestRecording compares a recording with the matches that it is of.
func TestRecording(t *testing.T) {
	all := recorded.Matches(t, "battle_mix.pcap.gz")
	var text bytes.Buffer
	if err := acmi.Write(&text, all); err != nil {
		t.Fatal(err)
	}
	r := read(t, text.Bytes())
	m := all[0]
	if len(m.Lives) != 5 || len(r.tracks) != 5 {
		t.Fatalf("%d ships of %d", len(r.tracks), len(m.Lives))
	}
	for i := range m.Lives {
		l, id := &m.Lives[i], uint64(i+1)
		if r.names[id] != l.Ship || r.pilots[id] != m.NameOf(l.Player).Raw() {
			t.Errorf("ship %d is %q of %q, want %q of %q", id, r.names[id], r.pilots[id], l.Ship, m.NameOf(l.Player))
		}
		if len(r.tracks[id]) != len(l.Track) {
			t.Errorf("ship %d: %d positions, want %d", id, len(r.tracks[id]), len(l.Track))
			continue
		}
		for n, p := range r.tracks[id] {
			s := &l.Track[n]
			far := math.Abs(p.t-s.T) > 0.0016 || math.Abs(p.x-float64(s.At[0])) > 0.001 || math.Abs(p.y-float64(s.At[1])) > 0.001
			if far || math.Abs(p.z-float64(s.At[2])) > 0.001 { // false where there is none
				t.Fatalf("ship %d, position %d: got %+v, want %+v", id, n, p, s)
			}
		}
		if end := max(l.End, l.Track[len(l.Track)-1].T); math.Abs(r.removed[id]-end) > 0.0016 {
			t.Errorf("ship %d is removed at %v, want %v", id, r.removed[id], end)
		}
	}
	if r.messages != len(m.Chat) || len(r.destroyed) != 1 || r.names[r.destroyed[0]] != "Keldon" {
		t.Errorf("%d messages, want %d; destroyed %v, want the Keldon", r.messages, len(m.Chat), r.destroyed)
	}

	var packed bytes.Buffer
	if err := acmi.WriteZip(&packed, all); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil || len(z.File) != 1 {
		t.Fatal(err, len(z.File))
	}
	f, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if same, err := io.ReadAll(f); err != nil || !bytes.Equal(same, text.Bytes()) {
		t.Errorf("the zipped recording is another: %v", err)
	}
}
