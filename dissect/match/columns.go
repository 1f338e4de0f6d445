package match

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The outputs. Each is the key of the struct tag that names the columns of a
// field in that output:
//
//	json:"killer+killer_name,omitempty" page:"killer" table:"="
//
// A field can have several columns, for example the index and the name of a
// player, the time of day and the seconds of a moment, or the parts of an
// array. Their names are joined by +. The sign = repeats the JSON tag. In
// tables, > names the field that the columns follow, if that is not the field
// before. The key all names a column of all three outputs. After a comma comes
// omitempty, or inline for a struct that is replaced by its columns.
//
// The other tags are doc (a part for each column, between |), as (index, player,
// place, share, text, millis or rows), digits (of fractions in JSON and in the
// page), least (the shortest list that JSON has), and if, which names the fields of
// which one must not be zero, other than in the page.
//
// Structs of other packages, such as measure.Lap, can have the same tags.
const (
	JSON  = "json"  // session -T json
	Page  = "page"  // data for the web page
	Table = "table" // Parquet and CSV
)

// A Column is a member of an object in JSON or in the page's data, or a column of
// a table.
type Column struct {
	Name     string
	Doc      string
	Type     reflect.Type // type of a value: number, string, bool, time.Time, struct or map
	List     bool         // the column has a list of such values
	Rows     bool         // structs are written as arrays of their values
	Optional bool         // some items have no value
	Digits   int          // decimals, or all if negative
	Tag      reflect.StructTag

	field string // name of the struct's field
	after string // name of the field that the column follows, if that is not the field before
	path  []int
	turn  func(m *Match, v reflect.Value) any // converts the value of the field, if not nil
	keep  bool                                // a zero is a value although it is optional
	least int                                 // fewest elements that a list must have to be in JSON
	needs []string                            // fields of which at least one must not be zero
}

// Value returns the value that an item of a match has in the column. The result
// is invalid if the item has none.
func (c *Column) Value(m *Match, item reflect.Value) reflect.Value {
	v, parent := item, item
	for _, i := range c.path {
		if parent = v; v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}
			}
			parent = v.Elem()
		}
		v = parent.Field(i)
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if c.turn != nil && v.IsValid() {
		v = reflect.ValueOf(c.turn(m, v))
	}
	switch {
	case c.Optional && !c.keep && empty(v), c.least > 0 && v.Len() < c.least:
		return reflect.Value{}
	case len(c.needs) > 0 && !slices.ContainsFunc(c.needs, func(name string) bool { return !parent.FieldByName(name).IsZero() }):
		return reflect.Value{}
	}
	return v
}

