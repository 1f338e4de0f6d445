package table

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/report/reference"
)

// Tables of messages are no wider than the terminal, and not wider than people
// read where there is none.
const (
	catalogWidth = 120
	leastColumn  = 24 // columns that text keeps however narrow the terminal is
	condColumn   = 30 // columns of conditions
	manyFields   = 80 // characters of a list of fields that is not repeated
	manyNames    = 24 // values with names that are not listed any more
)

// Catalog writes the protocol table: a row for each message, those of the game
// and those of the transport apart.
func Catalog(w io.Writer, entries []reference.Entry, o Options) error {
	th := newTheme(o.Color)
	var game, transport [][]string
	shared := map[string]string{} // long lists of fields, with the first message that has them
	for i := range entries {
		e := &entries[i]
		fields := strings.Join(fieldNames(e), ", ")
		if first := shared[fields]; first != "" {
			fields = "as " + first
		} else if len(fields) > manyFields {
			shared[fields] = e.Name
		}
		row := []string{code(e), name(e, th), direction(e), e.Relay, fields}
		if e.Transport {
			transport = append(transport, row)
		} else {
			game = append(game, row)
		}
	}
	head := []string{"opcode", "name", "direction", "relay", "fields"}
	if err := wrapped(w, o, head, game, 0); err != nil || len(transport) == 0 {
		return err
	}
	if len(game) > 0 {
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	head[0] = "type"
	return wrapped(w, o, head, transport, 0)
}

// Entry writes all that is known of one message.
func Entry(w io.Writer, e *reference.Entry, o Options) error {
	th := newTheme(o.Color)
	var b bytes.Buffer
	title := code(e)
	if e.Transport {
		title = "transport type " + title
	}
	b.WriteString(title + " " + name(e, th) + "\n\n")
	for line := range lines(e.Doc, o.width()) {
		b.WriteString(line + "\n")
	}
	b.WriteString("\n")
	about := func(label, text string) {
		if text == "" {
			return
		}
		const column = 12
		b.Write(th.append(nil, []byte(label), faint))
		b.WriteString(strings.Repeat(" ", column-len(label)))
		first := true
		for line := range lines(text, o.width()-column) {
			if !first {
				b.WriteString(strings.Repeat(" ", column))
			}
			b.WriteString(line + "\n")
			first = false
		}
	}
	about("constant", e.Constant)
	about("aliases", strings.Join(e.Aliases, ", "))
	way := directions[e.Dir]
	if o.ASCII {
		way = strings.ReplaceAll(way, unicodeSigns.arrow, asciiSigns.arrow)
	}
	about("direction", way)
	if len(e.Layouts) > 0 {
		about("reliable", map[bool]string{true: "yes", false: "no"}[e.Reliable])
	}
	about("topic", e.Topic+": "+reference.Meaning(e.Topic))
	about("relay", e.Relay+": "+reference.Meaning(e.Relay))
	for _, d := range e.Others {
		about(d.Dialect, "its host "+d.Text)
	}
	if e.Playable != "" {
		about("playable", "a playable host passes it on "+reference.PlayableMeaning(e.Playable))
	}
	if e.Made != "" {
		about("host's own", e.Made+": "+reference.MadeMeaning(e.Made))
	}
	if e.Step != "" {
		about("join step", e.Step+": "+reference.StepMeaning(e.Step))
	}
	for _, f := range e.Host {
		about("of the host", f.Field+": "+f.From)
	}
	if e.Hosts != "" {
		about("hosts", "only those that write "+e.Hosts+" send it")
	}
	about("evidence", e.Evidence+": "+reference.Meaning(e.Evidence))
	if e.Instead != "" {
		about("instead of", e.Instead+", where that does not fit to the last byte")
	}
	if len(e.Layouts) == 0 {
		b.WriteString("\nThe layout is not known.\n")
	}
	for i := range e.Layouts {
		if err := layout(&b, e, &e.Layouts[i], o); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// directions are the directions in words.
var directions = map[string]string{
	"both": "client and host", "c2s": "client → host", "s2c": "host → client", "none": "neither sends it",
}

// layout writes the fields of a layout.
func layout(b *bytes.Buffer, e *reference.Entry, l *reference.Layout, o Options) error {
	length := l.Length + " bytes"
	if l.Length == "1" {
		length = "1 byte"
	}
	if e.Transport {
		length += " after the header"
	}
	if l.Doc != "" {
		length = "dialect " + l.Dialect + ": " + l.Doc + " " + length
	}
	b.WriteString("\n")
	for line := range lines(length, o.width()) {
		b.WriteString(line + "\n")
	}
	if len(l.Fields) == 0 {
		return nil
	}
	b.WriteString("\n")
	rows := make([][]string, 0, len(l.Fields))
	for i := range l.Fields {
		f := &l.Fields[i]
		meaning := f.Doc
		if names := valueNames(f); names != "" {
			if meaning != "" {
				meaning += ": "
			}
			meaning += names
		}
		var when []string
		for _, c := range own(l.Fields[:i], f) {
			when = append(when, strings.ReplaceAll(c, " ", hardSpace))
		}
		rows = append(rows, []string{f.Path, f.Kind, f.Bytes, strings.Join(when, " and "), meaning})
	}
	head := []string{"field", "kind", "bytes", "if", "meaning"}
	var w widths
	from := b.Len()
	if err := wrapped(b, o, head, rows, condColumn); err != nil || o.Width == 0 || w.widest(b.Bytes()[from:]) <= o.Width {
		return err
	}
	all := make([]column, len(head))
	for i, least := range []int{0, 8, 5, 12, 16} {
		all[i] = column{head: head[i], text: true, least: least}
		for _, r := range rows {
			all[i].cells = append(all[i].cells, strings.ReplaceAll(r[i], hardSpace, " "))
		}
	}
	fits := func() bool { return taken(w.folded(all, w.rooms(all))) <= o.Width }
	if !fits() {
		all[0].least = 24 // the names of fields are whole where they can be
	}
	if !fits() {
		return nil
	}
	b.Truncate(from)
	return w.fitted(b, o, all)
}

// own returns the conditions of a field that its list or struct, which stands
// before it, has not.
func own(before []reference.Field, f *reference.Field) []string {
	dot := strings.LastIndexByte(f.Path, '.')
	if dot < 0 {
		return f.When
	}
	outer := strings.TrimSuffix(f.Path[:dot], "[]")
	for i := range slices.Backward(before) {
		if b := &before[i]; b.Path == outer && len(b.When) <= len(f.When) && slices.Equal(b.When, f.When[:len(b.When)]) {
			return f.When[len(b.When):]
		}
	}
	return f.When
}

// valueNames returns the values of a field that have names, empty if there are
// too many to read.
func valueNames(f *reference.Field) string {
	if len(f.Values) > manyNames {
		return ""
	}
	var all []string
	for _, v := range f.Values {
		n := strconv.FormatUint(v.Value, 10)
		if f.Kind == decode.KindFlags8.String() || v.Value > 0xFF {
			n = string(display.AppendHex(nil, v.Value, 2))
		}
		all = append(all, n+" "+v.Name)
	}
	return strings.Join(all, ", ")
}

func (o *Options) width() int {
	if o.Width > 0 {
		return o.Width
	}
	return catalogWidth
}

// code returns the opcode or transport type.
func code(e *reference.Entry) string {
	s := decode.Opcode(e.Opcode).String()
	if e.Rest {
		s += "+"
	}
	return s
}

func name(e *reference.Entry, th *theme) string {
	look := normal
	if !e.Transport {
		look = topic(e.Topic)
	}
	return string(th.append(nil, []byte(e.Name), look))
}

func direction(e *reference.Entry) string {
	if e.Dir == "none" {
		return "-"
	}
	return e.Dir
}

// fieldNames returns the fields of the first layout that are not parts of
// others. A list has [] after its name, and an optional field a question mark.
func fieldNames(e *reference.Entry) (all []string) {
	if len(e.Layouts) == 0 {
		return []string{"not known"}
	}
	fields := e.Layouts[0].Fields
	for i := range fields {
		f := &fields[i]
		if strings.ContainsAny(f.Path, ".[") || strings.HasPrefix(f.Kind, "derived") {
			continue
		}
		if counted, ok := strings.CutSuffix(f.Path, "_count"); ok && i+1 < len(fields) && fields[i+1].Path == counted {
			continue
		}
		s := f.Path
		if f.Kind == "list" {
			s += "[]"
		}
		if len(f.When) > 0 {
			s += "?"
		}
		if !slices.Contains(all, s) { // of some fields there is one for each condition
			all = append(all, s)
		}
	}
	return all
}

// wrapped draws a table. The last column fills the room; the others are no
// wider than most, if that is not 0. Longer text is wrapped.
func wrapped(w io.Writer, o Options, head []string, rows [][]string, most int) error {
	var ws widths
	last := len(head) - 1
	room := make([]int, len(head))
	used := 0
	for i := range last {
		room[i] = len(head[i])
		for _, r := range rows {
			room[i] = max(room[i], ws.of(unpainted([]byte(r[i]))))
		}
		if most > 0 {
			room[i] = min(room[i], most)
		}
		used += room[i] + 2 // and the separator
	}
	room[last] = max(o.width()-used-2, leastColumn) // the rule has a column on either side
	var all [][]string
	for _, r := range rows {
		from := len(all)
		for i, cell := range r {
			at := from
			for line := range lines(cell, room[i]) {
				if at == len(all) {
					all = append(all, make([]string, len(head)))
				}
				all[at][i] = line
				at++
			}
		}
	}
	return grid(w, o, head, all, len(head))
}

// hardSpace stands for a space where a line must not break.
const hardSpace = "\x00"

// lines yields text in lines of a width, one at least. Words that are longer
// stay whole.
func lines(text string, width int) func(yield func(string) bool) {
	return func(done func(string) bool) {
		yield := func(line string) bool { return done(strings.ReplaceAll(line, hardSpace, " ")) }
		var line []string
		n := 0
		for word := range strings.FieldsSeq(text) {
			size := utf8.RuneCountInString(word)
			if len(line) > 0 && n+1+size > width {
				if !yield(strings.Join(line, " ")) {
					return
				}
				line, n = slices.Delete(line, 0, len(line)), -1
			}
			if len(line) > 0 {
				n++
			} else {
				n = 0
			}
			line = append(line, word)
			n += size
		}
		yield(strings.Join(line, " "))
	}
}
