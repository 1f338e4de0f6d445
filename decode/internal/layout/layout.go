// Package layout makes specs of messages from definitions in data, such as a
// mod's: a list of fields with kinds, conditions and value names. The resulting
// messages are read, written and described by the same codec as messages
// written in Go.
//
// The package knows no file format. Loaders return a [Message]. Text in
// definitions comes from outside and is rejected if it could control a
// terminal.
package layout

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
)

// Limits of a definition.
const (
	MaxFields  = 256 // fields of a message, including the fields of lists and structs
	MaxNesting = 4   // nested lists and structs
	maxName    = 48  // bytes in a name
	maxText    = 400 // bytes in a doc
	maxConds   = 8   // conditions on a field
	maxValues  = 512 // value names of a field
	maxAliases = 16  // aliases of a message
	maxPaths   = 32  // paths in a brief
)

// Lines are the line numbers of keys in a file. The key "" is the first line of
// the definition. A nil Lines is valid.
type Lines map[string]int

// at returns the line of a key, or of the definition.
func (l Lines) at(key string) int {
	if n, ok := l[key]; ok {
		return n
	}
	return l[""]
}

// A Message is the definition of a message.
type Message struct {
	Lines      Lines
	Opcode     int64
	Name       string
	Doc        string
	Aliases    []string
	Direction  string // c2s, s2c or both. Empty means both.
	Unreliable bool
	Relay      string   // name of a [decode.Relay]. Empty means the default.
	Brief      []string // paths. If empty, the first fields.
	Harmless   []string // names of numbers that anonymizing keeps
	Fields     []Field
}

// A Field is the definition of a field, or of a list or struct of fields.
type Field struct {
	Lines  Lines
	Name   string
	Kind   string
	Doc    string
	When   []string // conditions that must all be true
	Values []Value  // for enumerations
	Bits   []string // for flags: names, bit 0 first. Empty for a bit without a name.
	Count  string   // for lists: form of the count, u8, u16 or rest. Empty means u8.
	Fields []Field  // for lists and structs
}

// A Value is a named value.
type Value struct {
	Line   int
	Number int64
	Name   string
}

// An Error is a mistake in a definition.
type Error struct {
	Line   int // line number, or 0 if the definition has no lines
	Reason string
}

// Error returns line and reason.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

func fault(line int, format string, args ...any) *Error {
	return &Error{line, fmt.Sprintf(format, args...)}
}

// Spec returns the spec of the message. The error is an [*Error].
func (m *Message) Spec() (*decode.Spec, error) {
	s, err := m.spec()
	if err != nil { // a nil *Error must not become an error
		return nil, err
	}
	return s, nil
}

func (m *Message) spec() (*decode.Spec, *Error) {
	if m.Name == "" {
		return nil, fault(m.Lines.at(""), "a message has no name")
	}
	if err := checkName(m.Lines.at("name"), "message", m.Name, messageName); err != nil {
		return nil, err
	}
	if _, ok := m.Lines["opcode"]; !ok && m.Lines != nil {
		return nil, fault(m.Lines.at(""), "message %s has no opcode", m.Name)
	}
	if m.Opcode < 0 || m.Opcode > 0xFF {
		return nil, fault(m.Lines.at("opcode"), "message %s: opcode %d is not a byte", m.Name, m.Opcode)
	}
	s := &decode.Spec{
		Code: decode.Opcode(m.Opcode), Name: m.Name, Aliases: m.Aliases, Reliable: !m.Unreliable,
		Evidence: decode.FromProse, Doc: m.Doc,
	}
	switch {
	case len(m.Aliases) > maxAliases:
		return nil, fault(m.Lines.at("aliases"), "message %s has more than %d aliases", m.Name, maxAliases)
	case len(m.Brief) > maxPaths:
		return nil, fault(m.Lines.at("brief"), "message %s: brief: more than %d fields", m.Name, maxPaths)
	}
	for _, a := range m.Aliases {
		if err := checkName(m.Lines.at("aliases"), "alias", a, messageName); err != nil {
			return nil, err
		}
	}
	for i, a := range s.Names() {
		for _, b := range s.Names()[:i] {
			if strings.EqualFold(a, b) {
				return nil, fault(m.Lines.at("aliases"), "message %s has the name %s twice", m.Name, a)
			}
		}
	}
	if err := checkText(m.Lines.at("doc"), "the doc of message "+m.Name, m.Doc); err != nil {
		return nil, err
	}
	if s.Doc == "" {
		s.Doc = "Not described."
	}
	var ok bool
	if s.Dir, ok = directions[m.Direction]; !ok {
		return nil, unknown(m.Lines.at("direction"), "message "+m.Name, "direction", m.Direction, []string{"c2s", "s2c", "both"})
	}
	if s.Dir != decode.FromHost {
		s.Relay = decode.RelayConsume
	}
	if m.Relay != "" {
		i := slices.Index(relayNames(), m.Relay)
		if i < 0 {
			return nil, unknown(m.Lines.at("relay"), "message "+m.Name, "relay class", m.Relay, relayNames())
		}
		s.Relay = decode.Relay(i)
	}
	c := compiler{message: m.Name}
	fields, err := c.fields(m.Fields, nil, false)
	if err != nil {
		return nil, err
	}
	d := &definition{fields: fields, registers: c.registers}
	s.Layout = decode.LayoutFrom(d.message)
	if s.Brief, err = m.brief(d); err != nil {
		return nil, err
	}
	s.Harmless = m.Harmless
	return s, m.harmless(s)
}

