package dissect_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/fixtures"
)

// TestLateStart cuts off the first half of a capture and with it the ship
// creations. It counts the subsystem blocks read with inferred classes, and
// checks the classes.
func TestLateStart(t *testing.T) {
	for _, name := range []string{"battle_mix.pcap.gz", os.Getenv("BCDISSECT_LATE_CAPTURE")} {
		if name == "" {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			path := name
			if !filepath.IsAbs(path) {
				path = filepath.Join(fixtures.Dir(), "captures", name)
			}
			frames := 0
			each(t, path, 0, func(r *dissect.Record) { frames = max(frames, r.Datagram.Number) })
			type key struct{ frame, part int }
			classes := map[key]string{}
			each(t, path, 0, func(r *dissect.Record) {
				if m, ok := r.Message.(*msg.StateUpdate); ok && m.Class != nil {
					classes[key{r.Datagram.Number, r.Part}] = m.Class.Name
				}
			})
			blocks, resolved, wrong, notes := 0, 0, 0, 0
			each(t, path, frames/2, func(r *dissect.Record) {
				for _, n := range r.Notes {
					if n.Code == "inferred" {
						notes++
					}
				}
				m, ok := r.Message.(*msg.StateUpdate)
				if !ok || m.Flags&msg.DirtySubsystems == 0 {
					return
				}
				blocks++
				if r.Status != dissect.StatusOK {
					return
				}
				resolved++
				if m.Class.Inferred && !strings.Contains(m.Class.Name, classes[key{r.Datagram.Number, r.Part}]) {
					wrong++
				}
			})
			t.Logf("%d of %d blocks resolved (%.1f %%), %d inferences", resolved, blocks, 100*float64(resolved)/float64(blocks), notes)
			if blocks < 1000 || float64(resolved) < 0.9*float64(blocks) {
				t.Errorf("only %d of %d blocks are resolved", resolved, blocks)
			}
			if wrong > 0 {
				t.Errorf("%d blocks are read by the wrong class", wrong)
			}
			if notes == 0 {
				t.Error("no note tells that a class was inferred")
			}
		})
	}
}

// each runs the frames after the first skip ones through a pipeline.
func each(t *testing.T, path string, skip int, f func(*dissect.Record)) {
	t.Helper()
	src, err := capture.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	p := dissect.New(dissect.Config{})
	for {
		d, err := src.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if d.Number <= skip {
			continue
		}
		if err := p.Push(d, func(r *dissect.Record) error { f(r); return nil }); err != nil {
			t.Fatal(err)
		}
	}
}
