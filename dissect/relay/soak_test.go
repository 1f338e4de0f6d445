package relay_test

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/relay"
)

// Ten minutes of battle of sixteen players take no more memory than two. The
// minutes are short ones, unless BCDISSECT_LONG is set.
func TestSoak(t *testing.T) {
	minutes, seconds := 10, 6
	if long() {
		seconds = 60
	}
	w := newWorld(t, 1, relay.Config{Mode: relay.Playable, Players: relay.MaxPlayers})
	w.trouble = relay.Trouble{Loss: 0.01, Delay: 20 * time.Millisecond, Jitter: 10 * time.Millisecond}
	var all []*player
	for n := range relay.MaxPlayers {
		all = append(all, w.add(n%4 == 3))
	}
	w.join(all...)
	for _, p := range all {
		p.Deliver = nil   // records of others must not grow the heap
		p.calm = p.OpenBC // losses twice in a row are too much for numbers of eight bits
	}
	w.events = nil
	var early, late uint64
	for minute := 1; minute <= minutes; minute++ {
		w.fight(time.Duration(seconds)*time.Second, all...)
		switch minute {
		case 2:
			early = heap()
		case minutes:
			late = heap()
		}
	}
	stats := w.host.Stats()
	// Ten updates a second and more from each to each.
	if least := minutes * seconds * 10 * 16 * 15; stats.Copies < least {
		t.Errorf("%d messages were passed on, want %d", stats.Copies, least)
	}
	const slack = 1 << 20
	if late > early+slack {
		t.Errorf("%d bytes are in use after %d minutes, %d after two", late, minutes, early)
	}
	t.Logf("%d messages passed on, %d datagrams in, %d out; %d KiB in use after two minutes, %d KiB at the end",
		stats.Copies, stats.Received, stats.Sent, early>>10, late>>10)
	w.fine()
	for _, p := range all {
		p.Leave(w.now)
	}
	w.advance(2*step, nil)
	for _, p := range all {
		p.mute = p.OpenBC // those clients say it once and are gone
	}
	w.emptied()
}

// long reports whether tests may take minutes.
func long() bool { return os.Getenv("BCDISSECT_LONG") != "" }

func heap() uint64 {
	runtime.GC()
	runtime.GC() // the first moved caches, this frees them
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkForward measures how many messages a second a core passes on in a
// battle of sixteen, with everything that the host does for it: deciphering,
// acknowledging, enciphering.
func BenchmarkForward(b *testing.B) {
	w := newWorld(b, 1, relay.Config{
		Mode: relay.Playable, Players: relay.MaxPlayers,
		Limits: relay.Limits{GameRate: relay.Rate{PerSecond: 1e9, Burst: 1e9}},
	})
	var all []*player
	for range relay.MaxPlayers {
		all = append(all, w.add(false))
	}
	w.join(all...)
	type datagram struct {
		player *player
		data   []byte
	}
	before := w.host.Stats().Copies
	var busy time.Duration
	for tick := 0; b.Loop(); tick++ {
		w.now = w.now.Add(step)
		for i, p := range all {
			if (tick+i)%10 == 0 {
				p.Fight(w.now, tick/10)
			}
		}
		var in, out []datagram
		for _, p := range all {
			for {
				d, ok := p.Datagram(w.now)
				if !ok {
					break
				}
				in = append(in, datagram{p, slices.Clone(d)})
			}
		}
		from := time.Now()
		for _, d := range in {
			w.host.Receive(w.now, d.player.addr, d.data)
		}
		w.host.Advance(w.now)
		for {
			to, d, ok := w.host.Send()
			if !ok {
				break
			}
			out = append(out, datagram{w.byAddr[to], slices.Clone(d)})
		}
		busy += time.Since(from)
		for _, d := range out {
			d.player.Receive(w.now, d.data)
		}
	}
	b.ReportMetric(float64(w.host.Stats().Copies-before)/busy.Seconds(), "forwarded/s")
}
