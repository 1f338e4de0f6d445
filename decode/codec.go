package decode

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// Env gives walks the values that depend on the session and not only on the
// message.
type Env interface {
	// Ship returns the class of a ship, or nil if it is unknown.
	Ship(id wire.ObjectID) *ship.Class
	// Base returns the last absolute position that the sender gave for the object.
	// If there is none, ok is false.
	Base(id wire.ObjectID) (p wire.Vec3, ok bool)
}

type mode uint8

const (
	reading mode = iota
	writing
	describing
)

// A Codec runs a walk through the fields of one message: it reads, writes,
// shows, describes or fills them. After the first error the rest of the walk
// does nothing.
type Codec struct {
	fast    bool // reading without an error so far: take the fast path
	showing bool // showing a message that was already read
	strict  bool // reading: see FullGroups
	mode    mode
	dialect Dialect
	buf     []byte
	off     int // reading: next byte
	err     *Error
	blank   []string // writing: names of fields written as zero
	fault   Error    // backing store of err, so that a fault does not allocate
	env     Env
	fill    *filler // reading: where the bytes come from when Fill makes them. See Fill.

	// The open bit group. Reading: the remaining bits, lowest first, and their
	// number. Writing: the place of the group byte and its number of bits.
	bits  uint8
	nbits uint8
	full  uint8 // reading: how many bits the group byte claimed
	group int   // offset of the group byte in buf, or -1 if there was no group yet

	v      Visitor
	hide   uint64    // bits of the names to hide. See nameBit.
	aside  Visitor   // the visitor while a hidden group is open
	level  int       // depth of the hidden group
	flags  FlagNames // flag names of the field being shown
	sizes  []sizeOf
	field  Field
	grp    Group
	conds  []Cond
	count  *Count // count field of the list or array that begins
	least  int    // fewest bytes of an element of that list
	places uint64 // number of conditions without a field in the message so far
	path   [12]step
	depth  int
	past   int // after an error: how many groups were opened since
}

type step struct {
	name  string
	index int // -1 for a struct or list
}

// startWriting prepares the codec for writing after dst.
func (c *Codec) startWriting(dst []byte, d Dialect) {
	c.mode, c.dialect, c.buf, c.err = writing, d, dst, nil
	c.bits, c.nbits, c.group, c.depth, c.past = 0, 0, -1, 0, 0
}

// start prepares the codec for reading payload from offset from.
func (c *Codec) start(payload []byte, from int, d Dialect, env Env, v Visitor) {
	c.mode, c.dialect, c.buf, c.off, c.err, c.env, c.v = reading, d, payload, from, nil, env, v
	c.fast, c.aside, c.strict, c.fill = true, nil, false, nil
	c.nbits, c.group, c.depth, c.past = 0, -1, 0, 0
}

// finish makes the checks that need the end of the message.
func (c *Codec) finish() {
	if c.mode == reading && c.err == nil && c.nbits > 0 {
		c.fail("bits", c.group, ErrBits, strconv.Itoa(int(c.nbits))+" of its bits belong to no field")
	}
}

// Dialect returns the dialect used to read or write the message.
func (c *Codec) Dialect() Dialect { return c.dialect }

// Failed reports whether the walk has failed.
func (c *Codec) Failed() bool { return c.err != nil }

// More reports whether bytes remain. While describing, it returns true once.
func (c *Codec) More() bool { return c.mode != reading || c.err == nil && c.remains() }

// remains reports whether bytes remain, or values to make bytes from.
func (c *Codec) remains() bool { return c.off < len(c.buf) || c.fill != nil && c.fill.more() }

// Left returns the number of unread bytes. It is exact only while reading
// bytes, but never 0 if bytes remain.
func (c *Codec) Left() int {
	switch {
	case c.mode != reading:
		return 0
	case c.fill != nil && c.off == len(c.buf) && c.fill.more():
		return 1
	}
	return len(c.buf) - c.off
}

// Offset returns the offset of the next byte in the message.
func (c *Codec) Offset() int {
	if c.mode == writing {
		return len(c.buf)
	}
	return c.off
}

// OnRead calls f while a message is first read, so that the walk can fetch
// values from the session. The message keeps them for showing it again.
func (c *Codec) OnRead(f func(Env)) {
	if c.mode == reading && c.env != nil && c.err == nil {
		f(c.env)
	}
}

// Reading reports whether values come from bytes. Walks use it to compute
// derived values.
func (c *Codec) Reading() bool { return c.mode == reading }

