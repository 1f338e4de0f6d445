package msg

import (
	"sync"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// updateFields are the fields of a StateUpdate, in the order of its walk.
type updateFields struct {
	object, ship, source, clock, flags                  decode.Shown
	position, hasHash, hash, delta, place               decode.Shown
	forward, up, speed, cloaked                         decode.Shown
	subsystems, start, entries                          decode.Shown
	index, name, condition, children, hasPower, power   decode.Shown
	facings, main, backup                               decode.Shown
	settings, settingIndex, settingName, settingPercent decode.Shown
}

// shownUpdate returns the fields as the walk describes them.
var shownUpdate = sync.OnceValue(func() *updateFields {
	f := new(updateFields)
	decode.DescribeShown(stateUpdateSpec.Layout, decode.Stock, &f.object, &f.ship, &f.source, &f.clock, &f.flags,
		&f.position, &f.hasHash, &f.hash, &f.delta, &f.place, &f.forward, &f.up, &f.speed, &f.cloaked,
		&f.subsystems, &f.start, &f.entries, &f.index, &f.name, &f.condition, &f.children, &f.hasPower, &f.power, &f.facings, &f.main, &f.backup,
		&f.settings, &f.settingIndex, &f.settingName, &f.settingPercent)
	return f
})

// ratios and percents map a byte to the value of a Ratio8 and of a Power8, as
// the walk computes them.
var ratios, percents = func() (r, p [256]float64) {
	for i := range r {
		r[i], p[i] = float64(float32(i)/255), float64(float32(i)*100/204)
	}
	return r, p
}()

// ownClass is the Env of a session that knows the class in an update.
type ownClass struct{ m *StateUpdate }

func (e ownClass) Ship(wire.ObjectID) *ship.Class            { return e.m.Class }
func (e ownClass) Base(wire.ObjectID) (p wire.Vec3, ok bool) { return e.m.base, e.m.hasBase }

// ShowFast implements [decode.FastShower]. It is the fast form of the walk,
// like [StateParts.Locate], and must match it. A test and a fuzz target compare
// the two.
func (m *StateUpdate) ShowFast(s *decode.Showing, b []byte, d decode.Dialect) bool {
	if m.parts == nil {
		m.parts = new(StateParts)
	}
	p, f := m.parts, shownUpdate()
	if !p.are(b, d, m.Class) && !p.Locate(b, d, ownClass{m}) {
		return false
	}
	flags := p.Flags
	s.Uint(&f.object, 1, 5, uint64(m.Object))
	s.Text(&f.ship, 5, m.className())
	s.Text(&f.source, 5, m.classSource())
	s.Float(&f.clock, 5, 9, float64(m.GameTime.Float()))
	s.Uint(&f.flags, stateHead-1, stateHead, uint64(flags))
	if flags&DirtyPosition != 0 {
		const bit = stateHead + positionBytes
		s.Vec(&f.position, stateHead, bit, m.Position[0].Float(), m.Position[1].Float(), m.Position[2].Float())
		s.Bool(&f.hasHash, bit, bit+1, p.HasHash)
		if p.HasHash {
			s.Uint(&f.hash, bit+1, bit+1+hashBytes, uint64(m.Hash))
		}
	}
	off := m.showMotion(s, f)
	if flags&DirtyCloak != 0 {
		next := p.power
		if flags&DirtySubsystems != 0 {
			next = p.block
		}
		s.Bool(&f.cloaked, off, next, p.Cloak != (d == decode.OpenBC))
	}
	if flags&DirtySubsystems != 0 && s.Begin(&f.subsystems, decode.GroupStruct, -1) {
		s.Uint(&f.start, p.block, p.block+1, uint64(m.Start))
		if s.Begin(&f.entries, decode.GroupList, -1) {
			m.showEntries(s, f, b)
			s.End(&f.entries, decode.GroupList, -1)
		}
		s.End(&f.subsystems, decode.GroupStruct, -1)
	}
	if flags&DirtyPower != 0 && s.Begin(&f.settings, decode.GroupList, -1) {
		for i, off := 0, p.power; len(b)-off >= 2; i, off = i+1, off+2 {
			s.Begin(&element, decode.GroupElement, i)
			s.Uint(&f.settingIndex, off, off+1, uint64(b[off]))
			s.Text(&f.settingName, off+1, m.subsystemName(b[off]))
			s.Float(&f.settingPercent, off+1, off+2, percents[b[off+1]])
			s.End(&element, decode.GroupElement, i)
		}
		s.End(&f.settings, decode.GroupList, -1)
	}
	return true
}

// element is an element of a list, which has no name.
var element decode.Shown

// showMotion shows the fields between position and bits. It returns the offset
// after them.
func (m *StateUpdate) showMotion(s *decode.Showing, f *updateFields) (off int) {
	p := m.parts
	off = p.motion
	if p.Flags&DirtyDelta != 0 {
		if s.Shows(&f.delta) || s.Shows(&f.place) {
			delta := m.Delta.Vec()
			s.Vec(&f.delta, off, off+deltaBytes, delta[0], delta[1], delta[2])
			if p.Flags&DirtyPosition == 0 && m.hasBase {
				place := m.base.Add(delta)
				s.Vec(&f.place, off+deltaBytes, off+deltaBytes, place[0], place[1], place[2])
			}
		}
		off += deltaBytes
	}
	if p.Flags&DirtyForward != 0 {
		v := m.Forward.Vec()
		s.Vec(&f.forward, off, off+dirBytes, v[0], v[1], v[2])
		off += dirBytes
	}
	if p.Flags&DirtyUp != 0 {
		v := m.Up.Vec()
		s.Vec(&f.up, off, off+dirBytes, v[0], v[1], v[2])
		off += dirBytes
	}
	if p.Flags&DirtySpeed != 0 {
		s.Float(&f.speed, off, off+speedBytes, float64(m.Speed.Float()))
		off += speedBytes
	}
	return off
}

// showEntries shows the entries of a subsystem block.
func (m *StateUpdate) showEntries(s *decode.Showing, f *updateFields, b []byte) {
	p := m.parts
	for n := range m.Entries {
		e, part := &m.Entries[n], &p.entries[n&(maxEntries-1)]
		def := m.subsystem(e.Index)
		at, tail := int(part.condition), int(part.tail)
		s.Begin(&element, decode.GroupElement, n)
		s.Uint(&f.index, at, at, uint64(e.Index))
		s.Text(&f.name, at, def.Name)
		s.Float(&f.condition, at, at+1, ratios[e.Condition])
		at++
		if children := len(def.Children); children > 0 {
			s.Bytes(&f.children, at, b[at:at+children:at+children])
			at += children
		}
		if def.Kind == ship.Powered && (!p.openBC || def.Role != ship.Shield) {
			s.Bool(&f.hasPower, at, tail, e.HasPower)
			if e.HasPower {
				s.Uint(&f.power, tail, tail+1, uint64(e.Power))
				tail++
			}
		}
		if def.Role == ship.Shield && !p.openBC {
			s.Bytes(&f.facings, tail, b[tail:tail+facings:tail+facings])
			tail += facings
		}
		if def.Kind == ship.Reactor {
			s.Float(&f.main, tail, tail+1, ratios[e.Main])
			s.Float(&f.backup, tail+1, tail+2, ratios[e.Backup])
		}
		s.End(&element, decode.GroupElement, n)
	}
}
