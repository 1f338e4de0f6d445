package layout

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
)

// A definition is what all messages of a spec share. It is immutable.
type definition struct {
	fields    []field
	registers int // number of fields to which conditions refer
}

// A field is one step of a walk.
type field struct {
	name   string
	doc    string
	kind   decode.Kind
	conds  []cond
	values *enumeration     // nil if they have no names
	bits   decode.FlagNames // nil if they have no names
	count  count
	least  int     // fewest bytes of an element
	fields []field // fields of a list or struct
	reg    int     // register with the value for conditions, from 1, or 0 if there is none
}

// A count is the form of a list's element count.
type count uint8

const (
	byU8 count = iota
	byU16
	toEnd
)

// A cond is a condition on an earlier field.
type cond struct {
	op    decode.Op
	field string
	reg   int
	value uint32
}

// A compiler turns the fields of one message into steps.
type compiler struct {
	message   string
	total     int // number of fields so far
	depth     int // number of open lists and structs
	inList    int
	registers int
}

// A scope has the fields that conditions may name: the earlier ones in the same
// list or struct, and those before it.
type scope struct {
	fields []field
	outer  *scope
}

func (s *scope) find(name string) *field {
	for ; s != nil; s = s.outer {
		for i := range s.fields {
			if s.fields[i].name == name {
				return &s.fields[i]
			}
		}
	}
	return nil
}

func (s *scope) names() (all []string) {
	for ; s != nil; s = s.outer {
		for i := range s.fields {
			all = append(all, s.fields[i].name)
		}
	}
	return all
}

// fields compiles the fields of a message, list or struct. The argument more
// tells whether other fields follow them.
func (c *compiler) fields(defs []Field, outer *scope, more bool) ([]field, *Error) {
	all := make([]field, 0, len(defs)) // the slice must not move, since conditions point into it
	keys := map[string]string{}        // JSON keys and their fields
	for i := range defs {
		f, err := c.field(&defs[i], &scope{all, outer}, more || i < len(defs)-1)
		if err != nil {
			return nil, err
		}
		for _, key := range f.keys() {
			if other, ok := keys[key]; ok {
				if other == f.name {
					return nil, fault(defs[i].Lines.at("name"), "message %s has two fields %q", c.message, f.name)
				}
				return nil, fault(defs[i].Lines.at("name"), "message %s: the fields %q and %q would both be shown as %q", c.message, other, f.name, key)
			}
			keys[key] = f.name
		}
		all = append(all, f)
	}
	return all, nil
}

// keys returns the field's names in reports. Some kinds have more than one.
func (f *field) keys() []string {
	all := []string{f.name}
	switch {
	case enumerated(f.kind):
		all = append(all, f.name+"_name")
	case f.kind == decode.KindFlags8:
		all = append(all, strings.TrimSuffix(f.name, "s")+"_names")
	case f.kind == decode.KindObject:
		base := strings.TrimSuffix(f.name, "_id")
		all = append(all, base+"_slot", base+"_name")
	case f.kind == list && f.count != toEnd:
		all = append(all, f.name+"_count")
	}
	return all
}

func (c *compiler) field(def *Field, s *scope, more bool) (f field, err *Error) {
	at := def.Lines.at
	if def.Name == "" {
		return f, fault(at(""), "a field of message %s has no name", c.message)
	}
	if err := checkName(at("name"), "field", def.Name, fieldName); err != nil {
		return f, err
	}
	where := "field " + strconv.Quote(def.Name)
	if c.total++; c.total > MaxFields {
		return f, fault(at(""), "message %s has more than %d fields", c.message, MaxFields)
	}
	f = field{name: def.Name, doc: def.Doc}
	if err := checkText(at("doc"), "the doc of "+where, def.Doc); err != nil {
		return f, err
	}
	k, known := kindNamed(def.Kind)
	f.kind = k
	switch {
	case def.Kind == "":
		return f, fault(at(""), "%s has no kind", where)
	case !known:
		return f, unknown(at("kind"), where, "kind", def.Kind, Kinds())
	}
	if err := c.values(def, &f, where); err != nil {
		return f, err
	}
	if f.conds, err = c.conds(def, s, where); err != nil {
		return f, err
	}
	switch {
	case f.kind == decode.KindBytes && c.inList > 0:
		return f, fault(at("kind"), "%s: bytes reach to the end of the message and cannot be part of a list", where)
	case f.kind == decode.KindBytes && more:
		return f, fault(at("kind"), "%s: bytes reach to the end of the message, so nothing can follow", where)
	case nested(f.kind):
		err = c.nested(def, &f, where, s, more)
	case len(def.Fields) > 0:
		err = fault(at("field"), "%s: fields belong in a list or struct, and its kind is %s", where, def.Kind)
	case def.Count != "":
		err = fault(at("count"), "%s: a count belongs to a list, and its kind is %s", where, def.Kind)
	}
	return f, err
}

