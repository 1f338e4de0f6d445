package filter

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/messages"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// FuzzCompile checks that any text gives either a filter that matches any
// record or an error inside the text.
func FuzzCompile(f *testing.F) {
	for _, expr := range []string{
		`name == TorpedoFire and fields.target == 0x4003FFFF`, `StateUpdate.speed > 5`, `flags & 0x20`, `opcode in {0x07..0x0C, 0x19}`,
		`chat.text contains "lag"`, `src == 10.0.0.5`, `peer == 3`, `(flags & 0x21) == 0x21 or not len(text) > 3 xor reliable`,
		`species == "Bird of Prey"`, `src in {10.0.0.0/8, [::1]:22101, 1.2.3.4..1.2.3.5}`, `ts >= 2002-03-01T20:00:00Z`, `rel < 1m30s`,
		`text ~ "(?i)l.g\"" or text == 'x\u00e9'`, `residue == 0a:0b`, `position[1] === -1e5`, `5 !== speed`, `((((`, `"`, `speed in {1..`, "\xff",
		`text ~ "(\\pL{30}){30}" and text matches "((a{9}){9}){9}"`, `text ~ "\\pL{1000}" or text ~ "(?i)[^a]{999}"`,
		`upper(text[0:3]) == "BIG" or text[-4:] in {"a" "b"} or lower(name[1-2]) ~ x or payload[:2] != 00`, `gamespy.a[0] == 3 or ip.addr == ::1`,
	} {
		f.Add(expr)
	}
	all := records(f)
	f.Fuzz(func(t *testing.T, expr string) {
		var filter *Filter
		var err *Error
		spent := fixtures.Allocated(func() { filter, err = compile(expr, shared) })
		if spent > uint64(8<<20+len(expr)<<12) {
			t.Fatalf("%d bytes were allocated for %d", spent, len(expr))
		}
		if err != nil {
			shown, mark, ok := strings.Cut(err.Caret(), "\n")
			at := strings.IndexByte(mark, '^')
			switch {
			case err.Column < 1 || err.Column > utf8.RuneCountInString(expr)+1 || err.Length < 1 || err.Message == "":
				t.Errorf("column %d, length %d: %s", err.Column, err.Length, err.Message)
			case !ok || strings.Contains(mark, "\n") || at < 0 || len(mark) > utf8.RuneCountInString(shown)+1:
				t.Errorf("got\n%s", err.Caret())
			}
			return
		}
		opposite, err := compile("not ("+expr+")", shared)
		if err != nil { // one parenthesis too many
			opposite = nil
		}
		filter.Start = start
		for name, r := range all {
			a, b := filter.Match(r), filter.Match(r)
			if opposite != nil {
				opposite.Start = start
			}
			if a != b || opposite != nil && opposite.Match(r) == a {
				t.Errorf("%s: %v, then %v, and its opposite as well", name, a, b)
			}
		}
		for _, begun := range []string{expr, expr[:len(expr)/2]} {
			for _, c := range Complete(begun, stock) {
				if len(c) < len(begun) {
					t.Errorf("%q becomes %q", begun, c)
				}
			}
		}
	})
}

// FuzzMatch compares the filter with JSON for arbitrary messages: both must
// have the same fields.
func FuzzMatch(f *testing.F) {
	for _, s := range messages.All(f) {
		f.Add(s.Payload, uint8(s.Dialect), s.Species)
	}
	presences := allPresences(f)
	var others []*Filter
	for _, expr := range []string{
		`name == TorpedoFire and fields.target == 0x4003FFFF`, `StateUpdate.speed > 5`, `flags & 0x20`, `opcode in {0x07..0x0C, 0x19}`,
		`text matches "(?i)l.g" or fields.name contains "a" or residue contains "x"`, `species == Akira and not species == disruptor`,
		`subsystems.entries.condition != 0.5 or len(subsystems.entries) > 3 or subsystems.entries.children[3] < 1`,
		`error.reason contains "ends inside" or error.field ~ "\[" or error.offset > 5`,
		`enabled == true or value == medium or amount > 1`, `len(text) > 5 or len(body) > 5 or body[2] == 1`,
	} {
		others = append(others, must(f, expr))
	}
	enc := ndjson.NewEncoder(ndjson.Options{Payload: true, Start: start})
	f.Fuzz(func(t *testing.T, payload []byte, dialect, species uint8) {
		if len(payload) == 0 || len(payload) > 4096 {
			return
		}
		r := game(t, payload, decode.Dialect(dialect%3), oneClass{ship.BySpecies(species)})
		line := enc.Append(nil, r)
		got := flatten(t, line)
		for i := range presences {
			p := &presences[i]
			if want := p.want(r, got); p.f.Match(r) != want {
				t.Errorf("%s: got %v, want %v\n%s", p.name, !want, want, line)
			}
		}
		for _, o := range others {
			o.Match(r)
		}
		if again := enc.Append(nil, r); string(again) != string(line) {
			t.Errorf("the filter changed the message\n%s\n%s", line, again)
		}
		var short *decode.Error
		if errors.As(r.Err, &short) && !must(t, `error.reason == `+quotedText(short.Reason())).Match(r) {
			t.Errorf("%v: not found by its reason", r.Err)
		}
	})
}
