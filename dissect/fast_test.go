package dissect_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// A walked update has no fast reader, so it is read by its walk.
type walked struct{ m msg.StateUpdate }

func (w *walked) Walk(c *decode.Codec) { w.m.Walk(c) }
func (w *walked) Reset()               { w.m.Reset() }

// known is the pipeline's knowledge of a ship.
type known struct{ class *ship.Class }

func (k known) Ship(wire.ObjectID) *ship.Class          { return k.class }
func (known) Base(wire.ObjectID) (p wire.Vec3, ok bool) { return p, false }

// fieldLines records the fields shown, except for positions derived from
// earlier messages. Package msg tests their values.
type fieldLines struct{ lines []string }

func (l *fieldLines) Field(f *decode.Field) {
	if f.Kind != decode.KindPlace {
		l.lines = append(l.lines, fmt.Sprintln(f.Name, f.Kind, f.Off, f.End))
	}
}

func (l *fieldLines) Begin(g *decode.Group) {
	l.lines = append(l.lines, fmt.Sprintln("begin", g.Name, g.Index))
}
func (l *fieldLines) End(g *decode.Group) { l.lines = append(l.lines, fmt.Sprintln("end", g.Name)) }

// The pipeline returns every ship update of every capture as its walk reads it:
// the fields, the undecoded bytes, and whether it is complete.
func TestUpdatesAsWalked(t *testing.T) {
	spec := &decode.Spec{
		Code: 0x1C, Name: "StateUpdate", BySender: true, Layout: decode.LayoutOf[walked](),
		Forms: []decode.Form{{Dialect: decode.OpenBC, Layout: decode.LayoutOf[walked]()}},
	}
	d := decode.NewDecoder()
	var viewer decode.Viewer
	whole, others := 0, 0
	for _, name := range captures(t) {
		recorded.Records(t, name, dissect.Config{}, func(r *dissect.Record) {
			m, ok := r.Message.(*msg.StateUpdate)
			if !ok {
				return
			}
			res := d.ReadAs(spec, r.Payload, r.Layout, known{m.Class})
			if res.Exact() != (r.Status == dissect.StatusOK) || len(res.Rest) != len(r.Rest) || (res.Err == nil) != (r.Err == nil) {
				t.Fatalf("%s, frame %d: status %v, %d bytes left, %v; the walk leaves %d, %v",
					name, r.Datagram.Number, r.Status, len(r.Rest), r.Err, len(res.Rest), res.Err)
			}
			if !res.Exact() {
				others++
				return
			}
			whole++
			var got, want fieldLines
			r.Visit(&viewer, &got)
			viewer.Show(&res.Message.(*walked).m, r.Payload, 1, r.Layout, &want)
			if fmt.Sprint(got.lines) != fmt.Sprint(want.lines) {
				t.Fatalf("%s, frame %d:\n got %v\nwant %v", name, r.Datagram.Number, got.lines, want.lines)
			}
		})
	}
	if whole < 30_000 || others < 10 {
		t.Errorf("got %d whole updates and %d others", whole, others)
	}
}

// A pipeline that sometimes omits values, copies or updates makes the same
// records as one that never does, apart from these: it learns as much.
func TestNeeds(t *testing.T) {
	type place struct {
		frame, part int
		line        string
	}
	enc := ndjson.NewEncoder(ndjson.Options{NoCapture: true}) // making one takes longer than a record
	of := func(r *dissect.Record) place {
		w := place{part: r.Part, line: string(enc.Append(nil, r))}
		if r.Datagram != nil {
			w.frame = r.Datagram.Number
		}
		return w
	}
	for _, name := range captures(t) {
		var want []place
		recorded.Records(t, name, dissect.Config{}, func(r *dissect.Record) { want = append(want, of(r)) })

		src, err := capture.Open(filepath.Join(fixtures.Dir(), "captures", name), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := dissect.New(dissect.Config{})
		n, omitted, missing := 0, 0, 0
		check := func(r *dissect.Record) error {
			got := of(r)
			for ; n < len(want) && want[n].frame%7 >= 5 && (want[n].frame != got.frame || want[n].part != got.part); n++ {
				missing++
				if w := &want[n]; w.frame%7 == 6 {
					if !strings.Contains(w.line, `"name":"StateUpdate"`) || strings.Contains(w.line, "SUBSYSTEMS") {
						t.Fatalf("%s, frame %d: no record of %s", name, w.frame, w.line)
					}
				} else if w.part == 0 || !strings.Contains(w.line, `"name":"StateUpdate"`) || !strings.Contains(w.line, `"author":`) ||
					!strings.Contains(w.line, `"copy_of":`) || strings.Contains(w.line, "SUBSYSTEMS") || strings.Contains(w.line, `"notes"`) {
					t.Fatalf("%s, frame %d: no record of %s", name, w.frame, w.line)
				}
			}
			_, update := r.Opcode()
			if r.Message == nil && update && r.Spec != nil && r.Spec.Name == "StateUpdate" && r.Status == dissect.StatusOK {
				omitted++
			} else if n >= len(want) || got != want[n] {
				t.Fatalf("%s:\n got %v\nwant %v", name, got, want[min(n, len(want)-1)])
			}
			n++
			return nil
		}
		for {
			d, err := src.Next()
			if err != nil {
				break
			}
			needs := dissect.Needs{Updates: dissect.UpdateHeaders}
			switch d.Number % 7 {
			case 4:
				needs.Updates = dissect.UpdatesWhole
			case 5:
				needs.Updates = dissect.UpdatesOnce
			case 6:
				needs.Updates = dissect.NoUpdates
			}
			p.Need(needs)
			if err := p.Push(d, check); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Flush(check); err != nil {
			t.Fatal(err)
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
		if n != len(want) || (omitted == 0 || missing == 0) && name == "battle_mix.pcap.gz" {
			t.Errorf("%s: %d records, %d of them without values and %d missing, want %d", name, n, omitted, missing, len(want))
		}
	}
}
