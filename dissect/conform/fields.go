package conform

import (
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Field is a field of a message that the host should have sent, beside that of
// the message that it sent. A side without the field is empty. Texts may be from
// the network.
type Field struct {
	Path     string `json:"path"`
	Expected string `json:"expected,omitempty"`
	Actual   string `json:"actual,omitempty"`

	same bool
}

// Same reports whether both sides agree, behind the end of a long text, too.
func (f *Field) Same() bool { return f.same }

// Limits of the fields of a difference.
const (
	maxFields    = 64
	maxFieldText = 1024 // bytes of a value
)

// shorten ends long values at the limit, with a sign that says so.
func (f *Field) shorten() {
	f.same = f.Expected == f.Actual
	for _, s := range []*string{&f.Expected, &f.Actual} {
		if len(*s) > maxFieldText {
			*s = strings.ToValidUTF8((*s)[:maxFieldText], "") + " ..."
		}
	}
}

// beside returns the fields of an expected and of an actual message, and how many
// there are beyond the limit; nil stands for no message.
func (b *bodies) beside(typ transport.Type, want, have []byte) (list []Field, left int) {
	list = []Field{}
	for side, body := range [][]byte{want, have} {
		if body == nil {
			continue
		}
		v := b.newLeaves()
		if typ == transport.Standard {
			if res := b.result(body); res.Message != nil {
				b.viewer.Show(res.Message, body, 1, res.Dialect, v)
			}
		} else if m := b.control(typ, body); m != nil {
			b.viewer.Show(m, body, 0, decode.Undecided, v)
		}
		for _, leaf := range v.list {
			var ok bool
			if list, ok = merge(list, leaf, side == 1); !ok {
				v.left++
			}
		}
		left = max(left, v.left) // most are the same on both sides
	}
	for i := range list {
		list[i].shorten()
	}
	return list, left
}

// merge puts the value of a field beside that of the other side. ok is false if
// there is no room.
func merge(list []Field, leaf leaf, actual bool) (all []Field, ok bool) {
	for i := range list {
		if f := &list[i]; f.Path == leaf.path && actual && f.Actual == "" {
			f.Actual = leaf.text
			return list, true
		}
	}
	if len(list) >= maxFields {
		return list, false
	}
	if actual {
		return append(list, Field{Path: leaf.path, Actual: leaf.text}), true
	}
	return append(list, Field{Path: leaf.path, Expected: leaf.text}), true
}

// leaves lists the fields of a message.
type leaves struct {
	display.Flat
	list []leaf
	left int // beyond the limit
}

type leaf struct{ path, text string }

// newLeaves returns a visitor that lists fields.
func (b *bodies) newLeaves() *leaves {
	v := &leaves{}
	v.Take = func(path string, f *decode.Field) {
		if len(v.list) == maxFields {
			v.left++
			return
		}
		v.list = append(v.list, leaf{path, string(b.values.AppendText(nil, f, nil))})
	}
	return v
}
