package dissect

import (
	"encoding/binary"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// A host sends most messages to each of its clients. Counting decodes the first
// of these only.

// latest holds messages that decoded to their last byte whatever the session
// knew, and from which it learned nothing: the latest with each hash.
type latest [64]decoded

// A decoded is such a message. It is as large as a line of the processor's cache.
type decoded struct {
	spec   *decode.Spec   // nil if there is none
	sender decode.Dialect // of the sender or, if the host passed it on, of the author
	layout decode.Dialect
	size   uint8
	bytes  [53]byte
}

// place returns the place of a message, or nil if it is too short or too long.
func (l *latest) place(payload []byte) *decoded {
	const word = 8
	if len(payload) < word || len(payload) > len(l[0].bytes) {
		return nil
	}
	const k0, k1 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
	h := binary.LittleEndian.Uint64(payload)*k0 ^ binary.LittleEndian.Uint64(payload[len(payload)-word:])
	return &l[h*k1>>58]
}

// again returns the layout of a message that was decoded before.
func (l *latest) again(spec *decode.Spec, payload []byte, sender decode.Dialect) (layout decode.Dialect, ok bool) {
	m := l.place(payload)
	ok = m != nil && m.spec == spec && m.sender == sender && string(m.bytes[:m.size]) == string(payload)
	if !ok {
		return decode.Undecided, false
	}
	return m.layout, true
}

// keep keeps a message.
func (l *latest) keep(payload []byte, sender decode.Dialect, res *decode.Result) {
	if m := l.place(payload); m != nil {
		*m = decoded{spec: res.Spec, sender: sender, layout: res.Dialect, size: uint8(len(payload))}
		copy(m.bytes[:], payload)
	}
}

// asked is an environment that notices whether a message depends on it.
type asked struct {
	decode.Env
	yes bool
}

// Ship implements [decode.Env].
func (a *asked) Ship(id wire.ObjectID) *ship.Class {
	a.yes = true
	return a.Env.Ship(id)
}

// Base implements [decode.Env].
func (a *asked) Base(id wire.ObjectID) (wire.Vec3, bool) {
	a.yes = true
	return a.Env.Base(id)
}
