package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
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
	brief []string
	depth int
	list  []string
}

// Field implements [decode.Visitor].
func (l *lister) Field(f *decode.Field) {
	if l.depth > 0 || len(l.brief) > 0 && !slices.Contains(l.brief, f.Name) {
		return
	}
	var v string
	switch f.Kind {
	case decode.KindI8, decode.KindI16, decode.KindI32:
		v = fmt.Sprint(f.Int)
	case decode.KindF32, decode.KindCF16, decode.KindRatio8, decode.KindPercent8, decode.KindPower8:
		v = fmt.Sprint(float32(f.Float))
	case decode.KindObject, decode.KindHash16, decode.KindHash32:
		v = fmt.Sprintf("0x%08X", f.Uint)
	case decode.KindStr8, decode.KindStr16, decode.KindStr32, decode.KindStr32z, decode.KindWStr32, decode.KindWStrz:
		v = fmt.Sprintf("%q", f.AppendText(nil))
	case decode.KindText:
		v = f.Text
	case decode.KindDir3, decode.KindVec3, decode.KindQuat, decode.KindVec4h, decode.KindVec4f, decode.KindPlace:
		v = fmt.Sprint(f.Vec)
	case decode.KindRatios, decode.KindIPv4, decode.KindBytes:
		v = fmt.Sprintf("%X", f.Bytes)
	case decode.KindU8, decode.KindU16, decode.KindU32, decode.KindBit, decode.KindBool8, decode.KindEnum8, decode.KindEnum32, decode.KindFlags8,
		decode.KindIndex:
		v = fmt.Sprint(f.Uint)
	default:
		return
	}
	l.list = append(l.list, f.Name+" "+v)
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
