package ndjson

import (
	"bytes"
	"math/bits"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// Every message of every capture becomes JSON and the same bytes again, except
// for the bits that the JSON does not have.
func TestParse(t *testing.T) {
	parseCaptures(t, 1<<10, "captures/*.pcap", "captures/*.gz", "captures/reliability/*.gz")
}

func TestParseAll(t *testing.T) {
	if os.Getenv("BCDISSECT_LONG") == "" {
		t.Skip("TestParse has the first of each kind in each capture: set BCDISSECT_LONG for all")
	}
	parseCaptures(t, 1<<30, "captures/*.pcap", "captures/*.gz", "captures/reliability/*.gz", "captures/clear/*.zst")
}

// parseCaptures turns messages into JSON and back: of each kind in each capture
// the first ones, at most most.
func parseCaptures(t *testing.T, most int, patterns ...string) {
	t.Helper()
	same, notNumbers, ackFlags := 0, 0, 0
	for _, pattern := range patterns {
		for _, name := range fixtures.Glob(t, pattern) {
			e := NewEncoder(Options{})
			seen := map[decode.Opcode]int{}
			for r, err := range dissect.Files(dissect.Config{Clear: strings.HasPrefix(name, "captures/clear/")}, fixtures.Path(name)) {
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if r.Kind != dissect.KindMessage || r.Status == dissect.StatusPending || r.Status == dissect.StatusDuplicate {
					continue
				}
				op, _ := r.Opcode()
				if seen[op]++; seen[op] > most {
					continue
				}
				text := e.Append(nil, r)
				got, want, err := parsed(text, r)
				switch {
				case err != nil:
					t.Errorf("%s: %v\n%s\n%x", name, err, text, want)
				case bytes.Equal(got, want):
					same++
				case r.Transport.Type == transport.Acknowledge && bits.OnesCount8(got[3]^want[3]) == 1 && got[3]^want[3] == 0x80:
					ackFlags++ // from OpenBC's test clients, with unknown meaning
				case bytes.Contains(text, []byte(":null")) && len(got) == len(want):
					notNumbers++ // the bits of a NaN
				default:
					t.Errorf("%s:\n%s\ngot  %x\nwant %x", name, text, got, want)
				}
			}
		}
	}
	t.Logf("%d messages are the same, %d have a float that is no number, %d are acknowledgements with bit 7 of their flags", same, notNumbers, ackFlags)
	if same < 10000 || notNumbers > 100 {
		t.Errorf("%d messages are the same and %d are not numbers", same, notNumbers)
	}
}

// parsed encodes a line: the transport message, or of fragments the game message.
func parsed(text []byte, r *dissect.Record) (got, want []byte, err error) {
	l, err := Parse(text, msg.Catalog())
	if err != nil {
		return nil, nil, err
	}
	if r.Kind == dissect.KindPayload || r.Transport.Fragment && r.Transport.Type == transport.Standard {
		got, err = l.Payload()
		return got, r.Payload, err
	}
	got, err = l.Message()
	return got, r.Bytes, err
}

// Every sample becomes JSON and the same bytes again, with and without the class
// of the ship. A message that breaks off inside a bit group lacks the group's
// other bits.
func TestParseSamples(t *testing.T) {
	same, open := 0, 0
	for _, name := range fixtures.Glob(t, "messages/*.hex") {
		payload := fixtures.Hex(t, strings.TrimPrefix(name, "messages/"))
		for _, class := range []*ship.Class{nil, ship.BySpecies(1)} {
			p := dissect.New(dissect.Config{Ships: class})
			err := p.PushPayload(&dissect.Datagram{Number: 1}, slices.Clone(payload), func(r *dissect.Record) error {
				text := NewEncoder(Options{NoCapture: true}).Append(nil, r)
				got, want, err := parsed(text, r)
				switch {
				case err == nil && bytes.Equal(got, want) && bytes.Equal(want, payload):
					same++
				case err == nil && r.Err != nil && len(got) == len(want) && bytes.Contains(text, []byte(`"subsystems"`)):
					open++
				default:
					t.Errorf("%s: %v\n%s\ngot  %x\nwant %x", name, err, text, got, want)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if t.Logf("%d samples are the same, %d break off inside a bit group", same, open); same < 100 || open > 4 {
		t.Errorf("%d samples are the same, %d break off", same, open)
	}
}

// Lines that people write or change. The expected bytes were written by hand
// from docs/opcodes.md.
func TestParseWritten(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"name":"Chat","fields":{"sender":2,"text":"hi"}}`, "2c 02000000 0200 6869"},
		{`{"opcode":44,"fields":{"sender":-1,"text":"€"}}`, "2c ffffffff 0100 80"},
		{`{"name":"Chat","fields":{"sender":2,"text":"hi"},"residue":"ff00"}`, "2c 02000000 0200 6869 ff00"},
		{`{"opcode":250,"residue":"0102"}`, "fa 0102"},
		{`{"name":"StateUpdate","fields":{"object_id":1073741823,"game_time":1.5,"flags":["POSITION","SPEED"],"position":[1,-2,0.5],` +
			`"has_hash":false,"speed":0}}`, "1c ffffff3f 0000c03f 11 0000803f 000000c0 0000003f 20 0000"},
		{`{"name":"StateUpdate","dialect":"openbc","fields":{"object_id":1,"game_time":0.0,"flags":64,"cloaked":true}}`, "1c 01000000 00000000 40 20"},
		{`{"name":"StateUpdate","fields":{"object_id":1,"game_time":0.0,"flags":64,"cloaked":true}}`, "1c 01000000 00000000 40 21"},
	} {
		l, err := Parse([]byte(c.line), msg.Catalog())
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		if got, err := l.Payload(); err != nil || !bytes.Equal(got, fixtures.Unhex(t, c.want)) {
			t.Errorf("%s: %x, %v; want %s", c.line, got, err, c.want)
		}
	}
}

// Errors name the field and the remedy.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`[1]`, "not a JSON object"},
		{`{"name":`, "does not end on its line"},
		{`{} {}`, "more than one JSON object"},
		{`{"name":"Chat","name":"TeamChat"}`, "name: the key is there twice"},
		{`{"name":"Chat","fields":{"x":[1,{"a":{"b":1}}],"text":"a","text":"b"}}`, "fields.text: the key is there twice"},
		{`{"name":"Chat","fields":{"x":[{"a":1},{"a":1,"a":2}]}}`, "fields.x.a: the key is there twice"},
		{`{"name":"Chat","fields":{"x":[{"a":1},{"a":1}],"y":{"a":1}}}`, "fields.sender"},
		{`{"name":"Chatt"}`, `name: no message is called "Chatt" (did you mean`},
		{`{"name":"Chat","opcode":7}`, "opcode: Chat has 44, not 7"},
		{`{"opcode":256}`, "opcode: not a whole number from 0 to 255"},
		{`{"opcode":44,"residue":"0"}`, "residue: not a string of hexadecimal digits"},
		{`{"name":"Chat"}`, "neither fields nor residue"},
		{`{"name":"Chat","status":"duplicate"}`, "a duplicate is not decoded again"},
		{`{"opcode":44,"dialect":"klingon","fields":{}}`, `dialect: "klingon" is unknown`},
		{`{"opcode":44,"fields":[]}`, "fields: not an object"},
		{`{"kind":"ack","opcode":44,"fields":{}}`, ""},
		{`{"fields":{}}`, "opcode: missing"},
	} {
		l, err := Parse([]byte(c.line), msg.Catalog())
		if err == nil {
			_, err = l.Payload()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.line, err, c.want)
		}
	}
	for _, c := range []struct{ line, want string }{
		{`{"opcode":44}`, "kind: missing"},
		{`{"kind":"ack","type":50}`, `no transport message is "ack" with type 50`},
		{`{"kind":"ack","type":1}`, "ack: the object with the acknowledged message is missing"},
		{`{"kind":"standard","type":50,"fragment":{"index":1}}`, "the bytes of a fragment are not in its line"},
		{`{"kind":"standard","type":50,"reliable":true,"seq":65536,"opcode":44,"residue":""}`, "seq: not a whole number from 0 to 65535"},
		{`{"kind":"name_change","type":0,"reliable":true,"seq":1,"fields":{"id":1,"ip":"::1","name":""}}`, "fields.ip:"},
	} {
		l, err := Parse([]byte(c.line), msg.Catalog())
		if err == nil {
			_, err = l.Message()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.line, err, c.want)
		}
	}
}

// FuzzParse encodes arbitrary lines: whatever encodes is of bounded size.
func FuzzParse(f *testing.F) {
	for _, p := range []string{ownShip, otherShip} {
		f.Add(NewEncoder(Options{}).Append(nil, message(f, p)))
	}
	f.Add([]byte(`{"kind":"name_change","type":0,"len":22,"reliable":true,"seq":1,"fields":{"id":2,"ip":"127.0.0.1","name":"C"}}`))
	f.Add([]byte(`{"kind":"ack","type":1,"ack":{"seq":1,"kind":"data","index":2}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := Parse(text, msg.Catalog())
		if err != nil {
			return
		}
		l.Part()
		for _, make := range []func() ([]byte, error){l.Payload, l.Message} {
			if b, err := make(); err == nil && len(b) > 8*len(text) {
				t.Errorf("%d bytes of a line of %d", len(b), len(text))
			}
		}
	})
}
