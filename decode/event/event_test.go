package event

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// events has every class, with its body in the form of the protocol reference.
var events = []struct {
	name  string
	event Event
	body  string
}{
	{"plain", Event{Class: ClassPlain}, ""},
	{"bool", Event{Class: ClassBool, Byte: 1}, "01"},
	{"char", Event{Class: ClassChar, Byte: 2}, "02"},
	{"short", Event{Class: ClassShort, Short: -2}, "feff"},
	{"int", Event{Class: ClassInt, Int: -10000}, "f0d8ffff"},
	{"float", Event{Class: ClassFloat, Float: wire.FloatBits(40)}, "00002042"},
	{"object", Event{Class: ClassObject, Object: 0x4003FFFF}, "ffff0340"},
	{"player", Event{Class: ClassPlayer, Player: 3}, "03"},
	{"collision", Event{
		Class:    ClassCollision,
		Contacts: []wire.Vec4b{{Dir: wire.Dir3{15, 126, 0}, Len: 218}, {Dir: wire.Dir3{0, 126, -1}, Len: 216}},
		Force:    0x4467C351,
	}, "020f7e00da007effd851c36744"},
	{"no contact", Event{Class: ClassCollision}, "0000000000"},
	{"firing", Event{
		Class: ClassFiring, Target: 0x4003FFFF, Offset: wire.Vec4b{Dir: wire.Dir3{0, -120, -40}, Len: 92},
	}, "ffff03400088d85c"},
	{"exploding", Event{Class: ClassExploding, FiringPlayer: 2, Lifetime: wire.FloatBits(9.5)}, "0200000000001841"},
	{"warp", Event{
		Class: ClassWarp, Set: []byte("Multi2"), Exit: [3]wire.F32{wire.FloatBits(100), wire.FloatBits(50), 0}, Duration: wire.FloatBits(3),
	}, "064d756c7469320000c842000048420000000000004040"},
	{"string", Event{Class: 0x0109, Body: []byte{5, 0, 'h', 'e', 'l', 'l', 'o'}}, "050068656c6c6f"},
	{"unknown", Event{Class: 2}, ""},
}

func TestWalk(t *testing.T) {
	for _, tt := range events {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.event
			want.Code, want.Source, want.Dest = CodeAddToRepairList, 0x40000002, 0x40000018
			head := []byte{byte(want.Class), byte(want.Class >> 8), 0, 0, 0xDF, 0, 0x80, 0, 2, 0, 0, 0x40, 0x18, 0, 0, 0x40}
			body, err := hex.DecodeString(tt.body)
			if err != nil {
				t.Fatal(err)
			}
			bytesOf := append(head, body...)

			b, err := decode.AppendFields(nil, "event", &want, decode.Stock)
			if err != nil || !bytes.Equal(b, bytesOf) {
				t.Errorf("written as %x (%v), want %x", b, err, bytesOf)
			}
			var got Event
			rest, e := decode.ReadFields(new(decode.Codec), "event", &got, bytesOf, decode.Stock)
			if e != nil || len(rest) > 0 || !reflect.DeepEqual(got, want) {
				t.Errorf("read as %+v, rest %x, error %v; want %+v", got, rest, e, want)
			}
			if want.Class.known() { // the rest is not part of the event
				rest, e = decode.ReadFields(new(decode.Codec), "event", &got, append(bytesOf, 0xAA), decode.Stock)
				if e != nil || !bytes.Equal(rest, []byte{0xAA}) {
					t.Errorf("with a byte more: rest %x, error %v", rest, e)
				}
			}
		})
	}
}

type conditions map[string]string

func (c conditions) Begin(*decode.Group) {}
func (c conditions) End(*decode.Group)   {}
func (c conditions) Field(f *decode.Field) {
	var all []string
	for _, cond := range f.Conds {
		all = append(all, cond.String())
	}
	c[f.Name+" "+f.Kind.String()] = strings.Join(all, " and ")
}

func TestDescription(t *testing.T) {
	got := conditions{}
	decode.DescribeMessage(new(Event), decode.Stock, got)
	for field, want := range map[string]string{
		"class enum32":       "",
		"dest object id":     "",
		"enabled bool8":      "class == 0x104",
		"value enum8":        "class == 0x105",
		"value i16":          "class == 0x106",
		"value i32":          "class == 0x107",
		"amount f32":         "class == 0x108",
		"object object id":   "class == 0x10C",
		"player u8":          "class == 0x866",
		"contacts_count u8":  "class == 0x8124",
		"force f32":          "class == 0x8124",
		"target object id":   "class == 0x8128",
		"firing_player i32":  "class == 0x8129",
		"explosion_time f32": "class == 0x8129",
		"set str8":           "class == 0x812A",
		"exit 3 f32":         "class == 0x812A",
		"duration f32":       "class == 0x812A",
		"body bytes": "class != 0x101 and class != 0x104 and class != 0x105 and class != 0x106 and class != 0x107 and class != 0x108 and " +
			"class != 0x10C and class != 0x866 and class != 0x8124 and class != 0x8128 and class != 0x8129 and class != 0x812A and bytes remain",
	} {
		if cond, ok := got[field]; !ok || cond != want {
			t.Errorf("%s: got %q, want %q", field, cond, want)
		}
	}
}

func TestReset(t *testing.T) {
	e := Event{Class: ClassCollision, Contacts: make([]wire.Vec4b, 2, 8), Force: 1, Body: []byte{1}}
	e.Reset()
	if cap(e.Contacts) != 8 {
		t.Errorf("the list has room for %d, want 8", cap(e.Contacts))
	}
	e.Contacts = nil
	if !reflect.DeepEqual(e, Event{}) {
		t.Errorf("left over: %+v", e)
	}
}

func TestStrings(t *testing.T) {
	if got := ClassExploding.String() + " " + CodeObjectExploding.String(); got != "ObjectExplodingEvent OBJECT_EXPLODING" {
		t.Errorf("got %s", got)
	}
}

func FuzzWalk(f *testing.F) {
	for _, e := range events {
		b, err := decode.AppendFields(nil, "event", &e.event, decode.Stock)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e Event
		rest, failed := decode.ReadFields(new(decode.Codec), "event", &e, b, decode.Stock)
		if failed != nil {
			return
		}
		again, err := decode.AppendFields(nil, "event", &e, decode.Stock)
		if err != nil || !bytes.Equal(again, b[:len(b)-len(rest)]) {
			t.Fatalf("%x written as %x: %v", b, again, err)
		}
	})
}