var directions = map[string]decode.Dir{
	"": decode.Either, "both": decode.Either, "c2s": decode.FromClient, "s2c": decode.FromHost,
}

// relayNames returns the names of the relay classes, indexed by their numbers.
func relayNames() (all []string) {
	for r := decode.RelayNone; r <= decode.RelayAnswer; r++ {
		all = append(all, r.String())
	}
	return all
}

// maxBrief is the number of fields in a one-line report if the definition has
// no brief.
const maxBrief = 4

// brief returns the paths of the fields in a one-line report.
func (m *Message) brief(d *definition) ([]string, *Error) {
	paths, values := d.paths()
	if len(m.Brief) == 0 {
		return values[:min(len(values), maxBrief)], nil
	}
	for _, b := range m.Brief {
		if !slices.Contains(paths, b) {
			return nil, fault(m.Lines.at("brief"), "message %s: brief: there is no field %q%s", m.Name, b, names.DidYouMean(b, paths))
		}
	}
	return m.Brief, nil
}

// harmless checks that the fields named as harmless are numbers.
func (m *Message) harmless(s *decode.Spec) *Error {
	if len(m.Harmless) > MaxFields {
		return fault(m.Lines.at("harmless"), "message %s: harmless: more than %d fields", m.Name, MaxFields)
	}
	kept := map[string]bool{}
	var all []string
	decode.Describe(s.Layout, decode.Stock, decode.FieldFunc(func(f *decode.Field) {
		kept[f.Name] = kept[f.Name] || s.Treatment(f) == decode.Kept
		all = append(all, f.Name)
	}))
	for _, name := range m.Harmless {
		switch keeps, known := kept[name]; {
		case !known:
			return fault(m.Lines.at("harmless"), "message %s: harmless: there is no field %q%s", m.Name, name, names.DidYouMean(name, all))
		case !keeps:
			return fault(m.Lines.at("harmless"), "message %s: harmless: %s is not a number; texts, bytes, addresses and hash32 are never copied", m.Name, name)
		}
	}
	return nil
}

// unknown returns the error for a word that is not among the known ones.
func unknown(line int, where, what, word string, known []string) *Error {
	const few = 8
	hint := names.DidYouMean(word, known)
	if len(known) <= few {
		hint = "; it is one of " + strings.Join(known, ", ")
	}
	return fault(line, "%s has unknown %s %q%s", where, what, word, hint)
}

// A style is a rule for names.
type style uint8

const (
	messageName style = iota // letters, digits and underscores, a letter first
	fieldName                // snake_case
)

var styles = [...]*regexp.Regexp{
	messageName: regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`),
	fieldName:   regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*$`),
}

// checkName rejects names that are unfit for filters and JSON keys.
func checkName(line int, what, name string, s style) *Error {
	good := styles[s].MatchString(name)
	switch {
	case len(name) > maxName:
		return fault(line, "the %s name %s is longer than %d bytes", what, strconv.Quote(name[:maxName]+"..."), maxName)
	case !good && s == fieldName:
		return fault(line, "%q is not a valid %s name: lower-case letters, digits and single underscores, such as ship_id", name, what)
	case !good:
		return fault(line, "%q is not a valid %s name: letters, digits and underscores, a letter first", name, what)
	}
	return nil
}

// checkText rejects text that is too long for a line or could control a
// terminal.
func checkText(line int, what, text string) *Error {
	if len(text) > maxText {
		return fault(line, "%s is longer than %d bytes", what, maxText)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return fault(line, "%s has a character that cannot be shown, %U; write it on one line", what, r)
		}
	}
	return nil
}

// An enumeration is the value names of a field.
type enumeration struct{ values []Value }

// Name implements [decode.Names].
func (e *enumeration) Name(v uint64) string {
	for i := range e.values {
		if uint64(e.values[i].Number) == v {
			return e.values[i].Name
		}
	}
	return ""
}

// Values implements [decode.Lister].
func (e *enumeration) Values() iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		for _, v := range e.values {
			if !yield(uint64(v.Number), v.Name) {
				return
			}
		}
	}
}

// number returns the value with the given name.
func (e *enumeration) number(name string) (int64, bool) {
	for _, v := range e.values {
		if v.Name == name {
			return v.Number, true
		}
	}
	return 0, false
}
