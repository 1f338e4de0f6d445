package suite

import (
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

type transportHeader = transport.Header

const standardType = transport.Standard

// fieldsOf returns the fields of a message that its spec calls the important
// ones, as text.
func fieldsOf(spec *decode.Spec, body []byte) string {
	if spec == nil {
		return ""
	}
	res := decode.NewDecoder().Read(spec, body, decode.Stock, noShips{})
	if res.Message == nil {
		return ""
	}
	l := lister{brief: spec.Brief}
	new(decode.Viewer).Show(res.Message, body, 1, res.Dialect, &l)
	return strings.Join(l.list, ", ")
}

// A lister collects fields as text.
type lister struct {
	brief  []string
	depth  int
	list   []string
	values display.Presenter
}

// Field implements [decode.Visitor].
func (l *lister) Field(f *decode.Field) {
	if l.depth > 0 || len(l.brief) > 0 && !slices.Contains(l.brief, f.Name) {
		return
	}
	l.list = append(l.list, f.Name+" "+string(l.values.AppendText(nil, f, nil)))
}

// Begin implements [decode.Visitor].
func (l *lister) Begin(*decode.Group) { l.depth++ }

// End implements [decode.Visitor].
func (l *lister) End(*decode.Group) { l.depth-- }

// noShips knows no ship.
type noShips struct{}

// Ship implements [decode.Env].
func (noShips) Ship(wire.ObjectID) *ship.Class { return nil }

// Base implements [decode.Env].
func (noShips) Base(wire.ObjectID) (p wire.Vec3, ok bool) { return p, false }
