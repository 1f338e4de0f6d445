package conform_test

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// TestCauses: the differences of a host with one fault have one cause.
func TestCauses(t *testing.T) {
	whole := readTape(t, "networked_battle.pcap")
	for kind, want := range map[string]string{
		"missing": "passed on", "doubled": "sent twice", "returned": "sent back to their author", "altered": "changed, first in byte",
		"never passed on": "never passed on",
	} {
		m := newMeddler(t, whole)
		m.commit(t, kind, 60, rand.New(rand.NewPCG(1, 1))) //nolint:gosec // a fixed seed
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

// What is not certain has the chance that a line does it which loses as much as it well
// can: of a message on two ways, each of which loses 10 %, 19 %. By Chernoff's bound,
// 60 of 100 are lost with a chance of 1 : 10^18 at most.
func TestChanceOfCauses(t *testing.T) {
	host, other := netip.MustParseAddrPort("10.0.0.1:22101"), netip.MustParseAddrPort("10.0.0.2:22101")
	r := result.Report{Host: host, Causes: []*result.Cause{{Count: 60, Of: 100}, {Count: 10, Of: 100}, {Count: 60, Of: 100, Certain: true}}}
	r.Lose([]measure.Loss{{Host: host, Most: 0.1}, {Host: other, Most: 0.9}, {Host: host, Most: 0.05}})
	if len(r.Line) != 2 {
		t.Errorf("%d losses of this host, want 2", len(r.Line))
	}
	want := (60*math.Log(0.6/0.19) + 40*math.Log(0.4/0.81)) * math.Log10E
	for i, want := range []float64{-want, 0, 0} {
		if got := r.Causes[i].Chance; math.Abs(got-want) > 1e-9 {
			t.Errorf("cause %d: got %v, want %v", i, got, want)
		}
	}
}

// The report of a recording says what its line loses: 20 % of c21.
func TestReportsTellLosses(t *testing.T) {
	r := readTape(t, "field/c21.host.pcap.gz").judged(t)[0]
	for _, l := range r.Line {
		if l.Most < 0.2 {
			t.Errorf("%v %s: %v", l.Dir, l.Player, l)
		}
	}
	if len(r.Line) != 2*len(r.Clients) {
		t.Errorf("%d directions of %d clients", len(r.Line), len(r.Clients))
	}
}
