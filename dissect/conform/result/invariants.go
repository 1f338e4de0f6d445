package result

import (
	"fmt"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// An Invariant is a rule that every stock host follows.
type Invariant struct {
	Name    string `json:"name"` // name for scripts
	Text    string // text for people
	Checked int    `json:"checked"` // how often there was something to check
	Failed  int    `json:"failed"`
	Known   int    `json:"documented"`                  // failures that a documented rule explains
	First   int    `json:"frame,omitempty" if:"Failed"` // frame of the first failure
}

// Verdict returns PASS, FAIL, NOT SEEN, or KNOWN if documented rules explain
// all failures.
func (i *Invariant) Verdict() string {
	switch {
	case i.Failed > 0 && i.Known == i.Failed:
		return "KNOWN"
	case i.Failed > 0:
		return "FAIL"
	case i.Checked == 0:
		return "NOT SEEN"
	}
	return "PASS"
}

// Kinds of failures that are not kinds of differences.
const (
	Passed     = "passed on"  // a message for the host was passed on
	Disordered = "disordered" // copies came out of their author's order
)

// A check tells which messages an invariant is about.
type check struct {
	name, text string // %s in a text stands for the messages
	about      func(*decode.Spec) bool
	breaks     string         // kinds of failures that break the invariant
	counts     func(*Row) int // how many messages of a row were checked
}

var checks = [...]check{
	{"forward-copies", "a forwarded message reaches every other player in the game", relayed(decode.RelayForward), "missing differs", (*Row).compared},
	{"exact-copies", "%s reach each of them once", exact, "missing differs extra", (*Row).compared},
	{"creation-copies", "a creation reaches every other occupied slot", relayed(decode.RelaySlots), "missing differs", (*Row).compared},
	{"nothing-for-consumed", "%s are not passed on", consumed, "extra " + Passed, func(r *Row) int { return r.inputs }},
	{"chat-copies", "a chat line reaches every player in the game, its sender included", only(msg.OpChat), "missing differs", (*Row).compared},
	{"announcements", "a newcomer is announced once to every player in the game, itself included", only(msg.OpPlayerAnnounce), "missing differs extra", (*Row).compared},
	{"checksum-requests", "a join takes five ChecksumRequests", only(msg.OpChecksumRequest), "missing differs extra", (*Row).compared},
	{"order", "copies of one client's messages come in its order", func(*decode.Spec) bool { return true }, Disordered, func(r *Row) int { return r.Copies }},
}

func only(op decode.Opcode) func(*decode.Spec) bool {
	return func(s *decode.Spec) bool { return s.Code == op }
}

func relayed(how decode.Relay) func(*decode.Spec) bool {
	return func(s *decode.Spec) bool { return s.Relay == how }
}

// exact reports whether no host sends messages of a kind unasked.
func exact(s *decode.Spec) bool { return s.Made == decode.MadeNever }

// consumed reports whether a message is only for the host.
func consumed(s *decode.Spec) bool {
	return s.Dir == decode.FromClient && (s.Relay == decode.RelayConsume || s.Relay == decode.RelayAnswer)
}

// compared returns how many messages of the host were compared with expected
// ones.
func (r *Row) compared() int { return r.Matched + r.Missing + r.Differing + r.dropped }

// newInvariants returns the invariants before anything was checked.
func newInvariants(catalog *decode.Catalog) (list []Invariant) {
	for _, c := range checks {
		if strings.Contains(c.text, "%s") {
			c.text = fmt.Sprintf(c.text, namesOf(catalog, c.about))
		}
		list = append(list, Invariant{Name: c.name, Text: c.text})
	}
	return list
}

// namesOf returns the names of some messages of a catalogue, for people.
func namesOf(catalog *decode.Catalog, some func(*decode.Spec) bool) string {
	var names []string
	for _, s := range catalog.All() {
		if some(s) {
			names = append(names, s.Name)
		}
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}

// Break counts a failure of the invariants that are about a message. The
// argument known tells whether a documented rule explains it.
func (r *Report) Break(kind string, typ transport.Type, op decode.Opcode, frame int, known bool) {
	spec := r.catalog.Lookup(op)
	if typ != transport.Standard || spec == nil {
		return
	}
	for i := range checks {
		if v := &r.Invariants[i]; checks[i].about(spec) && strings.Contains(checks[i].breaks, kind) {
			if v.Failed == 0 || frame < v.First {
				v.First = frame
			}
			if v.Failed++; known {
				v.Known++
			}
		}
	}
}

// settleInvariants counts what was checked.
func (r *Report) settleInvariants() {
	for _, spec := range r.catalog.All() {
		row := r.Row(transport.Standard, spec.Code)
		for i := range checks {
			if checks[i].about(spec) {
				r.Invariants[i].Checked += checks[i].counts(row)
			}
		}
	}
}
