package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

var (
	host   = netip.MustParseAddrPort("192.168.0.1:22101")
	kirk   = netip.MustParseAddrPort("192.168.0.10:22102")
	picard = netip.MustParseAddrPort("192.168.0.9:22102")
	start  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

const (
	toHost   = dissect.ToHost
	fromHost = dissect.FromHost
)

// A tape makes datagrams and gives their records to a meter.
type tape struct {
	Meter
	client netip.AddrPort
	sender decode.Dialect
	name   string
	frame  int
}

func newTape() *tape { return &tape{client: kirk, sender: decode.Stock} }

// ms gives the meter a datagram that came so many milliseconds after the start.
func (t *tape) ms(ms float64, dir dissect.Dir, records ...dissect.Record) {
	t.frame++
	d := &dissect.Datagram{
		Number: t.frame, Time: start.Add(time.Duration(ms * float64(time.Millisecond))),
		Src: t.client, Dst: host, Payload: make([]byte, 10), Full: 10,
	}
	if dir == fromHost {
		d.Src, d.Dst = d.Dst, d.Src
	}
	for i := range records {
		r := &records[i]
		r.Datagram, r.Part, r.Dir, r.Client, r.Sender = d, i, dir, wire.Untrusted(t.name), t.sender
		if err := t.Record(r); err != nil {
			panic(err)
		}
	}
}

func data(seq uint16) dissect.Record {
	return dissect.Record{Transport: transport.Header{
		Type: transport.Standard, Len: 6, Size: 5, Reliable: true, HasSeq: true, Seq: seq,
	}, Payload: []byte{0x2C}}
}

func control(seq uint16) dissect.Record {
	return dissect.Record{Transport: transport.Header{
		Type: transport.Disconnect, Len: 10, Size: 5, Reliable: true, HasSeq: true, Seq: seq,
	}}
}

func piece(seq uint16, index uint8) dissect.Record {
	r := data(seq)
	r.Payload, r.Status = nil, dissect.StatusPending
	r.Transport.Fragment, r.Transport.Index = true, index
	return r
}

func again(r dissect.Record) dissect.Record {
	r.Status, r.Repeat = dissect.StatusDuplicate, true
	return r
}

// ackOf is the acknowledgement of a message.
func ackOf(r dissect.Record) dissect.Record {
	h := transport.Header{
		Type: transport.Acknowledge, Len: 4, Size: 4, HasSeq: true,
		Seq: r.Transport.Seq, Fragment: r.Transport.Fragment, Index: r.Transport.Index,
	}
	if r.Transport.Control() {
		h.AckFlags |= 2
	}
	if h.Fragment {
		h.AckFlags |= 1
		h.Len, h.Size = 5, 5
	}
	return dissect.Record{Transport: h}
}

func connect(anew bool) dissect.Record {
	r := control(0)
	r.Transport.Type = transport.Connect
	if anew {
		r.Notes = []dissect.Note{{Code: "other"}, {Code: "restart"}}
	}
	return r
}

func keepalive() dissect.Record {
	return dissect.Record{Transport: transport.Header{Type: transport.DoNothing, Len: 1, Size: 1}}
}

func update(id uint32) dissect.Record {
	return dissect.Record{
		Transport: transport.Header{Type: transport.Standard, Len: 13, Size: 3},
		Payload:   append(binary.LittleEndian.AppendUint32([]byte{0x1C}, id), 0, 0, 0, 0, 0),
	}
}

// both returns the links to and from the host.
func (t *tape) both(tb testing.TB) (to, from Link) {
	tb.Helper()
	for _, l := range t.Links() {
		if l.Dir == toHost {
			to = l
		} else {
			from = l
		}
	}
	return to, from
}

func check[T comparable](tb testing.TB, what string, got, want T) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// about checks a time that is as near as a distribution has it.
func about(tb testing.TB, what string, got, want time.Duration) {
	tb.Helper()
	if off := math.Abs(float64(got-want)) / float64(want); off > 1.0/32 {
		tb.Errorf("%s: got %v, want %v, off by %.1f%%", what, got, want, off*100)
	}
}

func TestRoundTrips(t *testing.T) {
	p := newTape()
	p.ms(0, toHost, data(0))
	p.ms(50, fromHost, ackOf(data(0))) // 50
	p.ms(60, fromHost, ackOf(data(0))) // acknowledgements are repeated
	p.ms(700, fromHost, ackOf(data(0)), data(0))
	p.ms(1000, toHost, data(1), control(1)) // both classes have a number 1
	p.ms(1100, fromHost, ackOf(data(1)))    // 100
	p.ms(1300, fromHost, ackOf(control(1))) // 300
	p.ms(1300, fromHost, ackOf(data(77)))   // for a message that was not seen
	p.ms(2000, toHost, data(2))             // sent again before an acknowledgement:
	p.ms(3000, toHost, again(data(2)))      // which of both was it for?
	p.ms(3010, fromHost, ackOf(data(2)))    // does not count
	p.ms(4000, toHost, piece(3, 0))
	p.ms(4010, toHost, piece(3, 1), data(4))
	p.ms(4210, fromHost, ackOf(piece(3, 1))) // 200
	p.ms(4250, fromHost, ackOf(piece(3, 0))) // 250
	p.ms(4260, fromHost, ackOf(data(3)))     // for no fragment
	p.ms(4300, toHost, again(piece(3, 0)))   // after the acknowledgement
	p.ms(4310, fromHost, ackOf(piece(3, 0)))
	p.ms(5000, toHost, piece(5, 0))           // two messages have this number:
	p.ms(5001, toHost, piece(5, 0))           // not the same bytes
	p.ms(5010, fromHost, ackOf(piece(5, 0)))  // does not count
	p.ms(6000, toHost, data(6))               // the clock goes back
	p.ms(5990, fromHost, ackOf(data(6)))      // does not count
	p.ms(7000, fromHost, control(0), data(1)) // the other way
	p.ms(7001, toHost, ackOf(data(0)))        // for the message sent at 700: 6301
	p.ms(7031, toHost, ackOf(control(0)))     // 31
	p.ms(7041, toHost, ackOf(control(0)))
	p.ms(7050, toHost, keepalive(), update(1)) // neither has a number

	to, from := p.both(t)
	check(t, "n", to.RTT.N, 5)
	check(t, "min", to.RTT.Min, 50*time.Millisecond)
	check(t, "max", to.RTT.Max, 300*time.Millisecond)
	about(t, "median", to.RTT.Median, 200*time.Millisecond) // the third of 50 100 200 250 300
	about(t, "95%", to.RTT.P95, 300*time.Millisecond)       // the fifth
	check(t, "data", to.Data, Class{Reliable: 11, Repeated: 2, Duplicates: 1, Acknowledged: 7})
	check(t, "control", to.Control, Class{Reliable: 1, Acknowledged: 1})
	check(t, "duplicates", to.Both().Duplicates, 1)
	check(t, "acks", to.Acks, 3)
	check(t, "n from the host", from.RTT.N, 2)
	check(t, "min from the host", from.RTT.Min, 31*time.Millisecond)
	check(t, "max from the host", from.RTT.Max, 6301*time.Millisecond)
	check(t, "acks from the host", from.Acks, 13)
	check(t, "acknowledged from the host", from.Both().Acknowledged, 2)
}

func TestOneRoundTripIsExact(t *testing.T) {
	p := newTape()
	p.ms(0, toHost, data(0))
	p.ms(47.123, fromHost, ackOf(data(0)))
	to, _ := p.both(t)
	const want = 47123 * time.Microsecond
	check(t, "round trip", to.RTT, RTT{N: 1, Min: want, Median: want, P95: want, Max: want, MaxAt: start})
}

// An acknowledgement is sent up to nine times. Where numbers come round soon,
// one of an old message must not count for a new one.
func TestRepeatedAcknowledgementOfAnOldNumber(t *testing.T) {
	p := newTape()
	p.ms(0, fromHost, data(7))
	p.ms(40, toHost, ackOf(data(7)))
	p.ms(700, toHost, ackOf(data(7))) // they are repeated here
	p.ms(1000, fromHost, data(7))     // another message
	p.ms(1001, toHost, ackOf(data(7)))
	p.ms(30000, fromHost, data(7)) // and another, when all is over
	p.ms(30050, toHost, ackOf(data(7)))
	_, from := p.both(t)
	check(t, "n", from.RTT.N, 2)
	check(t, "min", from.RTT.Min, 40*time.Millisecond)
	check(t, "max", from.RTT.Max, 50*time.Millisecond)
	check(t, "acknowledged", from.Both().Acknowledged, 3)
}

// Losses follow from the numbers of the records.
func TestLosses(t *testing.T) {
	with := func(r dissect.Record, gap int, late bool) dissect.Record {
		r.Gap, r.Late = gap, late
		return r
	}
	p := newTape()
	p.ms(0, toHost, with(data(4), 0, false), with(data(7), 2, false), with(control(1), 1, false))
	p.ms(1, toHost, with(data(5), 0, true), with(piece(9, 1), 1, false), with(piece(8, 0), 0, true))
	p.ms(2, fromHost, with(data(300), 3, false))
	to, from := p.both(t)
	check(t, "data", to.Data, Class{Reliable: 5, Lost: 1, Late: 2})
	check(t, "control", to.Control, Class{Reliable: 1, Lost: 1})
	check(t, "both", [2]int64{to.Both().Lost, to.Both().Late}, [2]int64{2, 2})
	check(t, "from the host", from.Data, Class{Reliable: 1, Lost: 3})
}

// The losses of a meter agree with the notes of the records.
func TestLossesAgreeWithNotes(t *testing.T) {
	for name, want := range map[string]struct{ missing, late int64 }{
		"reliability/g_s5_p4_droptx.pcap.gz": {23, 13}, // 12, 1 and 10 numbers, from frame 3448 on
		"stock_replay.pcap":                  {286, 1},
		"battle_mix-s96.pcap.gz":             {-1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			var m Meter
			var missing, late int64
			each(t, name, func(r *dissect.Record) error {
				for _, n := range r.Notes {
					var from, to int64
					switch n.Code {
					case "seq-gap":
						if k, _ := fmt.Sscanf(n.Text, "numbers %d to %d have", &from, &to); k == 2 {
							missing += to - from
						}
						missing++
					case "seq-late":
						late++
					}
				}
				return m.Record(r)
			})
			var got, came int64
			for _, l := range m.Links() {
				got += l.Both().Lost
				came += l.Both().Late
			}
			check(t, "lost", got, missing-late)
			check(t, "late", came, late)
			if want.missing >= 0 {
				check(t, "notes", [2]int64{missing, late}, [2]int64{want.missing, want.late})
			} else if missing < 100 {
				t.Errorf("only %d are missing", missing)
			}
		})
	}
}

