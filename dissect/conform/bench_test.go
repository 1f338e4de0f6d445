package conform_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
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

// BenchmarkReplay judges a battle; ns/datagram also counts the work on records.
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

// BenchmarkGaps judges lines of chat in a capture that lacks every other number.
// Every other line has no copy.
func BenchmarkGaps(b *testing.B) {
	host := netip.MustParseAddrPort("192.0.2.1:22101")
	clients := []netip.AddrPort{netip.MustParseAddrPort("198.51.100.1:4000"), netip.MustParseAddrPort("198.51.100.2:4000")}
	var datagrams []dissect.Datagram
	push := func(from, to netip.AddrPort, peer uint8, seq int, body []byte) {
		plain, err := transport.Append([]byte{peer, 1}, &transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true, Seq: uint16(seq)}, body)
		if err != nil {
			b.Fatal(err)
		}
		n := len(datagrams) + 1
		datagrams = append(datagrams, dissect.Datagram{
			Number: n, Time: time.Unix(1e9, int64(n)*int64(2*time.Millisecond)), Src: from, Dst: to, Payload: plain, Full: len(plain),
		})
	}
	for n := range 2000 {
		for k, from := range clients {
			text := fmt.Sprintf("%d of %d", n, k)
			body := append([]byte{byte(msg.OpChat), byte(2 + k), 0, 0, 0}, binary.LittleEndian.AppendUint16(nil, uint16(len(text)))...)
			body = append(body, text...)
			push(from, host, byte(2+k), 2*n, body)
			for j, to := range clients {
				if j == k || n%2 == 0 {
					push(host, to, transport.HostPeer, 2*(2*n+k), body)
				}
			}
		}
	}
	for b.Loop() {
		pipeline := dissect.New(dissect.Config{Ports: []uint16{22101}, Clear: true})
		hosts := conform.NewHosts(conform.Config{})
		for i := range datagrams {
			if err := pipeline.Push(&datagrams[i], hosts.Record); err != nil {
				b.Fatal(err)
			}
		}
		if reports, _ := hosts.Reports(); len(reports) != 1 || reports[0].Compared() == 0 {
			b.Fatal("nothing is compared")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(datagrams)), "ns/datagram")
}
