package display

import (
	"iter"
	"math"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// A View is one member of the JSON object derived from a field. The first view
// is the value. The others are omitted if empty.
type View uint8

// The views.
const (
	Whole      View = iota // the value
	ValueName              // name of an enumerated value: species_name of species
	FlagNames              // names of the set bits: flag_names of flags
	Slot                   // player slot of an object id: target_slot of target_id
	ObjectName             // description of the object: target_name of target_id
	Byte                   // a byte other than 0 and 1 that is shown as a bool: open_byte of open
	PlayerName             // name of the player with the number: sender_name of sender
	views
)

// members are the endings to remove from the name of a field and to add for the
// name of a view.
var members = [views]struct{ loses, gets string }{
	ValueName: {"", "_name"}, FlagNames: {"s", "_names"}, Slot: {"_id", "_slot"}, ObjectName: {"_id", "_name"},
	Byte: {"", "_byte"}, PlayerName: {"", "_name"},
}

// Member returns the JSON key of the view for a field with the given name.
func (v View) Member(field string) string {
	return strings.TrimSuffix(field, members[v].loses) + members[v].gets
}

// The lists of views that Views returns.
var (
	alone   = []View{Whole}
	named   = []View{Whole, ValueName}
	flagged = []View{Whole, FlagNames}
	objects = []View{Whole, Slot, ObjectName}
	bools   = []View{Whole, Byte}
	players = []View{Whole, PlayerName}
)

// Views returns the views of a field, in the order of the JSON object. The caller
// must not change the list.
func Views(f *decode.Field) []View {
	switch {
	case f.Who != decode.NoPlayer:
		return players
	case f.Kind == decode.KindObject:
		return objects
	case f.Kind == decode.KindBool8:
		return bools
	case f.Names == nil:
		return alone
	case f.Kind == decode.KindFlags8:
		return flagged
	}
	return named
}

// A Shape is the JSON type of a view.
type Shape struct {
	Type  string // type in JSON Schema: integer, number, boolean, string
	Null  bool   // for a number: null stands for NaN and the infinities
	Array bool
	Len   int // length of an array, 0 if it varies
}

// Shape returns the JSON type of the view for fields of a kind.
func (v View) Shape(k decode.Kind) Shape {
	switch v {
	case ValueName, ObjectName, PlayerName:
		return Shape{Type: "string"}
	case FlagNames:
		return Shape{Type: "string", Array: true}
	case Slot, Byte:
		return Shape{Type: "integer"}
	default:
	}
	ofBytes := k == decode.KindRatio8 || k == decode.KindPower8 || k == decode.KindDir3 // always finite
	switch k.Type() {
	case decode.TypeInt:
		return Shape{Type: "integer"}
	case decode.TypeBool:
		return Shape{Type: "boolean"}
	case decode.TypeFloat:
		return Shape{Type: "number", Null: !ofBytes}
	case decode.TypeVector:
		return Shape{Type: "number", Null: !ofBytes, Array: true, Len: len(k.Components())}
	case decode.TypeShares:
		return Shape{Type: "number", Array: true}
	default:
		return Shape{Type: "string"}
	}
}

// An Item is what a view shows of a field, or one element of a vector or array.
type Item struct {
	Type  decode.Type
	Int   int64   // value for TypeInt and TypeBool
	Float float32 // value for TypeFloat, rounded as in JSON
	Text  []byte  // value for all types of text: from the network, not escaped, and valid until the next call
}

// Item returns what a view shows of a field. If the view is empty, ok is false.
// Vectors, shares and the names of flags have several values: see [Element] and
// [Bits]. The argument n may be nil.
func (p *Presenter) Item(f *decode.Field, v View, n Names) (it Item, ok bool) {
	it.Type = decode.TypeText
	switch v {
	case Whole:
		it.Type = f.Kind.Type()
		switch it.Type {
		case decode.TypeInt, decode.TypeBool:
			it.Int = f.Whole()
		case decode.TypeFloat:
			it.Float = single(f)
		case decode.TypeText, decode.TypeIPv4, decode.TypeBytes:
			p.text = f.AppendText(p.text[:0])
			it.Text = p.text
		case decode.TypeVector, decode.TypeShares:
			return it, false
		}
		return it, true
	case Slot:
		slot, ok := wire.ObjectID(f.Uint).Slot()
		return Item{Type: decode.TypeInt, Int: int64(slot)}, ok
	case Byte:
		return Item{Type: decode.TypeInt, Int: int64(f.Uint)}, f.Uint > 1
	case ValueName:
		p.text = append(p.text[:0], nameOf(f, f.Uint)...)
	case ObjectName:
		if p.text = p.text[:0]; n != nil {
			p.text = n.AppendObject(p.text, wire.ObjectID(f.Uint))
		}
	case PlayerName:
		if p.text = p.text[:0]; n != nil {
			p.text = append(p.text, n.NameOf(f)...)
		}
	default: // FlagNames
		return it, false
	}
	it.Text = p.text
	return it, len(it.Text) > 0
}

// single returns the number of a field of TypeFloat, rounded as in JSON.
func single(f *decode.Field) float32 {
	if f.Kind == decode.KindPower8 {
		return float32(math.Round(f.Float*100) / 100)
	}
	return float32(f.Float)
}

// Elements returns the number of values in a vector, an array of shares, or
// bytes.
func Elements(f *decode.Field) int {
	switch f.Kind.Type() {
	case decode.TypeVector:
		return len(f.Kind.Components())
	case decode.TypeShares, decode.TypeBytes:
		return len(f.Bytes)
	default:
		return 0
	}
}

// Element returns one of the values of a vector, an array of shares, or bytes.
func Element(f *decode.Field, i int) (it Item, ok bool) {
	switch {
	case i >= Elements(f):
		return it, false
	case f.Kind == decode.KindBytes:
		return Item{Type: decode.TypeInt, Int: int64(f.Bytes[i])}, true
	case f.Kind == decode.KindRatios:
		return Item{Type: decode.TypeFloat, Float: float32(f.Bytes[i]) / 255}, true
	}
	return Item{Type: decode.TypeFloat, Float: f.Vec[i]}, true
}

// Bits yields the numbers of the set bits in a byte of flags.
func Bits(flags uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for bit := range uint64(8) {
			if flags>>bit&1 != 0 && !yield(bit) {
				return
			}
		}
	}
}

// bitNames are the names of flags that have no name in the game.
var bitNames = [8]string{"bit0", "bit1", "bit2", "bit3", "bit4", "bit5", "bit6", "bit7"}

// FlagName returns the name of a flag. The argument bit is its number, 0 to 7.
func FlagName(f *decode.Field, bit uint64) string {
	if name := nameOf(f, bit); name != "" {
		return name
	}
	return bitNames[bit]
}
