package tables

import (
	"reflect"
	"time"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// A modelTable is a table of matches, or of the items in one of their lists.
type modelTable struct {
	Table
	list    match.Column   // not of matches
	columns []match.Column // after the index of the match, and of the item
}

// modelTables returns the tables of the match model.
func modelTables() []modelTable {
	number := of("match", Int, "index of the match in the capture, from 0")
	matches := modelTable{Table: Table{"matches", "a match: from its first sign to its restart, the next mission, or the end of the capture", []Column{number}}}
	var all []modelTable
	for _, c := range match.Columns(reflect.TypeFor[match.Match](), match.Table) {
		if c.List && c.Type.Kind() == reflect.Struct {
			t := modelTable{Table{c.Name, c.Doc, []Column{number, of(c.Tag.Get("index"), Int, "index in the match, from 0")}}, c, match.Columns(c.Type, match.Table)}
			for i := range t.columns {
				t.Columns = append(t.Columns, columnOf(&t.columns[i]))
			}
			all = append(all, t)
			continue
		}
		matches.columns = append(matches.columns, c)
		matches.Columns = append(matches.Columns, columnOf(&c))
	}
	return append([]modelTable{matches}, all...)
}

// columnOf returns the column of a table for that of the model.
func columnOf(c *match.Column) Column {
	out := Column{Name: c.Name, Doc: c.Doc, List: c.List, Type: Int}
	switch c.Type.Kind() { //nolint:exhaustive // the others are integers
	case reflect.Bool:
		out.Type = Bool
	case reflect.String:
		out.Type = Text
	case reflect.Float32, reflect.Float64:
		out.Type = Double
	case reflect.Struct:
		out.Type = Time
	}
	return out
}

// write writes the rows of a match.
func (t *modelTable) write(to *rows, m *match.Match, index int) {
	item := reflect.ValueOf(m).Elem()
	if t.list.Name == "" {
		to.begin()
		to.int(0, int64(index))
		t.fill(to, 1, m, item)
		return
	}
	items := t.list.Value(m, item)
	for i := range items.Len() {
		to.begin()
		to.int(0, int64(index))
		to.int(1, int64(i))
		t.fill(to, 2, m, items.Index(i))
	}
}

// fill sets the columns of an item from one on.
func (t *modelTable) fill(to *rows, first int, m *match.Match, item reflect.Value) {
	for i := range t.columns {
		v := t.columns[i].Value(m, item)
		switch {
		case t.columns[i].List:
			for k := 0; v.IsValid() && k < v.Len(); k++ {
				to.addValue(first+i, v.Index(k))
			}
			to.end(first + i)
		case v.IsValid():
			to.value(first+i, v)
		}
	}
}

func (r *rows) addValue(column int, v reflect.Value) {
	if v.Kind() == reflect.String {
		r.addText(column, v.String())
	} else {
		r.addInt(column, v.Int())
	}
}

// value sets a value of the model.
func (r *rows) value(column int, v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // the others are integers
	case reflect.Bool:
		r.bool(column, v.Bool())
	case reflect.String:
		r.text(column, v.String())
	case reflect.Float32, reflect.Float64:
		r.double(column, v.Float())
	case reflect.Struct:
		at, _ := v.Interface().(time.Time)
		r.int(column, at.Round(time.Microsecond).UnixMicro()) // it comes from seconds in a float
	default:
		if v.CanUint() {
			r.int(column, int64(v.Uint()))
		} else {
			r.int(column, v.Int())
		}
	}
}
