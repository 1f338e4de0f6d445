package msg

import (
	"encoding/binary"
	"math"
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
	hashBytes     = 2
	speedBytes    = 2
	facings       = 6
	batteries     = 2
)

// UpdatedObject returns the ship of an update. If the payload is not a
// StateUpdate or is too short, ok is false.
func UpdatedObject(payload []byte) (id wire.ObjectID, ok bool) {
	if len(payload) < 1+4 || decode.Opcode(payload[0]) != OpStateUpdate {
		return 0, false
	}
	return wire.ObjectID(binary.LittleEndian.Uint32(payload[1:])), true
}

// UpdateHead returns the ship and the flags of an update. If the payload is not
// a StateUpdate or is too short, ok is false.
func UpdateHead(payload []byte) (id wire.ObjectID, flags Dirty, ok bool) {
	id, ok = UpdatedObject(payload)
	if !ok || len(payload) < stateHead {
		return id, 0, false
	}
	return id, Dirty(payload[stateHead-1]), true
}

// UpdateFlags returns the flags of an update, which must be long enough.
func UpdateFlags(update []byte) Dirty { return Dirty(update[stateHead-1]) }

// stateLeast is the minimum size of an update for each combination of flags,
// without bits.
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

// A plainForm describes the plain updates with certain flags in one word: the
// size without hash and power settings in the low 8 bits, and the fields below
// in the bits above.
type plainForm uint64

const (
	formBits = 8 + 8*iota // offset of the group of bits, or of the flags if there is no group
	formMask              // mask of the group's count and unused bits
	formWant              // their expected value
	formHash              // mask of the bit before a hash
	formTail              // mask of the size of power settings, 0 if there are none
)

// plainForms are the forms, indexed by flags.
var plainForms = func() (forms [256]plainForm) {
	for flags := range forms {
		size := uint64(stateLeast[flags])
		group := func(at, mask, want, hash uint64) uint64 {
			return (size + 1) | at<<formBits | mask<<formMask | want<<formWant | hash<<formHash
		}
		form := size | (stateHead-1)<<formBits
		switch Dirty(flags) & (DirtyPosition | DirtyCloak | DirtySubsystems) {
		case 0:
		case DirtyPosition:
			form = group(stateHead+positionBytes, 0xFE, 0x20, 1)
		case DirtyCloak:
			form = group(size, 0xFE, 0x20, 0)
		case DirtyPosition | DirtyCloak:
			form = group(stateHead+positionBytes, 0xFC, 0x40, 1)
		default:
			form |= 1 << formWant // can never match, as the mask is 0
		}
		if Dirty(flags)&DirtyPower != 0 {
			form |= 0xFFFE << formTail
		}
		forms[flags] = plainForm(form)
	}
	return forms
}()

// PlainUpdate reports whether b is an update without subsystems that decodes to
// its last byte in every dialect and every state of a session. It reports false
// for OpenBC's updates with two groups of bits.
func PlainUpdate(b []byte) bool {
	if len(b) < stateHead {
		return false
	}
	form := plainForms[b[stateHead-1]]
	rest := len(b) - int(uint8(form))
	if rest < 0 {
		return false
	}
	group := b[uint8(form>>formBits)]
	rest -= hashBytes * int(group&uint8(form>>formHash))
	return group&uint8(form>>formMask) == uint8(form>>formWant) && rest&^int(form>>formTail) == 0
}

// PlainHash returns the integrity hash in a plain update (see [PlainUpdate]).
func PlainHash(b []byte) (hash uint16, ok bool) {
	const at = stateHead + positionBytes + 1
	if len(b) < at+hashBytes || Dirty(b[stateHead-1])&DirtyPosition == 0 || b[at-1]&1 == 0 {
		return 0, false
	}
	return binary.LittleEndian.Uint16(b[at:]), true
}

// StateParts has the offsets of an update's parts, without their values.
type StateParts struct {
	Flags   Dirty
	HasHash bool
	Cloak   bool // as sent
	Entries int  // number of entries in the subsystem block

	motion  int // offset after the position
	block   int // offset of the subsystem block
	power   int // offset of the power settings
	class   *ship.Class
	openBC  bool
	entries [maxEntries]entryPart

	// The update that ReadFast has read. Its memory may since be used for another
	// one.
	update  []byte
	dialect decode.Dialect
}

// are reports whether the parts were read from b itself, in this dialect and
// for this class.
func (p *StateParts) are(b []byte, d decode.Dialect, class *ship.Class) bool {
	return len(p.update) > 0 && len(b) == len(p.update) && &b[0] == &p.update[0] && d == p.dialect &&
		(p.Flags&DirtySubsystems == 0 || p.class == class)
}

// maxEntries exceeds the longest list of subsystems.
const maxEntries = 64

