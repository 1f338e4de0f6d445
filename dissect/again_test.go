package dissect_test

import (
	"bytes"
	"testing"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures/messages"
)

// A message that a host sends to several clients is decoded once when counting,
// unless the session learns from it or its meaning depends on the session. All
// else in its records is the same as without counting.
func TestDecodedOnce(t *testing.T) {
	counting, usual := newTable(t), newTable(t)
	counting.p.Need(dissect.Needs{Run: func(*dissect.Run) error { return nil }, Count: true})
	for _, b := range []*table{counting, usual} {
		b.join(2, "Ann")
		b.join(3, "Bob")
		b.join(4, "Cem")
	}
	sent, once := map[string]bool{}, map[string]bool{}
	for _, s := range messages.All(t) {
		if s.Payload[0] == byte(msg.OpStateUpdate) {
			continue
		}
		for _, client := range []int{-2, -3, -4} {
			for _, b := range []*table{counting, usual} {
				b.game(client, s.Payload...)
			}
			got, want := &counting.last, &usual.last
			if got.Status != want.Status || got.Spec != want.Spec || got.Layout != want.Layout || got.Sender != want.Sender ||
				got.CopyOf != want.CopyOf || got.First != want.First || len(got.Notes) != len(want.Notes) || !bytes.Equal(got.Rest, want.Rest) {
				t.Errorf("%s to %d: got %+v, want %+v", s.Name, -client, got, want)
			}
			sent[want.Spec.Name] = true
			if got.Message == nil && want.Message != nil {
				once[want.Spec.Name] = true
				if client == -2 && got.CopyOf == 0 {
					t.Errorf("%s: never decoded", s.Name)
				}
			}
		}
	}
	for _, name := range []string{"StartFiring", "TorpedoFire", "Explosion"} {
		if !once[name] {
			t.Errorf("%s is decoded for each client; decoded once: %v", name, once)
		}
	}
	for _, name := range []string{"ObjectCreateTeam", "ObjectCreate", "Settings", "MissionInit", "Chat", "SubsystemStatus"} {
		if !sent[name] || once[name] {
			t.Errorf("%s: sent %v, decoded once only %v", name, sent[name], once[name])
		}
	}
}
