package diff

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A counted message is a place in a multiset.
type counted struct {
	client string
	way    int
	key    uint64
}

// multiset counts the messages of a capture.
func multiset(c *Capture) map[counted]int {
	n := map[counted]int{}
	for _, v := range c.all {
		for w := range v.ways {
			for i := range v.ways[w] {
				n[counted{v.Client.String(), w, v.ways[w][i].key}]++
			}
		}
	}
	return n
}

// shuffled delays a fifth of the frames by up to a time, and loses and doubles others.
func shuffled(all []frame, seed uint64, lost, double float64, most time.Duration) []frame {
	rng := rand.New(rand.NewPCG(seed, 1))
	var out []frame
	for _, f := range all {
		if rng.Float64() < 0.2 {
			f.Time = f.Time.Add(time.Duration(rng.Int64N(int64(most))))
		}
		if rng.Float64() >= lost {
			out = append(out, f)
		}
		if rng.Float64() < double {
			f.Time = f.Time.Add(time.Duration(rng.Int64N(int64(most))))
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(x, y frame) int { return x.Time.Compare(y.Time) })
	for i := range out {
		out[i].Number = i + 1
	}
	return out
}

// Datagrams that came late, twice or not at all make no more differences than a
// multiset of the messages has: none differs, and none was sent in another order.
func TestShuffled(t *testing.T) {
	for _, name := range []string{"networked_battle.pcap", "stock_client.pcap", "reliability/g_s1_p4.pcap.gz"} {
		all := frames(t, name)
		for seed, how := range []struct {
			most         time.Duration
			lost, double float64
		}{{40 * time.Millisecond, 0, 0}, {40 * time.Millisecond, 0, 0.05}, {400 * time.Millisecond, 0, 0.05}, {400 * time.Millisecond, 0.02, 0.05}} {
			a, b := New()
			push(t, all, a)
			push(t, shuffled(all, uint64(seed), how.lost, how.double, how.most), b)
			r := Compare(a, b, Options{})
			ofA, ofB := multiset(a), multiset(b)
			more, less := 0, 0
			for k, n := range ofB {
				more += max(0, n-ofA[k])
			}
			for k, n := range ofA {
				less += max(0, n-ofB[k])
			}
			if got, want := [...]int{r.Count(OnlyA), r.Count(OnlyB), r.Count(Differs)}, [...]int{less, more, 0}; got != want {
				t.Errorf("%s, %+v: got %d only in A, only in B and different, want %d", name, how, got, want)
			}
			if n := r.Count(Order); how.lost == 0 && n > 0 { // a lost message may leave the number of another in doubt
				t.Errorf("%s, %+v: %d in another order", name, how, n)
			}
			if how.double+how.lost == 0 && !r.Equal() {
				t.Errorf("%s, %+v: not equal", name, how)
			}
		}
	}
}

// What the network doubled doesn't count as a difference: a query of a server browser, a message, or bytes that aren't
// one. The copies come right after the originals.
func TestDoubled(t *testing.T) {
	for _, name := range []string{"gamespy.pcap", "stock_client.pcap", "networked_battle.pcap", "no_identity.pcap"} {
		all := frames(t, name)
		a, b := New()
		push(t, all, a)
		push(t, shuffled(all, 1, 0, 0.5, time.Millisecond), b)
		if r := Compare(a, b, Options{}); !r.Equal() || b.Repeats < len(all)/4 {
			t.Errorf("%s: %d only in B of %d frames, %d repeated", name, r.Count(OnlyB), len(all), b.Repeats)
		}
	}
}
