package decode_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A walked is a message made of its walk.
type walked func(c *decode.Codec)

func (m walked) Walk(c *decode.Codec) { m(c) }

func texts[T ~[]byte](f func(c *decode.Codec, name string, p *T, doc string), text *[]byte) walked {
	return func(c *decode.Codec) { t := T(*text); f(c, "x", &t, "a text"); *text = t }
}

// textOf is texts for a text that is written.
func textOf[T ~[]byte](f func(c *decode.Codec, name string, p *T, doc string), s string) walked {
	b := []byte(s)
	return texts(f, &b)
}

// A field that the end of the message cuts is absent as a whole: the error gives
// the bytes that it needs, and its bytes are left over.
func TestIncompleteFields(t *testing.T) {
	const short = "message ends inside the field"
	var (
		text   []byte
		dir    wire.Dir3
		vec4h  wire.Vec4h
		vec4f  wire.Vec4f
		vec3   [3]wire.F32
		quat   [4]wire.F32
		wide   []uint16
		narrow []uint8
	)
	for _, tt := range []struct {
		name, hex string
		walk      walked
		want      string
		rest      int
	}{
		{"dir3", "7F 00", func(c *decode.Codec) { c.Dir3("x", &dir, "") }, "x at +0: " + short + " (need 3, have 2)", 2},
		{"vec4h", "7F 00 00 FF", func(c *decode.Codec) { c.Vec4h("x", &vec4h, "") }, "x at +0: " + short + " (need 5, have 4)", 4},
		{"vec4f", "7F 00 00 00 00 80", func(c *decode.Codec) { c.Vec4f("x", &vec4f, "") }, "x at +0: " + short + " (need 7, have 6)", 6},
		{"vec3", "00 00 80 3F 00 00 00 40 00 00 40", func(c *decode.Codec) { c.Vec3("x", &vec3, "") }, "x at +0: " + short + " (need 12, have 11)", 11},
		{"quat", "00 00 80 3F 00 00 00 40 00 00 40 40", func(c *decode.Codec) { c.Quat("x", &quat, "") }, "x at +0: " + short + " (need 16, have 12)", 12},
		{"ratios", "01 02", func(c *decode.Codec) { c.Ratios("x", &text, 3, nil, "") }, "x at +0: " + short + " (need 3, have 2)", 2},
		{"str8", "02 41", texts((*decode.Codec).Str8, &text), "x at +1: " + short + " (need 2, have 1)", 2},
		{"str8, whole", "02 41 42", texts((*decode.Codec).Str8, &text), "", 0},
		{"str16", "02 00 41", texts((*decode.Codec).Str16, &text), "x at +2: " + short + " (need 2, have 1)", 3},
		{"str32", "02 00 00 00 41", texts((*decode.Codec).Str32, &text), "x at +0: " + short + " (need 2, have 1)", 5},
		{"str32, whole", "02 00 00 00 41 42", texts((*decode.Codec).Str32, &text), "", 0},
		{"str32, beyond all", "FF FF FF FF", texts((*decode.Codec).Str32, &text), "x at +0: " + short + " (need 2147483647, have 0)", 4},
		{"str32z, without room for 00", "00 00 00 00", texts((*decode.Codec).Str32z, &text), "x at +0: impossible value: length 0 leaves no room for the final 00", 4},
		{"str32z, empty", "01 00 00 00 00", texts((*decode.Codec).Str32z, &text), "", 0},
		{"str32z, without 00", "02 00 00 00 41 42", texts((*decode.Codec).Str32z, &text), "x at +5: impossible value: the text ends with 42, not 00", 6},
		{"wstr32", "02 00 00 00 41 00 42", texts((*decode.Codec).WStr32, &text), "x at +4: " + short + " (need 4, have 3)", 7},
		{"wstrz, nothing", "", texts((*decode.Codec).WStrz, &text), "x at +0: " + short + " (need 2, have 0)", 0},
		{"wstrz, without an end", "41 00 42", texts((*decode.Codec).WStrz, &text), "x at +0: " + short + " (need 5, have 3)", 3},
		{"wstrz, empty", "00 00", texts((*decode.Codec).WStrz, &text), "", 0},
		{"wstrz, 00 00 across two characters", "41 00 00 42 00 00", texts((*decode.Codec).WStrz, &text), "", 0},
		{"list of too few", "03 01 00 02", func(c *decode.Codec) {
			decode.List8(c, "x", &wide, 2, "", func(e *uint16) { c.U16("e", e, "") })
		}, "x at +1: " + short + " (need 6, have 3)", 3},
		{"list of just enough", "02 01 00 02 00", func(c *decode.Codec) {
			decode.List8(c, "x", &wide, 2, "", func(e *uint16) { c.U16("e", e, "") })
		}, "", 0},
		{"list without a count", "", func(c *decode.Codec) {
			decode.List8(c, "x", &wide, 2, "", func(e *uint16) { c.U16("e", e, "") })
		}, "x_count at +0: " + short + " (need 1, have 0)", 0},
		{"long list of too few", "02 00 05", func(c *decode.Codec) {
			decode.List16(c, "x", &narrow, 1, "", func(e *uint8) { c.U8("e", e, "") })
		}, "x at +2: " + short + " (need 2, have 1)", 1},
		{"long list without a whole count", "02", func(c *decode.Codec) {
			decode.List16(c, "x", &narrow, 1, "", func(e *uint8) { c.U8("e", e, "") })
		}, "x_count at +0: " + short + " (need 2, have 1)", 1},
		{"within groups", "02 01 02 03", func(c *decode.Codec) {
			c.Struct("outer", "", func() {
				decode.List8(c, "list", &narrow, 1, "", func(e *uint8) {
					c.U8("a", e, "")
					c.Struct("inner", "", func() { c.U8("b", e, "") })
				})
			})
		}, "outer.list[1].inner.b at +4: " + short + " (need 1, have 0)", 0},
		{"after a group", "01", func(c *decode.Codec) {
			var a uint8
			c.Struct("gone", "", func() { c.U8("a", &a, "") })
			c.Struct("open", "", func() { c.U8("b", &a, "") })
		}, "open.b at +1: " + short + " (need 1, have 0)", 0},
		{"within more groups than a path has", "", nested(0, 20), strings.Repeat("s.", 12) + "x at +0: " + short + " (need 1, have 0)", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := fixtures.Unhex(t, tt.hex)
			rest, err := decode.ReadFields(new(decode.Codec), "M", tt.walk, b, decode.Stock)
			got := ""
			if err != nil {
				got = err.Error()
			}
			want := tt.want
			if want != "" {
				want = "decode: M." + want
			}
			if got != want || len(rest) != tt.rest {
				t.Errorf("got %q, %d bytes left over; want %q, %d", got, len(rest), want, tt.rest)
			}
		})
	}
}

