package msg

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
)

// jsonFields reads fields in JSON.
func jsonFields(tb testing.TB, text string) map[string]any {
	tb.Helper()
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		tb.Fatal(err)
	}
	return v
}

// Errors tell the field, the problem and the remedy.
func TestFillErrors(t *testing.T) {
	const update = `"object_id":1,"game_time":0,`
	for _, c := range []struct{ name, fields, field, problem string }{
		{"Chat", `{"sender":2}`, "text", "has no value; add it"},
		{"Chat", `{"sender":2,"txt":"x"}`, "text", `did "txt" mean it?`},
		{"Chat", `{"sender":2,"text":"x","tetx":"y"}`, "tetx", "no such field (did you mean text?); remove it"},
		{"Chat", `{"sender":"2","text":"x"}`, "sender", `"2" is not a whole number from -2147483648 to 2147483647`},
		{"Chat", `{"sender":2147483648,"text":"x"}`, "sender", "2147483648 is not a whole number"},
		{"Chat", `{"sender":1e400,"text":"x"}`, "sender", "1e400 is not a whole number"},
		{"Chat", `{"sender":1.5,"text":"x"}`, "sender", "1.5 is not a whole number"},
		{"Chat", `{"sender":null,"text":"x"}`, "sender", "null is not a whole number"},
		{"ChecksumResponse", `{"round":1,"dir_hash":2,"files":{},"subdirs":[],"trees":[]}`, "files", "an object is not an array of objects"},
		{"ChecksumResponse", `{"round":1,"dir_hash":2,"files":[],"subdirs":[{"name_hash":1}],"trees":[]}`, "trees", "has 0 elements, and the message needs more"},
		{"ChecksumResponse", `{"round":1,"dir_hash":2,"files":[],"subdirs":[],"trees":[{}]}`, "trees", "has 1 elements, and the message takes 0"},
		{"Chat", `{"sender":1,"text":"\u0416"}`, "text", "'Ж' is not in Windows-1252"},
		{"Chat", `{"sender":1,"text":["x"]}`, "text", "an array of 1 is not a text"},
		{"Chat", `{"sender":1,"text":"` + strings.Repeat("x", 65536) + `"}`, "text", "65536 bytes are more than its 65535"},
		{"StateUpdate", `{` + update + `"flags":["SPED"]}`, "flags", `"SPED" is not the name of a flag (did you mean SPEED?)`},
		{"StateUpdate", `{` + update + `"flags":16,"speed":10001}`, "speed", "10001 is not between -10000 and 10000"},
		{"StateUpdate", `{` + update + `"flags":16,"speed":null}`, "speed", "null is not between"},
		{"StateUpdate", `{` + update + `"flags":64,"cloaked":1}`, "cloaked", "1 is neither true nor false"},
		{"StateUpdate", `{` + update + `"flags":4,"forward":[0,1]}`, "forward", "an array of 2 is not an array of 3 numbers"},
		{"StateUpdate", `{` + update + `"flags":4,"forward":[0,1.2,0]}`, "forward", "1.2 is not between -1.008 and 1"},
		{"StateUpdate", `{` + update + `"flags":32,"subsystems":{"start":0,"entries":[]}}`, "subsystems.entries", `name it in the fields, as in "ship":"Akira"`},
		{"StateUpdate", `{` + update + `"ship":"Akria","flags":32,"subsystems":{"start":0,"entries":[]}}`, "subsystems.entries", "did you mean Akira"},
		{"StateUpdate", `{` + update + `"ship":"Akira","flags":32,"subsystems":{"start":0,"entries":[]}}`, "subsystems.entries", "has 0 elements, and the message needs more"},
		{"StateUpdate", `{` + update + `"ship":"Akira","flags":32,"subsystems":{"start":0,"entries":[7]}}`, "subsystems.entries", "element 0: 7 is not an object"},
		{"StateUpdate", `{` + update + `"ship":"Akira","flags":32,"subsystems":7}`, "subsystems", "7 is not an object"},
		{"StateUpdate", `{` + update + `"flags":128,"power_settings":{}}`, "power_settings", "an object is not an array of objects"},
		{"StateUpdate", `{` + update + `"flags":128,"power_settings":[{"index":1,"percent":100},{"index":1,"percnt":1}]}`, "power_settings[1].percent", `did "percnt" mean it?`},
		{"StateUpdate", `{` + update + `"flags":128,"power_settings":[{"index":1,"percent":126}]}`, "power_settings[0].percent", "126 is not between 0 and 125"},
		{"ObjectCreateTeam", `{"slot":1,"net_player":2,"class":"shp"}`, "class", `"shp" is not the name of a value (did you mean ship?)`},
		{"Unknown", `{}`, "fields", "the layout of the message is not known"},
	} {
		spec := &decode.Spec{Name: "Unknown"}
		if c.name != "Unknown" {
			spec = Catalog().Find(c.name)
		}
		_, _, err := decode.Fill(spec, jsonFields(t, c.fields), decode.Filling{})
		fault, ok := errors.AsType[*decode.FillError](err)
		if !ok || fault.Message != c.name || fault.Field != c.field || !strings.Contains(fault.Problem, c.problem) {
			t.Errorf("%.99s: got %v; want %s: %s", c.fields, err, c.field, c.problem)
		}
	}
}

