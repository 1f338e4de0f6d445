package conform_test

import (
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
)

// without returns the tape of a host that passes on no message with an opcode.
func (t tape) without(tb testing.TB, op decode.Opcode) tape {
	tb.Helper()
	m := newMeddler(tb, t)
	for i := range m.told {
		if o := &m.told[i]; o.op == op && (o.author.IsValid() || o.number >= 0) {
			m.drop[o] = true
		}
	}
	if len(m.drop) == 0 {
		tb.Fatal("there is none")
	}
	return m.faulty(tb)
}

// entries returns the ledger by the names of the rules.
func entries(r *result.Report) map[string]*result.Entry {
	all := map[string]*result.Entry{}
	for _, e := range r.Ledger {
		all[e.Rule.Name] = e
	}
	return all
}

// TestLedger: what hosts do about the documented deviations of their dialect.
func TestLedger(t *testing.T) {
	collisions := msg.Catalog().Lookup(msg.OpCollisionEffect).Deviation(decode.OpenBC).Rule.Name
	updates := msg.Catalog().Lookup(msg.OpStateUpdate).Deviation(decode.OpenBC).Rule.Name
	field, newer := readTape(t, "field/c21.host.pcap.gz"), readTape(t, "field/p187.host.pcap.gz")
	for _, tt := range []struct {
		name    string
		tape    tape
		rule    string
		status  string
		differs bool
	}{
		{"a server of these days", field, collisions, "kept", false},
		{"a server of these days", field, updates, "kept", false},
		{"a server of these days", field, "fragments-in-order-only", "not seen", false},
		{"no collisions are passed on", field.without(t, msg.OpCollisionEffect), collisions, "fixed", false},
		{"the server makes updates of its own", newer, updates, "fixed", false},
		{"the server makes updates of its own", newer, collisions, "kept", false},
		{"no updates at all are passed on", readTape(t, "networked_battle.pcap").without(t, msg.OpStateUpdate), updates, "not seen", true},
	} {
		r := tt.tape.judged(t)[0]
		e := entries(r)[tt.rule]
		if e == nil {
			t.Errorf("%s: no entry %s", tt.name, tt.rule)
			continue
		}
		if e.Status != tt.status || (e.Kept > 0) != (tt.status == "kept") || r.Found > 0 != tt.differs {
			t.Errorf("%s: %s is %s (%d kept, %d fixed), %d differences; want %s, differences %v", tt.name, tt.rule, e.Status, e.Kept, e.Fixed, r.Found, tt.status, tt.differs)
		}
	}
}
