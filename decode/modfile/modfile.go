// Not part of the library: package modfile reads user-defined messages from
// files, for example the messages of a mod's scripts. docs/mods.md describes
// the format. A file with a mistake is rejected with the line and the reason.
// It also reads the configuration file of the program, docs/config.md.
//
// It is the only package that knows the format, TOML, and imports its parser.
// It opens no files.
package modfile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/internal/layout"
	"github.com/bcdissect/bcdissect/decode/names"
)

// Limits of a file.
const (
	MaxSize     = 1 << 20 // size of a file in bytes
	MaxMessages = 256
)

// A File is a file of definitions.
type File struct {
	Name string // file name for errors
	Data []byte
}

// An Error is a mistake in a file.
type Error struct {
	File   string
	Line   int // line number, or 0 if the mistake is not in a single line
	Reason string
}

// Error returns file, line and reason in the style of a compiler.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Reason
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
}

// Extend returns base extended by the messages of files. The error is an
// [*Error].
func Extend(base *decode.Catalog, files ...File) (*decode.Catalog, error) {
	for _, f := range files {
		var messages []layout.Message
		if err := f.read(func(r *reader, doc *node) { messages = r.messages(doc) }); err != nil {
			return nil, err
		}
		for i := range messages {
			m := &messages[i]
			s, err := m.Spec()
			if e, ok := errors.AsType[*layout.Error](err); ok {
				return nil, &Error{f.Name, e.Line, e.Reason}
			}
			with, err := base.With(s)
			if e, ok := errors.AsType[*decode.NameError](err); ok {
				key := "name"
				if slices.Contains(m.Aliases, e.Name) {
					key = "aliases"
				}
				return nil, &Error{f.Name, m.Lines[key], e.Error()}
			}
			base = with
		}
	}
	return base, nil
}

// read calls take to read the file. The error is an [*Error].
func (f *File) read(take func(r *reader, doc *node)) error {
	var r reader
	doc, err := parse(f.Data)
	if err == nil {
		take(&r, doc)
		err = r.err
	}
	if err != nil {
		return &Error{f.Name, err.line, err.reason}
	}
	return nil
}

// A fault is a mistake in the file.
type fault struct {
	line   int
	reason string
}

func faultAt(line int, format string, args ...any) *fault {
	return &fault{line, fmt.Sprintf(format, args...)}
}

// A reader turns a parsed file into definitions. It keeps the first fault.
type reader struct{ err *fault }

func (r *reader) fail(line int, format string, args ...any) {
	if r.err == nil {
		r.err = faultAt(line, format, args...)
	}
}

// A table is an open TOML table.
type table struct {
	r     *reader
	n     *node
	what  string // what the table is, for errors
	known []string
	lines layout.Lines
}

// open starts reading a table.
func (r *reader) open(n *node, what string) *table {
	return &table{r, n, what, nil, layout.Lines{"": n.line}}
}

// get returns the value of a key, or nil if it is missing or has another type.
func (t *table) get(key string, want nodeKind) *node {
	t.known = append(t.known, key)
	e := t.n.find(key)
	if e == nil {
		return nil
	}
	t.lines[key] = e.line
	if e.value.kind != want {
		t.r.fail(e.line, "%s must be %s, not %s", key, want, e.value.kind)
		return nil
	}
	return e.value
}

// close rejects unknown keys.
func (t *table) close() {
	for i := range t.n.entries {
		if e := &t.n.entries[i]; t.r.err == nil && !slices.Contains(t.known, e.key) {
			t.r.fail(e.line, "%s has no key %q%s", t.what, shorten(e.key), names.DidYouMean(e.key, t.known))
		}
	}
}

