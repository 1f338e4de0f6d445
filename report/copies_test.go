package report_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/table"
)

// names is a session in which every object has the same description.
type names string

func (names) Player(decode.Number, int64) *dissect.Player       { return nil }
func (n names) Object(wire.ObjectID) wire.Untrusted             { return wire.Untrusted(n) }
func (n names) AppendObject(dst []byte, _ wire.ObjectID) []byte { return append(dst, n...) }
func (names) ShipOf(id wire.ObjectID) (wire.ObjectID, bool)     { return id, false }

// A text is found again only if nothing has changed that may show in it.
func TestCopies(t *testing.T) {
	record := func(change func(*dissect.Record, *msg.StateUpdate)) *dissect.Record {
		m := &msg.StateUpdate{Object: 0x3FFFFFFF}
		r := &dissect.Record{Message: m, Payload: fixtures.Unhex(t, "1CFFFFFF3F0000803F00"), Session: names("Akira of Cady2")}
		if change != nil {
			change(r, m)
		}
		return r
	}
	for _, test := range []struct {
		name   string
		change func(*dissect.Record, *msg.StateUpdate)
		found  bool
	}{
		{"the same", nil, true},
		{"in another direction", func(r *dissect.Record, _ *msg.StateUpdate) { r.Dir = dissect.FromHost }, true},
		{"other bytes", func(r *dissect.Record, _ *msg.StateUpdate) { r.Payload[9]++ }, false},
		{"more bytes", func(r *dissect.Record, _ *msg.StateUpdate) { r.Payload = append(r.Payload, 0) }, false},
		{"another dialect", func(r *dissect.Record, _ *msg.StateUpdate) { r.Layout = decode.OpenBC }, false},
		{"another definition", func(r *dissect.Record, _ *msg.StateUpdate) { r.Spec = new(decode.Spec) }, false},
		{"another owner", func(r *dissect.Record, _ *msg.StateUpdate) { r.Session = names("Akira of Bo") }, false},
		{"no session", func(r *dissect.Record, _ *msg.StateUpdate) { r.Session = nil }, false},
		{"a known class", func(_ *dissect.Record, m *msg.StateUpdate) { m.Class = ship.BySpecies(1) }, false},
		{"residue", func(r *dissect.Record, _ *msg.StateUpdate) { r.Rest = r.Payload[9:] }, false},
		{"an error", func(r *dissect.Record, _ *msg.StateUpdate) { r.Err = io.EOF }, false},
		{"another kind", func(r *dissect.Record, _ *msg.StateUpdate) { r.Message = new(msg.Chat) }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c report.Copies
			_, keep := c.Find(record(nil))
			keep.Keep([]byte("text"))
			text, _ := c.Find(record(test.change))
			if found := string(text) == "text"; found != test.found {
				t.Errorf("got %q, want it found: %t", text, test.found)
			}
		})
	}
}

// A report that has seen the whole session writes the same for a record as one
// that sees only this record.
func TestCopiesInReports(t *testing.T) {
	sinks := func(w io.Writer, start time.Time) []report.Sink {
		return []report.Sink{
			ndjson.New(w, ndjson.Options{Live: true, Start: start}),
			table.New(w, table.Options{Verbose: true, Live: true, Start: start}),
			table.New(w, table.Options{Verbose: true, Live: true, Start: start, Color: true}),
		}
	}
	var all []report.Sink
	var got, want bytes.Buffer
	var start time.Time
	records := 0
	for r, err := range dissect.File(fixtures.Path("captures/networked_battle.pcap")) {
		if err != nil {
			t.Fatal(err)
		}
		if all == nil {
			start = r.Time
			all = sinks(&got, start)
		}
		got.Reset()
		want.Reset()
		for i, fresh := range sinks(&want, start) {
			if err := errors.Join(all[i].Record(r), fresh.Record(r)); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Fatalf("frame %d, message %d: got\n%s\nwant\n%s", r.Datagram.Number, r.Part, got.Bytes(), want.Bytes())
		}
		if records++; records > fixtures.More(1000, math.MaxInt) {
			return
		}
	}
	if records < 4000 {
		t.Errorf("got %d records", records)
	}
}
