package msg

import (
	"encoding/binary"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// Sizes within a StateUpdate.
const (
	stateHead     = 1 + 4 + 4 + 1 // opcode, object, time, flags
	positionBytes = 12
	deltaBytes    = 5
	dirBytes      = 3
	speedBytes    = 2
	facings       = 6
)

// UpdatedObject returns the ship that a payload is an update of; ok is false if
// it is no StateUpdate or too short to tell.
func UpdatedObject(payload []byte) (id wire.ObjectID, ok bool) {
	if len(payload) < 1+4 || decode.Opcode(payload[0]) != OpStateUpdate {
		return 0, false
	}
	return wire.ObjectID(binary.LittleEndian.Uint32(payload[1:])), true
}

// UpdateHead returns the ship that a payload is an update of, and which fields
// follow; ok is false if it is no StateUpdate or too short to tell.
func UpdateHead(payload []byte) (id wire.ObjectID, flags Dirty, ok bool) {
	id, ok = UpdatedObject(payload)
	if !ok || len(payload) < stateHead {
		return id, 0, false
	}
	return id, Dirty(payload[stateHead-1]), true
}

// stateLeast is the least number of bytes that an update has with each
// combination of flags, bits not counted.
var stateLeast = func() (least [256]uint8) {
	for flags := range least {
		n := stateHead
		for _, part := range []struct {
			flag Dirty
			size int
		}{{DirtyPosition, positionBytes}, {DirtyDelta, deltaBytes}, {DirtyForward, dirBytes}, {DirtyUp, dirBytes}, {DirtySpeed, speedBytes}} {
			if Dirty(flags)&part.flag != 0 {
				n += part.size
			}
		}
		least[flags] = uint8(n)
	}
	return least
}()

// ReadFast implements [decode.FastReader]: nineteen of twenty game messages are
// updates, and a walk takes several times as long. It has to be kept in step
// with Walk; a test and a fuzz target hold them against each other.
func (m *StateUpdate) ReadFast(b []byte, d decode.Dialect, env decode.Env) bool {
	m.Reset()
	if len(b) < stateHead {
		return false
	}
	m.Object = wire.ObjectID(binary.LittleEndian.Uint32(b[1:]))
	m.GameTime = wire.F32(binary.LittleEndian.Uint32(b[5:]))
	flags := Dirty(b[9])
	m.Flags = flags
	if len(b) < int(stateLeast[flags]) {
		return false
	}
	if env != nil {
		m.Class = env.Ship(m.Object)
	}
	var group bitGroup
	var ok bool
	off := stateHead
	if flags&DirtyPosition != 0 {
		p := b[off : off+positionBytes]
		m.Position[0] = wire.F32(binary.LittleEndian.Uint32(p))
		m.Position[1] = wire.F32(binary.LittleEndian.Uint32(p[4:]))
		m.Position[2] = wire.F32(binary.LittleEndian.Uint32(p[8:]))
		off += positionBytes
		if off, ok = group.open(b, off, d); !ok {
			return false
		}
		m.HasHash = group.next()
		if m.HasHash {
			if len(b)-off < 2 {
				return false
			}
			m.Hash = binary.LittleEndian.Uint16(b[off:])
			off += 2
		}
		if len(b)-off < int(stateLeast[flags&^DirtyPosition])-stateHead {
			return false
		}
	}
	if flags&DirtyDelta != 0 {
		p := b[off : off+deltaBytes]
		m.Delta.Dir = wire.Dir3{int8(p[0]), int8(p[1]), int8(p[2])}
		m.Delta.Len = wire.CF16(binary.LittleEndian.Uint16(p[3:]))
		off += deltaBytes
		if env != nil {
			m.base, m.hasBase = env.Base(m.Object)
		}
	}
	const motion = DirtyForward | DirtyUp | DirtySpeed
	if flags&motion == motion { // as in most
		p := b[off : off+2*dirBytes+speedBytes]
		m.Forward = wire.Dir3{int8(p[0]), int8(p[1]), int8(p[2])}
		m.Up = wire.Dir3{int8(p[3]), int8(p[4]), int8(p[5])}
		m.Speed = wire.CF16(binary.LittleEndian.Uint16(p[6:]))
		off += len(p)
	} else {
		off = m.fastMotion(b, off)
	}
	if flags&DirtyCloak != 0 {
		if off, ok = group.open(b, off, d); !ok {
			return false
		}
		m.Cloak = group.next()
	}
	if flags&DirtySubsystems != 0 {
		if off, ok = m.fastBlock(b, off, d, &group); !ok {
			return false
		}
	}
	if flags&DirtyPower != 0 {
		for ; len(b)-off >= 2; off += 2 {
			m.Power = append(m.Power, Setting{Index: b[off], Value: b[off+1]})
		}
	}
	return off == len(b) && group.left == 0
}

// fastMotion reads those fields of direction and speed that are present, for
// which there are bytes enough. It returns where they end.
func (m *StateUpdate) fastMotion(b []byte, off int) int {
	if m.Flags&DirtyForward != 0 {
		p := b[off : off+dirBytes]
		m.Forward = wire.Dir3{int8(p[0]), int8(p[1]), int8(p[2])}
		off += dirBytes
	}
	if m.Flags&DirtyUp != 0 {
		p := b[off : off+dirBytes]
		m.Up = wire.Dir3{int8(p[0]), int8(p[1]), int8(p[2])}
		off += dirBytes
	}
	if m.Flags&DirtySpeed != 0 {
		m.Speed = wire.CF16(binary.LittleEndian.Uint16(b[off:]))
		off += speedBytes
	}
	return off
}

// fastBlock reads a subsystem block, which begins with its start index. It
// returns where the block ends.
func (m *StateUpdate) fastBlock(b []byte, off int, d decode.Dialect, group *bitGroup) (end int, ok bool) {
	if m.Class == nil || off >= len(b) {
		return off, false
	}
	list := m.Class.Subsystems
	i := int(b[off])
	if i >= len(list) {
		return off, false
	}
	m.Start = b[off]
	full, least := off+blockLimit, 1
	off++
	openBC := d == decode.OpenBC
	if openBC {
		least = 2
	}
	entries := slices.Grow(m.Entries[:0], len(list))[:len(list)]
	n := 0
	for ; n < len(entries) && (n < least || off < full); n++ {
		def := &list[i]
		kind, shield, children := def.Kind, def.Role == ship.Shield, len(def.Children)
		if openBC && shield {
			kind, shield = ship.Base, false
		}
		if len(b)-off < 1+children {
			return off, false
		}
		e := &entries[n]
		*e = Entry{Index: uint8(i), Condition: b[off]}
		off++
		if children > 0 {
			e.Children = b[off : off+children : off+children]
			off += children
		}
		switch kind {
		case ship.Powered:
			if group.left == 0 {
				if off, ok = group.open(b, off, d); !ok {
					return off, false
				}
			}
			if e.HasPower = group.next(); e.HasPower {
				if off >= len(b) {
					return off, false
				}
				e.Power = b[off]
				off++
			}
		case ship.Base, ship.Reactor:
			if openBC && group.left > 0 { // it closes the group of bits, which is not empty
				return off, false
			}
		}
		if shield {
			if len(b)-off < facings {
				return off, false
			}
			e.Facings = b[off : off+facings : off+facings]
			off += facings
		}
		if kind == ship.Reactor {
			if len(b)-off < 2 {
				return off, false
			}
			e.Main, e.Backup = b[off], b[off+1]
			off += 2
		}
		if i++; i == len(list) {
			i = 0
		}
	}
	m.Entries = entries[:n]
	return off, true
}

// A bitGroup is the group of bits that is open.
type bitGroup struct {
	bits, left, full uint8
	any              bool // there was a group
}

// open opens a group, which begins at off, if none is open. It returns where the
// next byte is.
func (g *bitGroup) open(b []byte, off int, d decode.Dialect) (at int, ok bool) {
	if g.left > 0 {
		return off, true
	}
	if off >= len(b) {
		return off, false
	}
	count, values := b[off]>>5, b[off]&0x1F
	// The game fills a group before it begins another.
	if count == 0 || count > 5 || values>>count != 0 || g.any && g.full < 5 && d != decode.OpenBC {
		return off, false
	}
	g.bits, g.left, g.full, g.any = values, count, count, true
	return off + 1, true
}

// next returns the next bit of the group that is open.
func (g *bitGroup) next() bool {
	bit := g.bits&1 != 0
	g.bits >>= 1
	g.left--
	return bit
}
