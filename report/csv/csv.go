// Not part of the library: package csv renders chosen columns of records. The
// output is comma-separated values with a header row and the quoting of RFC
// 4180, values with other separators and quotes, or JSON objects.
//
// A column is a key of the table in package key or the path of a field. Its
// value is the value in the JSON object of package ndjson: text without quotes,
// a number, or JSON for arrays and objects. A float that is not finite is NaN,
// +Inf or -Inf. A cell is empty if a record has no such value.
//
// Text comes from the network, and a file may be shown in a terminal or opened
// in a spreadsheet. Control characters are escaped as in tables. A text that
// begins with =, +, - or @ is prefixed with an apostrophe, so that a
// spreadsheet does not interpret it as a formula. Numbers are not changed.
package csv

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/key"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// Usual are the default columns of a report.
var Usual = []string{"frame", "rel", "src", "dst", "dir", "player_name", "kind", "seq", "name", "len", "status"}

// A Sink writes a row for each record that has a value for any of its columns.
type Sink struct {
	lines   *report.Lines
	enc     *ndjson.Encoder
	columns []column
	header  []string
	cells   []cell
	form    Form
	text    []byte // text of a JSON string
	fields  visitor
	plans   map[layout]*plan
	began   bool
}

// A Form is the format of the rows. The zero value is CSV.
type Form struct {
	JSON      bool // each row is an object of the columns that have a value
	Separator byte // between cells, 0 for a comma
	NoHeader  bool
	Mark      bool // write a byte order mark first, so that spreadsheets read the file as UTF-8
	Quote     Quote
	Raw       bool // write no apostrophe before formulas, which is unsafe for spreadsheets

	bare bool // numbers need no quotes
}

// A Quote chooses which cells are quoted.
type Quote byte

// The values of Quote.
const (
	QuoteNeeded Quote = 0 // cells that need it, in double quotes
	QuoteDouble Quote = '"'
	QuoteSingle Quote = '\''
	QuoteNone   Quote = 'n'
)

// A column is a key, or a field of messages.
type column struct {
	key     *key.Key // nil for a field
	many    bool     // the key has a value for each element of a list
	path    string   // path of the field in any message, empty if only the field of one message is meant
	message string   // the message, if the first part of the name can be one
	inside  string   // path in that message
	element int      // index in a vector, an array or bytes, -1 for all
}

// Check returns an error if a name cannot be a column. The argument names has
// the known names: keys, fields, and messages, which have no value. The caller
// must have checked that the name refers to one of them.
func Check(name string, names []string) error {
	switch k := key.Find(name); {
	case !columnName.MatchString(name):
		return errors.New("a column is the name of a key or field, such as frame or StateUpdate.speed")
	case k != nil && (k.Name == "addr" || k.Name == "port"):
		return errors.New("addresses are in the columns src and dst, with their ports")
	case k != nil && k.Name == "note":
		return errors.New("notes are in the column notes")
	case k != nil && k.Scope == key.Filter:
		return fmt.Errorf("%s is a key of filters only", name)
	case !strings.Contains(name, ".") && (isUpper(name[0]) || !slices.Contains(names, indexed.ReplaceAllString(name, ""))):
		return errors.New("it is a message; choose a field such as Chat.text, or the column name")
	}
	return nil
}

var indexed = regexp.MustCompile(`\[(\d+)\]$`)

var columnName = regexp.MustCompile(`^[A-Za-z]\w*(\.\w+|\[\d+\])*$`)

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// New returns a sink that writes to w. Columns are keys such as frame, paths
// such as fields.target or target, and paths of one message such as
// TorpedoFire.target. The caller must have checked that they exist.
func New(w io.Writer, columns []string, form Form, o ndjson.Options) *Sink {
	if form.Separator == 0 {
		form.Separator = ','
	}
	s := &Sink{
		lines: report.NewLines(w, o.Live), enc: ndjson.NewEncoder(o), header: columns, cells: make([]cell, len(columns)), form: form, plans: map[layout]*plan{},
	}
	s.began = form.NoHeader && !form.Mark || form.JSON
	s.form.bare = form.Quote == QuoteNone || form.Quote == QuoteNeeded && strings.IndexByte("+-.0123456789e", form.Separator) < 0
	s.fields.json = form.JSON
	for _, c := range columns {
		s.columns = append(s.columns, newColumn(c))
	}
	return s
}

func newColumn(name string) column {
	c := column{element: -1}
	if m := indexed.FindStringSubmatch(name); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			c.element = n
		}
		name = strings.TrimSuffix(name, m[0])
	}
	if path, ok := strings.CutPrefix(name, "fields."); ok {
		c.path = path
		return c
	}
	c.key = key.Find(name)
	if head, rest, ok := strings.Cut(name, "."); ok {
		c.message, c.inside = head, rest
		of := key.Find(head)
		c.many = c.key != nil && of != nil && of.List
	}
	if c.key == nil && !isUpper(name[0]) {
		c.path = name
	}
	return c
}

// Record implements [report.Sink].
func (s *Sink) Record(r *dissect.Record) error {
	if err := s.lines.Err(); err != nil {
		return err
	}
	s.begin()
	if r.Message != nil {
		s.visit(r)
	}
	buf, some := s.lines.Buffer(), false
	for i := range s.cells {
		c, of := &s.cells[i], &s.columns[i]
		if of.key != nil && c.form == empty {
			s.appendKey(c, r, of)
		}
		if c.form == list {
			c.text = append(c.text, ']')
		}
		switch {
		case !s.form.JSON:
			if i > 0 {
				buf = append(buf, s.form.Separator)
			}
			buf = c.append(buf, &s.form)
		case len(c.text) > 0:
			open := byte('{')
			if some {
				open = ','
			}
			buf = display.AppendString(append(buf, open), s.header[i])
			buf = append(append(buf, ':'), c.text...)
		}
		some = some || len(c.text) > 0
		c.text, c.form = c.text[:0], empty
	}
	if !some {
		return nil
	}
	if s.form.JSON {
		buf = append(buf, '}')
	}
	return s.lines.Done(append(buf, '\n'))
}

// byteOrderMark is U+FEFF in UTF-8.
const byteOrderMark = "\xEF\xBB\xBF"

// begin writes the byte order mark and the header once.
func (s *Sink) begin() {
	if s.began {
		return
	}
	s.began = true
	buf := s.lines.Buffer()
	if s.form.Mark {
		buf = append(buf, byteOrderMark...)
	}
	if !s.form.NoHeader {
		buf = append(append(buf, strings.Join(s.header, string(rune(s.form.Separator)))...), '\n')
	}
	_ = s.lines.Done(buf) // the next line returns the error
}

// Continue makes the sink write no header, since it was already written.
func (s *Sink) Continue() { s.began = true }

// Flush implements [report.Flusher]. It writes the header if nothing has been
// written.
func (s *Sink) Flush() error {
	s.begin()
	return s.lines.Flush()
}

// Close implements [report.Sink]. It writes the header even if there was no
// record.
func (s *Sink) Close() error {
	if s.lines.Err() == nil {
		s.begin()
	}
	return s.lines.Close()
}
