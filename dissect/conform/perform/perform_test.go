package perform_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/perform"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

var hostAddr = netip.MustParseAddrPort("203.0.113.1:22101")

// A live session is a capture that is played to a host in simulated time.
type live struct {
	t         *testing.T
	host      *relay.Host
	performer *perform.Performer
	addrs     map[netip.AddrPort]*conform.Client
	got       map[netip.AddrPort][][]byte // game messages by the captured address of who got them
	first     func(now time.Time)         // before anything else
	hosts     *conform.Hosts
	pipeline  *dissect.Pipeline
	frame     int
	change    func(r *dissect.Record, pass func(*dissect.Record))
	deaf      func(time.Time, netip.AddrPort) bool // whether the network loses a client's datagram; nil for none
}

func newLive(t *testing.T, cfg relay.Config, against decode.Dialect) *live {
	t.Helper()
	cfg.Captured = true // some of these clients give a slot where their id belongs
	return &live{
		t: t, host: relay.NewHost(cfg), performer: perform.New(nil), addrs: map[netip.AddrPort]*conform.Client{},
		got: map[netip.AddrPort][][]byte{}, hosts: conform.NewHosts(conform.Config{Against: against, Shared: true}), pipeline: dissect.New(dissect.Config{}),
	}
}

// play plays a capture and returns the report of the comparison.
func (l *live) play(name string) *result.Report {
	p := dissect.New(dissect.Config{})
	var now time.Time
	recorded.Datagrams(l.t, name, func(d *dissect.Datagram) {
		now = d.Time
		if l.first != nil {
			l.first(now)
			l.first = nil
		}
		err := p.Push(d, func(r *dissect.Record) error {
			l.performer.Record(now, r)
			return nil
		})
		if err != nil {
			l.t.Fatal(err)
		}
		l.exchange(now)
	})
	l.performer.Leave(now)
	for range 100 {
		now = now.Add(100 * time.Millisecond)
		l.exchange(now)
	}
	if !l.performer.Idle() {
		l.t.Error("something is left unsaid")
	}
	reports, _ := l.hosts.Reports()
	return reports[0]
}

func (l *live) exchange(now time.Time) {
	for {
		c, datagram, ok := l.performer.Send(now)
		if !ok {
			break
		}
		l.addrs[c.Addr] = c
		l.note(now, c.Addr, hostAddr, datagram)
		if l.deaf == nil || !l.deaf(now, c.Addr) {
			l.host.Receive(now, c.Addr, datagram)
		}
	}
	l.host.Advance(now)
	for {
		to, datagram, ok := l.host.Send()
		if !ok {
			return
		}
		if c := l.addrs[to]; c != nil {
			l.note(now, hostAddr, to, datagram)
			l.performer.Receive(now, c, datagram)
		}
	}
}