// nested returns a walk of a byte in groups within each other.
func nested(depth, most int) walked {
	return func(c *decode.Codec) {
		if depth == most {
			var b uint8
			c.U8("x", &b, "")
			return
		}
		c.Struct("s", "", func() { nested(depth+1, most)(c) })
	}
}

// Values that do not fit their field are not written.
func TestTooLarge(t *testing.T) {
	of := func(n int) []byte { return bytes.Repeat([]byte{'x'}, n) }
	list8 := func(n int) walked {
		s := of(n)
		return func(c *decode.Codec) { decode.List8(c, "x", &s, 1, "", func(e *uint8) { c.U8("e", e, "") }) }
	}
	list16 := func(n int) walked {
		s := of(n)
		return func(c *decode.Codec) { decode.List16(c, "x", &s, 1, "", func(e *uint8) { c.U8("e", e, "") }) }
	}
	for _, tt := range []struct {
		name string
		m    walked
		size int // 0 for an error
		want string
	}{
		{"255 bytes", textOf((*decode.Codec).Str8, string(of(255))), 256, ""},
		{"256 bytes", textOf((*decode.Codec).Str8, string(of(256))), 0, "256 bytes do not fit an 8-bit length"},
		{"65,535 bytes", textOf((*decode.Codec).Str16, string(of(65535))), 65537, ""},
		{"65,536 bytes", textOf((*decode.Codec).Str16, string(of(65536))), 0, "65536 bytes do not fit a 16-bit length"},
		{"255 elements", list8(255), 256, ""},
		{"256 elements", list8(256), 0, "256 elements do not fit an 8-bit count"},
		{"65,535 elements", list16(65535), 65537, ""},
		{"65,536 elements", list16(65536), 0, "65536 elements do not fit a 16-bit count"},
		{"half a character", textOf((*decode.Codec).WStrz, "x"), 0, "not whole UTF-16 characters, or a 00 00 among them"},
		{"00 00 at the end", textOf((*decode.Codec).WStrz, "x\x00\x00\x00"), 0, "not whole UTF-16 characters, or a 00 00 among them"},
		{"00 00 at the start", textOf((*decode.Codec).WStrz, "\x00\x00x\x00"), 0, "not whole UTF-16 characters, or a 00 00 among them"},
		{"00 00 across two characters", textOf((*decode.Codec).WStrz, "x\x00\x00x"), 6, ""},
		{"00 first", textOf((*decode.Codec).WStrz, "\x00x\x00x"), 6, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := decode.AppendFields([]byte{1, 2}, "M", tt.m, decode.Stock)
			if tt.want == "" {
				if err != nil || len(b) != 2+tt.size {
					t.Errorf("got %d bytes, %v; want %d", len(b)-2, err, tt.size)
				}
				return
			}
			e, ok := errors.AsType[*decode.Error](err)
			if !ok || !errors.Is(err, decode.ErrValue) || e.Detail != tt.want || e.Offset != 0 || e.Field != "x" {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCondString(t *testing.T) {
	for want, c := range map[string]decode.Cond{
		"x & 0x02": decode.Has("x", uint8(0), 2), "not x & 0x80": decode.Lacks("x", uint8(0), 0x80),
		"x == 9": decode.Equals("x", uint8(0), 9), "x == 0xA": decode.Equals("x", uint8(0), 10),
		"x != 9": decode.Differs("x", uint8(0), 9), "x != 0xA": decode.Differs("x", uint8(0), 10),
		"bytes remain": {Op: decode.OpMore}, "the rest fits": {Op: decode.OpFits},
		"role is shield": decode.OfRole(new(ship.Subsystem), 1<<ship.Shield), "role is not shield": decode.NotRole(new(ship.Subsystem), ship.Shield),
		"role is phaser, torpedo or cloak": decode.OfRole(new(ship.Subsystem), 1<<ship.Phaser|1<<ship.Torpedo|1<<ship.Cloak),
		"kind is reactor":                  decode.OfKind(new(ship.Subsystem), ship.Reactor), "number of children is not 0": decode.HasChildren(new(ship.Subsystem)),
		"?": {Op: 99},
	} {
		if got := c.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestKindString(t *testing.T) {
	for k, want := range map[decode.Kind]string{decode.KindU8: "u8", decode.KindPlace: "derived vector", decode.KindPlace + 1: "?", 255: "?"} {
		if got := k.String(); got != want {
			t.Errorf("kind %d: got %q, want %q", uint8(k), got, want)
		}
	}
	for k, want := range map[decode.Kind]bool{decode.KindBytes: false, decode.KindText: true, decode.KindPlace: true} {
		if k.Derived() != want {
			t.Errorf("%v: derived is %v", k, !want)
		}
	}
}

// The numbering of players by field, dialect and sender; the protocol's page on
// dialects has the evidence.
func TestNumberOfPlayers(t *testing.T) {
	id, slot, self, none := decode.NetworkID, decode.Slot, decode.Self, decode.NoNumber
	for _, tt := range []struct {
		who                                      decode.Who
		stock, stockClient, openBC, openBCClient decode.Number
	}{
		{decode.NoPlayer, none, none, none, none},
		{decode.ByID, id, id, id, id},
		{decode.BySlot, slot, slot, slot, slot},
		{decode.Speaker, id, self, slot, self},
		{decode.Itself, id, self, id, self},
		{decode.Announced, id, self, self, self},
		{decode.ByIDStock, id, id, none, none},
	} {
		got := []decode.Number{tt.who.In(decode.Stock, false), tt.who.In(decode.Stock, true), tt.who.In(decode.OpenBC, false), tt.who.In(decode.OpenBC, true)}
		want := []decode.Number{tt.stock, tt.stockClient, tt.openBC, tt.openBCClient}
		if !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", tt.who, got, want)
		}
	}
}

// An encoder writes the same as the functions, also after an error and after a
// group of bits that was left open, and allocates nothing.
func TestEncoder(t *testing.T) {
	var e decode.Encoder
	number := uint32(0x11223344)
	flag := true
	whole := walked(func(c *decode.Codec) { c.U32("number", &number, "a number"); c.Bit("flag", &flag, "a bit") })
	short := walked(func(c *decode.Codec) { c.Bit("flag", &flag, "a bit") })
	wrong := textOf((*decode.Codec).Str8, strings.Repeat("x", 300))
	spec := &decode.Spec{Code: 0x42, Name: "test"}
	want, err := decode.Append([]byte{9}, spec, whole, decode.Stock)
	if err != nil || !bytes.Equal(want, []byte{9, 0x42, 0x44, 0x33, 0x22, 0x11, 0x21}) {
		t.Fatalf("got % X, %v", want, err)
	}
	for range 3 {
		if got, err := e.AppendFields(nil, "short", short, decode.Stock); err != nil || !bytes.Equal(got, []byte{0x21}) {
			t.Errorf("got % X, %v", got, err)
		}
		if got, err := e.Append([]byte{9}, spec, whole, decode.Stock); err != nil || !bytes.Equal(got, want) {
			t.Errorf("got % X, %v, want % X", got, err, want)
		}
		_, wantErr := decode.Append(nil, spec, wrong, decode.Stock)
		if _, err := e.Append(nil, spec, wrong, decode.Stock); wantErr == nil || err == nil || err.Error() != wantErr.Error() {
			t.Errorf("got %v, want %v", err, wantErr)
		}
	}
	room := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(10, func() { _, _ = e.Append(room, spec, whole, decode.Stock) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