// A repetition may be older than half the range of its number.
func TestRepetitionsAreNoNews(t *testing.T) {
	p := newTape()
	p.sender = decode.OpenBC
	for n := range uint16(200) {
		p.ms(float64(n), fromHost, data(n))
	}
	p.ms(300, fromHost, again(data(2)), again(data(150)))
	p.ms(301, fromHost, data(200))
	_, from := p.both(t)
	check(t, "data", from.Data, Class{Reliable: 203, Repeated: 2})
	check(t, "repeated", from.Both().Repeated, 2)
}

func TestRestart(t *testing.T) {
	p := newTape()
	p.name = "Kirk"
	p.ms(0, toHost, connect(false))
	p.ms(1, fromHost, data(0))
	gap := data(2)
	gap.Gap = 1 // for ever
	p.ms(2, fromHost, gap)
	p.ms(3, fromHost, update(5))
	p.ms(5, fromHost, update(5))
	p.ms(10, toHost, control(1), data(0), keepalive())
	p.ms(20, toHost, data(1), keepalive())
	p.name = ""
	p.ms(90000, toHost, connect(true))
	p.name = "Spock"
	p.ms(90040, fromHost, ackOf(control(0)), data(0), ackOf(control(1)), ackOf(data(1)), update(5))
	p.ms(90044, fromHost, data(1), update(5))
	p.ms(90050, toHost, control(1), data(0), ackOf(data(0)), ackOf(data(2)), keepalive())
	to, from := p.both(t)
	check(t, "restarts", to.Restarts, 1)
	check(t, "restarts from the host", from.Restarts, 1)
	check(t, "player", to.Player, "Spock")
	check(t, "lost", to.Both().Lost, 0)
	check(t, "lost from the host", from.Both().Lost, 1)
	check(t, "round trips", to.RTT, RTT{N: 1, Min: 40e6, Median: 40e6, P95: 40e6, Max: 40e6, MaxAt: to.RTT.MaxAt})
	check(t, "round trips from the host", from.RTT, RTT{N: 1, Min: 10e6, Median: 10e6, P95: 10e6, Max: 10e6, MaxAt: from.RTT.MaxAt})
	check(t, "silence", to.Silence, 50*time.Millisecond)
	check(t, "silence from the host", from.Silence, 4*time.Millisecond)
	check(t, "keepalives", to.Keepalives, 3)
	check(t, "between keepalives", to.KeepaliveMax, 10*time.Millisecond)
	s := p.Ships()[0]
	check(t, "updates", s.Updates, 4)
	check(t, "intervals", s.Intervals, 2)
	check(t, "longest", s.Longest, 4*time.Millisecond)
	check(t, "jitter", s.Jitter, 0) // the two intervals do not follow each other
	if to.Last.Sub(to.First) != 90050*time.Millisecond {
		t.Errorf("from %v to %v", to.First, to.Last)
	}
}

