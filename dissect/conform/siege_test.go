package conform_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A siege is a capture that is made to fill a replay's memory: many clients at
// once, messages without counterparts, and hardly any time between them.
type siege struct {
	clients, rounds int
	step            time.Duration // between datagrams
	gaps            bool          // every other number of both sides is missing
	hosts           int
}

// play hands the datagrams of the siege out. They are deciphered already.
func (s *siege) play(emit func(*dissect.Datagram)) {
	now := time.Date(2002, 2, 19, 12, 0, 0, 0, time.UTC)
	frame := 0
	push := func(from, to netip.AddrPort, peer uint8, seq int, body []byte) {
		plain, err := transport.Append([]byte{peer, 1}, &transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true, Seq: uint16(seq)}, body)
		if err != nil {
			panic(err)
		}
		frame++
		now = now.Add(s.step)
		d := dissect.Datagram{Number: frame, Time: now, Src: from, Dst: to, Payload: plain, Full: len(plain)}
		emit(&d)
	}
	for n := range s.rounds {
		seq := n
		if s.gaps {
			seq *= 2
		}
		for h := range max(s.hosts, 1) {
			host := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(h + 1)}), 22101)
			for k := range s.clients {
				client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(k >> 8), byte(k)}), 4000+uint16(h))
				text := fmt.Sprintf("%d of %d", n, k)
				body := append([]byte{byte(msg.OpChat), byte(2 + k%100), 0, 0, 0}, binary.LittleEndian.AppendUint16(nil, uint16(len(text)))...)
				push(client, host, byte(2+k%100), seq, append(body, text...))
				push(host, client, transport.HostPeer, seq, append(body, text+"!"...))
			}
		}
	}
}

// heap returns the bytes that are in use.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// needs returns the most memory that the replay of a siege needed, without that
// of the pipeline, the reports, and how long both took.
func (s *siege) needs(tb testing.TB) (most int, reports []*conform.Report, took time.Duration) {
	tb.Helper()
	hosts := conform.NewHosts(conform.Config{})
	p := dissect.New(dissect.Config{Ports: []uint16{22101}, Clear: true})
	n := 0
	begun := time.Now()
	every := max(2*s.clients*s.rounds*max(s.hosts, 1)/8, 1)
	before := heap()
	s.play(func(d *dissect.Datagram) {
		if err := p.Push(d, hosts.Record); err != nil {
			tb.Fatal(err)
		}
		if n++; n%every == 0 {
			most = max(most, heap())
		}
	})
	took = time.Since(begun)
	reports, _ = hosts.Reports()
	q := dissect.New(dissect.Config{Ports: []uint16{22101}, Clear: true})
	base := heap()
	s.play(func(d *dissect.Datagram) {
		if err := q.Push(d, func(*dissect.Record) error { return nil }); err != nil {
			tb.Fatal(err)
		}
	})
	own := heap() - base
	runtime.KeepAlive(p)
	runtime.KeepAlive(q)
	runtime.KeepAlive(hosts)
	return most - before - own, reports, took
}

// The memory of a replay is bounded whatever the capture holds: many clients at
// once, many hosts, or numbers with gaps. Evictions are reported.
func TestSiege(t *testing.T) {
	for _, s := range []siege{
		{clients: 256, rounds: 300, step: time.Microsecond, gaps: true},
		{clients: 16, rounds: 150, step: time.Microsecond, hosts: 16},
	} {
		most, reports, took := s.needs(t)
		n := 2 * s.clients * s.rounds * max(s.hosts, 1)
		t.Logf("%d clients of %d hosts: %.1f MiB, %v a datagram", s.clients, len(reports), float64(most)/(1<<20), took/time.Duration(n))
		if limit := 48 << 20; most > limit {
			t.Errorf("%d clients of %d hosts: %d bytes, want %d at most", s.clients, len(reports), most, limit)
		}
		for _, want := range []string{"forgotten before their time: others", "were judged early"} {
			if !slices.ContainsFunc(reports[0].Notes, func(note string) bool { return strings.Contains(note, want) }) {
				t.Errorf("no note %q in %q", want, reports[0].Notes)
			}
		}
	}
}

// A clock that jumps by years at each datagram costs neither memory nor time.
func TestJumpingClock(t *testing.T) {
	const year = 365 * 24 * time.Hour
	datagrams := battle(t, 0, 20*time.Second)
	for name, jump := range map[string]func(i int) time.Duration{
		"forward": func(i int) time.Duration { return time.Duration(i%200) * year },
		"back":    func(i int) time.Duration { return -time.Duration(i%200) * year },
		"both":    func(i int) time.Duration { return time.Duration(i%2) * 5 * year },
		"hours":   func(i int) time.Duration { return time.Duration(i) * time.Hour },
		"stopped": func(i int) time.Duration { return datagrams[0].Time.Sub(datagrams[i].Time) },
	} {
		hosts := conform.NewHosts(conform.Config{Game: relay.Config{Mode: relay.Playable}})
		p := dissect.New(dissect.Config{Ports: []uint16{22101}})
		before, begun, most := heap(), time.Now(), 0
		for i := range datagrams {
			d := datagrams[i]
			d.Time = d.Time.Add(jump(i))
			if err := p.Push(&d, hosts.Record); err != nil {
				t.Fatal(err)
			}
			if i%1000 == 0 {
				most = max(most, heap()-before)
			}
		}
		// It takes a tenth of a second; if each jump cost a look at all that came before, it would be minutes.
		if took := time.Since(begun); most > 16<<20 || took > 20*time.Second {
			t.Errorf("%s: %d bytes, %v for %d datagrams", name, most, took, len(datagrams))
		}
		if reports, _ := hosts.Reports(); len(reports) != 1 || reports[0].Compared() == 0 {
			t.Errorf("%s: %d reports, the first of nothing", name, len(reports))
		}
	}
}

// Messages to and from clients beyond the limit are counted.
func TestTooManyClients(t *testing.T) {
	for _, hosts := range []int{1, 2} {
		const rounds, most = 3, 256
		s := siege{clients: most/hosts + 4, rounds: rounds, step: time.Microsecond, hosts: hosts}
		_, reports, _ := s.needs(t)
		want := fmt.Sprintf("%d messages of clients beyond the limit of %d at a time were ignored.", 4*rounds*2, most/hosts)
		if last := reports[hosts-1]; len(reports) != hosts || !slices.Contains(last.Notes, want) {
			t.Errorf("no note %q in %q", want, last.Notes)
		}
	}
}