func empty(v reflect.Value) bool {
	switch v.Kind() { //nolint:exhaustive // the others have a zero value
	case reflect.Invalid:
		return true
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

// Columns returns the columns that a struct of the model has in an output. The
// struct may embed another one.
func Columns(t reflect.Type, output string) []Column {
	l := lister{output: output}
	l.list(t, nil)
	var all, moved []Column
	for _, c := range append(l.all, l.later...) {
		if c.after != "" {
			moved = append(moved, c)
		} else {
			all = append(all, c)
		}
	}
	for _, c := range moved {
		at := len(all)
		for all[at-1].field != c.after && all[at-1].after != c.after {
			at--
		}
		all = slices.Insert(all, at, c)
	}
	return all
}

// A lister lists columns. It puts all times of day in a row of moments first.
type lister struct {
	output     string
	all, later []Column
}

// tag returns the parts of the field's tag for the output.
func (l *lister) tag(f *reflect.StructField) (names, option, after string) {
	tag := f.Tag.Get(l.output)
	switch tag {
	case "=":
		tag = f.Tag.Get(JSON)
	case "":
		tag = f.Tag.Get("all")
	}
	names, option, _ = strings.Cut(tag, ",")
	names, after, _ = strings.Cut(names, ">")
	return names, option, after
}

func (l *lister) list(t reflect.Type, path []int) {
	for field := range t.Fields() {
		f := &field
		names, option, _ := l.tag(f)
		at := append(slices.Clone(path), f.Index...)
		if option == "inline" || f.Anonymous && names == "" {
			l.list(base(f.Type), at)
			continue
		}
		if names == "" || names == "-" {
			continue
		}
		parts := strings.Split(names, "+")
		moment := f.Type.Kind() == reflect.Float64 && len(parts) > 1
		if !moment {
			l.all, l.later = append(l.all, l.later...), nil
		}
		for part := range parts {
			if c := l.column(f, at, parts, part); moment && part > 0 {
				l.later = append(l.later, c)
			} else {
				l.all = append(l.all, c)
			}
		}
	}
}

// base returns the type that a pointer type points to. Other types are returned
// unchanged.
func base(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// column returns the column of a part of a field.
func (l *lister) column(f *reflect.StructField, path []int, parts []string, part int) Column {
	_, option, after := l.tag(f)
	docs := strings.Split(strings.NewReplacer("[", "`", "]", "`").Replace(f.Tag.Get("doc")), "|")
	c := Column{
		Name: parts[part], Doc: docs[min(part, len(docs)-1)], Type: base(f.Type), Tag: f.Tag,
		Optional: strings.HasPrefix(option, "omit"), keep: f.Type.Kind() == reflect.Pointer, path: path, Digits: l.digits(f), field: f.Name, after: after,
	}
	if l.output != Page {
		c.needs = strings.Fields(f.Tag.Get("if"))
	}
	if l.output == JSON {
		c.least, _ = strconv.Atoi(f.Tag.Get("least"))
	}
	c.keep = c.keep || len(c.needs) > 0
	switch kind := c.Type.Kind(); {
	case f.Name == "_":
		c.path, c.turn = path[:len(path)-1], func(_ *Match, v reflect.Value) any {
			m, _ := v.Addr().Interface().(*Match)
			return computed[parts[part]](m)
		}
		if kind == reflect.Slice {
			c.Type, c.List = c.Type.Elem(), true
		}
	case c.Type == reflect.TypeFor[netip.AddrPort]():
		c.text(func(v reflect.Value) string {
			if a, _ := v.Interface().(netip.AddrPort); a.IsValid() {
				return a.String()
			}
			return ""
		})
	case c.Type == reflect.TypeFor[time.Duration]():
		c.Type, c.turn = reflect.TypeFor[float64](), func(_ *Match, v reflect.Value) any { return time.Duration(v.Int()).Seconds() }
		if f.Tag.Get("as") == "millis" {
			c.turn = func(_ *Match, v reflect.Value) any { return float64(v.Int()) / 1e6 }
			if f.Tag.Get("digits") == "" {
				c.Digits = 3
			}
		}
	case kind == reflect.Float64 && (len(parts) > part+1 || strings.HasSuffix(c.Name, "ts")):
		c.Type, c.turn = reflect.TypeFor[time.Time](), func(m *Match, v reflect.Value) any {
			return m.Clock(v.Float()).Round(time.Microsecond) // the float of seconds is not exact
		}
		if l.output == JSON { // with all six digits of the microseconds
			c.Type, c.turn = reflect.TypeFor[string](), func(m *Match, v reflect.Value) any {
				return m.Clock(v.Float()).UTC().Format("2006-01-02T15:04:05.000000Z")
			}
		}
		if c.Doc == "" {
			c.Doc = "time"
		}
	case kind == reflect.Float64 && len(parts) > 1:
		c.Doc = "seconds since the first frame"
		if docs[0] == "" {
			c.Doc = "this moment, in seconds since the first frame of the capture"
		}
	case kind == reflect.Array && len(parts) > 1:
		c.Type, c.turn = c.Type.Elem(), func(_ *Match, v reflect.Value) any { return v.Index(part).Interface() }
	case kind == reflect.Slice && len(parts) > 1: // a list of structs
		c.Type, c.List, c.turn = reflect.TypeFor[int](), true, func(_ *Match, v reflect.Value) any {
			out := make([]int, v.Len())
			for i := range out {
				out[i] = int(v.Index(i).Field(part).Int())
			}
			return out
		}
	case kind == reflect.Slice, kind == reflect.Array:
		c.Type, c.List = base(c.Type.Elem()), true
	}
	c.as(f.Tag.Get("as"), l.output, part)
	return c
}

// digits returns how many decimals the field's fractions have in the output.
func (l *lister) digits(f *reflect.StructField) int {
	digits := []string{"6", "3"}
	switch {
	case f.Tag.Get("digits") != "":
		digits = strings.Fields(f.Tag.Get("digits"))
	case f.Tag.Get("as") == "share":
		digits[0] = "4"
	case strings.HasSuffix(f.Type.String(), "float32"):
		digits[0] = "3"
	}
	if l.output == Page {
		digits = digits[1:]
	}
	n, _ := strconv.Atoi(digits[0])
	return n
}

// text makes the column's values texts.
func (c *Column) text(of func(v reflect.Value) string) {
	c.Type, c.turn = reflect.TypeFor[string](), func(_ *Match, v reflect.Value) any { return of(v) }
}

// as gives numbers their meaning. The page gets them unchanged, since it knows
// the players and reads negative numbers as unknown.
func (c *Column) as(meaning, output string, part int) {
	switch meaning {
	case "rows":
		c.Rows = true
		return
	case "text":
		c.text(func(v reflect.Value) string { return fmt.Sprint(v) })
		return
	case "", "millis":
		return
	}
	c.keep = true
	switch {
	case output == Page:
	case meaning == "share":
		c.turn = func(_ *Match, v reflect.Value) any {
			known := c.List || v.Float() >= 0
			for i := 0; c.List && i < v.Len(); i++ { // one unknown value makes the whole list unknown
				known = known && v.Index(i).Float() >= 0
			}
			if !known {
				return nil
			}
			return v.Interface()
		}
	case meaning == "player" && part > 0:
		c.Type, c.Doc = reflect.TypeFor[string](), "name of that player"
		c.turn = func(m *Match, v reflect.Value) any {
			if i := v.Int(); i >= 0 && int(i) < len(m.Players) && m.Players[i].Name != "" {
				return m.Players[i].Name
			}
			return nil
		}
	case meaning == "place" && output == JSON:
		c.Type, c.turn = reflect.TypeFor[place](), func(_ *Match, v reflect.Value) any {
			if v.Int() == VantageUnknown {
				return nil
			}
			return place{v.Int() == VantageHost, int(v.Int())}
		}
	case meaning == "place" && part > 0:
		c.Type, c.turn = reflect.TypeFor[bool](), func(_ *Match, v reflect.Value) any { return v.Int() == VantageHost }
	default:
		if meaning == "player" {
			c.Doc += ": index in `players`"
		}
		c.turn = func(_ *Match, v reflect.Value) any {
			if v.Int() < 0 {
				return nil
			}
			return int(v.Int())
		}
	}
}

// A place is where a capture was made: at the host or at a player's computer.
type place struct {
	Host   bool `json:"host,omitempty"`
	Player int  `json:"player+player_name,omitempty" as:"player"`
}

// computed are the columns without a field.
var computed = map[string]func(m *Match) any{
	"seconds": func(m *Match) any { return m.End - m.Begin },
	"ending":  func(m *Match) any { return m.Ending() },
	"results": func(m *Match) any { return m.Results() },
	"grounds": func(m *Match) any { return m.Grounds() },
	"verdict": func(m *Match) any { return m.Verdict(m.NameOf) },
}
