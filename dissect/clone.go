package dissect

import (
	"bytes"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// Clone returns a copy of the record that stays valid. It includes the
// session's current knowledge of the players and objects in the record's
// fields.
func (r *Record) Clone() *Record {
	c := *r
	if r.Datagram != nil {
		d := *r.Datagram
		d.Payload = bytes.Clone(d.Payload)
		c.Datagram = &d
	}
	c.Bytes, c.Payload, c.Rest = bytes.Clone(r.Bytes), bytes.Clone(r.Payload), bytes.Clone(r.Rest)
	c.fields = bytes.Clone(r.fields)
	c.Pieces, c.Notes = slices.Clone(r.Pieces), slices.Clone(r.Notes)
	if e, ok := r.Err.(*decode.Error); ok { //nolint:errorlint // the decoder's own, which it reuses
		fault := *e
		c.Err = &fault
	}
	if r.Kind == KindGameSpy {
		c.GameSpy = gamespy.Parse(c.Bytes)
	}
	if r.Message != nil {
		c.Message = r.readAgain(c.fields)
	}
	c.Player, c.Author = r.Player.Clone(), r.Author.Clone()
	if r.Session != nil {
		f := frozen{map[numbered]*Player{}, map[wire.ObjectID]object{}}
		var w decode.Viewer
		r.Visit(&w, decode.FieldFunc(func(v *decode.Field) { f.know(r, v) }))
		c.Session = &f
	}
	return &c
}

// A numbered is a player number and its numbering.
type numbered struct {
	by decode.Number
	n  int64
}

// An object is a session's knowledge of an object.
type object struct {
	text  wire.Untrusted
	ship  wire.ObjectID
	known bool
}

// frozen is a session's knowledge of the players and objects in a record.
type frozen struct {
	players map[numbered]*Player
	objects map[wire.ObjectID]object
}

// know stores what the session of a record knows about a field.
func (f *frozen) know(r *Record, v *decode.Field) {
	switch s := r.Session; {
	case v.Who != decode.NoPlayer:
		n := v.Whole()
		by := v.Who.In(r.Writer, r.Dir == ToHost)
		f.players[numbered{by, n}] = s.Player(by, n).Clone()
	case v.Kind == decode.KindObject:
		id := wire.ObjectID(v.Uint)
		o := object{text: s.Object(id)}
		o.ship, o.known = s.ShipOf(id)
		f.objects[id] = o
	}
}

// Player implements [Resolver].
func (f *frozen) Player(by decode.Number, n int64) *Player { return f.players[numbered{by, n}] }

// Object implements [Resolver].
func (f *frozen) Object(id wire.ObjectID) wire.Untrusted { return f.objects[id].text }

// AppendObject implements [Resolver].
func (f *frozen) AppendObject(dst []byte, id wire.ObjectID) []byte {
	return append(dst, f.objects[id].text.Raw()...)
}

// ShipOf implements [Resolver].
func (f *frozen) ShipOf(id wire.ObjectID) (at wire.ObjectID, ok bool) {
	o := f.objects[id]
	return o.ship, o.known
}

// readAgain decodes the message of the record from a copy of its bytes.
func (r *Record) readAgain(fields []byte) decode.Message {
	d := decode.NewDecoder()
	if r.fieldsAt == 0 {
		return d.ReadBody(r.Spec, fields).Message
	}
	env := then{}
	switch m := r.Message.(type) {
	case *msg.StateUpdate:
		env.class = m.Class
		env.base, env.known = m.Base()
	case *msg.SubsystemStatusOpenBC:
		env.class = m.Class
	}
	return d.ReadAs(r.Spec, fields, r.Layout, &env).Message
}

// then is the Env of the record's first decoding.
type then struct {
	class *ship.Class
	base  wire.Vec3
	known bool
}

// Ship implements [decode.Env].
func (t *then) Ship(wire.ObjectID) *ship.Class { return t.class }

// Base implements [decode.Env].
func (t *then) Base(wire.ObjectID) (wire.Vec3, bool) { return t.base, t.known }

// Clone returns a pipeline in the same state and with the same options as p.
// The two share only constant data and are independent of each other.
func (p *Pipeline) Clone() *Pipeline {
	c := New(p.cfg)
	c.table = p.table.Clone()
	c.table.Note = c.now.note
	c.stats, c.needs.Updates = p.stats, p.needs.Updates
	c.clock, c.headers, c.doubles = p.clock, p.headers, p.doubles.clone()
	c.now.notes = slices.Clone(p.now.notes)
	c.now.sighted, c.now.from = p.now.sighted, p.now.from
	c.now.from.Author = p.now.from.Author.Clone()
	c.asides.waiting = slices.Clone(p.asides.waiting)
	return c
}

// Memory returns the approximate size in bytes of a clone of the pipeline.
func (p *Pipeline) Memory() int {
	const itself = 64 << 10 // bytes for the pipeline and its decoders
	return itself + p.table.Memory() + p.doubles.memory()
}
