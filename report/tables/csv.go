package tables

import (
	"io"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/report/csv"
)

// A csvFile writes a table as CSV. An absent value is empty, an empty text is a
// pair of quotes, and a list is a JSON array.
type csvFile struct {
	to        io.WriteCloser
	at        []place // position in each column
	buf, list []byte
}

// A place is the index of the next level and value of a column.
type place struct{ level, value int }

func newCSV(t *Table, to io.WriteCloser) *csvFile {
	f := &csvFile{to: to, at: make([]place, len(t.Columns))}
	for i := range t.Columns {
		if i > 0 {
			f.buf = append(f.buf, ',')
		}
		f.buf = append(f.buf, t.Columns[i].Name...)
	}
	f.buf = append(f.buf, '\n')
	return f
}

// write implements file.
func (f *csvFile) write(r *rows) error {
	for i := range f.at {
		f.at[i] = place{}
	}
	for range r.n {
		for i := range r.cells {
			if i > 0 {
				f.buf = append(f.buf, ',')
			}
			f.cell(r, i)
		}
		f.buf = append(f.buf, '\n')
	}
	return f.flush()
}

func (f *csvFile) flush() error {
	_, err := f.to.Write(f.buf)
	f.buf = f.buf[:0]
	return err
}

// close implements file.
func (f *csvFile) close() error {
	err := f.flush()
	if e := f.to.Close(); err == nil {
		err = e
	}
	return err
}

// cell appends the next cell of a column.
func (f *csvFile) cell(r *rows, column int) {
	c, at := &r.cells[column], &f.at[column]
	l := uint8(present)
	if !c.full {
		l = c.levels[at.level]
		at.level++
	}
	if l == absent {
		return
	}
	if l == present {
		if f.buf = c.append(f.buf, r, at.value); c.kind == Text && c.texts[at.value].from == c.texts[at.value].to {
			f.buf = append(f.buf, `""`...)
		}
		at.value++
		return
	}
	f.list = append(f.list[:0], '[')
	for {
		if l &= levelBits; l == element {
			f.list = c.appendElement(f.list, r, at.value)
			at.value++
		} else if l == gap {
			f.list = append(f.list, "null"...)
		}
		if at.level == len(c.levels) || c.levels[at.level]&more == 0 {
			break
		}
		f.list = append(f.list, ',')
		l = c.levels[at.level]
		at.level++
	}
	f.buf = csv.AppendJSON(f.buf, append(f.list, ']'))
}

// append appends a value of the column.
func (c *cells) append(dst []byte, r *rows, i int) []byte {
	switch c.kind {
	case Int:
		return strconv.AppendInt(dst, c.ints[i], 10)
	case Float:
		return strconv.AppendFloat(dst, float64(c.floats[i]), 'g', -1, 32)
	case Double:
		return strconv.AppendFloat(dst, c.reals[i], 'g', -1, 64)
	case Bool:
		return strconv.AppendBool(dst, c.ints[i] != 0)
	case Time:
		return time.UnixMicro(c.ints[i]).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000000Z")
	case Text:
	}
	return csv.AppendText(dst, r.textOf(c.texts[i]))
}

// appendElement appends a value of the column as JSON.
func (c *cells) appendElement(dst []byte, r *rows, i int) []byte {
	switch c.kind {
	case Text:
		return display.AppendString(dst, r.textOf(c.texts[i]))
	case Float:
		return display.AppendFloat(dst, c.floats[i])
	default:
		return c.append(dst, r, i)
	}
}