func TestTraffic(t *testing.T) {
	p := newTape()
	short := dissect.Record{Transport: transport.Header{Type: transport.NameChange, Len: 2, Size: 2, Short: true}}
	p.ms(0, toHost, data(0), update(1), keepalive())
	p.ms(5000, toHost, keepalive())
	p.ms(12000, toHost, short)
	p.ms(12500, toHost, dissect.Record{Kind: dissect.KindMalformed, Status: dissect.StatusMalformed})
	p.ms(12600, toHost, update(1), dissect.Record{Kind: dissect.KindMalformed, Cut: true})
	p.ms(12700, dissect.DirUnknown, data(9))
	p.ms(12800, toHost, dissect.Record{Kind: dissect.KindGameSpy})
	p.ms(12800, toHost, dissect.Record{Kind: dissect.KindEvicted, Transport: piece(3, 0).Transport})
	payload := update(1)
	payload.Kind = dissect.KindPayload
	_ = p.Record(&payload)
	// A datagram that the capture cut short, and one without a time.
	cut := data(1)
	cut.Dir, cut.Datagram = toHost, &dissect.Datagram{Number: 100, Time: start.Add(13 * time.Second), Src: kirk, Dst: host, Payload: make([]byte, 60), Full: 400}
	_ = p.Record(&cut)
	timeless := keepalive()
	timeless.Dir, timeless.Datagram = toHost, &dissect.Datagram{Number: 101, Src: kirk, Dst: host, Payload: make([]byte, 3), Full: 3}
	_ = p.Record(&timeless)
	// Another capture begins with a frame of the same number.
	other := keepalive()
	other.Dir, other.Datagram = toHost, &dissect.Datagram{Number: 101, Src: kirk, Dst: host, Payload: make([]byte, 3), Full: 3}
	other.Peer, other.ClientID = 2, 2
	_ = p.Record(&other)

	l := p.Links()[0]
	check(t, "links", len(p.Links()), 1)
	check(t, "host", l.Host, host)
	check(t, "client", l.Client, kirk)
	check(t, "peer", l.Peer, 2)
	check(t, "datagrams", l.Datagrams, 8)
	check(t, "bytes", l.Bytes, 5*10+400+3+3)
	check(t, "messages", l.Messages, 9)
	check(t, "reliable", l.Both().Reliable, 2)
	check(t, "silence", l.Silence, 7*time.Second)
	check(t, "keepalives", l.Keepalives, 5)
	check(t, "mean", l.KeepaliveMean, 6*time.Second)
	check(t, "longest", l.KeepaliveMax, 7*time.Second)
	check(t, "first", l.First, start)
	check(t, "last", l.Last, start.Add(13*time.Second))
	check(t, "given up", p.GivenUp(), GivenUp{Undirected: 1})
	check(t, "updates", p.Ships()[0].Updates, 2)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestOrder(t *testing.T) {
	p := newTape()
	for i, who := range []netip.AddrPort{kirk, picard, kirk} {
		p.client = who
		p.ms(float64(i), fromHost, update(7), update(3))
		p.ms(float64(i), toHost, update(5))
	}
	var got []string
	for _, l := range p.Links() {
		got = append(got, fmt.Sprint(l.Client.Addr(), l.Dir, l.Datagrams))
	}
	want := []string{"192.168.0.9 c2s 1", "192.168.0.9 s2c 1", "192.168.0.10 c2s 2", "192.168.0.10 s2c 2"}
	if !slices.Equal(got, want) {
		t.Errorf("links: got %q", got)
	}
	got = nil
	for _, s := range p.Ships() {
		got = append(got, fmt.Sprint(s.Client.Addr(), s.Dir, uint32(s.Object), s.Updates))
	}
	want = []string{
		"192.168.0.9 c2s 5 1", "192.168.0.9 s2c 3 1", "192.168.0.9 s2c 7 1",
		"192.168.0.10 c2s 5 2", "192.168.0.10 s2c 3 2", "192.168.0.10 s2c 7 2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("ships: got %q", got)
	}
}

// known knows objects by name.
type known map[wire.ObjectID]string

func (k known) Player(decode.Number, int64) *dissect.Player          { return nil }
func (k known) Object(id wire.ObjectID) wire.Untrusted               { return wire.Untrusted(k[id]) }
func (k known) AppendObject(dst []byte, id wire.ObjectID) []byte     { return append(dst, k[id]...) }
func (k known) ShipOf(id wire.ObjectID) (ship wire.ObjectID, _ bool) { return id, true }

func TestShips(t *testing.T) {
	p := newTape()
	p.name = "Kirk"
	named := func(r dissect.Record, name string) dissect.Record {
		r.Session = known{0x3FFFFFFF: name}
		return r
	}
	own := update(0x3FFFFFFF)
	p.ms(0, toHost, named(own, ""))
	p.ms(100, toHost, named(own, "Akira"))        // 100
	p.ms(250, toHost, named(own, "Akira (Kirk)")) // 150, differs by 50
	p.ms(300, toHost, named(own, ""))             // 50, differs by 100
	p.ms(310, toHost, again(own))
	p.ms(320, toHost, dissect.Record{Payload: []byte{0x1C, 1, 2, 3}}) // no id
	p.ms(330, toHost, data(0))
	p.ms(320, fromHost, update(0x4003FFFF))
	p.ms(400, fromHost, update(0x4003FFFF), update(0x4003FFFF)) // 80 and 0
	p.ms(390, fromHost, update(0x4003FFFF))                     // the clock goes back
	p.ms(400, fromHost, update(0x4003FFFF))                     // 10, follows nothing
	want := []Ship{
		{
			Host: host, Client: kirk, Dir: toHost, Player: "Kirk", Object: 0x3FFFFFFF, Name: "Akira (Kirk)",
			First: start, Last: start.Add(300 * time.Millisecond), Updates: 4, Intervals: 3,
			Mean: 100 * time.Millisecond, Jitter: 75 * time.Millisecond, Longest: 150 * time.Millisecond, LongestAt: start.Add(100 * time.Millisecond), Rate: 10,
		},
		{
			Host: host, Client: kirk, Dir: fromHost, Player: "Kirk", Object: 0x4003FFFF,
			First: start.Add(320 * time.Millisecond), Last: start.Add(400 * time.Millisecond), Updates: 5, Intervals: 3,
			Mean: 30 * time.Millisecond, Jitter: 80 * time.Millisecond, Longest: 80 * time.Millisecond, LongestAt: start.Add(320 * time.Millisecond), Rate: 3 * 1e9 / 90e6,
		},
	}
	if got := p.Ships(); !slices.Equal(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

func TestRates(t *testing.T) {
	p := newTape()
	rate := func() Rate { return p.Links()[0].Rate }
	p.ms(0, toHost, data(0))
	check(t, "a datagram alone", rate(), Rate{Datagrams: 1, Messages: 1, Bytes: 10})
	for i := 1; i < 200; i++ { // a datagram every 50 ms, ten bytes and two messages each
		second := data(uint16(i))
		if i%10 == 0 {
			second = again(second)
		}
		p.ms(float64(i)*50, toHost, keepalive(), second)
		if i == 60 { // after 3 s
			check(t, "of three seconds", rate().Datagrams, 61/3.0)
		}
	}
	// The last one came at 9950 ms. The window ends then and begins at 5000.
	per := 1 / 4.95
	check(t, "of five seconds", rate(), Rate{Datagrams: 100 * per, Messages: 200 * per, Bytes: 1000 * per, Repeated: 10 * per})
	p.Advance(start.Add(12 * time.Second)) // the window begins at 7250 ms
	check(t, "two seconds later", math.Round(rate().Datagrams*4750), 55000)
	p.Advance(start.Add(11 * time.Second))
	check(t, "no way back", math.Round(rate().Datagrams*4750), 55000)
	p.Advance(start.Add(20 * time.Second))
	check(t, "silence", rate(), Rate{})
	p.ms(10000, toHost, data(0))
	if rate().Datagrams == 0 {
		t.Error("a datagram that came before the time that was told makes no rate")
	}
}

func TestSpread(t *testing.T) {
	for ns := int64(1 << lowest); ns < 1<<(lowest+octaves); ns += 1 + ns/97 {
		i := rangeOf(ns)
		if off := math.Abs(float64(middle(i)-ns)) / float64(ns); off > 1.0/32 {
			t.Fatalf("%d: range %d has its middle at %d, off by %.2f%%", ns, i, middle(i), off*100)
		}
		if j := rangeOf(ns + 1); j != i && j != i+1 {
			t.Fatalf("%d is in range %d, but the next in %d", ns, i, j)
		}
	}
	for ns, want := range map[int64]int{0: 0, 1023: 0, 1024: 1, 1<<40 - 1: 480, 1 << 40: 481, math.MaxInt64: 481} {
		check(t, fmt.Sprint(ns), rangeOf(ns), want)
	}
	var s spread
	s.add(0)
	s.add(math.MaxInt64)
	check(t, "extremes", s.result(), RTT{N: 2, Min: 0, Median: 512, P95: math.MaxInt64, Max: math.MaxInt64})

	// Quantiles agree with the sorted times.
	random := rand.New(rand.NewPCG(1, 2))
	s = spread{}
	var times []time.Duration
	for range 1001 {
		d := time.Duration(math.Exp(random.Float64()*12) * 1e4)
		times = append(times, d)
		s.add(int64(d))
	}
	slices.Sort(times)
	r := s.result()
	about(t, "median", r.Median, times[500])
	about(t, "95%", r.P95, times[950])
	check(t, "min", r.Min, times[0])
	check(t, "max", r.Max, times[1000])
}

func TestBounds(t *testing.T) {
	t.Run("links", func(t *testing.T) {
		p := newTape()
		for i := range 300 {
			p.client = netip.AddrPortFrom(kirk.Addr(), uint16(1000+i))
			p.ms(float64(i), toHost, data(0), update(1))
			if i%2 == 0 {
				p.ms(float64(i), fromHost, data(0))
			}
		}
		// 44 conversations had to go, every other of them with two links.
		check(t, "links", len(p.Links()), 256+128)
		check(t, "ships", len(p.Ships()), 256)
		check(t, "given up", p.GivenUp(), GivenUp{Links: 44 + 22, Ships: 44})
		check(t, "the oldest", p.Links()[0].Client.Port(), 1044)
		p.client = netip.AddrPortFrom(kirk.Addr(), 1000)
		p.ms(301, toHost, data(9)) // one of those that went
		check(t, "anew", p.Links()[0].Datagrams, 1)
		check(t, "links given up", p.GivenUp().Links, 44+22+2)
	})
	t.Run("the one that talks stays", func(t *testing.T) {
		p := newTape()
		for i := range 600 {
			p.client = kirk
			p.ms(float64(i), toHost, data(uint16(i)))
			p.client = netip.AddrPortFrom(picard.Addr(), uint16(1000+i))
			p.ms(float64(i), toHost, data(0))
		}
		var l Link
		for _, other := range p.Links() {
			if other.Client == kirk {
				l = other
			}
		}
		check(t, "datagrams", l.Datagrams, 600)
		check(t, "links", len(p.Links()), 256)
	})
	t.Run("ships", func(t *testing.T) {
		p := newTape()
		for id := range uint32(5000) {
			p.ms(float64(id), fromHost, update(id), update(9999))
		}
		// One stream is of 9999, which never rests for long.
		check(t, "ships", len(p.Ships()), MaxShips)
		check(t, "given up", p.GivenUp(), GivenUp{Ships: 5001 - MaxShips})
		check(t, "the oldest", p.Ships()[0].Object, 5000-MaxShips+1)
		check(t, "the one that stays", p.Ships()[MaxShips-1].Updates, 5000)
	})
	t.Run("outstanding", func(t *testing.T) {
		p := newTape()
		for n := range uint16(1100) {
			p.ms(float64(n), toHost, data(n))
		}
		check(t, "given up", p.GivenUp(), GivenUp{Outstanding: 76})
		p.ms(2000, fromHost, ackOf(data(75)), ackOf(data(76)), ackOf(data(1099)))
		to, _ := p.both(t)
		check(t, "round trips", to.RTT.N, 2)
		for n := range uint16(2000) { // those that are acknowledged make no others go
			p.ms(3000, toHost, data(1100+n))
			p.ms(3001, fromHost, ackOf(data(1100+n)))
		}
		to, _ = p.both(t)
		check(t, "round trips", to.RTT.N, 2002)
		check(t, "all gone", p.GivenUp(), GivenUp{Outstanding: 76 + 1022})
	})
}

// count returns how many messages wait.
func (w *waiting) count() (n int) {
	for i := range w.ring {
		if w.ring[i].key != 0 {
			n++
		}
	}
	return n
}

// verify checks that limits are kept and counts agree.
func verify(tb testing.TB, m *Meter) {
	tb.Helper()
	links := m.Links()
	if len(links) > MaxLinks || len(m.conversations) > MaxLinks/2 {
		tb.Fatalf("%d links", len(links))
	}
	for _, l := range links {
		for _, c := range []Class{l.Control, l.Data} {
			if c.Lost < 0 || c.Late < 0 || c.Repeated > c.Reliable || c.Duplicates > c.Repeated || c.Acknowledged > c.Reliable-c.Repeated {
				tb.Fatalf("counts: %+v", c)
			}
		}
		r := l.RTT
		if r.N > l.Both().Acknowledged || r.Min < 0 || r.Min > r.Median || r.Median > r.P95 || r.P95 > r.Max {
			tb.Fatalf("round trips: %+v", r)
		}
		if l.Silence < 0 || l.KeepaliveMean < 0 || l.KeepaliveMean > l.KeepaliveMax {
			tb.Fatalf("silence %v, keepalives %v, %v", l.Silence, l.KeepaliveMean, l.KeepaliveMax)
		}
		if l.Rate.Messages < 0 || math.IsNaN(l.Rate.Messages) || math.IsInf(l.Rate.Messages, 0) {
			tb.Fatalf("rates: %+v", l.Rate)
		}
	}
	streams := map[*conversation]int{}
	for _, s := range m.streams {
		streams[s.conv]++
	}
	for _, c := range m.conversations {
		if streams[c] != c.streams {
			tb.Fatalf("%d streams, counted %d", streams[c], c.streams)
		}
		for i := range c.links {
			for j := range c.links[i].spaces {
				w := &c.links[i].spaces[j].waiting
				if n := w.count(); n != w.alive || n > MaxOutstanding {
					tb.Fatalf("%d messages wait, counted %d", n, w.alive)
				}
			}
		}
	}
	ships := m.Ships()
	if len(ships) > MaxShips || len(ships) != len(m.streams) || m.order.Len() != len(m.streams) {
		tb.Fatalf("%d ships, %d streams, %d in order", len(ships), len(m.streams), m.order.Len())
	}
	for _, s := range ships {
		if s.Intervals >= s.Updates || s.Mean < 0 || s.Mean > s.Longest || s.Jitter < 0 || s.Jitter > s.Longest {
			tb.Fatalf("ship: %+v", s)
		}
	}
}

// FuzzMeter takes six bytes for each record. For any bytes, limits are kept and
// counts agree with each other.
// TestConversationRests frees the memory of a conversation ten seconds after its end.
// Messages that wait for their acknowledgement still count, and one that comes late is for
// the right message.
func TestConversationRests(t *testing.T) {
	p := newTape()
	for i := range uint16(100) {
		p.ms(float64(i), dissect.ToHost, data(i))
	}
	for i := range uint16(97) {
		p.ms(200, dissect.FromHost, ackOf(data(i)))
	}
	p.ms(300, dissect.ToHost, dissect.Record{Transport: transport.Header{Type: transport.Leave}})
	side := func() *link {
		for _, c := range p.conversations {
			return &c.links[0]
		}
		return nil
	}
	lap := func(seconds float64) *waiting {
		p.Advance(start.Add(time.Duration(seconds * 1e9)))
		p.Laps(func(*Lap) {})
		return &side().spaces[1].waiting
	}
	if w := lap(10.2); len(w.ring) != 100 || w.heads == nil {
		t.Errorf("after 9.9 seconds: %d messages", len(w.ring))
	}
	w := lap(10.3)
	if len(w.ring) != 3 || cap(w.ring) > 4 || w.heads != nil || side().spaces[1].acked != nil {
		t.Errorf("at rest: %d messages, room for %d, %d slots", len(w.ring), cap(w.ring), len(w.heads))
	}
	before, _ := p.both(t)
	check(t, "messages that wait", w.count(), 3)
	p.ms(11000, dissect.FromHost, ackOf(data(98)))
	after, _ := p.both(t)
	check(t, "messages that wait", w.count(), 2)
	check(t, "acknowledged", after.Data.Acknowledged-before.Data.Acknowledged, 1)
	p.ms(11001, dissect.ToHost, data(100))
	check(t, "messages that wait", w.count(), 3)
}

func FuzzMeter(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0})
	f.Add([]byte{0x00, 0, 5, 0, 0, 10, 0x12, 0, 5, 0, 0, 20, 0x00, 0, 9, 0, 0, 1, 0x80, 0, 9, 0, 0, 1, 0x04, 0, 0, 0, 0, 9})
	f.Add([]byte{0x05, 0, 5, 0, 0, 10, 0x05, 0, 5, 0, 0, 20, 0x06, 0, 9, 0, 0, 1, 0x03, 0, 9, 0, 2, 1, 0x13, 0, 9, 0, 2, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		p := newTape()
		now, bursts := 0.0, 0
		for b = b[:min(len(b), 6*4096)]; len(b) >= 6; b = b[6:] {
			p.client = netip.AddrPortFrom(kirk.Addr(), uint16(b[1])<<2)
			p.sender = decode.Dialect(b[0] >> 5 & 3)
			dir := toHost
			if b[0]&0x10 != 0 {
				dir = fromHost
			}
			seq := binary.LittleEndian.Uint16(b[2:])
			now += float64(int8(b[5])) * math.Abs(float64(int8(b[5])))
			var r dissect.Record
			switch b[0] & 7 {
			case 0:
				r = data(seq)
			case 1:
				r = control(seq)
			case 2:
				r = ackOf([]dissect.Record{data(seq), control(seq), piece(seq, b[4])}[b[4]%3])
			case 3:
				r = piece(seq, b[4])
			case 4:
				r = connect(b[4]&1 != 0)
			case 5:
				r = update(uint32(seq) << (b[4] % 16))
			case 6:
				r = keepalive()
			case 7:
				p.Advance(start.Add(time.Duration(now) * time.Millisecond))
				if bursts++; bursts <= 8 {
					for n := range uint16(700) {
						p.ms(now, dir, data(seq+n*uint16(b[4])), update(uint32(seq)+uint32(n)))
					}
				}
				r = data(seq)
			}
			if b[0]&0x80 != 0 && r.Transport.Reliable {
				r = again(r)
			}
			if b[0]&0x08 != 0 {
				r.Kind = dissect.Kind(b[4] % 6)
			}
			p.ms(now, dir, r)
		}
		verify(t, &p.Meter)
	})
}

func TestHostileTimes(t *testing.T) {
	p := newTape()
	for i, at := range []time.Time{
		start,
		{},
		time.Unix(1<<62, 0), time.Unix(-1<<62, 0), time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64),
		time.Unix(0, -1), start, time.Unix(0, math.MaxInt64), time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64),
	} {
		for j, r := range []dissect.Record{data(uint16(i)), ackOf(data(uint16(i))), keepalive(), update(1), again(data(uint16(i)))} {
			r.Dir, r.Part = toHost, j
			r.Datagram = &dissect.Datagram{Number: i, Time: at, Src: kirk, Dst: host}
			_ = p.Record(&r)
		}
		p.Advance(at)
		verify(t, &p.Meter)
	}
}

