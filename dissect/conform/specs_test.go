package conform_test

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// Opcodes that the game does not have.
const (
	opPassed decode.Opcode = 0xC0 + iota
	opNeeded
	opDiffering
	opSimulated
	opUnexplained
	opUnknown // has no spec
)

// newOpcodes are the messages of the game, and others.
func newOpcodes(t *testing.T) *decode.Catalog {
	t.Helper()
	c, err := msg.Catalog().With(
		&decode.Spec{Code: opPassed, Name: "Passed", Reliable: true, Relay: decode.RelayForward, Made: decode.MadeNever},
		&decode.Spec{Code: opNeeded, Name: "Needed", Reliable: true, Relay: decode.RelayConsume, Need: decode.NeedAll},
		&decode.Spec{
			Code: opDiffering, Name: "Differing", Reliable: true, Relay: decode.RelayConsume,
			Deviations: []decode.Deviation{{Dialect: decode.OpenBC, Relay: decode.RelayForward, Rule: decode.Rule{Name: "passes-differing", Text: "passes it on"}}},
		},
		&decode.Spec{Code: opSimulated, Name: "Simulated", Reliable: true, Made: decode.MadeBySimulation},
		&decode.Spec{Code: opUnexplained, Name: "Unexplained", Reliable: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The spec of a new opcode is enough: relay and replay treat it alike.
func TestNewOpcodes(t *testing.T) {
	for _, tt := range []struct {
		name                      string
		cfg                       relay.Config
		openBC                    bool
		passed, needed, differing int // copies
	}{
		{"strict", relay.Config{Mode: relay.Strict}, false, 2, 0, 0},
		{"playable", relay.Config{Mode: relay.Playable}, false, 2, 2, 0},
		{"openbc", relay.Config{Mode: relay.Strict, Like: decode.OpenBC}, true, 2, 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Players, tt.cfg.Catalog = 8, newOpcodes(t)
			s := newSession(t, tt.cfg)
			a := s.join("A", tt.openBC)
			s.join("B", tt.openBC)
			s.join("C", tt.openBC)
			for _, op := range []decode.Opcode{opPassed, opNeeded, opDiffering} {
				a.SendBody(s.now, true, []byte{byte(op), 1, 2, 3})
			}
			s.run(time.Second)
			r := s.judge()
			for op, want := range map[decode.Opcode]int{opPassed: tt.passed, opNeeded: tt.needed, opDiffering: tt.differing} {
				if got := matched(r, op); got != want {
					t.Errorf("%v: %d copies match, want %d", op, got, want)
				}
			}
			rule := slices.ContainsFunc(r.Deviations, func(d *result.Deviation) bool { return d.Rule.Name == "passes-differing" && d.Count == 2 })
			if rule != tt.openBC {
				t.Errorf("the rule of OpenBC is named: %v", rule)
			}
			for i := range r.Invariants {
				if v := &r.Invariants[i]; v.Name == "exact-copies" && (v.Checked != 2 || v.Failed != 0) {
					t.Errorf("%d exact copies, %d failed; want 2", v.Checked, v.Failed)
				}
			}
		})
	}
}

// A message that no client sent is one of the host's own if its spec says that hosts
// make such.
func TestNewOpcodeOfHost(t *testing.T) {
	for op, want := range map[decode.Opcode]int{opSimulated: 0, opUnexplained: 2} {
		s := newSession(t, relay.Config{Players: 8, Catalog: newOpcodes(t)})
		a := s.join("A", false)
		s.join("B", false)
		s.join("C", false)
		mark := []byte{byte(opPassed), 'm', 'a', 'r', 'k'}
		s.alter = func(from netip.AddrPort, plain []byte) []byte {
			as := slices.Clone(mark)
			if as[0] = byte(opUnknown); from == s.addr {
				as[0] = byte(op)
			}
			return bytes.ReplaceAll(plain, mark, as)
		}
		a.SendBody(s.now, true, mark)
		s.run(time.Second)
		for range 4 { // more than any loss can explain
			s.chat("later ")
			s.run(2 * time.Second)
		}
		reports, _ := s.hosts.Reports()
		if r := reports[0]; r.Found != want {
			t.Errorf("%v: %d differences, want %d: %+v", op, r.Found, want, r.Differences)
		}
		made := slices.ContainsFunc(reports[0].Apart, func(c *result.Count) bool {
			return c.Count == 2 && c.Why == "the host's own simulation decides"
		})
		if made != (want == 0) {
			t.Errorf("%v: the host's simulation explains them: %v", op, made)
		}
	}
}
