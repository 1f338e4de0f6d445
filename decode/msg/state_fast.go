package msg

import (
	"encoding/binary"

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

// stateLeast is the least number of bytes that an update has with each
// combination of flags, bits not counted.
var stateLeast = func() (least [256]uint8) {
	for flags := range least {
		n := stateHead
		for flag, size := range map[Dirty]int{
			DirtyPosition: positionBytes, DirtyDelta: deltaBytes, DirtyForward: dirBytes, DirtyUp: dirBytes, DirtySpeed: speedBytes,
		} {
			if Dirty(flags)&flag != 0 {
				n += size
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
	m.Flags = Dirty(b[9])
	if len(b) < int(stateLeast[m.Flags]) {
		return false
	}
	if env != nil {
		m.Class = env.Ship(m.Object)
	}
	r := fastReader{b: b, off: stateHead, openBC: d == decode.OpenBC}
	if m.Flags&DirtyPosition != 0 {
		p := r.b[r.off : r.off+positionBytes]
		for i := range m.Position {
			m.Position[i] = wire.F32(binary.LittleEndian.Uint32(p[4*i:]))
		}
		r.off += positionBytes
		m.HasHash = r.bit()
		if m.HasHash {
			if len(b)-r.off < 2 {
				return false
			}
			m.Hash = binary.LittleEndian.Uint16(b[r.off:])
			r.off += 2
		}
		if len(b)-r.off < int(stateLeast[m.Flags&^DirtyPosition])-stateHead {
			return false
		}
	}
	if m.Flags&DirtyDelta != 0 {
		p := r.b[r.off : r.off+deltaBytes]
		m.Delta = wire.Vec4h{
			Dir: wire.Dir3{int8(p[0]), int8(p[1]), int8(p[2])},
			Len: wire.CF16(binary.LittleEndian.Uint16(p[3:])),
		}
		r.off += deltaBytes
		if env != nil {
			m.base, m.hasBase = env.Base(m.Object)
		}
	}
	if m.Flags&DirtyForward != 0 {
		p := r.b[r.off : r.off+dirBytes]
		m.Forward = wire.Dir3{int8(p[0]), int8(p[1]), int8(p[2])}
		r.off += dirBytes
	}
	if m.Flags&DirtyUp != 0 {
		p := r.b[r.off : r.off+dirBytes]
		m.Up = wire.Dir3{int8(p[0]), int8(p[1]), int8(p[2])}
		r.off += dirBytes
	}
	if m.Flags&DirtySpeed != 0 {
		m.Speed = wire.CF16(binary.LittleEndian.Uint16(b[r.off:]))
		r.off += speedBytes
	}
	if m.Flags&DirtyCloak != 0 {
		m.Cloak = r.bit()
	}
	if m.Flags&DirtySubsystems != 0 {
		if m.Class == nil || r.off >= len(b) {
			return false
		}
		m.Start = b[r.off]
		if !m.fastBlock(&r) {
			return false
		}
	}
	if m.Flags&DirtyPower != 0 {
		for ; len(b)-r.off >= 2; r.off += 2 {
			m.Power = append(m.Power, Setting{Index: b[r.off], Value: b[r.off+1]})
		}
	}
	return !r.failed && r.off == len(b) && r.left == 0
}

// fastBlock reads a subsystem block, which begins with its start index.
func (m *StateUpdate) fastBlock(r *fastReader) bool {
	list := m.Class.Subsystems
	i := int(m.Start)
	if i >= len(list) {
		return false
	}
	end := r.off + blockLimit
	r.off++
	least := 1
	if r.openBC {
		least = 2
	}
	for n := 0; n < len(list) && (n < least || r.off < end); n++ {
		def := &list[i]
		kind, shield, children := def.Kind, def.Role == ship.Shield, len(def.Children)
		if r.openBC && shield {
			kind, shield = ship.Base, false
		}
		if len(r.b)-r.off < 1+children {
			return false
		}
		m.Entries = append(m.Entries, Entry{Index: uint8(i), Condition: r.b[r.off]})
		e := &m.Entries[len(m.Entries)-1]
		r.off++
		if children > 0 {
			e.Children = r.b[r.off : r.off+children : r.off+children]
			r.off += children
		}
		switch kind {
		case ship.Powered:
			if e.HasPower = r.bit(); e.HasPower {
				if r.off >= len(r.b) {
					return false
				}
				e.Power = r.b[r.off]
				r.off++
			}
		case ship.Base, ship.Reactor:
			if r.openBC && r.left > 0 { // it closes the group of bits, which is not empty
				return false
			}
		}
		if shield {
			if len(r.b)-r.off < facings {
				return false
			}
			e.Facings = r.b[r.off : r.off+facings : r.off+facings]
			r.off += facings
		}
		if kind == ship.Reactor {
			if len(r.b)-r.off < 2 {
				return false
			}
			e.Main, e.Backup = r.b[r.off], r.b[r.off+1]
			r.off += 2
		}
		if i++; i == len(list) {
			i = 0
		}
	}
	return true
}

// A fastReader is a message that is read without a codec.
type fastReader struct {
	b      []byte
	off    int
	openBC bool
	failed bool

	bits, left, full uint8 // of the group of bits that is open
	any              bool  // there was a group
}

// bit reads the next bit, and before it the byte of its group if none is open.
func (r *fastReader) bit() bool {
	if r.left == 0 {
		if r.off >= len(r.b) {
			r.failed = true
			return false
		}
		b := r.b[r.off]
		count, values := b>>5, b&0x1F
		// The game fills a group before it begins another.
		if count == 0 || count > 5 || values>>count != 0 || r.any && r.full < 5 && !r.openBC {
			r.failed = true
			return false
		}
		r.off++
		r.bits, r.left, r.full, r.any = values, count, count, true
	}
	bit := r.bits&1 != 0
	r.bits >>= 1
	r.left--
	return bit
}
