package decode

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// Filling tells how to fill a message.
type Filling struct {
	Dialect Dialect
	Opcode  Opcode // for a spec that covers many opcodes
	// Env has the state of the session. With a nil Env, every ship is of the class
	// that the values name as "ship".
	Env Env
	// Part ends the message before the first field without a value, as if the
	// message had decoded only up to there.
	Part bool
}

// A FillError tells which value does not fit its field.
type FillError struct {
	Message string // name of the spec
	Field   string // path, such as subsystems.entries[2].power
	Problem string // what is wrong and how to correct it
}

// Error returns message, field and problem.
func (e *FillError) Error() string {
	return fmt.Sprintf("decode: %s.%s: %s", e.Message, e.Field, e.Problem)
}

// Fill makes the message that has the given values, and the bytes of its fields
// without the opcode. The values are the fields by name in the form of
// docs/json.md, as encoding/json decodes it: numbers are json.Number, float64
// or int. Every field needs a value, except for fields that the message may
// lack. Values of derived fields are ignored. A value that the wire format
// cannot hold exactly is rounded as the game rounds it. The error is a
// [*FillError].
func Fill(s *Spec, values map[string]any, how Filling) (m Message, fields []byte, err error) {
	l := s.Layout
	for _, f := range s.Forms {
		if f.Dialect == how.Dialect {
			l = f.Layout
		}
	}
	if m = l.New(); m == nil {
		return nil, nil, &FillError{s.Name, "fields", "the layout of the message is not known; give its bytes as residue"}
	}
	op := s.Code
	if s.CatchAll {
		op = how.Opcode
	}
	c := &Codec{mode: reading, dialect: how.Dialect, env: how.Env, buf: []byte{byte(op)}, off: 1, group: -1}
	own := &named{class: shipOf(values)}
	if c.env == nil {
		c.env = own
	}
	c.fill = &filler{part: how.Part, frames: []frame{{object: values}}}
	m.Walk(c)
	if c.err == nil || c.fill.part && !errors.Is(c.err.Err, errFill) {
		c.err = nil
		for i := range c.fill.frames {
			c.unknown(&c.fill.frames[i])
		}
	}
	if c.err == nil {
		return m, c.buf[1:], nil
	}
	problem := c.err.Detail
	switch {
	case own.asked && own.class == nil && errors.Is(c.err.Err, ErrState):
		problem = "the class of the ship is not known; name it in the fields, as in \"ship\":\"Akira\""
		if name, ok := values["ship"].(string); ok {
			problem = fmt.Sprintf("no ship with known subsystems is called %q%s", cut(name), names.DidYouMean(name, shipNames()))
		}
	case !errors.Is(c.err.Err, errFill) && !errors.Is(c.err.Err, errAbsent):
		problem = c.err.Reason()
	}
	return nil, nil, &FillError{s.Name, c.err.Field, problem}
}

// The kinds of faults of filling.
var (
	errFill   = errors.New("unfit value")
	errAbsent = errors.New("no value")
)

// named is the Env of a session in which every ship is of one class.
type named struct {
	class *ship.Class // nil if unknown
	asked bool
}

func (n *named) Ship(wire.ObjectID) *ship.Class {
	n.asked = true
	return n.class
}

func (*named) Base(wire.ObjectID) (p wire.Vec3, ok bool) { return p, false }

// shipNames returns the names of the classes with known subsystems.
func shipNames() (all []string) {
	for c := range ship.All() {
		if c.Subsystems != nil {
			all = append(all, c.Name)
		}
	}
	return all
}

// shipOf returns the class that the values name.
func shipOf(v map[string]any) *ship.Class {
	name, _ := v["ship"].(string)
	for c := range ship.All() {
		if c.Name == name && c.Subsystems != nil {
			return c
		}
	}
	return nil
}

// A filler makes the bytes for a reading codec from values, field by field.
type filler struct {
	part   bool
	frames []frame // open groups, the message first
}

// A frame is the values of one group: an object, or a list of them.
type frame struct {
	object map[string]any
	list   []any
	next   int             // index in list of the next element
	used   map[string]bool // keys that the walk asked for
}

func (f *filler) top() *frame { return &f.frames[len(f.frames)-1] }

// use marks a key as known.
func (f *frame) use(name string) {
	if f.used == nil {
		f.used = map[string]bool{}
	}
	f.used[name] = true
}

