package anonymize

import (
	"maps"
	"slices"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/fixtures"
)

// The witness knows the private values of a message without its session, in every form
// that the message can have, and takes none from messages that have none.
func TestWitness(t *testing.T) {
	for name, want := range map[string][]string{
		"03-akira":          {"Cady2"}, // and a map of the game
		"18-openbc":         {"Bot0"},
		"18-player-deleted": {"Cady2"},
		"2c-chat":           {"torps are slow"},
		"1c-host-3d":        nil,
		"07-target":         nil,
	} {
		w := newWitness(newValues(testPseudonyms(t), false), &dissect.Config{})
		body := fixtures.Hex(t, name+".hex")
		plain := append([]byte{2, 1, 0x32, byte(5 + len(body)), 0x80, 0, 0}, body...)
		w.datagram(&dissect.Datagram{Payload: cipher.Encrypt(nil, plain)})
		if got := slices.Sorted(maps.Keys(w.values.originals)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
