package layout

import (
	"slices"

	"github.com/bcdissect/bcdissect/decode"
)

// The kinds of fields that contain fields. The codec has the other kinds.
const (
	list decode.Kind = 255 - iota
	group
)

// A form is the description of a kind.
type form struct {
	name  string
	kind  decode.Kind
	width int // bits of the number in conditions, 0 if it cannot be compared
}

var forms = []form{
	{"u8", decode.KindU8, 8},
	{"u16", decode.KindU16, 16},
	{"u32", decode.KindU32, 32},
	{"i16", decode.KindI16, 16},
	{"i32", decode.KindI32, 32},
	{"f32", decode.KindF32, 0},
	{"bit", decode.KindBit, 1},
	{"bool8", decode.KindBool8, 8},
	{"enum8", decode.KindEnum8, 8},
	{"enum32", decode.KindEnum32, 32},
	{"flags8", decode.KindFlags8, 8},
	{"object", decode.KindObject, 32},
	{"hash16", decode.KindHash16, 16},
	{"hash32", decode.KindHash32, 32},
	{"cf16", decode.KindCF16, 0},
	{"ratio8", decode.KindRatio8, 0},
	{"percent8", decode.KindPercent8, 0},
	{"power8", decode.KindPower8, 0},
	{"dir3", decode.KindDir3, 0},
	{"vec3", decode.KindVec3, 0},
	{"quat", decode.KindQuat, 0},
	{"cv4h", decode.KindVec4h, 0},
	{"cv4f", decode.KindVec4f, 0},
	{"str8", decode.KindStr8, 0},
	{"str16", decode.KindStr16, 0},
	{"str32", decode.KindStr32, 0},
	{"str32z", decode.KindStr32z, 0},
	{"wstr32", decode.KindWStr32, 0},
	{"wstrz", decode.KindWStrz, 0},
	{"ipv4", decode.KindIPv4, 0},
	{"bytes", decode.KindBytes, 0},
	{"list", list, 0},
	{"struct", group, 0},
}

// formOf returns the form of a kind.
func formOf(k decode.Kind) *form {
	return &forms[slices.IndexFunc(forms, func(f form) bool { return f.kind == k })]
}

// least returns the fewest bytes that a field of the kind can take, if it
// contains no fields.
func (f *form) least() int {
	if nested(f.kind) {
		return 0
	}
	n, _ := f.kind.Size()
	return n
}

// signed reports whether the numbers of a kind have a sign.
func signed(k decode.Kind) bool { return k == decode.KindI16 || k == decode.KindI32 }

// Kinds returns the names of all kinds.
func Kinds() (all []string) {
	for _, f := range forms {
		all = append(all, f.name)
	}
	return all
}

// kindNamed returns the kind with the given name, either the name in
// definitions or the name in docs.
func kindNamed(name string) (decode.Kind, bool) {
	k := slices.IndexFunc(forms, func(f form) bool { return f.name == name || !nested(f.kind) && f.kind.String() == name })
	return forms[max(k, 0)].kind, k >= 0
}

func enumerated(k decode.Kind) bool { return k == decode.KindEnum8 || k == decode.KindEnum32 }

// nested reports whether the kind contains fields.
func nested(k decode.Kind) bool { return k == list || k == group }