// Opcode returns the first byte of the message that is being read.
func (c *Codec) Opcode() Opcode {
	if len(c.buf) == 0 {
		return 0
	}
	return Opcode(c.buf[0])
}

// Attempt runs body if it accounts for the rest of the message. Otherwise the
// fields of body are absent and their bytes are left over. *fits keeps the
// outcome for later showing or writing.
func (c *Codec) Attempt(fits *bool, body func()) {
	switch {
	case c.mode == describing:
		c.When(Cond{Op: OpFits}, body)
		return
	case c.mode != reading || c.showing:
		if *fits {
			body()
		}
		return
	}
	if c.err != nil {
		return
	}
	if c.fill != nil {
		if *fits = c.fill.more(); *fits {
			body()
		}
		return
	}
	off, bits, nbits, full, group, depth := c.off, c.bits, c.nbits, c.full, c.group, c.depth
	body()
	*fits = c.err == nil && c.off == len(c.buf) && c.nbits == 0
	if !*fits {
		c.off, c.bits, c.nbits, c.full, c.group, c.depth = off, bits, nbits, full, group, depth
		c.err, c.past = nil, 0
		c.fast = true
	}
}

// FullGroups rejects every further bit group that begins before the previous
// one is full, unless the dialect is OpenBC. The game reads such groups but
// never writes them, so such a group tells the decoder that the sender runs
// OpenBC.
func (c *Codec) FullGroups() { c.strict = c.dialect != OpenBC }

// Describing reports whether the walk lists every possible field. Only helpers
// that replace a loop may call it.
func (c *Codec) Describing() bool { return c.mode == describing }

// When runs body if cond holds. A describing codec always runs it and attaches
// the condition to its fields.
func (c *Codec) When(cond Cond, body func()) {
	if c.mode == describing {
		if cond.Op == OpMore || cond.Op == OpFits {
			c.places++
			cond.Value = c.places
		}
		c.conds = append(c.conds, cond)
		body()
		c.conds = c.conds[:len(c.conds)-1]
		return
	}
	if cond.ok && c.err == nil {
		body()
	}
}

// Remain is the condition that bytes remain. While writing, present decides. Do
// not use it for fields that a writer may omit at will.
func (c *Codec) Remain(present bool) Cond {
	ok := present
	if c.mode == reading {
		ok = c.remains()
	}
	return Cond{Op: OpMore, ok: ok}
}

// Struct groups the fields of body under a name.
func (c *Codec) Struct(name, doc string, body func()) {
	c.begin(name, doc, GroupStruct, -1)
	body()
	c.end(name, GroupStruct, -1)
}

func (c *Codec) begin(name, doc string, kind GroupKind, index int) {
	if c.err != nil {
		c.past++
		return
	}
	if c.fill != nil {
		c.enter(name, kind)
	}
	if c.depth < len(c.path) {
		c.path[c.depth] = step{name, index}
	}
	c.depth++
	if c.v != nil {
		if kind != GroupElement && c.hides(name) {
			c.v, c.aside, c.level = nil, c.v, c.depth
			return
		}
		g := &c.grp // field by field: copying the whole struct is slower
		g.Name, g.Doc, g.Kind, g.Index = name, doc, kind, index
		if c.mode == describing {
			g.Conds, g.Count, g.Least = c.conds, c.count, c.least
			c.count, c.least = nil, 0
		}
		c.v.Begin(&c.grp)
	}
}

// end closes the group that begin opened. After an error it closes the groups
// that were open before, so that the visitor sees their end, and skips those
// that were never opened.
func (c *Codec) end(name string, kind GroupKind, index int) {
	if c.past > 0 {
		c.past--
		return
	}
	if c.fill != nil {
		c.leave()
	}
	c.depth--
	if c.aside != nil && c.depth < c.level {
		c.v, c.aside = c.aside, nil
		return
	}
	if c.v != nil {
		g := &c.grp
		g.Name, g.Doc, g.Kind, g.Index, g.Conds, g.Count, g.Least = name, "", kind, index, nil, nil, 0
		c.v.End(&c.grp)
	}
}

// fail records the first error.
func (c *Codec) fail(name string, off int, err error, detail string) {
	if c.err != nil {
		return
	}
	c.err, c.fast = &c.fault, false
	c.fault = Error{Offset: off, Detail: detail, Err: err}
	if !c.showing { // a message being shown has already reported its error
		c.fault.Field = c.at(name)
	}
}

