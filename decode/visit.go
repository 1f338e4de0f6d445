package decode

import (
	"encoding/hex"
	"iter"
	"strconv"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// A Kind is the wire form of a field. The set is closed: a visitor that handles
// every kind can show every message.
type Kind uint8

// The kinds, with the part of a [Field] that holds the value.
const (
	KindU8       Kind = iota // Uint
	KindU16                  // Uint
	KindU32                  // Uint
	KindI8                   // Int
	KindI16                  // Int
	KindI32                  // Int
	KindF32                  // Float
	KindBit                  // Uint 0 or 1. A bit shares a byte with other bits.
	KindBool8                // Uint, a whole byte
	KindEnum8                // Uint, Names
	KindEnum32               // Uint, Names
	KindFlags8               // Uint, Names by bit number
	KindObject               // Uint: an object id
	KindHash16               // Uint: shown in hexadecimal
	KindHash32               // Uint: shown in hexadecimal. Names has file names.
	KindCF16                 // Float
	KindRatio8               // Float 0 to 1: a byte of 255ths
	KindPercent8             // Float: a signed byte of per cent, negative when switched off
	KindPower8               // Float in per cent: a byte, 204 for 100 %
	KindDir3                 // Vec: three bytes
	KindVec3                 // Vec: three f32
	KindQuat                 // Vec, four f32: w, x, y, z
	KindVec4h                // Vec: direction and CF16 length
	KindVec4f                // Vec: direction and f32 length
	KindRatios               // Bytes: an array of bytes of 255ths
	KindStr8                 // Bytes: u8 length, Windows-1252 text
	KindStr16                // Bytes: u16 length, Windows-1252 text
	KindStr32                // Bytes: i32 length, Windows-1252 text
	KindStr32z               // Bytes: i32 length with the final 00, Windows-1252 text, 00
	KindWStr32               // Bytes: i32 number of characters, UTF-16LE
	KindWStrz                // Bytes: UTF-16LE up to 00 00
	KindIPv4                 // Bytes: four bytes in network order
	KindBytes                // Bytes to the end of the message

	KindText    // Text. This and the following kinds are derived and take no bytes.
	KindIndex   // Uint
	KindPlace   // Vec: computed from earlier messages
	kindsNumber // number of kinds
)

// A Type is the type of a field's value, independent of its wire form.
type Type uint8

// The types, with the way to get the value.
const (
	TypeInt    Type = iota // use Whole
	TypeBool               // use Whole: 0 or 1, but a whole byte may hold any number
	TypeFloat              // use Float
	TypeVector             // use Vec, with as many components as Kind.Components names
	TypeShares             // use Bytes: shares in 255ths
	TypeText               // use AppendText
	TypeIPv4               // use Bytes or AppendText
	TypeBytes              // use Bytes or AppendText
)

// kinds has for each kind its name in docs, the type of its value, and its size
// on the wire: the fewest bytes, and the size in words. A bit has size 0, since
// it shares its byte with others, and so has a derived field.
var kinds = [kindsNumber]struct {
	name  string
	value Type
	least int
	bytes string
}{
	KindU8:       {"u8", TypeInt, 1, "1"},
	KindU16:      {"u16", TypeInt, 2, "2"},
	KindU32:      {"u32", TypeInt, 4, "4"},
	KindI8:       {"s8", TypeInt, 1, "1"},
	KindI16:      {"i16", TypeInt, 2, "2"},
	KindI32:      {"i32", TypeInt, 4, "4"},
	KindF32:      {"f32", TypeFloat, 4, "4"},
	KindBit:      {"bit", TypeBool, 0, "shared"},
	KindBool8:    {"bool8", TypeBool, 1, "1"},
	KindEnum8:    {"enum8", TypeInt, 1, "1"},
	KindEnum32:   {"enum32", TypeInt, 4, "4"},
	KindFlags8:   {"flags8", TypeInt, 1, "1"},
	KindObject:   {"object id", TypeInt, 4, "4"},
	KindHash16:   {"hash16", TypeInt, 2, "2"},
	KindHash32:   {"hash32", TypeInt, 4, "4"},
	KindCF16:     {"cf16", TypeFloat, 2, "2"},
	KindRatio8:   {"ratio8", TypeFloat, 1, "1"},
	KindPercent8: {"percent8", TypeInt, 1, "1"},
	KindPower8:   {"power8", TypeFloat, 1, "1"},
	KindDir3:     {"cv3", TypeVector, 3, "3"},
	KindVec3:     {"3 f32", TypeVector, 12, "12"},
	KindQuat:     {"4 f32", TypeVector, 16, "16"},
	KindVec4h:    {"cv4h", TypeVector, 5, "5"},
	KindVec4f:    {"cv4f", TypeVector, 7, "7"},
	KindRatios:   {"ratio8 list", TypeShares, 0, "n"},
	KindStr8:     {"str8", TypeText, 1, "1+n"},
	KindStr16:    {"str16", TypeText, 2, "2+n"},
	KindStr32:    {"str32", TypeText, 4, "4+n"},
	KindStr32z:   {"str32z", TypeText, 5, "4+n"},
	KindWStr32:   {"wstr32", TypeText, 4, "4+2n"},
	KindWStrz:    {"wide text, 00 00", TypeText, 2, "2n+2"},
	KindIPv4:     {"IPv4", TypeIPv4, 4, "4"},
	KindBytes:    {"bytes", TypeBytes, 0, "n"},
	KindText:     {"derived text", TypeText, 0, ""},
	KindIndex:    {"derived number", TypeInt, 0, ""},
	KindPlace:    {"derived vector", TypeVector, 0, ""},
}

// String returns the kind's name in the documentation.
func (k Kind) String() string {
	if k < kindsNumber {
		return kinds[k].name
	}
	return "?"
}

// Type returns the type of the values of a kind.
func (k Kind) Type() Type { return kinds[k].value }

// Size returns the size of a field on the wire: the fewest bytes, and the size
// in words, such as 1+n.
func (k Kind) Size() (least int, text string) { return kinds[k].least, kinds[k].bytes }

// Components are the names of the parts of a vector, one letter each. They are
// empty for other types. An orientation begins with w.
func (k Kind) Components() string {
	switch {
	case k == KindQuat:
		return "wxyz"
	case k.Type() == TypeVector:
		return "xyz"
	}
	return ""
}

// Derived reports whether fields of the kind have no bytes on the wire.
func (k Kind) Derived() bool { return k >= KindText }

// Whole returns the number of a field of the types TypeInt and TypeBool.
func (f *Field) Whole() int64 {
	switch f.Kind { //nolint:exhaustive // the others have no sign
	case KindI8, KindI16, KindI32:
		return f.Int
	case KindPercent8:
		return int64(f.Float)
	}
	return int64(f.Uint)
}

// AppendText appends the text of a field in UTF-8. An address becomes its
// numbers, and bytes become hexadecimal digits. The text comes from the network
// and is not escaped.
func (f *Field) AppendText(dst []byte) []byte {
	switch f.Kind {
	case KindText:
		return append(dst, f.Text...)
	case KindWStr32, KindWStrz:
		return wire.AppendWideText(dst, f.Bytes)
	case KindIPv4:
		for i, c := range f.Bytes {
			if i > 0 {
				dst = append(dst, '.')
			}
			dst = strconv.AppendUint(dst, uint64(c), 10)
		}
		return dst
	case KindBytes:
		return hex.AppendEncode(dst, f.Bytes)
	default:
		return wire.AppendText(dst, f.Bytes)
	}
}

// Names gives the text of an enumerated value or of a bit number, or "" if it
// has none.
type Names interface{ Name(v uint64) string }

// A Lister is a set of names that can be listed.
type Lister interface {
	Names
	// Values yields the named values with their names, in ascending order except
	// for hashes.
	Values() iter.Seq2[uint64, string]
}

// Values yields the named values with their names. If n cannot be listed, it is
// asked for every value of a byte.
func Values(n Names) iter.Seq2[uint64, string] {
	if l, ok := n.(Lister); ok {
		return l.Values()
	}
	return func(yield func(uint64, string) bool) {
		for v := range uint64(256) {
			if name := n.Name(v); name != "" && !yield(v, name) {
				return
			}
		}
	}
}

// A Field is one value of a message on its way to a visitor. The visitor must
// not keep it.
type Field struct {
	Name string
	Doc  string
	Kind Kind
	Off  int // offset of its first byte in the payload
	End  int // offset after its last byte, equal to Off if the field takes no bytes

	Uint    uint64
	Int     int64
	Float   float64
	Vec     [4]float32
	Bytes   []byte  // wire bytes without length prefix and terminator
	Text    string  // KindText
	Names   Names   // nil if the values have no names
	Who     Who     // meaning of a player number in Uint or Int
	Privacy Privacy // why a text is private

	// The following are set only while describing.
	Conds    []Cond // conditions for the field's presence
	Count    *Count // number of elements of KindRatios
	From     Source // where a derived field's value comes from
	Inverted bool   // the bit is shown inverted
}

// A Source tells where the value of a derived field comes from. Of is the field
// that it depends on, or empty if it depends on the element of the list that
// contains the field.
type Source struct {
	Is SourceKind
	Of string
}

// A SourceKind is a kind of source.
type SourceKind uint8

// The kinds of sources.
const (
	FromSession        SourceKind = iota // state of the session, by rules other than the following
	ClassOfSpecies                       // the ship's class, by its species in Of
	ClassOfObject                        // the ship's class, by the species in the object's latest creation. Of has the object.
	SubsystemIndex                       // index of the subsystem that the element is about
	SubsystemName                        // name of the subsystem that the element is about, or of the one with the index in Of
	FirstSubsystemName                   // as SubsystemName, but only for index 0
	FileName                             // name of the file with the hash in Of. The lists have it at the same index.
	PlaceOfOffset                        // the object's latest position plus the vector in Of
)

// String returns the kind in words.
func (k SourceKind) String() string {
	return word(k, "session", "class of species", "class of object", "subsystem index", "subsystem name", "subsystem name, if index is 0",
		"file name", "last position plus offset")
}

// A Group is a struct, a list or an element of a list.
type Group struct {
	Name  string
	Doc   string
	Kind  GroupKind
	Index int // index of an element

	// The following are set only while describing.
	Conds []Cond
	Count *Count // number of elements of a list
	Least int    // fewest bytes of an element of a list
}

// A GroupKind is the kind of a group.
type GroupKind uint8

// The kinds of groups.
const (
	GroupStruct  GroupKind = iota // fields under a name
	GroupList                     // elements follow
	GroupElement                  // fields of one element
)

// A Visitor sees the fields of a message in wire order.
type Visitor interface {
	Field(f *Field)
	Begin(g *Group)
	End(g *Group)
}

// A FieldFunc is a visitor that sees all fields and ignores groups.
type FieldFunc func(f *Field)

// Field implements [Visitor].
func (see FieldFunc) Field(f *Field) { see(f) }

// Begin implements [Visitor].
func (FieldFunc) Begin(*Group) {}

// End implements [Visitor].
func (FieldFunc) End(*Group) {}

// FlagNames are the names of the bits of a flags byte, bit 0 first.
type FlagNames []string

// Name returns the name of a bit, or "" if it has none.
func (n FlagNames) Name(bit uint64) string {
	if bit < uint64(len(n)) {
		return n[bit]
	}
	return ""
}
