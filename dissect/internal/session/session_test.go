package session

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

var host = netip.MustParseAddrPort("10.0.0.1:22101")

func clientAt(port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), uint16(port))
}

func TestLookupInBothDirections(t *testing.T) {
	table := NewTable(DefaultLimits(), decode.Undecided)
	c, _ := table.Open(clientAt(1), host)
	if table.Lookup(host, clientAt(1)) != c || table.Lookup(clientAt(1), host) != c {
		t.Error("one direction does not find the conversation")
	}
	if table.Lookup(clientAt(2), host) != nil {
		t.Error("another port finds it, too")
	}
}

// The least recently used conversation is evicted.
func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	l := DefaultLimits()
	l.Conversations = 3
	table := NewTable(l, decode.Undecided)
	for port := 1; port <= 3; port++ {
		table.Open(clientAt(port), host)
	}
	table.Lookup(clientAt(1), host).Touch()
	table.Lookup(clientAt(2), host) // only looks
	_, evicted := table.Open(clientAt(4), host)
	if evicted == nil || evicted.a != clientAt(2) {
		t.Fatalf("evicted %+v, want that of port 2", evicted)
	}
	var left []uint16
	table.All(func(c *Conversation) { left = append(left, c.a.Port()) })
	if got := fmt.Sprint(left); got != "[4 1 3]" {
		t.Errorf("left, newest first: got %s", got)
	}
}

func TestSides(t *testing.T) {
	table := NewTable(DefaultLimits(), decode.Undecided)
	c, _ := table.Open(clientAt(1), host)
	if _, known := c.SideOf(host); known {
		t.Error("a side is known before anything told")
	}
	c.SetHost(host)
	if s, known := c.SideOf(host); s != Host || !known {
		t.Errorf("host: got %v, %v", s, known)
	}
	c.SetHost(clientAt(1)) // too late
	if s, _ := c.SideOf(clientAt(1)); s != Client {
		t.Errorf("client: got %v", s)
	}
	if h, cl, known := c.Addresses(); h != host || cl != clientAt(1) || !known {
		t.Errorf("addresses: got %v, %v, %v", h, cl, known)
	}
	if !table.IsHost(host) || table.IsHost(clientAt(1)) {
		t.Error("IsHost does not know the host")
	}
}

func TestDialectEvidence(t *testing.T) {
	table := NewTable(DefaultLimits(), decode.Undecided)
	c, _ := table.Open(clientAt(1), host)
	c.SetHost(host)
	for _, step := range []struct {
		side    Side
		dialect decode.Dialect
		by      Strength
		changed bool
		then    decode.Dialect
	}{
		{Host, decode.Stock, Shape, true, decode.Stock},
		{Host, decode.OpenBC, Shape, false, decode.Stock}, // not stronger than the decision
		{Host, decode.OpenBC, Form, true, decode.OpenBC},
		{Host, decode.OpenBC, Block, false, decode.OpenBC}, // confirms
		{Host, decode.Stock, Block, false, decode.OpenBC},
		{Client, decode.Stock, Shape, true, decode.Stock}, // a separate side
	} {
		if got := c.Decide(step.side, step.dialect, step.by); got != step.changed {
			t.Errorf("%+v: changed %v", step, got)
		}
		if got := c.Dialect(step.side); got != step.then {
			t.Errorf("%+v: then %v", step, got)
		}
	}
	// Another client of the same host finds its dialect decided.
	other, _ := table.Open(clientAt(2), host)
	other.SetHost(host)
	if other.Dialect(Host) != decode.OpenBC || other.Dialect(Client) != decode.Undecided {
		t.Errorf("another conversation: host %v, client %v", other.Dialect(Host), other.Dialect(Client))
	}
	forced := NewTable(DefaultLimits(), decode.Stock)
	f, _ := forced.Open(clientAt(1), host)
	f.SetHost(host)
	if f.Decide(Host, decode.OpenBC, Block) || f.Dialect(Host) != decode.Stock || f.Dialect(Client) != decode.Stock {
		t.Error("evidence overrules what was forced")
	}
}

