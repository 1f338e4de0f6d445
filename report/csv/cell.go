package csv

import (
	"bytes"
	"math"
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/key"
	"github.com/bcdissect/bcdissect/report"
)

// A form tells how the text of a cell is written.
type form uint8

const (
	empty  form = iota
	number      // finite number
	plain       // a word of the program or JSON, which needs no escaping
	text        // from the network
	list        // a JSON array to which values are still added
)

// A cell is one value of a row.
type cell struct {
	text []byte
	form form
}

// append appends the cell to a row.
func (c *cell) append(dst []byte, f *Form) []byte {
	if (c.form == number || c.form == empty) && f.bare {
		return append(dst, c.text...)
	}
	from := len(dst)
	if c.form != text {
		dst = append(dst, c.text...)
	} else {
		if !f.Raw && len(c.text) > 0 && bytes.IndexByte([]byte("=+-@"), c.text[0]) >= 0 {
			dst = append(dst, '\'')
		}
		dst = report.AppendEscaped(dst, c.text)
	}
	switch {
	case f.Quote == QuoteDouble, f.Quote == QuoteSingle:
		return quote(dst, from, byte(f.Quote))
	case f.Quote == QuoteNeeded && needsQuotes(dst[from:], f.Separator):
		return quote(dst, from, '"')
	}
	return dst
}

// AppendText appends a text from the network as a cell of RFC 4180.
func AppendText(dst, s []byte) []byte {
	return (&cell{s, text}).append(dst, &Form{Separator: ','})
}

// AppendJSON appends JSON as a cell of RFC 4180.
func AppendJSON(dst, s []byte) []byte {
	return (&cell{s, plain}).append(dst, &Form{Separator: ','})
}

// quote quotes dst[from:] and doubles the quotation marks in it.
func quote(dst []byte, from int, mark byte) []byte {
	n := len(dst)
	dst = append(dst, mark)
	for _, c := range dst[from:n] {
		if c == mark {
			dst = append(dst, mark)
		}
		dst = append(dst, c)
	}
	return append(dst[:from], append(dst[n:], mark)...)
}

// needsQuotes reports whether a reader would misinterpret the text without
// quotes.
func needsQuotes(b []byte, separator byte) bool {
	return len(b) > 0 && (b[0] == ' ' || bytes.IndexByte(b, separator) >= 0 || bytes.IndexByte(b, '"') >= 0)
}

// appendKey sets a cell to the value of a column's key.
func (s *Sink) appendKey(c *cell, r *dissect.Record, of *column) {
	k := of.key
	if !k.Present(r) {
		return
	}
	c.form = plain
	switch {
	case k.Type == key.Int && !k.List: // the most frequent case
		v, _ := k.Int(r, 0)
		c.text, c.form = strconv.AppendInt(c.text, v, 10), number
	case k.Type == key.Object, k.List, k.Type == key.Seconds, s.form.JSON && of.element < 0 && !of.many:
		c.text = s.enc.AppendKey(c.text, k, r)
	case k.Type == key.Time: // a time without quotes
		s.text = s.enc.AppendKey(s.text[:0], k, r)
		c.text = append(c.text, s.text[1:len(s.text)-1]...)
	case k.Type == key.Hex && of.element >= 0:
		if b := k.Bytes(r); of.element < len(b) {
			c.text = strconv.AppendUint(c.text, uint64(b[of.element]), 10)
		}
	case of.many:
		c.text = s.enc.AppendValues(c.text, k, r)
	default:
		it, _ := k.Item(s.text[:0], r, 0)
		if it.Type >= decode.TypeText {
			s.text = it.Text
		}
		c.set(it)
	}
}

// set sets a cell to an item.
func (c *cell) set(it display.Item) {
	x := float64(it.Float)
	switch {
	case it.Type == decode.TypeText:
		c.text, c.form = append(c.text, it.Text...), text
	case it.Type > decode.TypeText: // addresses and hexadecimal digits
		c.text, c.form = append(c.text, it.Text...), plain
	case math.IsNaN(x) || math.IsInf(x, 0): // JSON has null instead
		c.text, c.form = strconv.AppendFloat(c.text, x, 'f', -1, 32), plain
	case it.Type == decode.TypeBool:
		c.text, c.form = it.AppendJSON(c.text), plain
	default:
		c.text, c.form = it.AppendJSON(c.text), number
	}
}

// appendField sets a cell to the value of a field. If the path leads through a
// list, it adds the value to the cell.
func (v *visitor) appendField(c *cell, f *decode.Field, l *leaf) {
	if l.inList {
		from := len(c.text)
		sep := byte(',')
		if c.form == empty {
			sep = '['
		}
		c.text = v.appendJSON(append(c.text, sep), f, l)
		if len(c.text) == from+1 {
			c.text = c.text[:from]
			return
		}
		c.form = list
		return
	}
	if c.form != empty { // the layout has the path twice
		return
	}
	it, ok := v.values.Item(f, l.view, v.record)
	if l.element >= 0 {
		it, ok = display.Element(f, l.element)
	}
	if v.json || !ok {
		c.text, c.form = v.appendJSON(c.text, f, l), plain
	} else {
		c.set(it)
	}
	if len(c.text) == 0 && c.form != text {
		c.form = empty
	}
}

// appendJSON appends the JSON of a field. It appends nothing if the field has
// no such value.
func (v *visitor) appendJSON(dst []byte, f *decode.Field, l *leaf) []byte {
	if l.element < 0 {
		return v.values.AppendJSON(dst, f, l.view, v.record)
	}
	if it, ok := display.Element(f, l.element); ok {
		return it.AppendJSON(dst)
	}
	return dst
}
