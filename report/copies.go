package report

import (
	"bytes"
	"encoding/binary"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
)

// Limits of a copy, in bytes. Ship updates have 5 to 100.
const (
	copiedBytes = 128
	copiedText  = 4096
)

// Copies keeps the texts of the messages that were written last: a host sends a
// copy of each ship update to every player, so that six of seven come several
// times in a battle of eight. Its zero value is ready to use.
type Copies struct {
	slots  [256]Copy
	object []byte // scratch
}

// A Copy is the text that stands for the fields of a message, with its inputs.
type Copy struct {
	text    []byte
	payload []byte
	object  []byte // the session's description of the object in it
	context decode.Context
	spec    *decode.Spec
	layout  decode.Dialect
}

// Find returns the text for the fields of r, if there is one. Otherwise it
// returns the place to keep it, or nil if r is of a kind that comes only once.
func (c *Copies) Find(r *dissect.Record) (text []byte, keep *Copy) {
	m, ok := r.Message.(decode.Copied)
	if !ok || len(r.Payload) < 9 || len(r.Payload) > copiedBytes || r.Err != nil || len(r.Rest) > 0 {
		return nil, nil
	}
	context := m.Context()
	c.object = c.object[:0]
	if r.Session != nil {
		c.object = r.Session.AppendObject(c.object, context.Object)
	}
	// An update begins with the ship and the time, which several may share.
	const mix = 0x9E3779B97F4A7C15
	begin, end := binary.LittleEndian.Uint64(r.Payload[1:]), binary.LittleEndian.Uint64(r.Payload[len(r.Payload)-8:])
	slot := &c.slots[((begin*mix)^end)*mix>>56]
	if bytes.Equal(slot.payload, r.Payload) && slot.context == context && slot.layout == r.Layout && slot.spec == r.Spec &&
		bytes.Equal(slot.object, c.object) && len(slot.text) > 0 {
		return slot.text, nil
	}
	slot.payload, slot.object, slot.text = append(slot.payload[:0], r.Payload...), append(slot.object[:0], c.object...), slot.text[:0]
	slot.context, slot.layout, slot.spec = context, r.Layout, r.Spec
	return nil, slot
}

// Keep keeps the text, unless it is long or nobody needs it.
func (c *Copy) Keep(text []byte) {
	if c != nil && len(text) <= copiedText {
		c.text = append(c.text[:0], text...)
	}
}
