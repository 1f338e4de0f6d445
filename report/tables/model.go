package tables

import (
	"reflect"
	"time"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// A modelTable is a table of matches, or of the items in one of their lists.
type modelTable struct {
	Table
	list    match.Column   // column with the list, zero for the table of matches
	columns []match.Column // columns after the index of the match and the index of the item
}

// modelTables returns the tables of the match model.
func modelTables() []modelTable {
	number := of("match", Int, "index of the match in the capture, from 0")
	matches := modelTable{Table: Table{"matches", "a match: from its first sign to its restart, the next mission, or the end of the capture", []Column{number}}}
	var all []modelTable
	for _, c := range match.Columns(reflect.TypeFor[match.Match](), match.Table) {
		if c.List && c.Type.Kind() == reflect.Struct {
			t := modelTable{Table{c.Name, c.Doc, []Column{number, of(c.Tag.Get("index"), Int, "index in the match, from 0")}}, c, match.Columns(c.Type, match.Table)}
			t.Columns = append(t.Columns, columnsOf(t.columns)...)
			all = append(all, t)
			continue
		}
		matches.columns = append(matches.columns, c)
	}
	matches.Columns = append(matches.Columns, columnsOf(matches.columns)...)
	return append([]modelTable{matches}, all...)
}

// columnsOf converts the columns of a struct to columns of a table.
func columnsOf(of []match.Column) (all []Column) {
	for i := range of {
		c := Column{Name: of[i].Name, Doc: of[i].Doc, List: of[i].List, Type: Int}
		switch of[i].Type.Kind() { //nolint:exhaustive // the others are integers
		case reflect.Bool:
			c.Type = Bool
		case reflect.String:
			c.Type = Text
		case reflect.Float32, reflect.Float64:
			c.Type = Double
		case reflect.Struct:
			c.Type = Time
		}
		all = append(all, c)
	}
	return all
}

// write writes the rows of a match.
func (t *modelTable) write(to *rows, m *match.Match, index int) {
	item := reflect.ValueOf(m).Elem()
	if t.list.Name == "" {
		to.begin()
		to.int(0, int64(index))
		to.fill(1, t.columns, m, item)
		return
	}
	items := t.list.Value(m, item)
	for i := range items.Len() {
		to.begin()
		to.int(0, int64(index))
		to.int(1, int64(i))
		to.fill(2, t.columns, m, items.Index(i))
	}
}

// fill sets the columns of an item, starting at column first. The match is nil
// if the item is not part of a match.
func (r *rows) fill(first int, columns []match.Column, m *match.Match, item reflect.Value) {
	for i := range columns {
		v := columns[i].Value(m, item)
		switch {
		case columns[i].List:
			for k := 0; v.IsValid() && k < v.Len(); k++ {
				if c, e := r.add(first+i, element), v.Index(k); e.Kind() == reflect.String {
					addText(r, c, e.String())
				} else {
					c.ints = append(c.ints, e.Int())
				}
			}
			r.end(first + i)
		case v.IsValid():
			r.value(first+i, v)
		}
	}
}

// value sets a column to a value of the model.
func (r *rows) value(column int, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		r.bool(column, v.Bool())
	case reflect.String:
		r.text(column, v.String())
	case reflect.Float32, reflect.Float64:
		r.double(column, v.Float())
	case reflect.Struct:
		at, _ := v.Interface().(time.Time)
		r.int(column, at.UnixMicro())
	default:
		if v.CanUint() {
			r.int(column, int64(v.Uint()))
		} else {
			r.int(column, v.Int())
		}
	}
}
