package ndjson

import (
	"encoding/json"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect/match"
)

// A Model writes the match model, and other structs with columns.
type Model struct {
	Output  string              // kind of output, such as match.JSON
	Without []string            // columns that are not written, in all structs
	Plain   bool                // write text as in all other JSON of the program, not like package encoding/json
	Text    func(string) string // changes texts, may be nil

	match   *match.Match // match that contains the items
	columns map[reflect.Type][]match.Column
}

// write writes the JSON columns of a value on one line.
func write(w io.Writer, v any) error { return (&Model{Output: match.JSON, Plain: true}).write(w, v) }

// write writes a value on one line.
func (w *Model) write(to io.Writer, v any) error {
	_, err := to.Write(append(w.Append(nil, v), '\n'))
	return err
}

// Append appends a struct with columns, or a pointer to one.
func (w *Model) Append(dst []byte, v any) []byte {
	w.columns = map[reflect.Type][]match.Column{}
	return w.value(dst, reflect.ValueOf(v), &match.Column{})
}

// Parts calls a function for each column of v, which is a struct with columns
// or a pointer to one. For a list of structs it calls list with the number of
// items. The function list returns the index of the first item to pass to item.
// For other columns Parts calls value. The functions must not keep the text.
func (w *Model) Parts(m *match.Match, v any, value func(name string, text []byte), list func(name string, n int) (from int), item func(name string, i int, text []byte)) {
	if w.columns == nil {
		w.columns = map[reflect.Type][]match.Column{}
	}
	w.match = m
	of := reflect.Indirect(reflect.ValueOf(v))
	var text []byte
	all := w.of(of.Type())
	for i := range all {
		c := &all[i]
		x := c.Value(m, of)
		switch {
		case !x.IsValid() || slices.Contains(w.Without, c.Name):
		case c.List && c.Type.Kind() == reflect.Struct:
			for k := list(c.Name, x.Len()); k < x.Len(); k++ {
				text = w.value(text[:0], x.Index(k), c)
				item(c.Name, k, text)
			}
		default:
			text = w.value(text[:0], x, c)
			value(c.Name, text)
		}
	}
}

// AppendItem appends a struct of a match as an object. If row is set, it
// appends an array of its values.
func (w *Model) AppendItem(dst []byte, m *match.Match, v any, row bool) []byte {
	if w.columns == nil {
		w.columns = map[reflect.Type][]match.Column{}
	}
	w.match = m
	return w.value(dst, reflect.ValueOf(v).Elem(), &match.Column{Rows: row})
}

// of returns the columns of a struct.
func (w *Model) of(t reflect.Type) []match.Column {
	all, ok := w.columns[t]
	if !ok {
		all = match.Columns(t, w.Output)
		w.columns[t] = all
	}
	return all
}

// value appends the value of a column.
func (w *Model) value(dst []byte, v reflect.Value, c *match.Column) []byte {
	switch v.Kind() { //nolint:exhaustive // the model has no others
	case reflect.Pointer:
		return w.value(dst, v.Elem(), c)
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case reflect.Float32, reflect.Float64:
		return strconv.AppendFloat(dst, round(v.Float(), c.Digits), 'f', -1, 64)
	case reflect.String:
		return w.text(dst, v.String())
	case reflect.Map:
		b, _ := json.Marshal(v.Interface()) // numbers cannot fail
		return append(dst, b...)
	case reflect.Slice, reflect.Array:
		dst = append(dst, '[')
		for i := range v.Len() {
			dst = w.value(comma(dst, i), v.Index(i), c)
		}
		return append(dst, ']')
	case reflect.Struct:
		switch t := v.Interface().(type) {
		case time.Time:
			return append(t.UTC().AppendFormat(append(dst, '"'), time.RFC3339Nano), '"')
		case match.Match:
			w.match = v.Addr().Interface().(*match.Match)
		}
		if c.Rows {
			return w.row(dst, v)
		}
		return w.object(dst, v)
	}
	if v.CanUint() {
		return strconv.AppendUint(dst, v.Uint(), 10)
	}
	return strconv.AppendInt(dst, v.Int(), 10)
}

// object appends a struct as an object. Columns with a name such as
// messages.total become members of a nested object.
func (w *Model) object(dst []byte, v reflect.Value) []byte {
	dst = append(dst, '{')
	all, open := w.of(v.Type()), ""
	for i := range all {
		c := &all[i]
		x := c.Value(w.match, v)
		if !x.IsValid() || slices.Contains(w.Without, c.Name) {
			continue
		}
		group, name, within := strings.Cut(c.Name, ".")
		if !within {
			group, name = "", c.Name
		}
		if group != open {
			if open != "" {
				dst = append(dst, '}')
			}
			if open = group; open != "" {
				dst = append(append(beginMember(dst), open...), `":{`...)
			}
		}
		dst = w.value(append(append(beginMember(dst), name...), `":`...), x, c)
	}
	if open != "" {
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// beginMember begins a member of the open object.
func beginMember(dst []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(dst, '"')
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

// row appends the numbers in a struct as an array.
func (w *Model) row(dst []byte, v reflect.Value) []byte {
	dst = append(dst, '[')
	all := w.of(v.Type())
	for i := range all {
		x := all[i].Value(w.match, v)
		dst = comma(dst, i)
		switch x.Kind() {
		case reflect.Array:
			for k := range x.Len() {
				dst = w.value(comma(dst, k), x.Index(k), &all[i])
			}
		case reflect.Bool:
			n := byte('0')
			if x.Bool() {
				n = '1'
			}
			dst = append(dst, n)
		default:
			dst = w.value(dst, x, &all[i])
		}
	}
	return append(dst, ']')
}

// text appends a text in the format of package encoding/json. It escapes <, >
// and &, so that the text can be part of an HTML page.
func (w *Model) text(dst []byte, s string) []byte {
	if w.Text != nil {
		s = w.Text(s)
	}
	if w.Plain {
		return display.AppendString(dst, s)
	}
	b, _ := json.Marshal(s) // strings cannot fail
	return append(dst, b...)
}

// round rounds a number. Infinity and NaN, which JSON lacks, become 0.
func round(x float64, digits int) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	if digits < 0 {
		return x
	}
	p := math.Pow10(digits)
	if y := math.Round(x * p); !math.IsInf(y, 0) {
		return y / p
	}
	return 0
}