// nested compiles the fields of a list or struct.
func (c *compiler) nested(def *Field, f *field, where string, s *scope, more bool) (err *Error) {
	at := def.Lines.at
	if c.depth == MaxNesting {
		return fault(at("kind"), "%s: more than %d nested lists and structs", where, MaxNesting)
	}
	if len(def.Fields) == 0 {
		return fault(at(""), "%s: a %s needs fields", where, def.Kind)
	}
	if f.kind == list {
		switch def.Count {
		case "", "u8":
		case "u16":
			f.count = byU16
		case "rest":
			f.count = toEnd
		default:
			return unknown(at("count"), where, "count", def.Count, []string{"u8", "u16", "rest"})
		}
		if f.count == toEnd && (more || c.inList > 0) {
			return fault(at("count"), "%s: such a list reaches to the end of the message, so nothing can follow", where)
		}
		c.inList++
	} else if def.Count != "" {
		return fault(at("count"), "%s: a count belongs to a list, and its kind is struct", where)
	}
	c.depth++
	f.fields, err = c.fields(def.Fields, s, more)
	c.depth--
	if f.kind != list || err != nil {
		return err
	}
	c.inList--
	if f.least = least(f.fields); f.least == 0 {
		return fault(at(""), "%s: an element needs a field that is always there and has bytes", where)
	}
	return nil
}

// least returns the fewest bytes that fields can take.
func least(fields []field) int {
	n := 0
	for i := range fields {
		f := &fields[i]
		switch {
		case len(f.conds) > 0:
		case f.kind == group:
			n += least(f.fields)
		case f.kind == list && f.count == byU8:
			n++
		case f.kind == list && f.count == byU16:
			n += 2
		default:
			n += formOf(f.kind).least()
		}
	}
	return n
}

// values checks the names of values and bits.
func (c *compiler) values(def *Field, f *field, where string) *Error {
	at := def.Lines.at
	switch {
	case len(def.Values) > 0 && !enumerated(f.kind):
		return fault(at("values"), "%s: values belong to an enum8 or enum32, and its kind is %s", where, def.Kind)
	case len(def.Bits) > 0 && f.kind != decode.KindFlags8:
		return fault(at("bits"), "%s: bits belong to flags8, and its kind is %s", where, def.Kind)
	case len(def.Values) > maxValues:
		return fault(at("values"), "%s: more than %d values have names", where, maxValues)
	case len(def.Bits) > 8:
		return fault(at("bits"), "%s: %d names for the 8 bits of a byte", where, len(def.Bits))
	}
	for _, b := range def.Bits {
		if err := checkText(at("bits"), where+": the name of a bit", b); err != nil {
			return err
		}
		f.bits = append(f.bits, b)
	}
	if len(def.Values) == 0 {
		return nil
	}
	f.values = &enumeration{slices.Clone(def.Values)}
	slices.SortStableFunc(f.values.values, func(a, b Value) int { return cmp.Compare(a.Number, b.Number) })
	for i, v := range f.values.values {
		line := v.Line
		if line == 0 {
			line = at("values")
		}
		if v.Number < 0 || v.Number >= 1<<formOf(f.kind).width {
			return fault(line, "%s: the value %d does not fit an %s", where, v.Number, formOf(f.kind).name)
		}
		if i > 0 && f.values.values[i-1].Number == v.Number {
			return fault(line, "%s: the value %d has two names", where, v.Number)
		}
		if v.Name == "" {
			return fault(line, "%s: the name of value %d is empty", where, v.Number)
		}
		if err := checkText(line, where+": the name of a value", v.Name); err != nil {
			return err
		}
	}
	return nil
}

// conds compiles the conditions of a field.
func (c *compiler) conds(def *Field, s *scope, where string) (all []cond, err *Error) {
	line := def.Lines.at("when")
	if len(def.When) > maxConds {
		return nil, fault(line, "%s has more than %d conditions", where, maxConds)
	}
	for _, text := range def.When {
		cd, reason := c.cond(text, s)
		if reason != "" {
			return nil, fault(line, "%s: when %q: %s", where, text, reason)
		}
		all = append(all, cd)
	}
	return all, nil
}