// Go programs may pass numbers of other types than encoding/json makes.
func TestFillNumbers(t *testing.T) {
	for _, n := range []any{2, 2.0, json.Number("2"), json.Number("2.0"), json.Number("0.2e1")} {
		m, b, err := decode.Fill(Catalog().Find("Chat"), map[string]any{"sender": n, "text": "hi"}, decode.Filling{})
		if err != nil || m.(*Chat).Sender != 2 || !bytes.Equal(b, []byte("\x02\x00\x00\x00\x02\x00hi")) {
			t.Errorf("%T: %v, %x, %v", n, m, b, err)
		}
	}
}

// FuzzFill fills any message with arbitrary JSON. Whatever fits is written the
// same way from the filled struct, and is not much longer than the JSON.
func FuzzFill(f *testing.F) {
	f.Add(uint8(0x2C), uint8(0), false, []byte(`{"sender":2,"text":"hi"}`))
	f.Add(uint8(0x1C), uint8(2), false, []byte(`{"object_id":1,"ship":"Akira","game_time":0,"flags":["SUBSYSTEMS"],"subsystems":{"start":0,"entries":[{"condition":1}]}}`))
	f.Add(uint8(0x21), uint8(1), true, []byte(`{"round":0,"version_hash":1,"dir_hash":2,"files":[{"name_hash":1,"content_hash":2}],"subdirs":[],"trees":[]}`))
	f.Add(uint8(0x15), uint8(0), true, []byte(`{"class":33060,"code":1,"source":1,"dest":2,"contacts":[{"direction":[0,0,1],"ratio":0.5}],"force":null}`))
	f.Add(uint8(0x1F), uint8(2), true, []byte(`{"object_id":1,"set":"Multi1","end":0}`))
	f.Fuzz(func(t *testing.T, op, dialect uint8, part bool, text []byte) {
		var v map[string]any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if d.Decode(&v) != nil {
			return
		}
		spec := Catalog().Lookup(decode.Opcode(op))
		if spec == nil {
			return
		}
		how := decode.Filling{Dialect: decode.Dialect(dialect % decode.Dialects), Opcode: decode.Opcode(op), Part: part}
		m, b, err := decode.Fill(spec, v, how)
		if err != nil {
			return
		}
		if len(b) > 8*len(text) {
			t.Errorf("%d bytes of %d bytes of JSON", len(b), len(text))
		}
		if part { // the struct has no end either
			return
		}
		again, err := decode.AppendFields(nil, spec.Name, m, how.Dialect)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s %s: filled as %x, written as %x, %v", spec.Name, text, b, again, err)
		}
	})
}