// spare returns the keys that no field asked for, without companions of other
// fields.
func (f *frame) spare() (keys []string) {
	for k := range f.object {
		if !f.used[k] && !f.companion(k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// companion reports whether a key only adds to a field, as object_slot and
// object_name add to object_id.
func (f *frame) companion(key string) bool {
	for _, suffix := range []string{"_name", "_names", "_slot", "_byte", "_count"} {
		if base, ok := strings.CutSuffix(key, suffix); ok && (f.used[base] || f.used[base+"_id"] || f.used[base+"s"]) {
			return true
		}
	}
	return false
}

// more reports whether values are left.
func (f *filler) more() bool {
	if t := f.top(); t.object == nil {
		return t.next < len(t.list)
	}
	return slices.ContainsFunc(f.frames, func(t frame) bool { return t.object != nil && len(t.spare()) > 0 })
}

// unfit records a value that does not fit its field.
func (c *Codec) unfit(name, format string, args ...any) {
	c.fail(name, c.off, errFill, fmt.Sprintf(format, args...))
}

// unknown rejects keys that no field asked for.
func (c *Codec) unknown(f *frame) {
	spare := f.spare()
	if len(spare) == 0 {
		return
	}
	c.unfit(spare[0], "the message has no such field%s; remove it", names.DidYouMean(spare[0], slices.Sorted(maps.Keys(f.used))))
}

// want returns the value of a field. If there is none, ok is false.
func (c *Codec) want(name string) (v any, ok bool) {
	if c.err != nil {
		return nil, false
	}
	t := c.fill.top()
	t.use(name)
	if v, ok = t.object[name]; !ok {
		hint := "; add it"
		if near := names.Nearest(name, t.spare()); len(near) > 0 {
			hint = fmt.Sprintf("; did %q mean it?", near[0])
		}
		c.fail(name, c.off, errAbsent, "the field has no value"+hint)
	}
	return v, ok
}

// enter opens the values of a group.
func (c *Codec) enter(name string, kind GroupKind) {
	var v any
	what := ""
	if kind == GroupElement {
		t := c.fill.top()
		v, what = t.list[t.next], fmt.Sprintf("element %d: ", t.next)
		t.next++
	} else {
		var ok bool
		if v, ok = c.want(name); !ok {
			c.fill.frames = append(c.fill.frames, frame{object: map[string]any{}})
			return
		}
	}
	f := frame{}
	if kind == GroupList {
		list, ok := v.([]any)
		if f.list = list; !ok {
			c.unfit(name, "%s is not an array of objects", show(v))
		}
	} else {
		object, ok := v.(map[string]any)
		if f.object = object; !ok {
			c.unfit(name, "%s%s is not an object", what, show(v))
			f.object = map[string]any{} // a frame without an object is a list
		}
	}
	c.fill.frames = append(c.fill.frames, f)
}

// leave closes the values of a group.
func (c *Codec) leave() {
	if c.err == nil {
		c.unknown(c.fill.top())
	}
	if c.err == nil || !c.fill.part { // with Part, the message may end inside the group
		c.fill.frames = c.fill.frames[:len(c.fill.frames)-1]
	}
}

// fillList fills the elements of the open list.
func (c *Codec) fillList(more func() bool, next func(i int)) {
	for i := 0; c.err == nil; i++ {
		t := c.fill.top()
		due, given := more(), t.next < len(t.list)
		switch {
		case due && given:
			next(i)
		case due:
			c.fail("", c.off, errAbsent, fmt.Sprintf("the list has %d elements, and the message needs more; add them", i))
		case given:
			c.unfit("", "the list has %d elements, and the message takes %d; remove the others", len(t.list), i)
		}
		if !due {
			return
		}
	}
}

// fillCount makes the count of a list, a number of size bytes.
func (c *Codec) fillCount(name string, size int) (n int) {
	if c.err != nil {
		return 0
	}
	t := c.fill.top()
	count := c.sizeOf(name).name
	if list, ok := t.object[name].([]any); ok {
		n = len(list)
	} else if v, ok := t.object[count]; ok && c.fill.part { // the message ended before the list's elements
		u, ok := integer(v)
		if !ok {
			c.unfit(count, "%s is not a whole number", show(v))
			return 0
		}
		n = int(max(-1, min(u, math.MaxInt32)))
	} else if _, ok := c.want(name); !ok {
		return 0
	} else {
		c.unfit(name, "%s is not an array of objects", show(t.object[name]))
		return 0
	}
	t.use(count)
	if n < 0 || n >= 1<<(8*size) {
		c.unfit(name, "%d elements do not fit the count of %d bits", n, 8*size)
		return 0
	}
	c.little(uint64(n), size)
	c.off += size
	return n
}

// fillBit makes a bit of the open group.
func (c *Codec) fillBit(name string, p *bool, inverted bool) {
	v, ok := c.want(name)
	if !ok {
		return
	}
	b, ok := v.(bool)
	if !ok {
		c.unfit(name, "%s is neither true nor false", show(v))
		return
	}
	*p = b != inverted
	c.putBit(*p)
	c.off = len(c.buf)
}

// little appends a little-endian number of size bytes.
func (c *Codec) little(u uint64, size int) {
	for i := range size {
		c.buf = append(c.buf, byte(u>>(8*i)))
	}
}

// gives reports whether a field can be read. While filling, it first makes the
// field's bytes, and reports false if no value fits.
func (c *Codec) gives(name string, kind Kind) bool {
	return c.fill == nil || c.give(name, kind, nil, -1)
}

// give makes the bytes of a field from its value. An array has count elements.
func (c *Codec) give(name string, kind Kind, n Names, count int) bool {
	v, ok := c.want(name)
	if !ok {
		return false
	}
	size := kinds[kind].least
	switch kind {
	case KindU8, KindU16, KindU32, KindHash16, KindObject:
		c.giveInteger(name, v, 0, 1<<(8*size)-1, size)
	case KindI8, KindI16, KindI32, KindPercent8:
		c.giveInteger(name, v, -1<<(8*size-1), 1<<(8*size-1)-1, size)
	case KindBool8:
		c.giveBool(name, v)
	case KindEnum8, KindEnum32, KindHash32:
		c.giveInteger(name, c.byName(name, v, n), 0, 1<<(8*size)-1, size)
	case KindFlags8:
		c.giveInteger(name, c.byBits(name, v, n), 0, math.MaxUint8, 1)
	case KindF32:
		c.little(uint64(c.float(name, v)), 4)
	case KindCF16:
		f := c.float(name, v).Float()
		if math.IsNaN(float64(f)) || max(f, -f) > wire.MaxCF16 {
			c.unfit(name, "%s is not between -10000 and 10000", show(v))
		}
		c.little(uint64(wire.CF16Of(f)), 2)
	case KindRatio8:
		c.giveShare(name, v, 255, 0, math.MaxUint8)
	case KindPower8:
		c.giveShare(name, v, 2.04, 0, math.MaxUint8)
	case KindRatios:
		for _, x := range c.array(name, v, count) {
			c.giveShare(name, x, 255, 0, math.MaxUint8)
		}
	case KindDir3:
		for _, x := range c.array(name, v, 3) {
			c.giveShare(name, x, 127, math.MinInt8, math.MaxInt8)
		}
	case KindVec3:
		c.giveFloats(name, v, 3)
	case KindQuat:
		c.giveFloats(name, v, 4)
	case KindVec4h:
		p := wire.Vec4hOf(c.vector(name, v))
		c.buf = append(c.buf, uint8(p.Dir[0]), uint8(p.Dir[1]), uint8(p.Dir[2]))
		c.little(uint64(p.Len), 2)
	case KindVec4f:
		p := wire.Vec4fOf(c.vector(name, v))
		c.buf = append(c.buf, uint8(p.Dir[0]), uint8(p.Dir[1]), uint8(p.Dir[2]))
		c.little(uint64(p.Len), 4)
	case KindStr8, KindStr16, KindStr32, KindStr32z, KindWStr32, KindWStrz:
		c.giveText(name, v, kind)
	case KindIPv4:
		text, _ := v.(string)
		a, err := netip.ParseAddr(text)
		if err != nil || !a.Is4() {
			c.unfit(name, "%s is not an IPv4 address, such as \"192.0.2.7\"", show(v))
			return false
		}
		ip := a.As4()
		c.buf = append(c.buf, ip[:]...)
	case KindBytes:
		text, ok := v.(string)
		b, err := hex.DecodeString(text)
		if err != nil || !ok {
			c.unfit(name, "%s is not a string of hexadecimal digits in pairs", show(v))
		}
		c.buf = append(c.buf, b...)
	case KindBit, KindText, KindIndex, KindPlace, kindsNumber: // made elsewhere, or without bytes
	}
	return c.err == nil
}

// integer returns a whole number. Programs whose only numbers are floats may
// have written it with a point or an exponent.
func integer(v any) (int64, bool) {
	f := math.NaN()
	switch v := v.(type) {
	case int:
		return int64(v), true
	case float64:
		f = v
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, true
		}
		if n, err := v.Float64(); err == nil {
			f = n
		}
	}
	return int64(f), f == math.Trunc(f) && math.Abs(f) <= 1<<53
}

func (c *Codec) giveInteger(name string, v any, least, most int64, size int) {
	n, ok := integer(v)
	if !ok || n < least || n > most {
		c.unfit(name, "%s is not a whole number from %d to %d", show(v), least, most)
		return
	}
	c.little(uint64(n), size)
}

// giveBool makes a byte of 0 or 1, or the byte in the field's companion key.
func (c *Codec) giveBool(name string, v any) {
	b, ok := v.(bool)
	if !ok {
		c.unfit(name, "%s is neither true nor false", show(v))
		return
	}
	if other, ok := c.fill.top().object[name+"_byte"]; ok && b {
		c.giveInteger(name+"_byte", other, 1, math.MaxUint8, 1)
		return
	}
	c.buf = append(c.buf, 0)
	if b {
		c.buf[len(c.buf)-1] = 1
	}
}

// byName returns the number of a value given by name.
func (c *Codec) byName(name string, v any, n Names) any {
	text, ok := v.(string)
	if !ok || n == nil {
		return v
	}
	var known []string
	for u, s := range Values(n) {
		if s == text {
			return int(u)
		}
		known = append(known, s)
	}
	c.unfit(name, "%q is not the name of a value%s; a number is also possible", cut(text), names.DidYouMean(text, known))
	return v
}

// byBits returns the number of flags given by their names.
func (c *Codec) byBits(name string, v any, n Names) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	set := 0
	for _, e := range list {
		text, _ := e.(string)
		var known []string
		found := false
		for bit := range uint64(8) {
			s := "bit" + strconv.Itoa(int(bit))
			if n != nil && n.Name(bit) != "" {
				s = n.Name(bit)
			}
			if known = append(known, s); s == text {
				set |= 1 << bit
				found = true
			}
		}
		if !found {
			c.unfit(name, "%s is not the name of a flag%s; the number of all flags is also possible", show(e), names.DidYouMean(text, known))
		}
	}
	return set
}

// float returns a float. JSON's null stands for not-a-number.
func (c *Codec) float(name string, v any) wire.F32 {
	switch v := v.(type) {
	case nil:
		return wire.FloatBits(float32(math.NaN()))
	case int:
		return wire.FloatBits(float32(v))
	case float64:
		if math.Abs(v) <= math.MaxFloat32 {
			return wire.FloatBits(float32(v))
		}
	case json.Number:
		if f, err := strconv.ParseFloat(string(v), 32); err == nil {
			return wire.FloatBits(float32(f))
		}
	}
	c.unfit(name, "%s is not a number that fits 32 bits", show(v))
	return 0
}

// giveShare makes a byte that counts parts of 1.
func (c *Codec) giveShare(name string, v any, parts, least, most float64) {
	f := float64(c.float(name, v).Float())
	n := math.Round(f * parts)
	if !(n >= least && n <= most) {
		c.unfit(name, "%s is not between %.4g and %.4g", show(v), least/parts, most/parts)
		return
	}
	c.buf = append(c.buf, byte(int(n)))
}

// array returns an array of n elements.
func (c *Codec) array(name string, v any, n int) []any {
	list, ok := v.([]any)
	if !ok || len(list) != n {
		c.unfit(name, "%s is not an array of %d numbers", show(v), n)
		return nil
	}
	return list
}

func (c *Codec) giveFloats(name string, v any, n int) {
	for _, x := range c.array(name, v, n) {
		c.little(uint64(c.float(name, x)), 4)
	}
}

func (c *Codec) vector(name string, v any) (p wire.Vec3) {
	for i, x := range c.array(name, v, len(p)) {
		p[i] = c.float(name, x).Float()
	}
	return p
}

// giveText makes a text with its length or terminator.
func (c *Codec) giveText(name string, v any, kind Kind) {
	text, ok := v.(string)
	if !ok {
		c.unfit(name, "%s is not a text", show(v))
		return
	}
	var b []byte
	if kind == KindWStr32 || kind == KindWStrz {
		if b = wire.AppendWideTextOf(nil, text); kind == KindWStrz && !wideText(b) {
			c.unfit(name, "the text holds a NUL, which ends it")
			return
		}
	} else {
		b = wire.AppendTextOf(nil, text)
		if r, ok := differs(wire.Text(b).Raw(), text); ok {
			c.unfit(name, "the character %q is not in Windows-1252; remove it", r)
			return
		}
	}
	limit, size := math.MaxInt32-1, lengthBytes(kind)
	if size < 4 {
		limit = 1<<(8*size) - 1
	}
	if len(b) > limit {
		c.unfit(name, "%d bytes are more than its %d; shorten it", len(b), limit)
		return
	}
	n := len(b)
	switch kind { //nolint:exhaustive // the others count bytes of the text
	case KindStr32z:
		n++
		b = append(b, 0)
	case KindWStr32:
		n /= 2
	case KindWStrz:
		size = 0
		b = append(b, 0, 0)
	}
	c.little(uint64(n), size)
	c.buf = append(c.buf, b...)
}

// differs returns the first character of want at which got differs.
func differs(got, want string) (r rune, ok bool) {
	if got == want {
		return 0, false
	}
	have := []rune(got)
	for i, r := range []rune(want) {
		if i >= len(have) || have[i] != r {
			return r, true
		}
	}
	return 0, true
}

// show returns a value as JSON, shortened.
func show(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return fmt.Sprintf("an array of %d", len(v))
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "it"
	}
	return cut(string(b))
}

func cut(s string) string {
	const most = 40
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
