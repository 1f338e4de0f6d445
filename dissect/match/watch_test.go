package match_test

import (
	"bytes"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// A builder that is asked for its matches a hundred times while they're played finds at
// the end what one finds that is asked once.
func TestWatch(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"battle_mix.pcap.gz", "restart.pcap", "stock_client.pcap", "two_teams.pcap", "networked_battle.pcap"} {
		want, _ := matches(t, name, true)
		var b *match.Builder
		var got []*match.Match
		samples := 0
		p := dissect.New(dissect.Config{})
		n := 0
		recorded.Datagrams(t, name, func(d *dissect.Datagram) {
			if b == nil {
				b = match.New(d.Time)
				p.Need(b.Needs())
				b.OnSample = func(*match.Match, int, *match.Sample) { samples++ }
			}
			if err := p.Push(d, b.Record); err != nil {
				t.Fatal(err)
			}
			if n++; n%97 == 0 {
				ended, _ := b.Watch()
				got = append(got, ended...)
			}
		})
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		got = append(got, b.Matches()...)
		least := 0
		for _, m := range want {
			for i := range m.Lives {
				least += len(m.Lives[i].Track)
			}
		}
		if samples < least {
			t.Errorf("%s: %d samples were handed over, less than the %d of the tracks", name, samples, least)
		}
		if g, w := story(t, got), story(t, want); len(w) < 1000 || !bytes.Equal(g, w) {
			at := 0
			for at < min(len(g), len(w)) && g[at] == w[at] {
				at++
			}
			t.Errorf("%s: the matches differ at %q, not %q", name, g[max(at-80, 0):min(at+80, len(g))], w[max(at-80, 0):min(at+80, len(w))])
		}
	}
}

// story returns matches as JSON, without their flights.
func story(t *testing.T, all []*match.Match) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := ndjson.Session(&b, all, match.Evenings{}, false); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