// shorten shortens a text for an error.
func shorten(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

func (t *table) text(key string) string {
	if n := t.get(key, text); n != nil {
		t.bound(key, n)
		return n.text
	}
	return ""
}

// bound rejects a text that is longer than all limits of definitions.
func (t *table) bound(key string, n *node) {
	const most = 1000
	if len(n.text) > most {
		t.r.fail(n.line, "%s is longer than %d bytes", key, most)
	}
}

// texts reads an array of texts.
func (t *table) texts(key string) (all []string) {
	n := t.get(key, array)
	if n == nil {
		return nil
	}
	for _, item := range n.items {
		if item.kind != text {
			t.r.fail(item.line, "%s must be an array of texts, and holds %s", key, item.kind)
			return nil
		}
		t.bound(key, item)
		all = append(all, item.text)
	}
	return all
}

func (r *reader) messages(doc *node) []layout.Message {
	t := r.open(doc, "the file")
	var all []layout.Message
	if e := doc.find("message"); e != nil && e.value.kind == tables {
		r.fail(e.line, "a message begins with [[message]], in two brackets")
	}
	if list := t.get("message", array); list != nil {
		if len(list.items) > MaxMessages {
			r.fail(list.items[MaxMessages].line, "more than %d messages", MaxMessages)
			return nil
		}
		for _, n := range list.items {
			if n.kind != tables {
				r.fail(n.line, "a message must be a table ([[message]]), not %s", n.kind)
				return nil
			}
			all = append(all, r.message(n))
		}
	}
	t.close()
	if len(all) == 0 {
		r.fail(0, "no message is defined; each begins with [[message]]")
	}
	return all
}

func (r *reader) message(n *node) layout.Message {
	t := r.open(n, "a message")
	m := layout.Message{Lines: t.lines}
	if o := t.get("opcode", integer); o != nil {
		m.Opcode = o.number
	}
	m.Name = t.text("name")
	m.Doc = t.text("doc")
	m.Aliases = t.texts("aliases")
	m.Direction = t.text("direction")
	if b := t.get("reliable", boolean); b != nil {
		m.Unreliable = !b.yes
	}
	m.Relay = t.text("relay")
	m.Brief = t.texts("brief")
	m.Harmless = t.texts("harmless")
	m.Fields = r.fields(t)
	t.close()
	return m
}

func (r *reader) fields(t *table) (all []layout.Field) {
	n := t.get("field", array)
	if n == nil {
		return nil
	}
	for _, item := range n.items {
		if item.kind != tables {
			r.fail(item.line, "a field must be a table, not %s", item.kind)
			return nil
		}
		if len(all) > layout.MaxFields {
			break // the definition rejects the array for its length
		}
		all = append(all, r.field(item))
	}
	return all
}

func (r *reader) field(n *node) layout.Field {
	t := r.open(n, "a field")
	f := layout.Field{Lines: t.lines}
	f.Name = t.text("name")
	f.Kind = t.text("kind")
	f.Doc = t.text("doc")
	if e := n.find("when"); e != nil && e.value.kind == array {
		f.When = t.texts("when")
	} else if when := t.text("when"); e != nil {
		f.When = []string{when}
	}
	f.Values = r.values(t)
	f.Bits = t.texts("bits")
	f.Count = t.text("count")
	f.Fields = r.fields(t)
	t.close()
	return f
}

// values reads value names: an array for 0, 1, 2 and so on, or a table with the
// values as keys.
func (r *reader) values(t *table) (all []layout.Value) {
	if e := t.n.find("values"); e != nil && e.value.kind == array {
		for i, name := range t.texts("values") {
			if name != "" { // an empty name means that the value has none
				all = append(all, layout.Value{Line: e.value.items[i].line, Number: int64(i), Name: name})
			}
		}
		return all
	}
	n := t.get("values", tables)
	if n == nil {
		return nil
	}
	for i := range n.entries {
		e := &n.entries[i]
		v, ok := number(e.key)
		if !ok {
			r.fail(e.line, "%q is not a number; values are written as in { 0 = \"off\", 0x10 = \"on\" }", shorten(e.key))
			return nil
		}
		if e.value.kind != text {
			r.fail(e.line, "the name of value %d must be a text, not %s", v, e.value.kind)
			return nil
		}
		all = append(all, layout.Value{Line: e.line, Number: v, Name: e.value.text})
	}
	return all
}
