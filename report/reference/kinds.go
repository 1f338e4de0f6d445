package reference

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// A Kind describes how the fields of a kind are encoded. Numbers are
// little-endian. Unsigned integers of 8, 16 and 32 bits are u8, u16 and u32.
// Signed ones are s8, s16 and s32. An IEEE-754 single is f32.
type Kind struct {
	Layer string `json:"layer"` // kind
	Name  string `json:"name"`
	Bytes string `json:"bytes,omitempty"` // absent if the kind has no separate bytes
	Doc   string `json:"doc,omitempty"`   // absent if the other members explain everything
	Type  string `json:"type"`            // type of the value: integer, boolean, number, numbers, text, address, hex

	Parts    []string `json:"parts,omitempty"`    // the parts it consists of: numbers, or other kinds
	Array    bool     `json:"array,omitempty"`    // the parts are repeated as often as the count of the field tells
	Group    int      `json:"group,omitempty"`    // for bits: the number of fields that share a byte
	Factor   int      `json:"factor,omitempty"`   // the value is the number multiplied by this,
	Divisor  int      `json:"divisor,omitempty"`  // divided by this,
	Decimals int      `json:"decimals,omitempty"` // rounded to so many decimals
	Product  bool     `json:"product,omitempty"`  // the value is the first part, a direction, multiplied by the second, its length

	Limits []float32 `json:"limits,omitempty"` // limits of the ranges of a logarithmic scale
	Steps  int       `json:"steps,omitempty"`  // steps in a range

	Length     string `json:"length,omitempty"`     // for text: the number before it
	Unit       int    `json:"unit,omitempty"`       // number of bytes that this number counts as one
	Terminator int    `json:"terminator,omitempty"` // number of zero bytes after the text
	Counted    bool   `json:"counted,omitempty"`    // the length includes the terminator
	Encoding   string `json:"encoding,omitempty"`
}

// Kinds returns all kinds of fields.
func Kinds() (all []Kind) {
	for k := range decode.Kind(len(kinds)) {
		d := kinds[k]
		d.Layer, d.Name = "kind", k.String()
		_, d.Bytes = k.Size()
		d.Type = types[k.Type()]
		all = append(all, d)
	}
	return all
}

var types = map[decode.Type]string{
	decode.TypeInt: "integer", decode.TypeBool: "boolean", decode.TypeFloat: "number", decode.TypeVector: "numbers",
	decode.TypeShares: "numbers", decode.TypeText: "text", decode.TypeIPv4: "address", decode.TypeBytes: "hex",
}

const (
	chars   = "length, then text in Windows-1252"
	named   = "a number with names for its values"
	derived = "follows from other fields or from earlier messages"

	windows1252 = "windows-1252"
	utf16le     = "utf-16le"
)

