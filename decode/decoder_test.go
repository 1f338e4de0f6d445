package decode

import (
	"fmt"
	"testing"
)

// A refused is a message that fails at its first field.
type refused struct{ A uint8 }

func (m *refused) Walk(c *Codec) {
	c.Reject("a", c.Offset(), "never")
	c.U8("a", &m.A, "only")
}

// A quick is a message that reads without a codec if its byte is even.
type quick struct{ A uint8 }

func (m *quick) Walk(c *Codec) { c.U8("a", &m.A, "only") }

func (m *quick) ReadFast(payload []byte, _ Dialect, _ Env) bool {
	if len(payload) != 2 || payload[1]%2 != 0 {
		return false
	}
	m.A = payload[1]
	return true
}

// The layout of the sender's dialect comes first, then the one that fits, then
// the one that gets further.
func TestReadForms(t *testing.T) {
	forms := func(bySender bool, stock, openBC Layout) *Spec {
		return &Spec{Code: 0x10, Name: "M", BySender: bySender, Layout: stock, Forms: []Form{{Dialect: OpenBC, Layout: openBC}}}
	}
	const both = 1<<Stock | 1<<OpenBC
	two := forms(false, LayoutOf[pair](), LayoutOf[single]())
	own := forms(true, LayoutOf[pair](), LayoutOf[single]())
	bad := forms(false, LayoutOf[pair](), LayoutOf[refused]())
	same := forms(false, LayoutOf[single](), LayoutOf[quick]())
	sameOwn := forms(true, LayoutOf[single](), LayoutOf[quick]())
	for _, tt := range []struct {
		name, payload string
		spec          *Spec
		sender        Dialect
		want          string // dialect, bytes over, offset of the error
		fits          uint8
	}{
		{"stock", "\x10\x01\x02", two, Stock, "stock 0 -", 1 << Stock},
		{"openbc", "\x10\x01", two, OpenBC, "openbc 0 -", 1 << OpenBC},
		{"openbc from a stock sender", "\x10\x01", two, Stock, "openbc 0 -", 1 << OpenBC},
		{"stock from an OpenBC sender", "\x10\x01\x02", two, OpenBC, "stock 0 -", 1 << Stock},
		{"undecided", "\x10\x01\x02", two, Undecided, "stock 0 -", 1 << Stock},
		{"nothing, stock", "\x10", two, Stock, "stock 0 +1", 0},
		{"nothing, openbc", "\x10", two, OpenBC, "openbc 0 +1", 0},
		{"stock gets further", "\x10\x01", bad, OpenBC, "stock 0 +2", 0},
		{"stock has no error", "\x10\x01\x02\x03", bad, OpenBC, "stock 1 -", 0},
		{"openbc is not better", "\x10\x01", bad, Stock, "stock 0 +2", 0},
		{"only the sender's, stock", "\x10\x01", own, Stock, "stock 0 +2", 0},
		{"only the sender's, openbc", "\x10\x01\x02", own, OpenBC, "openbc 1 -", 0},
		{"undecided, not stock", "\x10\x01", own, Undecided, "openbc 0 -", 1 << OpenBC},
		{"both fit, the first is enough", "\x10\x01", same, Undecided, "stock 0 -", 1 << Stock},
		{"both fit, undecided", "\x10\x01", sameOwn, Undecided, "stock 0 -", both},
		{"both fit, decided", "\x10\x01", sameOwn, OpenBC, "openbc 0 -", 1 << OpenBC},
		{"read fast", "\x10\x02", sameOwn, OpenBC, "openbc 0 -", 1 << OpenBC},
	} {
		d := NewDecoder()
		for range 2 {
			r := d.Read(tt.spec, []byte(tt.payload), tt.sender, nil)
			at := "-"
			if r.Err != nil {
				at = fmt.Sprintf("+%d", r.Err.Offset)
			}
			if got := fmt.Sprintf("%v %d %s", r.Dialect, len(r.Rest), at); got != tt.want || r.Fits != tt.fits {
				t.Errorf("%s: got %s, fits %b; want %s, %b", tt.name, got, r.Fits, tt.want, tt.fits)
			}
		}
	}

	d := NewDecoder()
	for as, want := range map[Dialect]string{Stock: "stock 1", OpenBC: "openbc 1"} {
		if r := d.ReadAs(same, []byte("\x10\x01\x02"), as, nil); fmt.Sprintf("%v %d", r.Dialect, len(r.Rest)) != want {
			t.Errorf("as %v: got %v, %d over", as, r.Dialect, len(r.Rest))
		}
	}
	if d.Fast(same, Stock) != nil || d.Fast(same, OpenBC) == nil {
		t.Error("only the OpenBC form reads without a codec")
	}
}
