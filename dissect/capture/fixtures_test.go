package capture

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/fixtures"
)

func readFixture(t *testing.T, name string) ([]packet.Datagram, Stats, error) {
	t.Helper()
	f, err := Open(fixtures.Path(name), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := datagrams(t, f)
	return all, f.Stats(), err
}

func allCaptures(tb testing.TB) []string {
	tb.Helper()
	names := fixtures.Glob(tb, "captures/*.pcap")
	names = append(names, fixtures.Glob(tb, "captures/*.gz")...)
	names = append(names, fixtures.Glob(tb, "captures/variants/*.pcap")...)
	return append(names, fixtures.Glob(tb, "captures/variants/*.pcapng")...)
}

// The counts agree with independent decoders.
func TestTruth(t *testing.T) {
	for _, name := range fixtures.Glob(t, "captures/*.truth.json") {
		t.Run(name, func(t *testing.T) {
			var truth struct {
				File    string
				Capture struct {
					Frames   int
					Cut      int     `json:"frames_cut_by_snaplen"`
					Duration float64 `json:"duration_s"`
				}
				Datagrams int `json:"udp_datagrams"`
			}
			if err := json.Unmarshal(fixtures.Read(t, name), &truth); err != nil {
				t.Fatal(err)
			}
			all, stats, err := readFixture(t, "captures/"+truth.File)
			if err != nil {
				t.Fatal(err)
			}
			cut := 0
			for _, d := range all {
				if d.Truncated() {
					cut++
				}
			}
			if stats.Frames != truth.Capture.Frames || stats.Datagrams != truth.Datagrams || len(all) != truth.Datagrams || cut != truth.Capture.Cut {
				t.Errorf("got %d frames, %d datagrams, %d cut, want %d, %d, %d",
					stats.Frames, len(all), cut, truth.Capture.Frames, truth.Datagrams, truth.Capture.Cut)
			}
			if got := stats.LastTime.Sub(stats.FirstTime).Seconds(); math.Abs(got-truth.Capture.Duration) > 1e-6 {
				t.Errorf("got %v seconds, want %v", got, truth.Capture.Duration)
			}
		})
	}
}

// One capture in all file formats gives the same datagrams.
func TestVariants(t *testing.T) {
	want, _, err := readFixture(t, "captures/join_flow.pcap")
	if err != nil || len(want) != 160 {
		t.Fatalf("got %d datagrams and %v, want 160", len(want), err)
	}
	names := append(fixtures.Glob(t, "captures/variants/*.pcap"), fixtures.Glob(t, "captures/variants/*.pcapng")...)
	if len(names) != 17 {
		t.Errorf("got %d variants, want 17", len(names))
	}
	for _, name := range names {
		form := strings.TrimPrefix(name, "captures/variants/join_flow-")
		t.Run(form, func(t *testing.T) {
			got, _, err := readFixture(t, name)
			count, cut := 160, 0
			switch form {
			case "headeronly.pcap":
				count = 0
			case "filecut.pcap":
				count = 159
				if !errors.Is(err, ErrCut) || !strings.HasSuffix(err.Error(), "filecut.pcap: cut short in frame 160 at byte 13361: everything before it was read") {
					t.Errorf("got %v, want the place of the cut", err)
				}
				err = nil
			case "snap60.pcap":
				cut = 69
			}
			if err != nil || len(got) != count {
				t.Fatalf("got %d datagrams and %v, want %d", len(got), err, count)
			}
			digits := int8(6)
			if strings.HasPrefix(form, "n") && form != "null.pcap" {
				digits = 9
			}
			for i, d := range got {
				w := want[i]
				if d.Truncated() {
					cut--
					w.Payload = w.Payload[:60-42] // the snap length leaves less
				}
				if !d.Time.Equal(w.Time) || d.Digits != digits && form != "ns.pcapng" && form != "two-interfaces.pcapng" {
					t.Errorf("frame %d: got %v with %d digits, want %v with %d", d.Number, d.Time, d.Digits, w.Time, digits)
				}
				if d.Number != w.Number || d.Src != w.Src || d.Dst != w.Dst || d.Full != w.Full || !bytes.Equal(d.Payload, w.Payload) {
					t.Errorf("got %+v, want %+v", d, w)
				}
			}
			if cut != 0 {
				t.Errorf("got %d cut datagrams too few", cut)
			}
		})
	}
}

// The manifest lists every capture with its description, size and checksum.
func TestManifest(t *testing.T) {
	manifest := string(fixtures.Read(t, "MANIFEST.md"))
	names := slices.Concat(fixtures.Glob(t, "captures/*.*"), fixtures.Glob(t, "captures/variants/*.*"), fixtures.Glob(t, "captures/reliability/*.*"))
	for _, name := range names {
		b := fixtures.Read(t, name)
		if len(b) >= 1<<20 {
			t.Errorf("%s has %d bytes, want less than 1 MiB", name, len(b))
		}
		begins, ends := fmt.Sprintf("| %s | %d | ", name, len(b)), fmt.Sprintf(" | %x |", sha256.Sum256(b))
		found := false
		for line := range strings.Lines(manifest) {
			line = strings.TrimSpace(line)
			found = found || strings.HasPrefix(line, begins) && strings.HasSuffix(line, ends)
		}
		if !found {
			t.Errorf("MANIFEST.md lacks %s%s", begins, ends)
		}
	}
}
