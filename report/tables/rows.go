package tables

import (
	"bytes"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
)

// rows collects the rows of a table and writes them in batches. Call begin for
// each row, then set the values of its columns in any order. A column without a
// value is absent.
type rows struct {
	table    Table
	cells    []cells
	n        int    // number of rows in the batch, including the open one
	batch    int    // number of rows of a full batch
	total    int64  // number of rows of the table
	elements int    // number of list elements in the batch
	arena    []byte // texts in the batch
	scratch  []byte
	capture  string // value of the last column
	out      file
	err      error
}

// cells are the values of a column in a batch. The fields that every value
// needs come first, so that they are close in memory.
type cells struct {
	rows     int // number of rows whose value is set or absent, including the open one
	kind     Type
	full     bool // no value is absent
	list     bool
	elements int     // number of elements in the last list
	levels   []uint8 // empty if full

	ints   []int64   // values of type Int, Bool and Time
	floats []float32 // values of type Float
	reals  []float64 // values of type Double
	texts  []span    // values of type Text

	last span // the last text, which is often repeated
}

// count returns the number of values.
func (c *cells) count() int {
	switch c.kind {
	case Int, Bool, Time:
		return len(c.ints)
	case Float:
		return len(c.floats)
	case Double:
		return len(c.reals)
	default:
		return len(c.texts)
	}
}

// A span is the position of a text in the arena.
type span struct{ from, to uint32 }

// The levels of a column tell whether a row has a value. A row with a list has
// a level for each element. It has one level if the list is absent or empty.
const (
	absent  = iota
	present // a value that is not a list
	empty   // an empty list
	gap     // a list element without a value
	element // a list element

	more      = 0x80 // flag: the element is not the first of its list
	levelBits = 0x7F
)

// More limits of a batch.
const (
	batchText     = 1 << 20 // bytes
	batchElements = 1 << 17 // list elements
)

// A file writes batches of rows.
type file interface {
	write(r *rows) error
	close() error
}

// newRows returns a table that is written to w.
func newRows(t Table, w io.WriteCloser, o *Options, batch int) *rows {
	t.Columns = append(slices.Clip(t.Columns), Column{Name: captureColumn, Type: Text, Full: true})
	r := &rows{table: t, cells: make([]cells, len(t.Columns)), batch: batch, capture: o.Origin.Capture}
	for i := range t.Columns {
		c := &t.Columns[i]
		r.cells[i] = cells{kind: c.Type, full: c.Full, list: c.List}
	}
	if o.CSV {
		r.out = newCSV(&t, w)
	} else {
		r.out = newParquet(&t, w, o)
	}
	return r
}

// begin begins the next row.
func (r *rows) begin() {
	if r.n == r.batch || len(r.arena) > batchText || r.elements > batchElements {
		r.flush()
	}
	r.n++
	r.total++
}

// flush writes the rows of the batch.
func (r *rows) flush() {
	if r.err == nil && r.n > 0 {
		for c := &r.cells[len(r.cells)-1]; c.rows < r.n; c.rows++ {
			addText(r, c, r.capture)
		}
		for i := range r.cells {
			r.cells[i].pad(r.n)
		}
		r.err = r.out.write(r)
	}
	for i := range r.cells {
		c := &r.cells[i]
		c.ints, c.floats, c.reals, c.texts, c.levels = c.ints[:0], c.floats[:0], c.reals[:0], c.texts[:0], c.levels[:0]
		c.rows, c.last = 0, span{}
	}
	r.n, r.elements, r.arena = 0, 0, r.arena[:0]
}

// close writes the remaining rows. It returns the first error.
func (r *rows) close() error {
	r.flush()
	if err := r.out.close(); r.err == nil {
		r.err = err
	}
	return r.err
}

// pad marks the column as absent in the rows up to n.
func (c *cells) pad(n int) {
	if c.full {
		c.zeros(n)
		return
	}
	for ; c.rows < n; c.rows++ {
		c.levels = append(c.levels, absent)
	}
}