// moreBytes is the condition that unread bytes remain.
const moreBytes = "bytes remain"

// cond compiles a condition. For an invalid one it returns the reason.
func (c *compiler) cond(text string, s *scope) (cd cond, reason string) {
	text = strings.TrimSpace(text)
	if text == moreBytes {
		return cond{op: decode.OpMore}, ""
	}
	left, not := strings.CutPrefix(text, "not ")
	if !not {
		left, not = strings.CutPrefix(text, "!")
	}
	left = strings.TrimSpace(left)
	end := strings.IndexFunc(left, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if end < 0 {
		end = len(left)
	}
	name, right := left[:end], strings.TrimSpace(left[end:])
	f := s.find(name)
	if f == nil {
		return cd, "there is no field " + strconv.Quote(name) + " before this one" + names.DidYouMean(name, s.names())
	}
	form := formOf(f.kind)
	if form.width == 0 {
		return cd, "a field of kind " + form.name + " cannot be compared"
	}
	cd.field = f.name
	switch {
	case right == "":
		if f.kind != decode.KindBit && f.kind != decode.KindBool8 {
			return cd, "write a value to compare with, such as " + name + " == 1"
		}
		cd.op = decode.OpDiffers // compared with 0
	case strings.HasPrefix(right, "=="):
		cd.op = decode.OpEquals
		cd.value, reason = f.constant(right[2:])
	case strings.HasPrefix(right, "!="):
		cd.op = decode.OpDiffers
		cd.value, reason = f.constant(right[2:])
	case strings.HasPrefix(right, "&"):
		cd.op = decode.OpHas
		mask := strings.TrimSpace(right[1:])
		if m, ok := strings.CutSuffix(mask, "== 0"); ok {
			mask, not = m, !not
		} else {
			mask = strings.TrimSuffix(mask, "!= 0")
		}
		cd.value, reason = f.mask(mask)
	default:
		return cd, "expected ==, != or & after the name"
	}
	if not {
		cd.op = opposite(cd.op)
	}
	if f.reg == 0 {
		c.registers++
		f.reg = c.registers
	}
	cd.reg = f.reg
	return cd, reason
}

func opposite(op decode.Op) decode.Op {
	switch op {
	case decode.OpEquals:
		return decode.OpDiffers
	case decode.OpDiffers:
		return decode.OpEquals
	case decode.OpHas:
		return decode.OpLacks
	default:
		return op
	}
}

// constant returns the value in a comparison: a number, or the name of a value.
func (f *field) constant(text string) (v uint32, reason string) {
	text = strings.TrimSpace(text)
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		ok := false
		if f.values != nil {
			n, ok = f.values.number(strings.Trim(text, `"'`))
		}
		if !ok {
			return 0, strconv.Quote(text) + " is neither a number nor the name of a value"
		}
	}
	form := formOf(f.kind)
	lo, hi := int64(0), int64(1)<<form.width-1
	if signed(f.kind) {
		lo, hi = -hi/2-1, hi/2
	}
	if n < lo || n > hi {
		return 0, "the field goes from " + strconv.FormatInt(lo, 10) + " to " + strconv.FormatInt(hi, 10)
	}
	return uint32(n), ""
}

// mask returns the bits in a condition: a number, or the name of a bit.
func (f *field) mask(text string) (v uint32, reason string) {
	text = strings.TrimSpace(text)
	if f.kind == decode.KindBit || signed(f.kind) {
		return 0, "a field of kind " + formOf(f.kind).name + " has no flags"
	}
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		if n == 0 || n >= 1<<formOf(f.kind).width {
			return 0, "the field has no such bits"
		}
		return uint32(n), ""
	}
	if i := slices.Index(f.bits, strings.Trim(text, `"'`)); i >= 0 && text != "" {
		return 1 << i, ""
	}
	return 0, strconv.Quote(text) + " is neither a number nor the name of a bit"
}

// paths returns the possible paths for a one-line report, and which of them are
// single values.
func (d *definition) paths() (all, values []string) {
	var add func(prefix string, fields []field)
	add = func(prefix string, fields []field) {
		for i := range fields {
			f := &fields[i]
			at := prefix + f.name
			all = append(all, at)
			switch f.kind {
			case group:
				add(at+".", f.fields)
			case list:
				if f.count != toEnd {
					all = append(all, at+"_count")
				}
			default:
				values = append(values, at)
			}
		}
	}
	add("", d.fields)
	return all, values
}
