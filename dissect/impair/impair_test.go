package impair

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

var began = time.Date(2002, 2, 19, 12, 0, 0, 0, time.UTC)

// parsed returns the line of a flag, to the server.
func parsed(t *testing.T, flags ...string) Config {
	t.Helper()
	both, err := Parse(flags)
	if err != nil {
		t.Fatal(err)
	}
	return both[ToServer]
}

// carry sends n datagrams over a line, so far apart, and returns what became of them in the
// order in which that was known. The payload is the number.
func carry(t *testing.T, l *Line[int], n int, apart time.Duration, size func(n int) int) (all []Report) {
	t.Helper()
	now := began
	until := func(end time.Time) {
		for {
			next := l.Next()
			if next.IsZero() || next.After(end) {
				return
			}
			now = later(now, next)
			for {
				payload, r, ok := l.Receive(now)
				if !ok {
					break
				}
				if payload != r.N || r.Delay != ms(now.Sub(r.Came)) || r.Fate != Passed {
					t.Fatalf("payload %d: %+v at %v", payload, r, now)
				}
				all = append(all, r)
			}
		}
	}
	for i := 1; i <= n; i++ {
		at := began.Add(time.Duration(i) * apart)
		until(at)
		now = at
		if r, ok := l.Send(at, i, size(i)); !ok {
			all = append(all, r)
		}
	}
	until(now.Add(time.Hour))
	if len(all) != n {
		t.Fatalf("%d of %d datagrams have a fate", len(all), n)
	}
	return all
}

// ms returns milliseconds, without less than a microsecond.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func small(int) int { return 40 }

// spread returns the mean and the standard deviation.
func spread(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / float64(len(values))
	}
	return mean, math.Sqrt(deviation)
}

// The shares of 100,000 datagrams agree with the flags, within five standard deviations of the
// binomial distribution. Delays are even over their range, which is 20 ms / √12 wide. Datagrams
// are further apart than delays differ, so that none waits for the one before.
func TestStatistics(t *testing.T) {
	const n = 100_000
	for _, seed := range []string{"1", "7", "9007199254740992"} {
		l := NewLine[int](parsed(t, "loss=5%,delay=40ms,jitter=10ms,reorder=2%,duplicate=1%,seed="+seed), ToServer, 1)
		passed, overtaken, doubled := 0, 0, 0
		var delays []float64
		for _, r := range carry(t, l, n, 25*time.Millisecond, small) {
			if r.Fate != Passed {
				continue
			}
			passed++
			doubled += r.Copies - 1
			if len(r.Overtaken) > 0 {
				overtaken++
			} else {
				delays = append(delays, r.Delay)
			}
		}
		near := func(what string, got, want, bound float64) {
			if math.Abs(got-want) > bound {
				t.Errorf("seed %s: %s is %.4f, want %.4f ± %.4f", seed, what, got, want, bound)
			}
		}
		sigma := func(p float64, of int) float64 { return 5 * math.Sqrt(p*(1-p)/float64(of)) }
		near("loss", 1-float64(passed)/n, 0.05, sigma(0.05, n))
		near("reordering", float64(overtaken)/float64(passed), 0.02, sigma(0.02, passed))
		near("duplication", float64(doubled)/float64(passed), 0.01, sigma(0.01, passed))
		mean, deviation := spread(delays)
		want := 20 / math.Sqrt(12)
		near("mean delay", mean, 40, 5*want/math.Sqrt(float64(len(delays))))
		near("deviation of delays", deviation, want, 0.1)
	}
}

// Runs of losses have the mean length of the flag, and the share of losses stays. Lengths are
// geometric, so the bounds follow from their deviation, √(B(B-1)).
func TestBursts(t *testing.T) {
	const n, burst = 100_000, 4.0
	l := NewLine[int](parsed(t, "loss=5%,burst=4"), ToClient, 3)
	lost, runs, before := 0, 0, Passed
	for _, r := range carry(t, l, n, time.Millisecond, small) {
		if r.Fate == Lost {
			lost++
			if before != Lost {
				runs++
			}
		}
		before = r.Fate
	}
	if mean, bound := float64(lost)/float64(runs), 5*math.Sqrt(burst*(burst-1)/float64(runs)); math.Abs(mean-burst) > bound {
		t.Errorf("runs have a mean length of %.3f, want %v ± %.3f", mean, burst, bound)
	}
	if share, bound := float64(lost)/n, 5*math.Sqrt(0.05*0.95*(2*burst-1)/n); math.Abs(share-0.05) > bound {
		t.Errorf("%.4f are lost, want 0.05 ± %.4f", share, bound)
	}
	for text, want := range map[string]int{"loss=100%": n, "loss=100%,burst=4": n, "loss=0%": 0} {
		lost := 0
		for _, r := range carry(t, NewLine[int](parsed(t, text), ToServer, 1), n, time.Millisecond, small) {
			if r.Fate == Lost {
				lost++
			}
		}
		if lost != want {
			t.Errorf("%s: %d are lost, want %d", text, lost, want)
		}
	}
}

