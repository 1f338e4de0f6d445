package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// ShortEvent replaces several events in OpenBC's battle test. It contains only
// the object.
type ShortEvent struct{ Object wire.ObjectID }

// Actor returns the object.
func (m *ShortEvent) Actor() wire.ObjectID { return m.Object }

// Walk implements [decode.Message].
func (m *ShortEvent) Walk(c *decode.Codec) {
	c.Object("object_id", &m.Object, "the object concerned")
}
