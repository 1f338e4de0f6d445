package conform_test

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// A host that passes two messages on in another order is found out: once for each
// receiver, with the same fields on both sides.
func TestDisorder(t *testing.T) {
	for _, swap := range []bool{false, true} {
		s := newSession(t, relay.Config{Players: 8})
		a := s.join("A", false)
		s.join("B", false)
		s.join("C", false)
		s.alter = func(from netip.AddrPort, plain []byte) []byte {
			if from != s.addr || !swap {
				return plain
			}
			plain = bytes.ReplaceAll(plain, []byte("line 1"), []byte("line x"))
			plain = bytes.ReplaceAll(plain, []byte("line 2"), []byte("line 1"))
			return bytes.ReplaceAll(plain, []byte("line x"), []byte("line 2"))
		}
		for _, text := range []string{"line 1", "line 2"} {
			a.Say(s.now, msg.OpChat, &msg.Chat{Sender: int32(a.ID), Text: []byte(text)})
		}
		s.run(200 * time.Millisecond)
		for range 4 { // so that no loss can explain it
			s.chat("later ")
			s.run(2 * time.Second)
		}
		reports, _ := s.hosts.Reports()
		r := reports[0]
		want, verdict := 0, "PASS"
		if swap {
			want, verdict = 3, "FAIL"
		}
		if r.Found != want {
			t.Errorf("swapped %v: %d differences, want %d: %+v", swap, r.Found, want, r.Differences)
		}
		for _, d := range r.Differences {
			if d.Kind != "differs" || !strings.HasPrefix(d.Detail, "it comes after a later message of the same sender") || len(d.Fields) == 0 {
				t.Errorf("%+v", d)
			}
			for i := range d.Fields {
				if f := &d.Fields[i]; !f.Same() {
					t.Errorf("%s is %q, not %q", f.Path, f.Actual, f.Expected)
				}
			}
		}
		for i := range r.Invariants {
			if v := &r.Invariants[i]; v.Name == "order" && v.Verdict() != verdict {
				t.Errorf("swapped %v: order is %s, %d of %d", swap, v.Verdict(), v.Failed, v.Checked)
			}
		}
	}
}