// decisions are the fates, copies and overtakers of datagrams by number.
func decisions(all []Report) (fates []Fate, copies []int, depth []int) {
	slices.SortFunc(all, func(a, b Report) int { return a.N - b.N })
	for _, r := range all {
		fates, copies, depth = append(fates, r.Fate), append(copies, r.Copies), append(depth, len(r.Overtaken))
	}
	return
}

// The n-th datagram of a line meets the same decision whatever the times and sizes are. Another
// seed, direction or client makes other decisions.
func TestSameDecisions(t *testing.T) {
	const n = 4000 // 4,000 datagrams fit on a line at once
	cfg := parsed(t, "loss=10%,burst=2,delay=30ms,jitter=5ms,reorder=10%,duplicate=10%,seed=7")
	run := func(cfg Config, d Direction, client int, apart time.Duration, size func(int) int) []Report {
		return carry(t, NewLine[int](cfg, d, client), n, apart, size)
	}
	one := run(cfg, ToServer, 1, 5*time.Millisecond, small)
	two := run(cfg, ToServer, 1, 5*time.Millisecond, small)
	if !slices.EqualFunc(one, two, func(a, b Report) bool {
		return a.N == b.N && a.Delay == b.Delay && a.Fate == b.Fate && slices.Equal(a.Overtaken, b.Overtaken)
	}) {
		t.Error("two runs with the same times differ")
	}
	fates, copies, depth := decisions(one)
	for _, apart := range []time.Duration{0, time.Millisecond, 70 * time.Millisecond} {
		f, c, d := decisions(run(cfg, ToServer, 1, apart, func(n int) int { return n % 900 }))
		if !slices.Equal(f, fates) || !slices.Equal(c, copies) {
			t.Errorf("%v apart: other fates", apart)
		}
		if apart < holding/10 && !slices.Equal(d[:n-10], depth[:n-10]) { // the last are not overtaken
			t.Errorf("%v apart: other datagrams are overtaken", apart)
		}
	}
	other := cfg
	other.Seed = 8
	for what, all := range map[string][]Report{
		"seed": run(other, ToServer, 1, 0, small), "direction": run(cfg, ToClient, 1, 0, small), "client": run(cfg, ToServer, 2, 0, small),
	} {
		if f, _, _ := decisions(all); slices.Equal(f, fates) {
			t.Errorf("another %s makes the same decisions", what)
		}
	}
}

// Jitter doesn't reorder. What a report says about overtaking is what happened.
func TestOrder(t *testing.T) {
	const n = 20_000
	for _, text := range []string{"delay=50ms,jitter=50ms", "delay=50ms,jitter=50ms,reorder=20%,loss=5%,duplicate=3%"} {
		for _, apart := range []time.Duration{0, time.Millisecond, 30 * time.Millisecond, 400 * time.Millisecond} {
			all := carry(t, NewLine[int](parsed(t, text), ToServer, 1), n, apart, small)
			seen := map[int]bool{}
			overtaken, passed, highest := 0, 0, 0
			for _, r := range all {
				if r.Fate != Passed {
					continue
				}
				var want []int
				for later := r.N + 1; later <= highest; later++ {
					if seen[later] {
						want = append(want, later)
					}
				}
				got := slices.Clone(r.Overtaken)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Fatalf("%s, %v apart: %d was overtaken by %v, the report says %v", text, apart, r.N, want, got)
				}
				passed++
				seen[r.N], highest = true, max(highest, r.N)
				if len(want) > 0 {
					overtaken++
				}
			}
			switch expected := strings.Contains(text, "reorder") && apart < holding; {
			case !expected && overtaken > 0:
				t.Errorf("%s, %v apart: %d datagrams were overtaken", text, apart, overtaken)
			case expected && overtaken < passed/10:
				t.Errorf("%s, %v apart: only %d of %d datagrams were overtaken", text, apart, overtaken, passed)
			}
		}
	}
}

