package conform_test

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCauses: the differences of a host with one fault have one cause.
func TestCauses(t *testing.T) {
	whole := readTape(t, "networked_battle.pcap")
	for kind, want := range map[string]string{
		"missing": "passed on", "doubled": "sent twice", "returned": "sent back to their author", "altered": "changed, first in byte",
		"never passed on": "never passed on",
	} {
		m := newMeddler(t, whole)
		m.commit(kind, 60, rand.New(rand.NewPCG(1, 1))) //nolint:gosec // the same each time
		for _, r := range m.faulty(t).judged(t) {
			sum := 0
			for _, c := range r.Causes {
				if sum += c.Count; !strings.HasPrefix(c.What, want) {
					t.Errorf("%s: %d are %s, want %s", kind, c.Count, c.What, want)
				}
			}
			if sum != r.Found || sum == 0 {
				t.Errorf("%s: %d differences, but those of all causes are %d", kind, r.Found, sum)
			}
		}
	}
}

// TestOneCause: a server that passes on neither StartFiring nor StopFiring.
func TestOneCause(t *testing.T) {
	r := readTape(t, "field/f1x.host.pcap.gz").judged(t)[0]
	if len(r.Causes) != 1 || r.Found == 0 {
		t.Fatalf("%d causes of %d differences, want one", len(r.Causes), r.Found)
	}
	c := r.Causes[0]
	if c.What != "never passed on" || !c.Certain || c.Count != r.Found || c.Of != r.Found || c.Players < 3 || len(c.Rows) != 2 || c.Rows[0].Opcode != 0x07 || c.Rows[1].Opcode != 0x08 {
		t.Errorf("%s, certain %v, %d of %d to %d players, %d opcodes; want all %d, of 07 and 08, to 3 or 4 players", c.What, c.Certain, c.Count, c.Of, c.Players, len(c.Rows), r.Found)
	}
}
