package ndjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

func TestStats(t *testing.T) {
	tally := &measure.Tally{
		Frames: 1500, Duration: 2608163 * time.Microsecond, Other: 7,
		Game: 900, GameSpy: 3, Malformed: 1,
		Messages: 1100, Reliable: 101, Unreliable: 999, Duplicates: 4,
		Fragments: 6, Reassembled: 2, Incomplete: 1,
		Counted: 900, PayloadBytes: 25000, ResidueBytes: 2, Errors: 1,
	}
	tally.Types[0x32], tally.Types[0x01] = 1000, 100
	tally.Opcodes[0x1C] = measure.OpcodeCount{Name: "StateUpdate", ToHost: 500, FromHost: 300, Total: 800, Bytes: 24000}
	tally.Opcodes[0x2C] = measure.OpcodeCount{Name: "Chat", ToHost: 60, FromHost: 40, Total: 100, Bytes: 998}
	tally.Opcodes[0xCD] = measure.OpcodeCount{Total: 100, Bytes: 2}
	tally.Flags[dissect.ToHost][0x9E] = 450
	tally.Flags[dissect.ToHost][0x80] = 50
	tally.Flags[dissect.FromHost][0x20] = 300

	tests := []struct {
		name string
		t    *measure.Tally
		want string
	}{
		{"nothing", new(measure.Tally), `{"frames":0,"duration":0,` +
			`"datagrams":{"game":0,"gamespy":0,"malformed":0,"other":0},` +
			`"messages":{"total":0,"by_type":{}},` +
			`"reliability":{"reliable":0,"unreliable":0,"duplicates":0,"fragments":0,"reassembled":0,"incomplete":0},` +
			`"opcodes":[],"state_flags":{"c2s":{},"s2c":{}},"payload_bytes":0,"residue_bytes":0,"errors":0}`},
		{"a game", tally, `{"frames":1500,"duration":2.608163,` +
			`"datagrams":{"game":900,"gamespy":3,"malformed":1,"other":7},` +
			`"messages":{"total":1100,"by_type":{"0x01":100,"0x32":1000}},` +
			`"reliability":{"reliable":101,"unreliable":999,"duplicates":4,"fragments":6,"reassembled":2,"incomplete":1},` +
			`"opcodes":[{"opcode":28,"name":"StateUpdate","c2s":500,"s2c":300,"total":800,"bytes":24000,"share":0.888889},` +
			`{"opcode":44,"name":"Chat","c2s":60,"s2c":40,"total":100,"bytes":998,"share":0.111111},` +
			`{"opcode":205,"c2s":0,"s2c":0,"total":100,"bytes":2,"share":0.111111}],` +
			`"state_flags":{"c2s":{"0x80":50,"0x9E":450},"s2c":{"0x20":300}},` +
			`"payload_bytes":25000,"residue_bytes":2,"errors":1}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Stats(&out, test.t); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != test.want+"\n" {
				t.Errorf("\ngot  %swant %s", got, test.want)
			}
			if !json.Valid(out.Bytes()) {
				t.Error("not JSON")
			}
		})
	}
	if err := Stats(&failing{}, tally); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}