// An entryPart holds the offsets of an entry in a subsystem block.
type entryPart struct {
	condition uint16 // offset of the condition, which the conditions of the children follow
	tail      uint16 // offset after the conditions and the group of bits
	hasPower  bool
}

// Locate finds the parts of an update that decodes to its last byte, opcode
// included. It reports false for any other message, and for some messages that
// only [StateUpdate.Walk] reads. An update with a subsystem block needs the
// class of its ship.
//
// Locate is the fast form of the walk and must match it. A test and a fuzz
// target compare the two. Counting messages needs only the parts.
// StateUpdate.ReadFast fills in the values.
func (p *StateParts) Locate(b []byte, d decode.Dialect, env decode.Env) (ok bool) {
	if len(b) < stateHead {
		return false
	}
	flags := Dirty(b[stateHead-1])
	p.Flags, p.HasHash, p.Cloak, p.Entries, p.class, p.update = flags, false, false, 0, nil, nil
	if len(b) < int(stateLeast[flags]) {
		return false
	}
	var group bitGroup
	off := stateHead
	if flags&DirtyPosition != 0 {
		off += positionBytes
		if off, ok = group.open(b, off, d); !ok {
			return false
		}
		if p.HasHash = group.next(); p.HasHash {
			off += hashBytes
		}
		if len(b)-off < int(stateLeast[flags&^DirtyPosition])-stateHead {
			return false
		}
	}
	p.motion = off
	off += int(stateLeast[flags&^DirtyPosition]) - stateHead
	if flags&DirtyCloak != 0 {
		if off, ok = group.open(b, off, d); !ok {
			return false
		}
		p.Cloak = group.next()
	}
	if flags&DirtySubsystems != 0 {
		if env == nil {
			return false
		}
		if p.class = env.Ship(stateObject(b)); p.class == nil {
			return false
		}
		p.block, p.openBC = off, d == decode.OpenBC
		if off, ok = p.locateBlock(b, off, d, &group); !ok {
			return false
		}
	}
	p.power = off
	if flags&DirtyPower != 0 {
		off += (len(b) - off) &^ 1
	}
	return off == len(b) && group.left == 0
}

// stateObject returns the ship of an update.
func stateObject(b []byte) wire.ObjectID { return wire.ObjectID(binary.LittleEndian.Uint32(b[1:])) }

// ReadFast implements [decode.FastReader]. It exists because 19 of 20 game
// messages are updates, and a walk takes several times as long.
func (m *StateUpdate) ReadFast(b []byte, d decode.Dialect, env decode.Env) bool {
	if m.parts == nil {
		m.parts = new(StateParts)
	}
	if !m.parts.Locate(b, d, env) {
		return false
	}
	m.Reset()
	m.parts.update, m.parts.dialect = b, d
	m.loadHead(b, env, m.parts)
	m.loadRest(b, env, m.parts)
	return true
}

// ReadHead is like ReadFast but fills in only the values used by a session:
// object, class, flags, position and hash. The other fields keep the values of
// an earlier message.
func (m *StateUpdate) ReadHead(b []byte, d decode.Dialect, env decode.Env) bool {
	if m.parts == nil {
		m.parts = new(StateParts)
	}
	if !m.parts.Locate(b, d, env) {
		return false
	}
	m.loadHead(b, env, m.parts)
	return true
}

// ReadPosition fills in object, flags and position of an update that is known
// to decode to its last byte. It reports false for an update with subsystems,
// and for one that is too short.
func (m *StateUpdate) ReadPosition(b []byte) bool {
	if len(b) < stateHead {
		return false
	}
	flags := Dirty(b[stateHead-1])
	if flags&DirtySubsystems != 0 || len(b) < int(stateLeast[flags]) {
		return false
	}
	m.Object, m.Flags = stateObject(b), flags
	if flags&DirtyPosition != 0 {
		m.loadPosition(b)
	}
	return true
}

// loadHead fills in the values used by a session, from located parts.
func (m *StateUpdate) loadHead(b []byte, env decode.Env, parts *StateParts) {
	flags := parts.Flags
	m.Object, m.Flags, m.Class = stateObject(b), flags, parts.class
	if m.Class == nil && env != nil && flags&DirtySubsystems == 0 {
		m.Class = env.Ship(m.Object)
	}
	m.HasHash = parts.HasHash
	if flags&DirtyPosition != 0 {
		m.loadPosition(b)
		if m.HasHash {
			m.Hash = binary.LittleEndian.Uint16(b[parts.motion-hashBytes:])
		}
	}
}

func (m *StateUpdate) loadPosition(b []byte) {
	p := b[stateHead : stateHead+positionBytes]
	m.Position[0] = wire.F32(binary.LittleEndian.Uint32(p))
	m.Position[1] = wire.F32(binary.LittleEndian.Uint32(p[4:]))
	m.Position[2] = wire.F32(binary.LittleEndian.Uint32(p[8:]))
}

