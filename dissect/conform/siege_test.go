package conform_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
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

// needs returns the most memory that the replay of a siege needed, without the
// memory of the pipeline. It also returns the reports, and how long both took.
func (s *siege) needs(tb testing.TB) (most int, reports []*result.Report, took time.Duration) {
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
// once, many hosts, or numbers with gaps. What is given up is reported.
func TestSiege(t *testing.T) {
	for _, s := range []siege{
		{clients: 256, rounds: 300, step: time.Microsecond, gaps: true},
		{clients: 16, rounds: 150, step: time.Microsecond, hosts: 16},
	} {
		most, reports, took := s.needs(t)
		n := 2 * s.clients * s.rounds * max(s.hosts, 1)
		t.Logf("%d clients of %d hosts: %.1f MiB, %v a datagram", s.clients, len(reports), float64(most)/(1<<20), took/time.Duration(n))
		if limit := 56 << 20; most > limit {
			t.Errorf("%d clients of %d hosts: %d bytes, want %d at most", s.clients, len(reports), most, limit)
		}
		if !slices.ContainsFunc(reports[0].Notes, func(note string) bool { return strings.Contains(note, "were judged early") }) {
			t.Errorf("no note of what is given up in %q", reports[0].Notes)
		}
	}
}

// A storm is a capture in which every client says something in turn, and the host
// sends copies of it.
type storm struct {
	name    string
	clients int
	text    string // with %d for the number of the message
	by      int    // the numbers go up or down
	copied  func(round, author, to int) bool
	years   int  // years by which the clock jumps back and forth
	plain   bool // nothing is given up
}

var storms = []storm{
	{name: "sound", clients: 8, text: "%d", by: 1, copied: func(int, int, int) bool { return true }, plain: true},
	{name: "reversed numbers", clients: 8, text: "%d", by: -1, copied: func(int, int, int) bool { return true }},
	{name: "reversed numbers, the same bytes", clients: 8, text: "a", by: -1, copied: seldomNot},
	{name: "the same bytes", clients: 8, text: "a", by: 1, copied: seldomNot},
	{name: "the same bytes, with gaps", clients: 8, text: "a", by: 2, copied: seldomNot},
	{name: "gaps", clients: 8, text: "%d", by: 2, copied: func(round, author, to int) bool { return to == author || round%2 == 0 }},
	{name: "all say all", clients: 256, text: "%d", by: 1, copied: seldomNot},
	{name: "no copy for one", clients: 32, text: "%d", by: 1, copied: func(_, _, to int) bool { return to != 5 }},
	{name: "no copy for anybody", clients: 16, text: "a", by: 1, copied: func(int, int, int) bool { return false }},
	{name: "a clock that jumps by centuries", clients: 16, text: "%d", by: 2, copied: seldomNot, years: 100},
}

func seldomNot(round, author, to int) bool { return (round+author+to)%7 != 0 }

// play hands out about so many datagrams of a storm.
func (s *storm) play(n int, emit func(*dissect.Datagram)) {
	const wrap = 30_000
	now := time.Date(2002, 2, 19, 12, 0, 0, 0, time.UTC)
	host := netip.MustParseAddrPort("192.0.2.1:22101")
	frame := 0
	push := func(from, to netip.AddrPort, peer byte, number int, body []byte) {
		if number *= s.by; s.by < 0 {
			number = wrap + number%wrap
		}
		plain, err := transport.Append([]byte{peer, 1}, &transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true, Seq: uint16(number)}, body)
		if err != nil {
			panic(err)
		}
		frame++
		now = now.Add(time.Millisecond)
		emit(&dissect.Datagram{Number: frame, Time: now.AddDate(frame%2*s.years, 0, 0), Src: from, Dst: to, Payload: plain, Full: len(plain)})
	}
	client := func(k int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(k)}), 4000)
	}
	sent := make([]int, s.clients)
	for round := 0; frame < n; round++ {
		for k := range s.clients {
			text := strings.ReplaceAll(s.text, "%d", strconv.Itoa(round*s.clients+k))
			body := append([]byte{byte(msg.OpChat), byte(2 + k%100), 0, 0, 0}, binary.LittleEndian.AppendUint16(nil, uint16(len(text)))...)
			body = append(body, text...)
			push(client(k), host, byte(2+k%100), round, body)
			for to := range s.clients {
				if s.copied(round, k, to) {
					push(host, client(to), transport.HostPeer, sent[to], body)
					sent[to]++
				}
			}
		}
	}
}

