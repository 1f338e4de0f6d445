package display

import (
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// everything is a Names that gives every object and player the same name.
type everything string

func (n everything) NameOf(*decode.Field) wire.Untrusted             { return wire.Untrusted(n) }
func (n everything) AppendObject(dst []byte, _ wire.ObjectID) []byte { return append(dst, n...) }

// A value looks the same in every report; the brief form names what it can.
func TestTexts(t *testing.T) {
	const first = "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
	flags := decode.FlagNames{"POSITION", "", "FORWARD"}
	for _, test := range []struct {
		name        string
		field       decode.Field
		names       Names
		brief, full string
	}{
		{"a player", decode.Field{Kind: decode.KindU8, Uint: 2, Who: decode.ByID}, everything("Cady"), "Cady", "2 (Cady)"},
		{"an announced name", decode.Field{Kind: decode.KindU8, Uint: 2, Who: decode.Announced}, everything("Cady"), "2", "2 (Cady)"},
		{"nobody, after a field with another number", decode.Field{Kind: decode.KindI32, Uint: 7, Who: decode.ByID}, everything(""), "nobody", "0"},
		{"no session", decode.Field{Kind: decode.KindI32, Int: -3, Who: decode.ByID}, nil, "-3", "-3"},
		{"flags", decode.Field{Kind: decode.KindFlags8, Uint: 5, Names: &flags}, nil, "POSITION FORWARD", "0x05 (POSITION|FORWARD)"},
		{"a flag without a name", decode.Field{Kind: decode.KindFlags8, Uint: 3, Names: &flags}, nil, "0x03", "0x03 (POSITION|bit1)"},
		{"no flag", decode.Field{Kind: decode.KindFlags8, Names: &flags}, nil, "none", "0x00"},
		{"an object", decode.Field{Kind: decode.KindObject, Uint: 0x40000000}, everything("Akira\x1b"), `Akira\x1b`, `0x40000000 (slot 0, Akira\x1b)`},
		{"no object", decode.Field{Kind: decode.KindObject}, everything("Akira"), "none", "none"},
		{"text", decode.Field{Kind: decode.KindStr8, Bytes: []byte("a\x1bb\x80")}, nil, `"a\x1bb€"`, `"a\x1bb€"`},
		{"a share", decode.Field{Kind: decode.KindRatio8, Float: 51.0 / 255}, nil, "20%", "20.0%"},
		{"an address", decode.Field{Kind: decode.KindIPv4, Bytes: []byte{192, 0, 2, 7}}, nil, "192.0.2.7", "192.0.2.7"},
		{"a vector", decode.Field{Kind: decode.KindVec3, Vec: [4]float32{0.0625, -1, 1e6}}, nil, "(0.063,-1,1000000)", "(0.0625, -1, 1000000)"},
		{"bytes", decode.Field{Kind: decode.KindBytes, Bytes: make([]byte, 17)}, nil, first + " …", first + " …"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p Presenter
			for range 2 { // the second time, texts come from the cache
				if got := string(p.AppendBrief([]byte("> "), &test.field, test.names)); got != "> "+test.brief {
					t.Errorf("brief: got %s, want %s", got, test.brief)
				}
				if got := string(p.AppendText([]byte("> "), &test.field, test.names)); got != "> "+test.full {
					t.Errorf("full: got %s, want %s", got, test.full)
				}
			}
		})
	}
}

// Where the bytes of a field stand next to its value, it does not repeat them.
func TestBeside(t *testing.T) {
	p := Presenter{Dumped: 4}
	for n, want := range map[int]string{4: "", 5: "5 bytes"} {
		if got := string(p.AppendText(nil, &decode.Field{Kind: decode.KindBytes, Bytes: make([]byte, n)}, nil)); got != want {
			t.Errorf("%d bytes: got %q, want %q", n, got, want)
		}
	}
}