// loadRest fills in the other values of an update.
func (m *StateUpdate) loadRest(b []byte, env decode.Env, parts *StateParts) {
	flags := parts.Flags
	m.GameTime = wire.F32(binary.LittleEndian.Uint32(b[5:]))
	off := parts.motion
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
	if flags&motion == motion { // set in most updates
		p := b[off : off+2*dirBytes+speedBytes]
		m.Forward = wire.Dir3{int8(p[0]), int8(p[1]), int8(p[2])}
		m.Up = wire.Dir3{int8(p[3]), int8(p[4]), int8(p[5])}
		m.Speed = wire.CF16(binary.LittleEndian.Uint16(p[6:]))
	} else {
		m.loadMotion(b, off)
	}
	m.Cloak = parts.Cloak
	if flags&DirtySubsystems != 0 {
		m.loadBlock(b, parts)
	}
	if flags&DirtyPower != 0 {
		for off := parts.power; len(b)-off >= 2; off += 2 {
			m.Power = append(m.Power, Setting{Index: b[off], Value: b[off+1]})
		}
	}
}

// loadMotion fills in the direction and speed fields that are present.
func (m *StateUpdate) loadMotion(b []byte, off int) {
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
	}
}

// locateBlock finds the entries of a subsystem block, which begins with its
// start index at off. It returns the offset after the block.
func (p *StateParts) locateBlock(b []byte, off int, d decode.Dialect, group *bitGroup) (end int, ok bool) {
	list := p.class.Subsystems
	if off >= len(b) || int(b[off]) >= len(list) || len(list) > maxEntries || len(b) > math.MaxUint16 {
		return off, false
	}
	i := int(b[off])
	full, least := off+blockLimit, 1
	off++
	openBC := d == decode.OpenBC
	if openBC {
		least = 2
	}
	n := 0
	for ; n < len(list) && (n < least || off < full); n++ {
		def := &list[i]
		kind, shield := def.Kind, def.Role == ship.Shield
		if openBC && shield {
			kind, shield = ship.Base, false
		}
		e := &p.entries[n&(maxEntries-1)]
		e.condition, e.hasPower = uint16(off), false
		off += 1 + len(def.Children)
		if kind == ship.Powered {
			if off, ok = group.open(b, off, d); !ok {
				return off, false
			}
			e.hasPower = group.next()
		} else if openBC && group.left > 0 { // the entry would close a group with unread bits
			return off, false
		}
		e.tail = uint16(off)
		if e.hasPower {
			off++
		}
		if shield {
			off += facings
		}
		if kind == ship.Reactor {
			off += batteries
		}
		if off > len(b) {
			return off, false
		}
		if i++; i == len(list) {
			i = 0
		}
	}
	p.Entries = n
	return off, true
}

// loadBlock fills in the entries of a subsystem block.
func (m *StateUpdate) loadBlock(b []byte, parts *StateParts) {
	list := m.Class.Subsystems
	m.Start = b[parts.block]
	m.Entries = slices.Grow(m.Entries[:0], parts.Entries)[:parts.Entries]
	i := int(m.Start)
	for n := range m.Entries {
		def, part, e := &list[i], &parts.entries[n], &m.Entries[n]
		at, tail := int(part.condition), int(part.tail)
		*e = Entry{Index: uint8(i), Condition: b[at], HasPower: part.hasPower}
		if children := len(def.Children); children > 0 {
			e.Children = b[at+1 : at+1+children : at+1+children]
		}
		if e.HasPower {
			e.Power = b[tail]
			tail++
		}
		if def.Role == ship.Shield && !parts.openBC {
			e.Facings = b[tail : tail+facings : tail+facings]
			tail += facings
		}
		if def.Kind == ship.Reactor {
			e.Main, e.Backup = b[tail], b[tail+1]
		}
		if i++; i == len(list) {
			i = 0
		}
	}
}

// A bitGroup is the open group of bits.
type bitGroup struct {
	bits, left, full uint8
	any              bool // whether there was a group before
}

// open opens a group at off unless one is open. It returns the offset of the
// next byte.
func (g *bitGroup) open(b []byte, off int, d decode.Dialect) (at int, ok bool) {
	if g.left > 0 {
		return off, true
	}
	if off >= len(b) {
		return off, false
	}
	count, values := b[off]>>5, b[off]&0x1F
	// The game fills a group before it begins another one.
	if count == 0 || count > 5 || values>>count != 0 || g.any && g.full < 5 && d != decode.OpenBC {
		return off, false
	}
	g.bits, g.left, g.full, g.any = values, count, count, true
	return off + 1, true
}

// next returns the next bit of the open group.
func (g *bitGroup) next() bool {
	bit := g.bits&1 != 0
	g.bits >>= 1
	g.left--
	return bit
}