func TestConnectAgain(t *testing.T) {
	table := NewTable(DefaultLimits(), decode.Undecided)
	c, _ := table.Open(clientAt(1), host)
	now := time.Unix(0, 0)
	step := func(nonce uint32, want bool) {
		t.Helper()
		if got := c.Connect(nonce, now); got != want {
			t.Errorf("nonce %d: restart %v, want %v", nonce, got, want)
		}
		c.Connected(nonce)
	}
	step(7, false)
	step(7, false) // retry
	c.SetPeer(Client, 2)
	step(7, false)
	step(8, true)
	c.Restart()
	step(8, false) // the request that began it
}

// A recording may hold the first request of a client, here without a nonce, after the
// messages that follow it, or twice.
func TestLateConnect(t *testing.T) {
	for _, tt := range []struct {
		late time.Duration
		want bool
	}{{999 * time.Millisecond, false}, {time.Second, true}} {
		table := NewTable(DefaultLimits(), decode.Undecided)
		c, _ := table.Open(clientAt(1), host)
		now := time.Unix(1, 0)
		c.Number(Host, now, &transport.Header{Type: transport.Connect, HasSeq: true}, []byte{3}, true)
		c.accept(2)
		c.SetPeer(Client, 2)
		if got := c.Connect(0, now.Add(tt.late)); got != tt.want {
			t.Errorf("%v: restart %v", tt.late, got)
		}
		c.Connected(0)
		if got := c.Connect(0, now.Add(tt.late)); got != tt.want {
			t.Errorf("%v: restart %v when it comes twice", tt.late, got)
		}
	}
}

func created(id wire.ObjectID, species uint8, name string) *msg.ObjectCreateTeam {
	m := &msg.ObjectCreateTeam{Player: 2}
	m.Class, m.ID, m.Species, m.Name = msg.ClassShip, id, species, []byte(name)
	m.Ship = ship.BySpecies(species)
	return m
}

func TestObjects(t *testing.T) {
	table := NewTable(DefaultLimits(), decode.Undecided)
	c, _ := table.Open(clientAt(1), host)
	c.SetHost(host)
	c.Learn(Client, created(0x3FFFFFFF, 1, "Cady2"))
	g := c.Game()
	for _, tt := range []struct {
		id   wire.ObjectID
		want string
	}{
		{0x3FFFFFFF, "Akira (Cady2)"},
		{0x40000005, "Akira (Cady2) / Phasers"},        // offset 6, seen in 07
		{0x4000000D, "Akira (Cady2) / Forward Torp 1"}, // offset 14, seen in 19
		{0x40000033, ""},                               // beyond the list
		{0x4003FFFF, ""},                               // another slot
		{0x22, ""},                                     // the host's own
	} {
		if got := g.Object(tt.id); got.Raw() != tt.want {
			t.Errorf("%#x: got %q, want %q", uint32(tt.id), got, tt.want)
		}
	}
	if got := c.Env(Host).Ship(0x3FFFFFFF); got == nil || got.Name != "Akira" {
		t.Errorf("class: got %v", got)
	}
	// The slot's next ship; subsystems of both resolve.
	c.Learn(Client, created(0x40000021, 5, "Cady2"))
	if got := g.Object(0x40000021 + 26); got != "Sovereign (Cady2) / Phasers" {
		t.Errorf("second ship's phasers: got %q", got)
	}
	if got := g.Object(0x40000005); got != "Akira (Cady2) / Phasers" {
		t.Errorf("first ship's phasers: got %q", got)
	}
	// The same id with another class keeps the first class as the alternative.
	c.Learn(Client, created(0x3FFFFFFF, 5, "Cady2"))
	if o := g.Other(0x3FFFFFFF); o == nil || o.Name != "Akira" {
		t.Errorf("other class: got %v", o)
	}
	g.Reclassify(0x3FFFFFFF, ship.BySpecies(1))
	if got := c.Env(Host).Ship(0x3FFFFFFF); got.Name != "Akira" {
		t.Errorf("settled: got %v", got.Name)
	}
}

