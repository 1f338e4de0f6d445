package key

import (
	"strings"

	"github.com/bcdissect/bcdissect/decode"
)

// A View is one member of the JSON object derived from a field. The first is
// the value itself; the others are left out if empty.
type View uint8

// The views.
const (
	Value      View = iota
	ValueName       // name of an enumerated value: species_name of species
	FlagNames       // names of the set bits: flag_names of flags
	Slot            // player slot of an object id: target_slot of target_id
	ObjectName      // description of the object: target_name of target_id
	Byte            // a byte other than 0 and 1 in place of a bool: open_byte of open
	PlayerName      // name of the player with the number: sender_name of sender
)

// Member returns the JSON key of the view for a field with the given name.
func (v View) Member(field string) string {
	switch v {
	case ValueName, PlayerName:
		return field + "_name"
	case FlagNames:
		return strings.TrimSuffix(field, "s") + "_names"
	case Slot:
		return strings.TrimSuffix(field, "_id") + "_slot"
	case ObjectName:
		return strings.TrimSuffix(field, "_id") + "_name"
	case Byte:
		return field + "_byte"
	default:
		return field
	}
}

// Views returns the views of a field, in the order of the JSON object.
func Views(f *decode.Field) []View {
	if f.Who != decode.NoPlayer {
		return []View{Value, PlayerName}
	}
	switch f.Kind {
	case decode.KindEnum8, decode.KindEnum32, decode.KindHash32:
		if f.Names != nil {
			return []View{Value, ValueName}
		}
	case decode.KindFlags8:
		if f.Names != nil {
			return []View{Value, FlagNames}
		}
	case decode.KindObject:
		return []View{Value, Slot, ObjectName}
	case decode.KindBool8:
		return []View{Value, Byte}
	default:
	}
	return []View{Value}
}

// A Shape is the JSON type of a view.
type Shape struct {
	Type  string // of JSON Schema: integer, number, boolean, string
	Null  bool   // number: null stands for NaN and the infinities
	Array bool
	Len   int // of an array; 0 if it varies
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
	case Value:
	}
	switch k {
	case decode.KindF32, decode.KindCF16:
		return Shape{Type: "number", Null: true}
	case decode.KindRatio8, decode.KindPower8:
		return Shape{Type: "number"}
	case decode.KindBit, decode.KindBool8:
		return Shape{Type: "boolean"}
	case decode.KindDir3:
		return Shape{Type: "number", Array: true, Len: 3}
	case decode.KindVec3, decode.KindVec4h, decode.KindVec4f, decode.KindPlace:
		return Shape{Type: "number", Null: true, Array: true, Len: 3}
	case decode.KindQuat:
		return Shape{Type: "number", Null: true, Array: true, Len: 4}
	case decode.KindRatios:
		return Shape{Type: "number", Array: true}
	case decode.KindStr8, decode.KindStr16, decode.KindStr32, decode.KindStr32z, decode.KindWStr32, decode.KindWStrz,
		decode.KindText, decode.KindIPv4, decode.KindBytes:
		return Shape{Type: "string"}
	default:
		return Shape{Type: "integer"}
	}
}

// Components are the names of the parts of a vector, a letter each; empty for
// other kinds. An orientation begins with w.
func Components(k decode.Kind) string {
	switch k {
	case decode.KindDir3, decode.KindVec3, decode.KindVec4h, decode.KindVec4f, decode.KindPlace:
		return "xyz"
	case decode.KindQuat:
		return "wxyz"
	default:
		return ""
	}
}
