package conform_test

import (
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// TestSeveralGames: of several games in a capture one is played, and the others
// are named; its clients connect one after the other.
func TestSeveralGames(t *testing.T) {
	p := conform.NewPerformer(nil)
	now := time.Unix(1e9, 0)
	recorded.Records(t, "join_flow.pcap", dissect.Config{}, func(r *dissect.Record) { p.Record(now, r) })
	if others := p.Others(); len(others) != 2 || others[0].Port() != 29871 || others[1].Port() != 29872 {
		t.Errorf("other games %v, want those at 29871 and 29872", others)
	}

	p = conform.NewPerformer(nil)
	recorded.Records(t, "stock_client.pcap", dissect.Config{}, func(r *dissect.Record) { p.Record(now, r) })
	first := map[string]bool{}
	for c, _, ok := p.Send(now); ok; c, _, ok = p.Send(now) {
		first[c.Name] = true
	}
	if len(first) != 1 || !first["Cady2"] {
		t.Errorf("%v connect at once, want Cady2 before Kirk", first)
	}
	for c, _, ok := p.Send(now.Add(time.Minute)); ok; c, _, ok = p.Send(now.Add(time.Minute)) {
		first[c.Name] = true
	}
	if !first["Kirk"] {
		t.Error("Kirk waits for ever")
	}
}
