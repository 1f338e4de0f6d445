package browser

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/internal/canvas"
)

// A column of the list shows a field of the messages that have it.
type column struct {
	name  string // name of the field
	title string
	value func(*dissect.Record) string
	width int // width of the widest value so far
}

// Limits of columns.
const (
	maxColumns  = 8
	maxCell     = 24 // characters
	leastOfLine = 40 // minimum characters of a line that stay free of columns
)

// elements matches the numbers of elements in the path of a field. A column's
// name, which has no numbers, means the field in all elements.
var elements = regexp.MustCompile(`\.\[\d+\]`)

// fieldAsFilter asks for a filter and suggests the value of the chosen field.
func (m *model) fieldAsFilter() tea.Cmd {
	if r := m.record(); r != nil {
		return m.ask(canvas.AskFilter, m.valueFilter(r))
	}
	return nil
}

// valueFilter returns an expression that matches messages with the value of the
// chosen field. Without a chosen field it matches messages with the same name.
func (m *model) valueFilter(r *dissect.Record) string {
	p := m.part()
	switch {
	case p == nil || !p.field || p.Name == "opcode":
		return nameFilter(r)
	case p.Name == "residue":
		return "status == " + r.Status.String()
	case r.Kind == dissect.KindGameSpy:
		return keyFilter(p.Name, r.Bytes[p.Off:p.End])
	}
	name := elements.ReplaceAllString(p.path, "")
	if r.Spec != nil {
		name = r.Spec.Name + "." + name
	}
	if f := m.fieldAt(r); f != nil && m.b.opts.Equal != nil {
		return m.b.opts.Equal(name, f)
	}
	return name
}

// nameFilter returns an expression that matches messages with the same name.
func nameFilter(r *dissect.Record) string {
	op, game := r.Opcode()
	switch {
	case game && r.Spec != nil:
		return "name == " + r.Spec.Name
	case game:
		return fmt.Sprintf("opcode == 0x%02X", uint8(op))
	case r.Spec != nil:
		return r.Spec.Name
	}
	return "kind == " + kindOf(r)
}

// keyFilter returns an expression for a GameSpy key and its value. In pair a
// backslash separates the two.
func keyFilter(key string, pair []byte) string {
	_, value, _ := bytes.Cut(pair, []byte{'\\'})
	switch {
	case !plainKey.MatchString(key):
		return "kind == gamespy"
	case !utf8.Valid(value):
		return "gamespy." + key
	}
	return "gamespy." + key + " == " + string(display.AppendString(nil, value))
}

// kindOf returns the kind of a record as filters name it.
func kindOf(r *dissect.Record) string {
	switch r.Kind {
	case dissect.KindGameSpy:
		return "gamespy"
	case dissect.KindMalformed:
		return "malformed"
	case dissect.KindEvicted:
		return "evicted"
	case dissect.KindMessage, dissect.KindPayload:
	}
	return r.Transport.Type.Kind()
}

var plainKey = regexp.MustCompile(`^[a-z]\w*$`)

// fieldAt returns the chosen field, nil if the chosen row is not a field.
func (m *model) fieldAt(r *dissect.Record) (chosen *decode.Field) {
	before := 0 // number of fields before it: fields have the order of the rows
	for _, p := range m.parts.rows[:m.rows[m.field]] {
		if p.field && !p.Group && p.Name != "opcode" {
			before++
		}
	}
	if p := m.part(); p.Group || r.Message == nil {
		return nil
	}
	var v decode.Viewer
	r.Visit(&v, decode.FieldFunc(func(f *decode.Field) {
		if before == 0 {
			c := *f
			chosen = &c
		}
		before--
	}))
	return chosen
}

// fieldAsColumn adds the chosen field to the columns of the list, or removes
// it.
func (m *model) fieldAsColumn() {
	p := m.part()
	if m.record() == nil {
		return
	}
	if p == nil || !p.field || p.Name == "opcode" || p.Name == "residue" || m.rec.Kind == dissect.KindGameSpy {
		m.Reason = "choose a field of the message first; 2 goes to the fields"
		return
	}
	name := "fields." + elements.ReplaceAllString(p.path, "")
	for i, c := range m.columns {
		if c.name == name {
			m.columns = append(m.columns[:i:i], m.columns[i+1:]...)
			m.said = "column " + c.title + " removed"
			return
		}
	}
	switch {
	case m.b.opts.Column == nil:
		return
	case len(m.columns) == maxColumns:
		m.Reason = fmt.Sprintf("there are %d columns, the most there can be; C on a field of one removes it", maxColumns)
		return
	}
	value, err := m.b.opts.Column(name)
	if err != nil {
		m.Reason = clean(err.Error())
		return
	}
	title := strings.TrimPrefix(name, "fields.")
	m.columns = append(m.columns, column{name: name, title: title, value: value, width: min(canvas.Width(title), maxCell)})
	m.said = "column " + title
}

// shownColumns returns the columns that fit into a line of the given width. If
// the list has only marked messages, the first column shows their notes.
func (m *model) shownColumns(width int) (shown []*column, columns int) {
	add := func(c *column) {
		if width-columns-c.width-2 >= leastOfLine {
			shown = append(shown, c)
			columns += c.width + 2
		}
	}
	if m.of.marked != nil {
		add(&column{title: "note", width: maxCell, value: func(r *dissect.Record) string { return clean(m.marks[placeOf(r)]) }})
	}
	for i := range m.columns {
		add(&m.columns[i])
	}
	return shown, columns
}

// cells returns the columns of a message, width characters wide.
func (m *model) cells(shown []*column, st canvas.Style, width int, value func(*column) string) string {
	r := m.Row(width)
	for _, c := range shown {
		r.Add(st, "  "+m.Pad(value(c), c.width, false))
	}
	return r.String()
}

// measure widens the columns for the visible messages.
func (m *model) measure(page int) {
	for i := range m.columns {
		c := &m.columns[i]
		for row := m.top; row < m.top+page; row++ {
			if r := m.win.has(row); r != nil {
				c.width = min(max(c.width, canvas.Width(c.value(r))), maxCell)
			}
		}
	}
}