func TestNames(t *testing.T) {
	table := NewTable(DefaultLimits(), decode.Undecided)
	c, _ := table.Open(clientAt(1), host)
	c.SetHost(host)
	c.SetPeer(Client, 3)
	// OpenBC's test client gives itself number 0; the datagram has the right one.
	c.Learn(Client, &transport.Identity{ID: 0, Name: []byte("B\x00o\x00t\x00")})
	c.Learn(Host, &transport.Identity{ID: 3, Name: []byte("X\x00")})
	if name, id := c.Client(); name != "Bot" || id != 3 {
		t.Errorf("client: got %q, %d", name, id)
	}
	if got := c.Game().Player(decode.NetworkID, 3); got == nil || got.Name != "Bot" {
		t.Errorf("player 3: got %+v", got)
	}
	c.Learn(Client, &transport.Identity{ID: 3, Name: []byte(strings.Repeat("\xe9\x00", 500))})
	if name, _ := c.Client(); len(name) > maxName || !strings.HasPrefix(name.Raw(), "éé") {
		t.Errorf("a long name is kept as %d bytes", len(name))
	}
}

func TestObjectsAreBounded(t *testing.T) {
	l := DefaultLimits()
	l.Objects, l.Tracks, l.Games = 10, 5, 4
	table := NewTable(l, decode.Undecided)
	for h := range 20 {
		at := netip.AddrPortFrom(host.Addr(), uint16(100+h))
		c, _ := table.Open(clientAt(1), at)
		c.SetHost(at)
		for id := range wire.ObjectID(50) {
			c.Learn(Client, created(0x3FFFFFFF+id, 1, "x"))
			c.Learn(Client, &msg.StateUpdate{Object: id, Flags: msg.DirtyPosition})
		}
		if g := c.Game(); len(g.objects) > 10 || g.Evicted != 40 {
			t.Fatalf("%d objects, %d given up", len(g.objects), g.Evicted)
		}
		if n := len(c.sides[Client].tracks); n > 5 {
			t.Fatalf("%d tracks", n)
		}
	}
	if len(table.games) != 4 || len(table.gameOrder) != 4 {
		t.Errorf("%d games, %d in order", len(table.games), len(table.gameOrder))
	}
}

func BenchmarkLookup(b *testing.B) {
	table := NewTable(DefaultLimits(), decode.Undecided)
	for port := range 8 {
		table.Open(clientAt(40000+port), host)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if table.Lookup(clientAt(40000+i%8), host) == nil {
			b.Fatal("not found")
		}
	}
}

// New conversations that evict one another.
func BenchmarkOpen(b *testing.B) {
	table := NewTable(DefaultLimits(), decode.Undecided)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		table.Open(clientAt(i&0xFFFF), host)
	}
}

func BenchmarkLearn(b *testing.B) {
	table := NewTable(DefaultLimits(), decode.Undecided)
	c, _ := table.Open(clientAt(1), host)
	c.SetHost(host)
	c.Learn(Client, created(wire.FirstObject(0), 1, "Cady2"))
	m := &msg.StateUpdate{Object: wire.FirstObject(0), Flags: msg.DirtyPosition}
	b.ReportAllocs()
	for b.Loop() {
		c.Learn(Host, m)
	}
}

// Changing or appending bytes changes the digest.
func TestDigest(t *testing.T) {
	seen := map[uint64]string{}
	for n := range 70 {
		b := make([]byte, n)
		for i := -1; i < n; i++ {
			for bit := range 8 {
				if i >= 0 {
					b[i] = 1 << bit
				}
				if d, text := digest(b), string(b); seen[d] != "" && seen[d] != text+"." {
					t.Fatalf("%x and %x have the same digest", text, seen[d])
				} else {
					seen[d] = text + "."
				}
				if i < 0 {
					break
				}
				b[i] = 0
			}
		}
	}
}
