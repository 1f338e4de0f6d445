package dissect_test

import (
	"fmt"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

// A walked update is read by its walk alone, and not by the fast way of
// msg.StateUpdate.
type walked struct{ m msg.StateUpdate }

func (w *walked) Walk(c *decode.Codec) { w.m.Walk(c) }
func (w *walked) Reset()               { w.m.Reset() }

// known is what the pipeline knew of a ship.
type known struct{ class *ship.Class }

func (k known) Ship(wire.ObjectID) *ship.Class          { return k.class }
func (known) Base(wire.ObjectID) (p wire.Vec3, ok bool) { return p, false }

// fieldLines writes down which fields are shown of a message, but for positions
// that follow from earlier messages. Their values are compared in package msg.
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

// Every ship update of every capture comes out of the pipeline as its walk
// reads it: the fields, the bytes that are left over, and whether it is whole.
func TestUpdatesAsWalked(t *testing.T) {
	spec := &decode.Spec{
		Code: 0x1C, Name: "StateUpdate", BySender: true, Layout: decode.LayoutOf[walked](),
		Forms: []decode.Form{{Dialect: decode.OpenBC, Layout: decode.LayoutOf[walked]()}},
	}
	d := decode.NewDecoder()
	var viewer decode.Viewer
	whole, others := 0, 0
	for _, name := range captures(t) {
		eachRecord(t, name, dissect.Config{}, func(r *dissect.Record) {
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
