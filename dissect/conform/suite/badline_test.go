package suite

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// badLine has a round trip of 160 ms, and loses 5 % each way.
var badLine = relay.Trouble{Loss: 0.05, Delay: 80 * time.Millisecond}

// quickly are the options of the command line.
func quickly(p Profile, seed uint64, words ...string) Options {
	o := optionsOf(p, seed, words...)
	o.Budget = 270 * time.Second
	return o
}

// Over a bad line a run ends within five minutes. Each verdict is the same as over a good line, or SKIP.
func TestBadLine(t *testing.T) {
	like := gameOf(Stock)
	like.Like = decode.OpenBC
	for _, tt := range []struct {
		name    string
		profile Profile
		host    relay.Config
		pass    int // at least
	}{
		{"stock", Stock, gameOf(Stock), 90},
		{"playable", Playable, gameOf(Playable), 90},
		{"like OpenBC", OpenBC, like, 55},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			good := map[string]Verdict{}
			for seed := range fixtures.More[uint64](3, 20) {
				trouble := badLine
				if seed == 0 {
					trouble = relay.Trouble{}
				}
				rep, err := Run(newWorld(seed, tt.host, trouble), quickly(tt.profile, seed))
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for _, res := range rep.Results {
					if seed == 0 {
						good[res.Case.ID] = res.Verdict
					} else if res.Verdict != good[res.Case.ID] && res.Verdict != Skip {
						t.Errorf("seed %d: %s is %s, want %s: %s %v", seed, res.Case.ID, res.Verdict, good[res.Case.ID], res.Why, res.Came)
					}
				}
				if n := rep.Count(Pass); n < tt.pass || rep.Took > 5*time.Minute {
					t.Errorf("seed %d: %d cases passed in %v: %s", seed, n, rep.Took, rep.Stopped)
				}
			}
		})
	}
}

// A bad line hides no fault: the cases that catch it fail, or are SKIP. A fault that shows in a single datagram
// may be lost with it.
func TestBadLineFaults(t *testing.T) {
	var found, tried int
	var passed []string
	for _, ft := range allFaults() {
		if ft.slow || ft.slowly != "" || ft.caught == "T-31" { // other cases make the traffic that shows it, or it takes long
			continue
		}
		for seed := range fixtures.More[uint64](1, 5) {
			w := newWorld(seed, gameOf(max(ft.profile, Stock)), badLine)
			behind(w, &ft)
			ids := strings.Fields(ft.caught)
			o := quickly(max(ft.profile, Stock), seed, append(slices.Clone(ids), "N-13", "N-29", "R-A1")...) // for those that watch
			rep, err := Run(w, o)
			if err != nil {
				t.Fatalf("%s: %v", ft.name, err)
			}
			for _, res := range rep.Results {
				switch caught := slices.Contains(ids, res.Case.ID); {
				case !caught:
					continue
				case res.Verdict == Pass:
					passed = append(passed, ft.name+": "+res.Case.ID)
				case res.Verdict == Fail || res.Verdict == Known:
					found++
				}
				tried++
			}
		}
	}
	if len(passed)*50 > tried || found*10 < tried*9 {
		t.Errorf("found %d of %d; these pass: %q", found, tried, passed)
	}
}

// As long as a leave has not arrived, its slot is not free: that the next client has another id shows
// nothing. The host gives the id of a leaver to the next one.
func TestLostLeave(t *testing.T) {
	all := allFaults()
	ft := all[slices.IndexFunc(all, func(ft fault) bool { return ft.name == "the id of a leaver given to the next" })]
	const late = 2500 * time.Millisecond // longer than the suite waits
	var first time.Time
	in := ft.in
	ft.in = func(f *faulty, at netip.AddrPort, p *peer, m *transport.Message) bool {
		if m.Type == transport.Disconnect {
			if first.IsZero() {
				first = f.w.now
			}
			if f.w.now.Sub(first) < late {
				return false
			}
		}
		return in(f, at, p, m)
	}
	rep, err := Run(ft.world(), optionsOf(Stock, 3, "T-28"))
	if err != nil {
		t.Fatal(err)
	}
	if res := rep.Results[0]; first.IsZero() || res.Verdict != Skip {
		t.Errorf("%s is %s: %s %v", res.Case.ID, res.Verdict, res.Why, res.Came)
	}
}

// A host that counts to 255 and then removes the player without a message, as OpenBC does: X-6 fails if there is time
// to see that, and otherwise it doesn't claim that players stay.
func TestShortGames(t *testing.T) {
	all := allFaults()
	ft := all[slices.IndexFunc(all, func(ft fault) bool { return ft.name == "numbers of eight bits" })]
	const tries = 16 * time.Second
	over := map[netip.AddrPort]time.Time{} // when the clients were first sent a number over 255
	counts := ft.out
	ft.out = func(f *faulty, at netip.AddrPort, p *peer, m *transport.Message) bool {
		if m.HasSeq && m.Seq > 255 && over[at].IsZero() {
			over[at] = f.w.now
		}
		return counts(f, at, p, m)
	}
	removed := func(w *world, at netip.AddrPort) bool { return !over[at].IsZero() && w.now.Sub(over[at]) > tries }
	for _, slow := range []bool{true, false} {
		clear(over)
		w := ft.world()
		in, out := w.in, w.out
		w.in = func(now time.Time, from netip.AddrPort, d []byte) [][]byte {
			if removed(w, from) {
				return nil
			}
			return in(now, from, d)
		}
		w.out = func(now time.Time, to netip.AddrPort, d []byte) [][]byte {
			if removed(w, to) {
				return nil
			}
			return out(now, to, d)
		}
		o := optionsOf(Stock, 3, "T-10", "X-6", "R-2C")
		o.Slow = slow
		rep, err := Run(w, o)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]Verdict{"T-10": Fail, "R-2C": Pass, "X-6": Skip}
		if slow {
			want["X-6"] = Fail
		}
		for _, res := range rep.Results {
			if res.Verdict != want[res.Case.ID] {
				t.Errorf("slow %v: %s is %s, want %s: %s %v", slow, res.Case.ID, res.Verdict, want[res.Case.ID], res.Why, res.Came)
			}
		}
	}
}

// If a client had to repeat an answer of an earlier round, a request of round 3 doesn't show that the host has joined the
// fragments of round 2: it may have taken the copy for an answer. So that a host passes T-12 by this is impossible.
func TestRepeatedAnswers(t *testing.T) {
	type ack struct {
		at  netip.AddrPort
		seq uint16
	}
	lost := map[ack]bool{}
	lossy := &fault{out: func(_ *faulty, at netip.AddrPort, _ *peer, m *transport.Message) bool {
		first := ack{at, m.Seq}
		if m.Type != transport.Acknowledge || m.Control() || lost[first] {
			return true
		}
		lost[first] = true
		return false
	}}
	rep, err := Run(lossy.world(), optionsOf(Stock, 3, "T-12"))
	if err != nil {
		t.Fatal(err)
	}
	if res := rep.Results[0]; res.Verdict != Skip || !strings.Contains(res.Why, "sent twice") {
		t.Errorf("%s: %s %v", res.Verdict, res.Why, res.Came)
	}
}