func (l *live) note(now time.Time, src, dst netip.AddrPort, datagram []byte) {
	l.frame++
	d := dissect.Datagram{Number: l.frame, Time: now, Src: src, Dst: dst, Payload: datagram, Full: len(datagram)}
	err := l.pipeline.Push(&d, func(r *dissect.Record) error {
		if r.Dir == dissect.FromHost && r.Game() {
			l.got[r.Datagram.Dst] = append(l.got[r.Datagram.Dst], bytes.Clone(r.Payload))
		}
		if l.change != nil {
			l.change(r, func(r *dissect.Record) { _ = l.hosts.Record(r) })
			return nil
		}
		return l.hosts.Record(r)
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// by returns the messages that the client with a name received.
func (l *live) by(name string) [][]byte {
	for addr, c := range l.addrs {
		if c.Name.Raw() == name {
			return l.got[addr]
		}
	}
	l.t.Fatalf("nobody is called %s", name)
	return nil
}

func count(list [][]byte, op byte) (n int) {
	for _, b := range list {
		if b[0] == op {
			n++
		}
	}
	return n
}

var stockGame = relay.Config{
	Mission: "Multiplayer.Episode.Mission1.Mission1", System: 1, Players: 8, TimeLimit: 255, FragLimit: 255, Collisions: true,
}

// TestPerform: the clients of a capture join a stock host, fight and leave, and
// the host conforms. Each receives copies of the other's captured messages: one
// ship, two of each shot, and three chat lines. It also receives its own three.
func TestPerform(t *testing.T) {
	l := newLive(t, stockGame, decode.Undecided)
	r := l.play("stock_client.pcap")
	if !r.Conforms() || len(r.Deviations) > 0 || r.Dialect == decode.OpenBC {
		t.Errorf("dialect %v, differences %v, deviations %v", r.Dialect, r.Differences, r.Deviations)
	}
	for _, c := range []struct {
		name string
		op   byte
		want int
	}{
		{"Cady2", 0x07, 2},
		{"Cady2", 0x15, 0},
		{"Cady2", 0x19, 2},
		{"Cady2", 0x1D, 2},
		{"Cady2", 0x20, 5},
		{"Cady2", 0x2C, 6},
		{"Kirk", 0x07, 2},
		{"Kirk", 0x15, 0},
		{"Kirk", 0x19, 2},
		{"Kirk", 0x1D, 2},
		{"Kirk", 0x20, 5},
		{"Kirk", 0x2C, 6},
	} {
		if got := count(l.by(c.name), c.op); got != c.want {
			t.Errorf("%s got %d messages %02X, want %d", c.name, got, c.op, c.want)
		}
	}
}

// TestPerformCaptures: a stock host also conforms with the clients of other
// captures, and of one that starts late.
func TestPerformCaptures(t *testing.T) {
	for _, name := range []string{"networked_battle.pcap", "opcode_tour.pcap", "restart.pcap", "lossy.pcap", "no_identity.pcap"} {
		t.Run(name, func(t *testing.T) {
			r := newLive(t, stockGame, decode.Undecided).play(name)
			if r.Found > 0 || r.Dialect == decode.OpenBC {
				t.Errorf("dialect %v, %d differences, the first %v", r.Dialect, r.Found, r.Differences[0])
			}
		})
	}
}

// A stock host with a fault is found out.
func TestPerformFault(t *testing.T) {
	l := newLive(t, stockGame, decode.Undecided)
	done := false
	l.change = func(r *dissect.Record, pass func(*dissect.Record)) {
		pass(r)
		if op, ok := r.Opcode(); ok && op == 0x1A && r.Dir == dissect.FromHost && !done { // as if it passed a collision on
			done = true
			r.Payload = append([]byte{0x15}, r.Payload[1:]...)
			r.Transport.HasSeq, r.Transport.Reliable = false, false
			pass(r)
		}
	}
	r := l.play("stock_client.pcap")
	if len(r.Differences) != 1 || r.Differences[0].Kind != "extra" || r.Differences[0].Opcode != 0x15 {
		t.Errorf("differences %v, want one collision too many", r.Differences)
	}
}

// TestPerformMoves: another client has the first slot, so that the clients get
// the slots and ids after it. Their ships, and the messages that name them,
// move along.
func TestPerformMoves(t *testing.T) {
	l := newLive(t, stockGame, decode.Undecided)
	l.first = func(now time.Time) { occupy(t, l.host, now) }
	r := l.play("stock_client.pcap")
	if r.Found > 0 {
		t.Errorf("differences %v", r.Differences)
	}
	for i, want := range []struct {
		name       string
		peer, slot int
	}{{"Cady2", 3, 1}, {"Kirk", 4, 2}} {
		if c := r.Clients[i]; c.Name.Raw() != want.name || int(c.Peer) != want.peer || c.Slot != want.slot {
			t.Errorf("%q has peer id %d and slot %d, want %v", c.Name, c.Peer, c.Slot, want)
		}
	}
	for _, c := range []struct {
		name string // who gets it
		head []byte // start of the other's ship: opcode, slot and network id of the owner, class, id
	}{
		{"Kirk", []byte{0x03, 1, 3, 0x08, 0x80, 0, 0, 0xFF, 0xFF, 0x03, 0x40}},
		{"Cady2", []byte{0x03, 2, 4, 0x08, 0x80, 0, 0, 0xFF, 0xFF, 0x07, 0x40}},
	} {
		found := false
		for _, b := range l.by(c.name) {
			found = found || bytes.HasPrefix(b, c.head)
		}
		if !found {
			t.Errorf("%s did not get a ship that begins with % X", c.name, c.head)
		}
	}
	// Chat lines of the capture name peer 3, Kirk, who has 4 now.
	for _, b := range l.by("Kirk") {
		if b[0] == 0x2C && b[1] == 3 {
			t.Errorf("a chat line still names peer 3: % X", b)
		}
	}
}

// occupy lets a silent client into a host, and keeps it there for a while.
func occupy(t *testing.T, h *relay.Host, now time.Time) {
	t.Helper()
	addr := netip.MustParseAddrPort("203.0.113.9:1")
	l := arq.New(transport.UnassignedPeer, arq.Limits{})
	if err := l.Queue(now, arq.Message{Type: transport.Connect, Body: []byte{203, 0, 113, 9, 1, 0, 0, 0, 0, 0}}); err != nil {
		t.Fatal(err)
	}
	plain, ok := l.Datagram(now, nil)
	if !ok {
		t.Fatal("nothing to send")
	}
	h.Receive(now, addr, cipher.Encrypt(nil, plain))
	h.Receive(now, addr, cipher.Encrypt(nil, []byte{2, 1, 2}))
}

// TestPerformLate: a client with a slow join sends its own messages afterwards,
// not another client's.
func TestPerformLate(t *testing.T) {
	l := newLive(t, relay.Config{Players: 8, Mode: relay.Playable}, decode.Undecided)
	var begun time.Time
	var lost netip.AddrPort
	l.deaf = func(now time.Time, from netip.AddrPort) bool {
		if begun.IsZero() {
			begun, lost = now, from
		}
		return from == lost && now.Sub(begun) < 5*time.Second
	}
	updated := map[netip.AddrPort]map[wire.ObjectID]int{}
	l.change = func(r *dissect.Record, pass func(*dissect.Record)) {
		if m, ok := r.Message.(*msg.StateUpdate); ok && r.Dir == dissect.ToHost {
			from := r.Datagram.Src
			if updated[from] == nil {
				updated[from] = map[wire.ObjectID]int{}
			}
			updated[from][m.Object]++
		}
		pass(r)
	}
	l.play("networked_battle.pcap")
	if len(updated) != 3 {
		t.Errorf("%d clients update ships, want 3", len(updated))
	}
	for from, ships := range updated {
		if len(ships) != 1 {
			t.Errorf("%v updates %v, want its own ship alone", from, ships)
		}
	}
}

// TestSeveralGames: of several games in a capture one is played, and the others
// are named; its clients connect one after the other.
func TestSeveralGames(t *testing.T) {
	p := perform.New(nil)
	now := time.Unix(1e9, 0)
	recorded.Records(t, "join_flow.pcap", dissect.Config{}, func(r *dissect.Record) { p.Record(now, r) })
	if others := p.Others(); len(others) != 2 || others[0].Port() != 29871 || others[1].Port() != 29872 {
		t.Errorf("other games %v, want those at 29871 and 29872", others)
	}

	p = perform.New(nil)
	recorded.Records(t, "stock_client.pcap", dissect.Config{}, func(r *dissect.Record) { p.Record(now, r) })
	first := map[string]bool{}
	for c, _, ok := p.Send(now); ok; c, _, ok = p.Send(now) {
		first[c.Name.Raw()] = true
	}
	if len(first) != 1 || !first["Cady2"] {
		t.Errorf("%v connect at once, want Cady2 before Kirk", first)
	}
	for c, _, ok := p.Send(now.Add(time.Minute)); ok; c, _, ok = p.Send(now.Add(time.Minute)) {
		first[c.Name.Raw()] = true
	}
	if !first["Kirk"] {
		t.Error("Kirk waits for ever")
	}
}