// The steps of the search grow with the messages, however these are made, so that
// the time does: a sound capture takes few for each, and others no more than the
// report says. Twice as many messages take about twice as many.
func TestStepsInProportion(t *testing.T) {
	const n = 20_000
	for _, s := range storms {
		var each [2]int
		for i, n := range []int{n, 2 * n} {
			hosts := conform.NewHosts(conform.Config{})
			p := dissect.New(dissect.Config{Ports: []uint16{22101}, Clear: true})
			s.play(n, func(d *dissect.Datagram) {
				if err := p.Push(d, hosts.Record); err != nil {
					t.Fatal(err)
				}
			})
			reports, _ := hosts.Reports()
			done, allowed, messages := hosts.Steps()
			each[i] = done / messages
			said := slices.ContainsFunc(reports[0].Notes, func(note string) bool { return strings.Contains(note, "too many others may explain") })
			t.Logf("%s: %d messages, %d steps for each, %v", s.name, messages, each[i], said)
			if done > allowed+1<<20 || messages < n/4 {
				t.Errorf("%s: %d steps for %d messages, %d at most", s.name, done, messages, allowed)
			}
			if s.plain && (each[i] > 50 || said || !reports[0].Conforms()) {
				t.Errorf("%s: %d steps for each message; the judge gives up: %v, %d differences", s.name, each[i], said, reports[0].Found)
			}
		}
		if each[1] > 3*each[0]/2+200 {
			t.Errorf("%s: %d steps for each message, of twice as many %d", s.name, each[0], each[1])
		}
	}
}

// The search is never given up in captures of sound or faulty hosts,
// whatever the network does to them.
func TestStepsSuffice(t *testing.T) {
	for _, name := range []string{"battle_mix.pcap.gz", "reliability/st_mix_fix_drx.pcap.gz", "field/c21.host.pcap.gz", "field/f1x.host.pcap.gz"} {
		whole := readTape(t, name)
		for _, w := range []trouble{{"unchanged", 0}, {"lost", 0.05}, {"doubled", 0.05}, {"mixed", 0.03}} {
			p := dissect.New(dissect.Config{})
			hosts := conform.NewHosts(conform.Config{})
			for _, f := range whole.after(w, 1) {
				if err := p.Push(&f.Datagram, hosts.Record); err != nil {
					t.Fatal(err)
				}
			}
			reports, _ := hosts.Reports()
			for _, note := range reports[0].Notes {
				if strings.Contains(note, "too many others may explain") {
					t.Errorf("%s, %v: %s", name, w, note)
				}
			}
			if done, allowed, messages := hosts.Steps(); done == 0 || 2*done > allowed {
				t.Errorf("%s, %v: %d of %d steps for %d messages", name, w, done, allowed, messages)
			}
		}
	}
}

// Clients that come again and again, each time as others, are forgotten.
func TestReconnects(t *testing.T) {
	const joins, clients = 15_000, 100
	hosts := conform.NewHosts(conform.Config{})
	p := dissect.New(dissect.Config{Ports: []uint16{22101}, Clear: true})
	host := netip.MustParseAddrPort("192.0.2.1:22101")
	frame, before := 0, heap()
	push := func(from, to netip.AddrPort, peer byte, typ transport.Type, body []byte) {
		plain, err := transport.Append([]byte{peer, 1}, &transport.Header{Type: typ, Reliable: true, HasSeq: true}, body)
		if err != nil {
			t.Fatal(err)
		}
		frame++
		d := dissect.Datagram{Number: frame, Time: time.Unix(1e9, int64(frame)*3e6), Src: from, Dst: to, Payload: plain, Full: len(plain)}
		if err := p.Push(&d, hosts.Record); err != nil {
			t.Fatal(err)
		}
	}
	line := []byte{byte(msg.OpChat), 3, 0, 0, 0, 1, 0, 'a'}
	for n := range joins {
		k := byte(n % clients)
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, k}), 4000)
		push(client, host, transport.UnassignedPeer, transport.Connect, append(binary.LittleEndian.AppendUint32(nil, uint32(n)), make([]byte, 7)...))
		push(host, client, transport.HostPeer, transport.Connect, []byte{2 + k, 0, 0, 0, 0, 0, 0, 0, 0, 0})
		push(host, client, transport.HostPeer, transport.Standard, line)
		push(client, host, 2+k, transport.Standard, line)
	}
	used := heap() - before
	reports, _ := hosts.Reports()
	if n := reports[0].Inputs; n < joins {
		t.Errorf("%d inputs, want %d at least", n, joins)
	}
	if used > 32<<20 {
		t.Errorf("%d bytes for %d joins", used, joins)
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
		want := fmt.Sprintf("%d messages of clients were ignored: there are too many clients at a time.", 4*rounds*2)
		if last := reports[hosts-1]; len(reports) != hosts || !slices.Contains(last.Notes, want) {
			t.Errorf("no note %q in %q", want, last.Notes)
		}
	}
}