// At 256 kbit/s, 100 bytes and 28 of headers take 4 ms. Those that would wait for longer than the
// queue are dropped.
func TestRate(t *testing.T) {
	l := NewLine[int](parsed(t, "rate=256k,queue=20ms"), ToServer, 1)
	dropped := 0
	for i := 1; i <= 10; i++ {
		if r, ok := l.Send(began, i, 100); !ok {
			dropped++
			if r.Fate != Queued || i <= 6 {
				t.Errorf("%d: %+v", i, r)
			}
		}
	}
	if dropped != 4 {
		t.Errorf("%d were dropped, want 4", dropped)
	}
	for i := 1; i <= 6; i++ {
		at := began.Add(time.Duration(4*i) * time.Millisecond)
		if next := l.Next(); !next.Equal(at) {
			t.Errorf("%d is due after %v", i, next.Sub(began))
		}
		if _, _, ok := l.Receive(at.Add(-1)); ok {
			t.Errorf("%d is early", i)
		}
		if n, _, ok := l.Receive(at); !ok || n != i {
			t.Errorf("got %d, %v; want %d", n, ok, i)
		}
	}
	// The line is free again.
	if _, ok := l.Send(began.Add(time.Second), 11, 100); !ok || !l.Next().Equal(began.Add(1004*time.Millisecond)) {
		t.Errorf("the next is due after %v", l.Next().Sub(began))
	}
	// A duplicate uses up twice the rate.
	l = NewLine[int](parsed(t, "rate=256k,duplicate=100%"), ToServer, 1)
	if _, ok := l.Send(began, 1, 100); !ok || !l.Next().Equal(began.Add(8*time.Millisecond)) {
		t.Errorf("a duplicated one is due after %v", l.Next().Sub(began))
	}
}

// The waiting datagrams are bounded, by number and by bytes; what is dropped is said.
func TestBounds(t *testing.T) {
	l := NewLine[int](parsed(t, "delay=10s"), ToServer, 1)
	full := 0
	for i := range MostWaiting + 5 {
		if r, ok := l.Send(began, i, 1); !ok && r.Fate == Full {
			full++
		}
	}
	if full != 5 {
		t.Errorf("%d were dropped, want 5", full)
	}
	if _, _, ok := l.Receive(began.Add(10 * time.Second)); !ok {
		t.Error("nothing came")
	}
	if _, ok := l.Send(began, 0, 1); !ok {
		t.Error("there is no room after one has left")
	}
	left := l.Drain()
	if len(left) != MostWaiting || left[0].Fate != Unsent || left[0].Copies != 0 || !l.Next().IsZero() {
		t.Errorf("%d were on their way, the first %+v", len(left), left[0])
	}
	const large = 1 << 16
	for i := range MostBytes / large {
		if _, ok := l.Send(began, i, large); !ok {
			t.Errorf("%d was dropped", i)
		}
	}
	if r, ok := l.Send(began, 0, large); ok || r.Fate != Full {
		t.Errorf("got %+v, %v", r, ok)
	}
}

func TestParse(t *testing.T) {
	both, err := Parse([]string{"loss=5%,delay=40ms,jitter=10ms,reorder=2%,duplicate=1%,rate=256k,seed=7", "to-client:loss=0.5%,burst=3,rate=1.5M,queue=1s"})
	if err != nil {
		t.Fatal(err)
	}
	const ms = time.Millisecond
	want := [2]Config{
		{Loss: 0.05, Delay: 40 * ms, Jitter: 10 * ms, Reorder: 0.02, Duplicate: 0.01, Rate: 256_000, Queue: 500 * ms, Seed: 7},
		{Loss: 0.005, Burst: 3, Delay: 40 * ms, Jitter: 10 * ms, Reorder: 0.02, Duplicate: 0.01, Rate: 1_500_000, Queue: time.Second, Seed: 7},
	}
	if both != want {
		t.Errorf("got %+v, want %+v", both, want)
	}
	if both, err = Parse([]string{"to-server:loss=1%"}); err != nil || both[ToClient].Loss != 0 || both[ToServer].Loss != 0.01 || both[ToClient].Seed != 1 {
		t.Errorf("got %+v, %v", both, err)
	}
	for text, want := range map[string]string{
		"":                         `"": give a property and its value, such as loss=5%`,
		"loss":                     `"loss": give a property`,
		"loss=0.05":                "loss=0.05: give a share from 0% to 100%, such as 5%",
		"loss=101%":                "loss=101%: give a share",
		"loss=NaN%":                "loss=NaN%: give a share",
		"reorder=-1%":              "reorder=-1%: give a share",
		"delay=40":                 "delay=40: give a time from 0s to 10s, such as 40ms",
		"delay=11s":                "delay=11s: give a time",
		"delay=10ms,jitter=20ms":   "jitter=20ms: more than delay=10ms",
		"loss=50%,burst=0.5":       "burst=0.5: give the mean number of datagrams lost in a row, 1 to 1000",
		"loss=90%,burst=4":         "burst=4: too short for a loss of 90%; give at least 9",
		"rate=0":                   "rate=0: give bits a second from 1k to 10G, such as 256k",
		"rate=20G":                 "rate=20G: give bits a second",
		"seed=-1":                  "seed=-1: give a whole number up to 2^53",
		"seed=1.5":                 "seed=1.5: give a whole number",
		"dely=4ms":                 "dely: no such property (did you mean delay?); choose from loss, burst,",
		"up:loss=5%":               "up: no such direction; use to-server: or to-client:, or neither for both",
		"to-server:rate=1k,loss=x": "loss=x: give a share",
	} {
		if _, err := Parse([]string{text}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
