package result_test

import (
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Each difference breaks the invariants that are about its message.
func TestInvariants(t *testing.T) {
	for _, tt := range []struct {
		kind, what string
		op         decode.Opcode
		want       string // names of the invariants that fail
	}{
		{"missing", "passed on", msg.OpStartFiring, "forward-copies exact-copies"},
		{"differs", "changed", msg.OpStartFiring, "forward-copies exact-copies"},
		{"extra", "sent twice", msg.OpStartFiring, "exact-copies"},
		{"extra", result.OutOfOrder, msg.OpStartFiring, "exact-copies order"},
		{"missing", "passed on", msg.OpObjectCreateTeam, "creation-copies"},
		{"extra", "sent without a cause", msg.OpCollisionEffect, "nothing-for-consumed"},
		{"missing", "passed on", msg.OpChat, "chat-copies"},
		{"extra", "sent twice", msg.OpPlayerAnnounce, "announcements"},
		{"missing", "sent", msg.OpChecksumRequest, "checksum-requests"},
		{"extra", "sent without a cause", msg.OpChecksumRequest, "checksum-requests"},
	} {
		r := result.New(decode.Stock, msg.Catalog())
		r.Differ(result.Difference{Kind: tt.kind, What: tt.what, Opcode: tt.op, Type: transport.Standard, Frame: 7})
		r.Finish()
		var failed []string
		for i := range r.Invariants {
			if v := &r.Invariants[i]; v.Verdict() == "FAIL" && v.First == 7 {
				failed = append(failed, v.Name)
			}
		}
		if got := strings.Join(failed, " "); got != tt.want {
			t.Errorf("%s %v: %q fail, want %q", tt.kind, tt.op, got, tt.want)
		}
	}
}

// A failure that a rule documents is known.
func TestKnownFailures(t *testing.T) {
	r := result.New(decode.Stock, msg.Catalog())
	r.Row(transport.Standard, msg.OpChat).Expected = 3
	r.Row(transport.Standard, msg.OpChat).Matched = 2
	r.Drop(transport.Standard, msg.OpChat, 9)
	r.Finish()
	for i := range r.Invariants {
		if v := &r.Invariants[i]; v.Name == "chat-copies" && (v.Verdict() != "KNOWN" || v.Checked != 3 || v.First != 9) {
			t.Errorf("%s: %+v, want KNOWN, 3 checked, the first in frame 9", v.Verdict(), v)
		}
	}
}
