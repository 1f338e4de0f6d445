package table

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/report/reference"
)

// Tables of messages are not wider than the terminal. Without a terminal they
// have a width that is comfortable to read.
const (
	catalogWidth = 120
	leastColumn  = 24 // minimum columns of text on narrow terminals
	condColumn   = 30 // columns of conditions
	manyFields   = 80 // characters of a list of fields that is shown only once
	manyNames    = 24 // values with more names are not listed
)

// Catalog writes the protocol table, with a row for each message. Messages of
// the game and of the transport are in separate tables.
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

// Entry writes everything known about one message.
func Entry(w io.Writer, e *reference.Entry, o Options) error {
	p := newPage(o)
	p.o.Width = o.width()
	title := code(e)
	if e.Transport {
		title = "transport type " + title
	}
	p.printf("%s %s\n\n", title, name(e, p.theme))
	p.folded("", 0, e.Doc)
	p.printf("\n")
	about := func(label, text string) {
		const column = 12
		if text != "" {
			p.folded(p.paint(label, faint)+strings.Repeat(" ", column-len(label)), column, text)
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
		p.printf("\nThe layout is not known.\n")
	}
	for i := range e.Layouts {
		p.layout(e, &e.Layouts[i], o)
	}
	return p.flush(w)
}

// directions are the directions in words.
var directions = map[string]string{
	"both": "client and host", "c2s": "client → host", "s2c": "host → client", "none": "neither sends it",
}

// layout writes the fields of a layout.
func (p *page) layout(e *reference.Entry, l *reference.Layout, o Options) {
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
	p.printf("\n")
	p.folded("", 0, length)
	if len(l.Fields) == 0 {
		return
	}
	p.printf("\n")
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
	from := p.b.Len()
	if p.err = wrapped(&p.b, o, head, rows, condColumn); o.Width == 0 || p.widths.widest(p.b.Bytes()[from:]) <= o.Width {
		return
	}
	all := columnsOf(head, rows, len(head))
	for i, least := range []int{0, 8, 5, 12, 16} {
		all[i].least = least
	}
	for i, c := range all[3].cells {
		all[3].cells[i] = strings.ReplaceAll(c, hardSpace, " ")
	}
	fits := func() bool { return taken(p.widths.folded(all, p.widths.rooms(all))) <= o.Width }
	if !fits() {
		all[0].least = 24 // names of fields are not broken if possible
	}
	if fits() {
		p.b.Truncate(from)
		p.table(all)
	}
}

// own returns the conditions of a field that are not also conditions of the
// list or struct that contains it, which precedes the field.
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

// valueNames returns the names of the values of a field, or "" if there are too
// many.
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

// fieldNames returns the fields of the first layout that are not parts of other
// fields. A list has [] after its name, and an optional field a question mark.
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
		if !slices.Contains(all, s) { // some fields occur once for each condition
			all = append(all, s)
		}
	}
	return all
}

// wrapped draws a table of text. The last column takes the remaining width. If
// most is not 0, the other columns have at most that width. Longer text is
// folded.
func wrapped(out io.Writer, o Options, head []string, rows [][]string, most int) error {
	var w widths
	all := columnsOf(head, rows, len(head))
	room, last := w.rooms(all), len(all)-1
	for i := range last {
		if most > 0 && room[i] > most {
			room[i], all[i].least, all[i].whole = most, most, true
		}
	}
	room[last] = 0
	room[last], all[last].least, all[last].whole = max(o.width()-taken(room), leastColumn), leastColumn, true
	return w.draw(out, Options{ASCII: o.ASCII}, all, room)
}