// OpenBC's host sends each of three players the player's name every second for
// 21 seconds, over a line that loses nothing. No player acknowledges the names.
// They were counted by hand in the JSON of "read".
func TestEchoesAreNoRetransmissions(t *testing.T) {
	var m Meter
	each(t, "networked_battle.pcap", m.Record)
	for _, l := range m.Links() {
		want := int64(0)
		if l.Dir == fromHost {
			want = 20 // and the first, which is a message
		}
		check(t, "keepalives", l.Keepalives, want)
		check(t, "retransmissions", l.Control.Repeated+l.Control.Duplicates, 0)
		if d := l.KeepaliveMean - time.Second; want > 0 && d.Abs() > 20*time.Millisecond {
			t.Errorf("a keepalive every %v", l.KeepaliveMean)
		}
	}
	for _, q := range Qualities(m.Links()) {
		check(t, q.Player.Raw(), q.Grade, Good)
	}
}

// The counts must agree with the tally's.
func TestCapturesAgreeWithTally(t *testing.T) {
	for _, name := range []string{
		"forged_small.pcap", "join_flow.pcap", "lossy.pcap", "networked_battle.pcap", "opcode_tour.pcap",
		"restart.pcap", "stock_client.pcap", "stock_replay.pcap",
	} {
		t.Run(name, func(t *testing.T) {
			var m Meter
			var tally Tally
			var asked, names int64 // keepalives that ask for an acknowledgement, and the host's later echoes
			each(t, name, func(r *dissect.Record) error {
				_ = m.Record(r)
				if r.Keepalive() && r.Transport.Reliable {
					asked++
				}
				if r.Keepalive() && r.Repeat {
					names++
				}
				return tally.Record(r)
			})
			verify(t, &m)
			var messages, reliable, repeated, acks, datagrams, updates int64
			for _, l := range m.Links() {
				messages += l.Messages
				reliable += l.Both().Reliable
				repeated += l.Both().Repeated
				acks += l.Acks
				datagrams += l.Datagrams
			}
			for _, s := range m.Ships() {
				updates += s.Updates
			}
			check(t, "messages", messages, tally.Messages)
			check(t, "reliable", reliable+asked, tally.Reliable)
			check(t, "repeated", repeated+names, tally.Duplicates)
			check(t, "acks", acks, tally.Types[transport.Acknowledge])
			check(t, "datagrams", datagrams, tally.Game+tally.Malformed)
			check(t, "updates", updates, tally.Opcodes[0x1C].Total)
			check(t, "given up", m.GivenUp(), GivenUp{})
		})
	}
}

