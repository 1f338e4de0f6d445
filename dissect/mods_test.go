package dissect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode/modfile"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/fixtures"
)

const ownMessages = `
[[message]]
opcode = 0xCD
name = "Dock"
field = [{ name = "station", kind = "i32" }]

[[message]]
opcode = 0x2C
name = "Emote"
field = [{ name = "who", kind = "u8" }, { name = "what", kind = "u8" }]

[[message]]
opcode = 0x04
name = "Kick"
field = [{ name = "who", kind = "u8" }]
`

// A mod's message is used if its opcode is free, or if it fits and the game's
// own message does not.
func TestMods(t *testing.T) {
	c, err := modfile.Extend(msg.Catalog(), modfile.File{Name: "own.toml", Data: []byte(ownMessages)})
	if err != nil {
		t.Fatal(err)
	}
	for payload, want := range map[string]string{
		"CD 2A000000":               "Dock",
		"CD 2A000000 01":            "Dock trailing",
		"CD 2A":                     "Dock malformed",
		"CE 2A":                     "Script",
		"2C 02000000 0500 68656C6C": "Chat malformed",
		"2C 02000000 0200 6869":     "Chat",
		"2C 02000000 0200 686921":   "Chat trailing",
		"2C 02 01":                  "Emote",
		"04 02":                     "Kick",
		"04":                        "Unused04 unknown",
		"04 0203":                   "Unused04 unknown",
		"05 02":                     "Unused05 unknown",
	} {
		b, err := fixtures.ParseHex(payload)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = New(Config{Catalog: c}).PushPayload(&Datagram{Number: 1}, b, func(r *Record) error {
			n++
			if got := strings.TrimSpace(fmt.Sprintf("%s %v", r.Spec.Name, r.Status)); got != want {
				t.Errorf("%s: got %s, want %s", payload, got, want)
			}
			if rest := len(b) - 1; r.Status == StatusUnknown && len(r.Rest) != rest {
				t.Errorf("%s: rest of %d, want %d", payload, len(r.Rest), rest)
			}
			return nil
		})
		if err != nil || n != 1 {
			t.Errorf("%s: %d records, %v", payload, n, err)
		}
	}
}
