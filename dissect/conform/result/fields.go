package result

import (
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
)

// A Field is a field of an expected message and of the message that the host
// sent instead. A side without the field is empty. Texts may come from the
// network.
type Field struct {
	Path     string `json:"path"`
	Expected string `json:"expected,omitempty"`
	Actual   string `json:"actual,omitempty"`

	same bool
}

// Same reports whether both sides are equal, including the end of a long text
// that is cut off.
func (f *Field) Same() bool { return f.same }

// Limits of the fields of a difference.
const (
	MaxFields    = 64
	MaxFieldText = 1024 // length of a value in bytes
)

// shorten cuts off long values at the limit and marks them.
func (f *Field) shorten() {
	f.same = f.Expected == f.Actual
	for _, s := range []*string{&f.Expected, &f.Actual} {
		if len(*s) > MaxFieldText {
			*s = strings.ToValidUTF8((*s)[:MaxFieldText], "") + " ..."
		}
	}
}

// Beside returns the fields of an expected and of an actual message, and how
// many there are beyond the limit. The functions show the messages to a
// visitor. A nil function means that there is no message.
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
		left = max(left, more) // most fields are on both sides
	}
	for i := range list {
		list[i].shorten()
	}
	return list, left
}
