package conform_test

import (
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// battle returns the datagrams of a game until all eight players have left. Each
// player sends ten ship updates a second. The players of games with different
// numbers have different addresses.
func battle(tb testing.TB, number int, length time.Duration) (datagrams []dissect.Datagram) {
	tb.Helper()
	s := newSession(tb, relay.Config{Players: 8, Mode: relay.Playable})
	s.joined = byte(8 * number)
	s.tap = func(d *dissect.Datagram) { datagrams = append(datagrams, *d) }
	for _, name := range []string{"A", "B", "C", "D", "E", "F", "G", "H"} {
		s.create(s.join(name, false))
	}
	for n := range int(length / (100 * time.Millisecond)) {
		for _, g := range s.clients {
			g.SendBody(s.now, false, update(wire.FirstObject(g.Slot), n))
		}
		if n%20 == 0 {
			s.chat("again ")
		}
		s.run(100 * time.Millisecond)
	}
	s.run(3 * time.Second)
	for _, g := range s.clients {
		g.Leave(s.now)
	}
	s.run(time.Second)
	s.judge()
	return datagrams
}

// BenchmarkReplay judges a battle; ns/datagram counts the work on records, too.
func BenchmarkReplay(b *testing.B) {
	datagrams := battle(b, 0, time.Minute)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		pipeline := dissect.New(dissect.Config{Ports: []uint16{22101}})
		hosts := conform.NewHosts(conform.Config{Game: relay.Config{Mode: relay.Playable}})
		for i := range datagrams {
			if err := pipeline.Push(&datagrams[i], hosts.Record); err != nil {
				b.Fatal(err)
			}
		}
		if reports, _ := hosts.Reports(); len(reports) != 1 || !reports[0].Conforms() {
			b.Fatal("it does not conform")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(datagrams)), "ns/datagram")
}