// zeros sets the column to its zero value in the rows up to n.
func (c *cells) zeros(n int) {
	for ; c.rows < n; c.rows++ {
		switch c.kind {
		case Int, Bool, Time:
			c.ints = append(c.ints, 0)
		case Float:
			c.floats = append(c.floats, 0)
		case Double:
			c.reals = append(c.reals, 0)
		case Text:
			c.texts = append(c.texts, span{})
		}
	}
}

// single begins the value of a column in the open row. It returns false if the
// column already has a value.
func (r *rows) single(column int) (c *cells, ok bool) {
	c = &r.cells[column]
	if c.rows != r.n-1 {
		if c.rows >= r.n {
			return c, false
		}
		c.pad(r.n - 1)
	}
	if !c.full {
		c.levels = append(c.levels, present)
	}
	c.rows = r.n
	return c, true
}

// The methods below set the value of a column in the open row. If a column is
// set twice, the first value stays.

func (r *rows) int(column int, v int64) {
	if c, ok := r.single(column); ok {
		c.ints = append(c.ints, v)
	}
}

func (r *rows) bool(column int, v bool) {
	n := int64(0)
	if v {
		n = 1
	}
	r.int(column, n)
}

func (r *rows) float(column int, v float32) {
	if c, ok := r.single(column); ok {
		c.floats = append(c.floats, v)
	}
}

func (r *rows) double(column int, v float64) {
	if c, ok := r.single(column); ok {
		c.reals = append(c.reals, v)
	}
}

func (r *rows) text(column int, s string) {
	if c, ok := r.single(column); ok {
		addText(r, c, s)
	}
}

// put sets a column to an item.
func (r *rows) put(column int, it *display.Item) {
	if c, ok := r.single(column); ok {
		r.append(c, it)
	}
}

// append appends an item to the values of a column.
func (r *rows) append(c *cells, it *display.Item) {
	switch it.Type {
	case decode.TypeInt:
		c.ints = append(c.ints, it.Int)
	case decode.TypeBool:
		c.ints = append(c.ints, min(it.Int, 1))
	case decode.TypeFloat:
		c.floats = append(c.floats, it.Float)
	default:
		addText(r, c, it.Text)
	}
}

// addText appends a text to the values of a column. A text that repeats the
// previous one takes no space in the arena. Bytes that are not UTF-8 become
// U+FFFD.
func addText[T string | []byte](r *rows, c *cells, s T) {
	if c.last.to == 0 || string(s) != string(r.textOf(c.last)) {
		from := len(r.arena)
		r.arena = append(r.arena, s...)
		if !utf8.Valid(r.arena[from:]) {
			r.arena = append(r.arena[:from], bytes.ToValidUTF8([]byte(s), []byte(string(utf8.RuneError)))...)
		}
		c.last = span{uint32(from), uint32(len(r.arena))}
	}
	c.texts = append(c.texts, c.last)
}

// textOf returns a text of the batch.
func (r *rows) textOf(s span) []byte { return r.arena[s.from:s.to] }

// add begins an element of the list in a column.
func (r *rows) add(column int, l uint8) *cells {
	c := &r.cells[column]
	if c.rows < r.n {
		c.pad(r.n - 1)
		c.rows, c.elements = r.n, 0
	} else {
		l |= more
	}
	c.levels = append(c.levels, l)
	c.elements++
	r.elements++
	return c
}

// gaps adds absent elements to the list in a column until it has n elements.
func (r *rows) gaps(column, n int) {
	c := &r.cells[column]
	for n > 0 && (c.rows < r.n || c.elements < n) {
		r.add(column, gap)
	}
}

// at begins the element with the index in the list of a column. It returns
// false if the list already has it.
func (r *rows) at(column, index int) (c *cells, ok bool) {
	r.gaps(column, index)
	if c = &r.cells[column]; c.rows < r.n || c.elements == index {
		return r.add(column, element), true
	}
	return c, false
}

// end marks the list of a column as empty if it has no elements.
func (r *rows) end(column int) {
	if c := &r.cells[column]; c.rows < r.n {
		c.pad(r.n - 1)
		c.levels = append(c.levels, empty)
		c.rows, c.elements = r.n, 0
	}
}
