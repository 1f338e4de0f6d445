package report

import (
	"bytes"
	"encoding/binary"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
)

// Limits of a copy, in bytes. Ship updates have 5 to 100 bytes.
const (
	copiedBytes = 128
	copiedText  = 4096
)

// Copies caches the texts of recently written messages. A host sends a copy of
// each ship update to every player, so in a battle of eight most updates occur
// several times. The zero value is ready to use.
type Copies struct {
	slots  [256]Copy
	object []byte // buffer
}

// A Copy is the text for the fields of a message, with the data it was made
// from.
type Copy struct {
	text    []byte
	payload []byte
	object  []byte // the session's description of the object in the message
	context decode.Context
	spec    *decode.Spec
	layout  decode.Dialect
}

// Find returns the text for the fields of r if it is cached. Otherwise it
// returns the place in which to keep it, or nil if messages of this kind are
// not repeated.
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
	// Multiplier of the hash. Updates begin with the ship and the time, which
	// several updates may share.
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

// Keep caches the text unless it is too long. It may be called with a nil c.
func (c *Copy) Keep(text []byte) {
	if c != nil && len(text) <= copiedText {
		c.text = append(c.text[:0], text...)
	}
}
