package conform_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// deaf are the sound captures whose servers ignore the acknowledgements of messages
// above 255, with the numbers of players who get such messages.
var deaf = map[string]int{"battle_mix.pcap.gz": 4, "reliability/st_chat_genuine.pcap.gz": 3, "field/c21.host.pcap.gz": 4, "field/c21.client.pcap.gz": 4}

// The function of returns the findings of a kind.
func of(reports []*result.Report, kind string) (list []result.Finding) {
	for _, r := range reports {
		for _, f := range r.Findings {
			if f.Kind == kind {
				list = append(list, f)
			}
		}
	}
	return list
}

// undue returns how many findings about a sound capture are wrong.
func undue(capture string, r *result.Report) (n int) {
	for _, f := range r.Findings {
		if deaf[capture] == 0 || f.Kind != "ignored-acks" && f.Kind != "given-up" {
			n++
		}
	}
	return n
}

// TestIgnoredAcksInTrouble: they are found although a part of the capture is missing,
// doubled or late.
func TestIgnoredAcksInTrouble(t *testing.T) {
	for _, name := range []string{"field/c21.host.pcap.gz", "reliability/st_chat_genuine.pcap.gz"} {
		whole := readTape(t, name)
		for _, w := range troubles {
			if list := of(whole.after(w, 1).judged(t), "ignored-acks"); len(list) != 1 {
				t.Errorf("%s, %v: %d findings, want one", name, w, len(list))
			}
		}
	}
}

// TestIgnoredAcks: the servers of some captures take no acknowledgement above 255. The
// first frame for the chat comes from the server's own log.
func TestIgnoredAcks(t *testing.T) {
	first := map[string]int{"reliability/st_chat_genuine.pcap.gz": 1458}
	for name, players := range deaf {
		list := of(readTape(t, name).judged(t), "ignored-acks")
		if len(list) != 1 {
			t.Errorf("%s: %d findings, want one", name, len(list))
			continue
		}
		f := list[0]
		if f.Number < 256 || f.Number > 258 || len(f.Players) != players || f.Chance > -9 || first[name] > 0 && f.Frame != first[name] {
			t.Errorf("%s: from number %d in frame %d, %d players, chance of 10^%g, want 256 to 258, %d, %d players", name, f.Number, f.Frame, len(f.Players), f.Chance, first[name], players)
		}
	}
}

// A talk is a line between a host and a client that talk by hand.
type talk struct {
	tb     testing.TB
	all    tape
	now    time.Time
	r      *rand.Rand
	loss   float64 // behind the recording, to the host
	host   netip.AddrPort
	client netip.AddrPort
}

func newTalk(tb testing.TB, loss float64) *talk {
	tb.Helper()
	return &talk{
		tb: tb, now: time.Unix(1e9, 0), r: rand.New(rand.NewPCG(1, 2)), loss: loss, //nolint:gosec // a fixed seed
		host: netip.MustParseAddrPort("192.0.2.1:22101"), client: netip.MustParseAddrPort("198.51.100.1:4000"),
	}
}

// send records a datagram with one message. It reports whether the host gets it.
func (w *talk) send(toHost bool, h transport.Header, body []byte) bool {
	w.tb.Helper()
	d := dissect.Datagram{Number: len(w.all) + 1, Time: w.now, Src: w.host, Dst: w.client}
	peer := byte(transport.HostPeer)
	if toHost {
		d.Src, d.Dst, peer = w.client, w.host, 2
	}
	var err error
	if d.Payload, err = transport.Append([]byte{peer, 1}, &h, body); err != nil {
		w.tb.Fatal(err)
	}
	d.Full = len(d.Payload)
	w.all = append(w.all, frame{d, d.Number})
	w.now = w.now.Add(5 * time.Millisecond)
	return toHost && w.r.Float64() >= w.loss
}

// chatter is a host that sends n messages, each of which the client acknowledges, and a
// client that also speaks. Both send again what they think is lost, after a second. The
// host ignores the acknowledgements of messages from one on.
func (w *talk) chatter(n, from int) []*result.Report {
	w.tb.Helper()
	line := func(author byte, k int) []byte {
		text := fmt.Sprintf("%d of %d", k, author)
		b := append([]byte{byte(msg.OpChat), author, 0, 0, 0}, binary.LittleEndian.AppendUint16(nil, uint16(len(text)))...)
		return append(b, text...)
	}
	said := func(k int) transport.Header {
		return transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true, Seq: uint16(k)}
	}
	ack := func(k int) transport.Header { h := said(k); return transport.AckOf(&h) }
	open := map[int]int{} // times that the host has sent what it thinks is not acknowledged
	tell := func(k int) {
		if open[k]++; open[k] > 8 {
			delete(open, k)
			return
		}
		w.send(false, said(k), line(3, k))
		if w.send(true, ack(k), nil) && k < from {
			delete(open, k)
		}
	}
	for k := range n {
		tell(k)
		for !w.send(true, said(k), line(2, k)) {
			w.now = w.now.Add(time.Second)
		}
		w.send(false, ack(k), nil)
		w.now = w.now.Add(100 * time.Millisecond)
		if k%10 != 9 {
			continue
		}
		w.now = w.now.Add(time.Second)
		var again []int
		for k := range open {
			again = append(again, k)
		}
		slices.Sort(again)
		for _, k := range again {
			tell(k)
		}
	}
	p := dissect.New(dissect.Config{Ports: []uint16{22101}, Clear: true})
	hosts := conform.NewHosts(conform.Config{})
	for i := range w.all {
		if err := p.Push(&w.all[i].Datagram, hosts.Record); err != nil {
			w.tb.Fatal(err)
		}
	}
	reports, _ := hosts.Reports()
	return reports
}

