package result

import (
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
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
	MaxFields    = 64
	MaxFieldText = 1024 // bytes of a value
)

// shorten ends long values at the limit, with a sign that says so.
func (f *Field) shorten() {
	f.same = f.Expected == f.Actual
	for _, s := range []*string{&f.Expected, &f.Actual} {
		if len(*s) > MaxFieldText {
			*s = strings.ToValidUTF8((*s)[:MaxFieldText], "") + " ..."
		}
	}
}

// Beside returns the fields of an expected and of an actual message, which the
// functions show to a visitor, and how many there are beyond the limit; nil stands for
// no message.
func Beside(want, have func(decode.Visitor)) (list []Field, left int) {
	var values display.Presenter
	list = []Field{}
	for side, show := range [...]func(decode.Visitor){want, have} {
		if show == nil {
			continue
		}
		more := 0
		show(&display.Flat{Take: func(path string, f *decode.Field) {
			at := slices.IndexFunc(list, func(o Field) bool { return side == 1 && o.Path == path && o.Actual == "" })
			if at < 0 && len(list) == MaxFields {
				more++
				return
			}
			text := string(values.AppendText(nil, f, nil))
			switch {
			case at >= 0:
				list[at].Actual = text
			case side == 0:
				list = append(list, Field{Path: path, Expected: text})
			default:
				list = append(list, Field{Path: path, Actual: text})
			}
		}})
		left = max(left, more) // most are the same on both sides
	}
	for i := range list {
		list[i].shorten()
	}
	return list, left
}