// Reject records an invalid field value.
func (c *Codec) Reject(name string, off int, detail string) { c.fail(name, off, ErrValue, detail) }

// Unresolved records that required session state is missing.
func (c *Codec) Unresolved(name, detail string) { c.fail(name, c.off, ErrState, detail) }

// at returns the path of a field, including the open groups.
func (c *Codec) at(name string) string {
	if c.depth == 0 {
		return name
	}
	var b []byte
	for _, s := range c.path[:min(c.depth, len(c.path))] {
		if s.index >= 0 {
			b = append(b, '[')
			b = strconv.AppendInt(b, int64(s.index), 10)
			b = append(b, ']')
			continue
		}
		if len(b) > 0 {
			b = append(b, '.')
		}
		b = append(b, s.name...)
	}
	if len(b) > 0 && name != "" {
		b = append(b, '.')
	}
	return string(append(b, name...))
}

// take returns the next n bytes, or nil with the error set.
func (c *Codec) take(name string, n int) []byte {
	if c.err != nil {
		return nil
	}
	if have := len(c.buf) - c.off; have < n {
		c.fail(name, c.off, ErrShort, "")
		c.fault.Need, c.fault.Have = n, have
		return nil
	}
	b := c.buf[c.off : c.off+n : c.off+n]
	c.off += n
	return b
}

// hides reports whether fields with this name may be skipped.
func (c *Codec) hides(name string) bool { return c.hide>>nameBit(name)&1 != 0 }

// A sizeOf is the name and description of a list's count field.
type sizeOf struct{ list, name, doc string }

// sizeOf returns the name and description of a list's count field, and caches
// them.
func (c *Codec) sizeOf(list string) *sizeOf {
	for i := range c.sizes {
		if c.sizes[i].list == list {
			return &c.sizes[i]
		}
	}
	c.sizes = append(c.sizes, sizeOf{list, list + "_count", "number of " + list})
	return &c.sizes[len(c.sizes)-1]
}

// shows reports whether a visitor sees a field with this name.
func (c *Codec) shows(name string) bool { return c.v != nil && c.err == nil && !c.hides(name) }

// watch passes a field to the visitor. The caller must have set the value.
func (c *Codec) watch(name, doc string, kind Kind, off int) {
	c.field.Name, c.field.Doc, c.field.Kind = name, doc, kind
	c.field.Off, c.field.End = off, c.Offset()
	if c.mode == describing {
		c.field.Conds = c.conds
	}
	c.v.Field(&c.field)
}

func (c *Codec) watchUint(name, doc string, kind Kind, off int, v uint64) {
	if c.shows(name) {
		c.field.Uint = v
		c.watch(name, doc, kind, off)
	}
}

func (c *Codec) watchVec(name, doc string, kind Kind, off int, vec func() wire.Vec3) {
	if c.shows(name) {
		v := vec()
		c.field.Vec = [4]float32{v[0], v[1], v[2]}
		c.watch(name, doc, kind, off)
	}
}

func (c *Codec) watchBytes(name, doc string, kind Kind, off int, b []byte) {
	if c.shows(name) {
		c.field.Bytes = b
		c.watch(name, doc, kind, off)
		c.field.Bytes = nil
	}
}

// blanks reports whether the field with the name is written as zero.
func (c *Codec) blanks(name string) bool { return c.blank != nil && slices.Contains(c.blank, name) }

// little returns the little-endian number in the first 1, 2 or 4 bytes.
func little(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	}
	return uint64(binary.LittleEndian.Uint32(b))
}

// raw reads or writes a little-endian number of size bytes. It returns v if the
// message ends too early.
func (c *Codec) raw(name string, size int, v uint64) (u uint64, ok bool) {
	if c.fast && len(c.buf)-c.off >= size {
		b := c.buf[c.off:]
		c.off += size
		return little(b, size), true
	}
	switch c.mode {
	case reading:
		b := c.take(name, size)
		if b == nil {
			return v, false
		}
		v = little(b, size)
	case writing:
		if c.blanks(name) {
			v = 0
		}
		c.little(v, size)
	case describing:
	}
	return v, true
}

// rawBytes reads or writes n bytes. While reading, *p borrows them from the
// message.
func (c *Codec) rawBytes(name string, p *[]byte, n int) bool {
	switch c.mode {
	case reading:
		b := c.take(name, n)
		if b == nil {
			return false
		}
		*p = b
	case writing:
		c.buf = append(c.buf, *p...)
	case describing:
	}
	return true
}