var kinds = [...]Kind{
	decode.KindU8:     {Parts: []string{"u8"}},
	decode.KindU16:    {Parts: []string{"u16"}},
	decode.KindU32:    {Parts: []string{"u32"}},
	decode.KindI8:     {Parts: []string{"s8"}},
	decode.KindI16:    {Parts: []string{"s16"}},
	decode.KindI32:    {Parts: []string{"s32"}},
	decode.KindF32:    {Parts: []string{"f32"}},
	decode.KindHash16: {Parts: []string{"u16"}},
	decode.KindHash32: {Parts: []string{"u32"}},
	decode.KindFlags8: {Parts: []string{"u8"}},
	decode.KindBit: {
		Group: 5,
		Doc: "bits share bytes: bits 7 to 5 of a byte count the bits in it, 1 to 5; bits 4 to 0 are the bits, the first in bit 0. " +
			"The byte stands where its first bit does; other fields between bits do not end it, the fifth bit does",
	},
	decode.KindBool8:  {Parts: []string{"u8"}, Doc: "a whole byte, 0 or 1"},
	decode.KindEnum8:  {Parts: []string{"u8"}, Doc: named},
	decode.KindEnum32: {Parts: []string{"u32"}, Doc: named},
	decode.KindObject: {
		Parts: []string{"u32"},
		Doc:   "0 for none; slot n owns the 0x40000 ids from 0x3FFFFFFF + n * 0x40000 on, a ship's subsystems follow the ship",
	},
	decode.KindCF16: {
		Parts: []string{"u16"}, Limits: wire.CF16Limits(), Steps: steps,
		Doc: "a float on a logarithmic scale: bit 15 is the sign; bits 14 to 12 choose one of eight ranges, 0 to 0.001, then a decade each up to 10000; " +
			"bits 11 to 0 divide the range into 4095 steps",
	},
	decode.KindRatio8:   {Parts: []string{"u8"}, Divisor: 255, Doc: "a share of a whole, 255 for all of it"},
	decode.KindRatios:   {Parts: []string{"u8"}, Divisor: 255, Array: true, Doc: "several of these"},
	decode.KindPercent8: {Parts: []string{"s8"}, Doc: "per cent with a sign, negative if switched off"},
	decode.KindPower8:   {Parts: []string{"u8"}, Factor: 100, Divisor: 204, Decimals: 2, Doc: "204 is 100 per cent"},
	decode.KindDir3:     {Parts: []string{"s8", "s8", "s8"}, Divisor: 127, Doc: "a direction: three signed bytes, 127 for 1"},
	decode.KindVec3:     {Parts: []string{"f32", "f32", "f32"}},
	decode.KindQuat:     {Parts: []string{"f32", "f32", "f32", "f32"}},
	decode.KindVec4h:    {Parts: []string{"cv3", "cf16"}, Product: true, Doc: "a vector: direction as cv3, length as cf16"},
	decode.KindVec4f:    {Parts: []string{"cv3", "f32"}, Product: true, Doc: "a vector: direction as cv3, length as f32"},
	decode.KindStr8:     {Length: "u8", Unit: 1, Encoding: windows1252, Doc: chars},
	decode.KindStr16:    {Length: "u16", Unit: 1, Encoding: windows1252, Doc: chars},
	decode.KindStr32:    {Length: "u32", Unit: 1, Encoding: windows1252, Doc: chars},
	decode.KindStr32z: {
		Length: "u32", Unit: 1, Terminator: 1, Counted: true, Encoding: windows1252,
		Doc: "length with the final 00, text in Windows-1252, 00",
	},
	decode.KindWStr32: {Length: "u32", Unit: 2, Encoding: utf16le, Doc: "number of characters, then text in UTF-16"},
	decode.KindWStrz:  {Terminator: 2, Unit: 2, Encoding: utf16le},
	decode.KindIPv4:   {Parts: []string{"u8", "u8", "u8", "u8"}},
	decode.KindBytes:  {},
	decode.KindText:   {Doc: derived},
	decode.KindIndex:  {Doc: derived},
	decode.KindPlace:  {Doc: derived},
}

// steps is the number of steps in a range of a CF16.
const steps = 4095

// Lines returns all data that is needed to make a decoder: the messages, the
// kinds of their fields, and the classes of ships.
func Lines(entries []Entry) (all []any) {
	for i := range entries {
		all = append(all, &entries[i])
	}
	for _, k := range Kinds() {
		all = append(all, &k)
	}
	for _, s := range Ships() {
		all = append(all, &s)
	}
	return all
}

// A Ship describes a class of ships. Some messages depend on its subsystems.
type Ship struct {
	Layer      string      `json:"layer"` // ship
	Species    uint8       `json:"species"`
	Name       string      `json:"name"`
	Constant   string      `json:"constant"` // name in the game's scripts
	Faction    string      `json:"faction"`
	Playable   bool        `json:"playable,omitempty"`
	Uncertain  bool        `json:"uncertain,omitempty"` // no capture confirms the list
	Hash       uint16      `json:"integrity_hash,omitempty"`
	Subsystems []Subsystem `json:"subsystems,omitempty"` // in the order of messages, absent if unknown
}

// A Subsystem is an entry of a ship's list.
type Subsystem struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	Kind     string `json:"kind,omitempty"`
	Offset   uint8  `json:"offset"`             // added to the ID of the ship, it gives the object ID of the subsystem
	Children []Part `json:"children,omitempty"` // in the order of messages
}

// A Part is a child of a subsystem.
type Part struct {
	Name   string `json:"name"`
	Role   string `json:"role"`
	Offset uint8  `json:"offset"`
}

// Ships returns the classes of ships by species.
func Ships() (all []Ship) {
	for c := range ship.All() {
		s := Ship{
			Layer: "ship", Species: c.Species, Name: c.Name, Constant: c.Constant, Faction: c.Faction,
			Playable: c.Playable, Uncertain: c.Uncertain, Hash: c.Hash,
		}
		for i := range c.Subsystems {
			d := &c.Subsystems[i]
			sub := Subsystem{Name: d.Name, Role: d.Role.String(), Kind: d.Kind.String(), Offset: d.Offset}
			for _, p := range d.Children {
				sub.Children = append(sub.Children, Part{p.Name, p.Role.String(), p.Offset})
			}
			s.Subsystems = append(s.Subsystems, sub)
		}
		all = append(all, s)
	}
	return all
}
