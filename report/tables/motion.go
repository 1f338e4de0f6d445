package tables

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
)

// Nine of ten records are ship updates, and most of them contain only flight.
// These fields are filled without walking the message, which is faster. A test
// compares the result with the walk.

// motion has the columns for the flight of a ship.
type motion struct {
	object, slot, name, ship, source, clock, flags, position, hash, forward, up, speed, cloaked int
}

// newMotion finds the columns.
func newMotion(t *Table) *motion {
	at := func(name string) int {
		return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	}
	return &motion{
		at("object_id"), at("object_slot"), at("object_name"), at("ship"), at("ship_source"), at(msg.ClockField), at("flags"), at("position_x"),
		at("integrity_hash"), at("forward_x"), at("up_x"), at("speed"), at("cloaked"),
	}
}

// rest are the fields that the walk fills.
var rest = decode.Fields("subsystems", "start", "entries", "index", "name", "condition", "children", "has_power", "power", "facings", "main_battery",
	"backup_battery", "power_settings", "percent")

// fill sets the columns of the open row, except the fields of subsystems. It
// returns false if the message is malformed. Then the walk has to fill all
// columns.
func (c *motion) fill(t *rows, v *visitor, r *dissect.Record) bool {
	m, ok := r.Message.(*msg.StateUpdate)
	if !ok || r.Status != dissect.StatusOK {
		return false
	}
	t.int(c.object, int64(m.Object))
	if slot, ok := m.Object.Slot(); ok {
		t.int(c.slot, int64(slot))
	}
	if r.Session != nil {
		if v.text = r.Session.AppendObject(v.text[:0], m.Object); len(v.text) > 0 {
			t.put(c.name, &display.Item{Type: decode.TypeText, Text: v.text})
		}
	}
	if m.Class != nil {
		t.text(c.ship, m.Class.Name)
		if m.Class.Inferred {
			t.text(c.source, "inferred")
		}
	}
	t.float(c.clock, m.GameTime.Float())
	t.int(c.flags, int64(m.Flags))
	if p, ok := m.AbsolutePosition(); ok {
		t.vector(c.position, p)
	}
	if m.Flags&msg.DirtyPosition != 0 && m.HasHash {
		t.int(c.hash, int64(m.Hash))
	}
	if m.Flags&msg.DirtyForward != 0 {
		t.vector(c.forward, m.Forward.Vec())
	}
	if m.Flags&msg.DirtyUp != 0 {
		t.vector(c.up, m.Up.Vec())
	}
	if m.Flags&msg.DirtySpeed != 0 {
		t.float(c.speed, m.Speed.Float())
	}
	if m.Flags&msg.DirtyCloak != 0 {
		t.bool(c.cloaked, m.Cloak != (r.Layout == decode.OpenBC))
	}
	return true
}

// vector sets three columns.
func (r *rows) vector(column int, v [3]float32) {
	for i, x := range v {
		r.float(column+i, x)
	}
}
