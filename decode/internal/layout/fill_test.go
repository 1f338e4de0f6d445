package layout

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
)

// jsonOf has the JSON of the values in all, by kind.
var jsonOf = map[string]string{
	"u8": "255", "u16": "513", "u32": "2147483649", "i16": "-2", "i32": "-2", "f32": "-10.0", "bit": "true", "bool8": "true",
	"enum8": `"two"`, "enum32": "2", "flags8": `["a","bit1"]`, "object": "1073741823", "hash16": "4660", "hash32": "305419896", "cf16": "-0.0",
	"ratio8": "1.0", "percent8": "-100", "power8": "100.0", "dir3": "[1.0,0.0,-1.0]", "vec3": "[1.0,2.0,3.0]", "quat": "[1.0,0.0,0.0,0.0]",
	"cv4h": "[1.0,0.0,0.0]", "cv4f": "[0.0,2.0,0.0]", "str8": `"hi"`, "str16": `"hi"`, "str32": `"hi"`, "str32z": `"hi"`,
	"wstr32": `"h"`, "wstrz": `"h"`, "ipv4": `"10.0.0.1"`, "bytes": `"dead"`,
}

// fill fills a message with JSON, and returns the payload written from it.
func fill(t *testing.T, s *decode.Spec, text string) []byte {
	t.Helper()
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	m, b, err := decode.Fill(s, v, decode.Filling{Dialect: decode.Stock})
	if err != nil {
		t.Fatal(err)
	}
	payload, err := decode.Append(nil, s, m, decode.Stock)
	if err != nil || !bytes.Equal(payload[1:], b) {
		t.Errorf("filled as %x, written as %x, %v", b, payload, err)
	}
	return payload
}

// shorter puts the length 0.99978 for 1.0000001: a CF16 has no 1, and the game
// rounds towards zero.
func shorter(text string) string {
	return strings.NewReplacer("00 ff 3f", "00 fe 3f", "00ff3f", "00fe3f").Replace(text)
}

func TestFillKinds(t *testing.T) {
	for _, tt := range all {
		got := fill(t, spec(t, fieldOf(tt.kind)), `{"x":`+jsonOf[tt.kind]+`}`)
		if want := hex(t, "cd "+shorter(tt.bytes)); !bytes.Equal(got, want) {
			t.Errorf("%s: %s became %x, want %x", tt.kind, jsonOf[tt.kind], got, want)
		}
	}
}

func TestFillRich(t *testing.T) {
	s := spec(t, rich()...)
	got := fill(t, s, `{"mode":1,"mode_name":"on","flags":2,"flag_names":["far"],"far":258,"very":7,"loud":true,"list_count":2,"list":[`+
		`{"id":0,"deep_count":2,"deep":[{"n":-1,"neg":"hi"},{"n":5,"mode":9}]},`+
		`{"id":1073741825,"deep":[],"aim":{"dir":[1.0,0.0,0.0]}}],"quiet":false,"tail":[{"c":10},{"c":11},{"c":12}]}`)
	if want := hex(t, shorter(strings.ReplaceAll(richHex, " ", ""))); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
	short := fill(t, s, `{"mode":0,"flags":0,"loud":false}`)
	if want := hex(t, "cd 00 00 20"); !bytes.Equal(short, want) {
		t.Errorf("got %x, want %x", short, want)
	}
}
