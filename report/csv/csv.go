// Package csv renders chosen columns of records as comma-separated values, with
// a header row and the quoting of RFC 4180.
//
// A column is a key or a path of the JSON object that package ndjson makes of a
// record, and holds what stands there: text without quotes, a number, or for
// arrays and objects their JSON. It is empty where a record has no such value.
package csv

import (
	"encoding/csv"
	"io"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/bcdissect/bcdissect/dissect"
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
	message string   // the message that must be there, empty for any
	paths   []string // the first that exists counts
}

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
	path := name
	if first, rest, ok := strings.Cut(name, "."); ok && first != "" && first[0] >= 'A' && first[0] <= 'Z' {
		c.message, path = first, rest
		c.paths = elements("fields." + path)
		return c
	}
	c.paths = elements(path)
	if !strings.HasPrefix(path, "fields.") {
		c.paths = append(c.paths, elements("fields."+path)...)
	}
	return c
}

// elements returns the path, and the paths that it is if one of its steps is a
// list: what comes behind is then meant in every element.
func elements(path string) []string {
	paths := []string{path}
	for i, c := range path {
		if c == '.' {
			paths = append(paths, path[:i]+".#"+path[i:])
		}
	}
	return paths
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
	if c.message != "" && (r.Spec == nil || !strings.EqualFold(r.Spec.Name, c.message)) {
		return ""
	}
	for _, path := range c.paths {
		switch v := gjson.GetBytes(line, path); {
		case v.Type == gjson.String:
			return v.String()
		case v.Exists() && v.Raw != "[]":
			return v.Raw // as the JSON has it
		}
	}
	return ""
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