// TestIgnoredAcksFrom: hosts that ignore acknowledgements from some message on, over
// lines that lose some of them.
func TestIgnoredAcksFrom(t *testing.T) {
	for _, tt := range []struct {
		loss  float64
		n     int
		from  int // first message whose acknowledgements the host ignores, 0 for a sound host
		found bool
	}{
		{0, 400, 1 << 20, false},
		{0.2, 600, 1 << 20, false},
		{0.4, 600, 1 << 20, false},
		{0, 300, 256, true},
		{0.2, 400, 256, true},
		{0, 100, 0, true},
		{0, 65600, 65536, true},
		{0, 65600, 1 << 20, false},
	} {
		list := of(newTalk(t, tt.loss).chatter(tt.n, tt.from), "ignored-acks")
		if len(list) > 0 != tt.found || tt.found && list[0].Number != int64(tt.from) {
			t.Errorf("%v of the messages lost, ignored from %d on: %+v", tt.loss, tt.from, list)
		}
	}
}

// TestGivenUp: a host that tells the others in the middle of a game that a player has
// gone, and says nothing more to it. It is not found if the player left, or was silent.
func TestGivenUp(t *testing.T) {
	whole := readTape(t, "reliability/g_s1_p4.pcap.gz")
	const at = 3000 // frame
	host := whole.hosts()[0]
	out := of(whole.judged(t), "given-up")
	r := whole.judged(t)[0]
	gone, other := r.Clients[0], r.Clients[1]
	if len(out) > 0 {
		t.Fatal(out)
	}
	for _, silent := range []bool{false, true} {
		m := newMeddler(t, whole)
		m.insert[other.Addr] = []inserted{m.goodbye(t, gone.Addr, at)}
		m.done = []fault{{}}
		all := slices.DeleteFunc(m.faulty(t), func(d frame) bool {
			return d.was > at && (d.Src == host && d.Dst == gone.Addr || silent && d.Src == gone.Addr)
		}).numbered()
		list := of(all.judged(t), "given-up")
		if found := len(list) == 1 && list[0].Players[0].Peer == gone.Peer; found == silent {
			t.Errorf("silent %v: %+v", silent, list)
		}
	}
}

// TestNeverRepeated: a host that sends no request for checksums again stops a join if one
// gets lost. Until 1, 2, 3, 4 and 5 s have passed, the network may have lost all repetitions.
func TestNeverRepeated(t *testing.T) {
	for _, tt := range []struct {
		seconds     int
		again, told bool
	}{{14, false, false}, {16, false, true}, {16, true, false}} {
		w := newTalk(t, 0)
		request := transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true}
		connect := transport.Header{Type: transport.Connect, Reliable: true, HasSeq: true}
		w.send(true, connect, []byte{1, 0, 0, 0, 127, 0})
		w.send(false, connect, []byte{2})
		w.send(false, request, []byte{byte(msg.OpChecksumRequest), 0, 1, 0, 0, 0, 0})
		for range tt.seconds {
			w.now = w.now.Add(time.Second)
			w.send(true, transport.Header{Type: transport.DoNothing}, nil)
			w.send(false, transport.Header{Type: transport.DoNothing}, nil)
			if tt.again {
				w.send(false, request, []byte{byte(msg.OpChecksumRequest), 0, 1, 0, 0, 0, 0})
			}
		}
		p := dissect.New(dissect.Config{Ports: []uint16{22101}, Clear: true})
		hosts := conform.NewHosts(conform.Config{})
		for i := range w.all {
			if err := p.Push(&w.all[i].Datagram, hosts.Record); err != nil {
				t.Fatal(err)
			}
		}
		reports, _ := hosts.Reports()
		if list := of(reports, "never-repeated"); len(list) > 0 != tt.told {
			t.Errorf("%+v: %+v", tt, list)
		}
	}
}
