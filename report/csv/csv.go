// Package csv renders chosen columns of records as comma-separated values, with
// a header row and the quoting of RFC 4180.
//
// A column is a key or a path of the JSON object that package ndjson makes of a
// record, and holds what stands there: text without quotes, a number, or for
// arrays and objects their JSON. It is empty where a record has no such value.
package csv

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/key"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// A Sink writes a row for each record that has a value for any of its columns.
type Sink struct {
	w       *csv.Writer
	enc     *ndjson.Encoder
	columns []column
	header  []string
	row     []string
	line    []byte
	began   bool
	closed  bool
}

// A column is where its value stands in the JSON of a record.
type column struct {
	message string // what may be the message that must be there, empty for any
	inside  []path // in that message; the first that exists counts
	paths   []path // in others, if message may be a field just as well
}

// A path leads to a value in JSON, or to the vector that it is a component of.
type path struct {
	json      string
	component byte // w, x, y or z; 0 if the value is meant
}

// Check tells why there can be no column of that name. Names are those that can
// be: keys, fields, and messages, which have no value. The caller has checked
// that what the name speaks of exists.
func Check(name string, names []string) error {
	switch {
	case !columnName.MatchString(name):
		return errors.New("a column is the name of a key or field, such as frame or StateUpdate.speed")
	case name == "addr", name == "port":
		return errors.New("addresses are in the columns src and dst, with their ports")
	case name == "note":
		return errors.New("notes are in the column notes")
	case key.Find(name) != nil && key.Find(name).Scope != key.Everywhere:
		return fmt.Errorf("%s is a key of filters only", name)
	case !strings.Contains(name, ".") && (isUpper(name[0]) || !slices.Contains(names, indexed.ReplaceAllString(name, ""))):
		return errors.New("a message is no column; name one of its fields, or the column name")
	}
	return nil
}

var indexed = regexp.MustCompile(`\[\d+\]$`)

var columnName = regexp.MustCompile(`^[A-Za-z]\w*(\.\w+|\[\d+\])*$`)

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// New returns a sink that writes to w. Columns are keys such as frame, paths
// such as fields.target or target, and paths of one message such as
// TorpedoFire.target; the caller has checked that they exist.
func New(w io.Writer, columns []string, o ndjson.Options) *Sink {
	s := &Sink{w: csv.NewWriter(w), enc: ndjson.NewEncoder(o), header: columns, row: make([]string, len(columns))}
	for _, c := range columns {
		s.columns = append(s.columns, newColumn(c))
	}
	return s
}

func newColumn(name string) column {
	var c column
	json := strings.NewReplacer("[", ".", "]", "").Replace(name)
	if first, rest, ok := strings.Cut(json, "."); ok {
		c.message, c.inside = first, paths("fields."+rest)
		if isUpper(first[0]) {
			return c
		}
	}
	if first, _, _ := strings.Cut(json, "."); key.Find(first) != nil {
		c.paths = paths(json)
	} else {
		c.paths = paths("fields." + json)
	}
	return c
}

// paths returns the path, and the paths that it is if one of its steps is a
// list, where what comes behind is meant in every element, or its last is a
// component of a vector.
func paths(json string) []path {
	all := []path{{json: json}}
	for i, c := range json {
		if c == '.' {
			all = append(all, path{json: json[:i] + ".#" + json[i:]})
		}
	}
	if n := len(json) - 2; n > 0 && json[n] == '.' && strings.IndexByte("wxyz", json[n+1]) >= 0 {
		all = append(all, path{json[:n], json[n+1]})
	}
	return all
}

// Record implements [report.Sink].
func (s *Sink) Record(r *dissect.Record) error {
	if s.closed {
		return report.ErrClosed
	}
	if err := s.begin(); err != nil {
		return err
	}
	s.line = s.enc.Append(s.line[:0], r)
	some := false
	for i := range s.columns {
		s.row[i] = s.columns[i].value(s.line, r)
		some = some || s.row[i] != ""
	}
	if !some {
		return nil
	}
	return s.w.Write(s.row)
}

func (s *Sink) begin() error {
	if s.began {
		return nil
	}
	s.began = true
	return s.w.Write(s.header)
}

func (c *column) value(line []byte, r *dissect.Record) string {
	list := c.paths
	if c.message != "" && r.Spec != nil && called(r.Spec, c.message) {
		list = c.inside
	}
	for _, p := range list {
		v := gjson.GetBytes(line, p.json)
		if p.component != 0 {
			v = component(v, p.component)
		}
		switch {
		case v.Type == gjson.String:
			return v.String()
		case v.Exists() && v.Raw != "[]":
			return v.Raw // as the JSON has it
		}
	}
	return ""
}

// called reports whether a message goes by a name.
func called(s *decode.Spec, name string) bool {
	if strings.EqualFold(s.Name, name) || strings.EqualFold(s.Constant, name) {
		return true
	}
	return slices.ContainsFunc(s.Aliases, func(alias string) bool { return strings.EqualFold(alias, name) })
}

// component returns a component of a vector, x y z or w x y z.
func component(v gjson.Result, name byte) (none gjson.Result) {
	all := v.Array()
	if !v.IsArray() || len(all) != 3 && len(all) != 4 {
		return none
	}
	i := strings.IndexByte("wxyz"[4-len(all):], name)
	if i < 0 || all[i].Type != gjson.Number && all[i].Type != gjson.String {
		return none
	}
	return all[i]
}

// Continue makes the sink write no header: another has written it.
func (s *Sink) Continue() { s.began = true }

// Flush implements [report.Flusher]. It writes the header if nothing has been
// written.
func (s *Sink) Flush() error {
	if s.closed {
		return report.ErrClosed
	}
	if err := s.begin(); err != nil {
		return err
	}
	s.w.Flush()
	return s.w.Error()
}

// Close implements [report.Sink]. The header stands there even if no record
// came.
func (s *Sink) Close() error {
	if s.closed {
		return nil
	}
	err := s.begin()
	s.closed = true
	s.w.Flush()
	if err != nil {
		return err
	}
	return s.w.Error()
}