// each gives f the records of a capture.
func each(tb testing.TB, name string, f func(*dissect.Record) error) {
	tb.Helper()
	src, err := capture.OpenAll([]string{fixtures.Path("captures/" + name)}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer src.Close()
	p := dissect.New(dissect.Config{})
	for {
		d, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		if err := p.Push(d, f); err != nil {
			tb.Fatal(err)
		}
	}
	if err := p.Flush(f); err != nil {
		tb.Fatal(err)
	}
}

// steady returns a game that goes on: messages, acknowledgements, repetitions
// that are lost, updates of ships that change their places.
func steady() (m *Meter, step func()) {
	p := newTape()
	p.name = "Kirk"
	var d dissect.Datagram
	records := []dissect.Record{data(0), ackOf(data(0)), update(0x3FFFFFFF), update(0x4003FFFF), keepalive(), piece(1, 1), again(piece(1, 1)), control(0)}
	for i := range records {
		records[i].Client, records[i].ClientID, records[i].Sender = "Kirk", 2, decode.OpenBC
		records[i].Session = known{0x3FFFFFFF: "Akira (Kirk)", 0x4003FFFF: "Galaxy"}
	}
	n := 0
	return &p.Meter, func() {
		n++
		for i := range records {
			r := &records[i]
			r.Dir, d.Src, d.Dst = toHost, kirk, host
			if (n+i)%3 == 0 {
				r.Dir, d.Src, d.Dst = fromHost, host, kirk
			}
			d.Number, d.Time, d.Full, r.Datagram = n*8+i, start.Add(time.Duration(n*8+i)*4*time.Millisecond), 50, &d
			if r.Transport.HasSeq {
				r.Transport.Seq = uint16(uint8(n * 3 / 2))
			}
			_ = p.Record(r)
		}
	}
}

func TestMeterDoesNotAllocate(t *testing.T) {
	m, step := steady()
	for range 2 * MaxOutstanding { // until the rings are as large as they get
		step()
	}
	if n := testing.AllocsPerRun(5000, step); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
	verify(t, m)
}

func BenchmarkMeter(b *testing.B) {
	b.Run("mixed", func(b *testing.B) {
		_, step := steady()
		b.ReportAllocs()
		for b.Loop() {
			step() // 8 records
		}
	})
	b.Run("capture", func(b *testing.B) {
		var records []dissect.Record
		each(b, "networked_battle.pcap", func(r *dissect.Record) error {
			c := *r
			d := *r.Datagram
			c.Datagram, c.Payload, c.Session = &d, slices.Clone(r.Payload), nil
			records = append(records, c)
			return nil
		})
		var m Meter
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			_ = m.Record(&records[i])
			if i++; i == len(records) {
				i = 0
			}
		}
	})
	b.Run("snapshot", func(b *testing.B) {
		m, step := steady()
		for range 100 {
			step()
		}
		for b.Loop() {
			_, _ = m.Links(), m.Ships()
		}
	})
}

// Steps of a join that have no room are counted; the last is there.
func TestStepsAreBounded(t *testing.T) {
	j := &Join{}
	for n := range maxSteps + 5 {
		j.take(&dissect.Record{
			Datagram: &dissect.Datagram{Number: n}, Dir: dissect.FromHost, Transport: transport.Header{Type: transport.Connect},
			Message: &transport.Accept{ID: 2},
		}, instant{})
	}
	if last := j.Steps[len(j.Steps)-1]; len(j.Steps) != maxSteps || j.Left != 5 || last.Frame != maxSteps+4 || j.Steps[maxSteps-2].Frame != maxSteps-2 {
		t.Errorf("%d steps, the last in frame %d, %d left", len(j.Steps), last.Frame, j.Left)
	}
}
