package conform_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// A tape is a capture in memory.
type tape []frame

// A frame of a tape is a datagram, whose bytes are not changed but replaced.
type frame struct {
	dissect.Datagram
	was int // number of the frame in the capture that was read
}

func readTape(tb testing.TB, name string) (t tape) {
	tb.Helper()
	recorded.Datagrams(tb, name, func(d *dissect.Datagram) {
		t = append(t, frame{*d, d.Number})
		t[len(t)-1].Payload = bytes.Clone(d.Payload)
	})
	return t
}

// A trouble is something that a network or a recording does to a capture.
type trouble struct {
	kind  string
	share float64 // part of the frames that it happens to
}

func (w trouble) String() string {
	if w.share == 0 {
		return w.kind
	}
	return fmt.Sprintf("%s %.3g %%", w.kind, 100*w.share)
}

// seeded reports whether the seed decides anything.
func (w trouble) seeded() bool {
	return w.share > 0 && w.share < 1 || w.kind == "clock" || w.kind == "ended early" || w.kind == "one client"
}

// troubles are the columns of the tables in docs/judge.md.
var troubles = []trouble{
	{"unchanged", 0},
	{"lost", 0.005},
	{"lost", 0.05},
	{"lost", 0.2},     // the recording lacks single frames
	{"bursts", 0.001}, // it lacks 3 to 40 frames in a row
	{"doubled", 0.01},
	{"doubled", 0.05},
	{"doubled", 1}, // up to 50 ms later
	{"delayed", 0.02},
	{"delayed", 0.2},    // by 5 to 400 ms
	{"reordered", 0.05}, // a frame comes up to 20 ms late
	{"mixed", 0.03},     // lost, delayed and doubled
	{"clock", 0},        // it is set three times, by seconds, hours and years
	{"begun late", 0},   // the first third of the recording is missing
	{"ended early", 0},  // all after some frame of the second half is missing
	{"one client", 0},   // it has the traffic of only one client
}

// after returns the tape after a trouble.
func (t tape) after(w trouble, seed uint64) tape {
	r := rand.New(rand.NewPCG(seed, uint64(1000*w.share))) //nolint:gosec // a fixed seed
	happens := func() bool { return r.Float64() < w.share }
	span := func(from, to time.Duration) time.Duration { return from + time.Duration(r.Int64N(int64(to-from))) }
	const late, most, double, little = 5 * time.Millisecond, 400 * time.Millisecond, 50 * time.Millisecond, 20 * time.Millisecond
	out := make(tape, 0, len(t))
	add := func(d frame, by time.Duration) {
		d.Time = d.Time.Add(by)
		out = append(out, d)
	}
	switch w.kind {
	case "clock":
		return t.clock(r)
	case "begun late":
		return t[len(t)/3:].numbered()
	case "ended early":
		return t[:len(t)-r.IntN(len(t)/2)].numbered()
	case "one client":
		return t.only(seed)
	default:
		burst := 0
		for _, d := range t {
			mixed := w.kind == "mixed"
			if (w.kind == "lost" || mixed) && happens() {
				continue
			}
			if w.kind == "bursts" {
				if burst == 0 && happens() {
					burst = 3 + r.IntN(38)
				} else if burst > 0 {
					burst--
					continue
				}
			}
			by := time.Duration(0)
			if (w.kind == "delayed" || mixed) && happens() {
				by = span(late, most)
			}
			if w.kind == "reordered" && happens() {
				by = span(0, little)
			}
			if add(d, by); (w.kind == "doubled" || mixed) && happens() {
				add(d, by+time.Microsecond+span(0, double))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b frame) int { return a.Time.Compare(b.Time) })
	return out.numbered()
}

// numbered returns the tape with its frames numbered anew.
func (t tape) numbered() tape {
	out := slices.Clone(t)
	for i := range out {
		out[i].Number, out[i].After = i+1, 0
		if i > 0 {
			out[i].After = t[i].Time.Sub(t[i-1].Time)
		}
	}
	return out
}

// clock returns the tape with a clock that is set three times.
func (t tape) clock(r *rand.Rand) tape {
	steps := map[int]time.Duration{}
	for _, by := range []time.Duration{-7 * time.Second, time.Hour, -3 * 365 * 24 * time.Hour} {
		steps[r.IntN(len(t))] += by
	}
	out, by := slices.Clone(t), time.Duration(0)
	for i := range out {
		by += steps[i]
		out[i].Time = t[i].Time.Add(by)
	}
	return out.numbered()
}

// hosts returns the addresses that more than one address talks to.
func (t tape) hosts() (list []netip.AddrPort) {
	talks := map[netip.AddrPort]map[netip.AddrPort]bool{}
	for _, d := range t {
		if talks[d.Dst] == nil {
			talks[d.Dst] = map[netip.AddrPort]bool{}
		}
		if talks[d.Dst][d.Src] = true; len(talks[d.Dst]) == 2 {
			list = append(list, d.Dst)
		}
	}
	return slices.Compact(list)
}

// only returns the frames of one client, chosen by the seed.
func (t tape) only(seed uint64) tape {
	hosts := t.hosts()
	var clients []netip.AddrPort
	for _, d := range t {
		if !slices.Contains(hosts, d.Src) && !slices.Contains(clients, d.Src) {
			clients = append(clients, d.Src)
		}
	}
	one := clients[int(seed)%len(clients)]
	return slices.DeleteFunc(slices.Clone(t), func(d frame) bool { return d.Src != one && d.Dst != one }).numbered()
}
