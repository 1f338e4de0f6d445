package relay

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

var start = time.Date(2002, 2, 19, 12, 0, 0, 0, time.UTC)

// A game is a host and clients that are connected to it without a network.
type game struct {
	t       *testing.T
	host    *Host
	now     time.Time
	clients map[netip.AddrPort]*client
	events  []string
}

// A client has a link, and lists the messages it receives in hexadecimal.
type client struct {
	g    *game
	addr netip.AddrPort
	link *arq.Endpoint
	got  []string
	deaf bool
}

func newGame(t *testing.T, cfg Config) *game {
	t.Helper()
	g := &game{t: t, now: start, clients: map[netip.AddrPort]*client{}}
	cfg.Mission = "Multiplayer.Episode.Mission1.Mission1"
	cfg.System, cfg.TimeLimit, cfg.FragLimit = 1, msg.Unlimited, msg.Unlimited
	cfg.Report = func(e Event) { g.events = append(g.events, fmt.Sprintf("%v %d %s", e.Kind, e.Peer, e.Text)) }
	g.host = NewHost(cfg)
	return g
}

// exchange carries datagrams until neither the host nor a client has any.
func (g *game) exchange() {
	g.host.Advance(g.now)
	for again := true; again; {
		again = false
		for {
			to, d, ok := g.host.Send()
			if !ok {
				break
			}
			again = true
			if c := g.clients[to]; c != nil && !c.deaf {
				c.receive(cipher.Decrypt(nil, d))
			}
		}
		for _, c := range g.clients {
			for {
				d, ok := c.link.Datagram(g.now, nil)
				if !ok {
					break
				}
				again = true
				g.host.Receive(g.now, c.addr, cipher.Encrypt(nil, d))
			}
		}
	}
}

// wait lets time pass.
func (g *game) wait(d time.Duration) {
	for end := g.now.Add(d); g.now.Before(end); {
		g.now = g.now.Add(100 * time.Millisecond)
		g.exchange()
	}
}

// leave has the client leave, and waits until the host is certain of it.
func (c *client) leave(body string) {
	c.send(arq.Message{Type: transport.Disconnect, Body: fixtures.Unhex(c.g.t, body)})
	c.g.wait(leastSilence)
}

func (c *client) receive(plain []byte) {
	split, err := transport.Split(plain)
	if err != nil {
		c.g.t.Fatal(err)
	}
	for {
		m, ok, err := split.Next()
		if err != nil {
			c.g.t.Fatal(err)
		}
		if !ok {
			return
		}
		c.link.Receive(c.g.now, &m, func(m *arq.Message) {
			if m.Type == transport.Connect {
				c.link.SetPeer(m.Body[0])
			}
			if m.Type == transport.Standard {
				c.got = append(c.got, fmt.Sprintf("%X", m.Body))
			} else {
				c.got = append(c.got, fmt.Sprintf("%02X: %X", uint8(m.Type), m.Body))
			}
		})
	}
}

func (c *client) send(m arq.Message) {
	c.g.t.Helper()
	if err := c.link.Queue(c.g.now, m); err != nil {
		c.g.t.Fatal(err)
	}
	c.g.exchange()
}

// say sends a reliable game message.
func (c *client) say(body string) {
	c.g.t.Helper()
	c.send(arq.Message{Type: transport.Standard, Reliable: true, Body: fixtures.Unhex(c.g.t, body)})
}

// cady2 and cady3 are the names of the first two of these clients, as a
// PlayerDeleted has them.
const (
	cady2 = "050000004361647932"
	cady3 = "050000004361647933"
)

// sameButOrder compares lists of messages of different classes in any order:
// their order is not known.
func sameButOrder(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// take returns the messages that the client received since the last call.
func (c *client) take() []string {
	got := c.got
	c.got = nil
	return got
}

// connect begins a client's session.
func (g *game) connect(port uint16) *client {
	g.t.Helper()
	return g.connectFrom(netip.AddrPortFrom(netip.MustParseAddr("10.10.10.239"), port))
}

func (g *game) connectFrom(addr netip.AddrPort) *client {
	g.t.Helper()
	c := &client{g: g, addr: addr, link: arq.New(0xFF, arq.Limits{})}
	g.clients[c.addr] = c
	c.send(arq.Message{Type: transport.Connect, Body: fixtures.Unhex(g.t, "0A0A0AEF 5F0A0000 0000")})
	return c
}

// The stock client's answers to the five rounds, the long ones without files.
var answers = []string{
	"21 00 43E20C7E 2FCBAF4D 0100 77B63E37 68A7A0F8 00",
	"21 01 2FCBAF4D 0100 A1E60185 49009317 00",
	"21 02 C4D117C0 0000 00",
	"21 03 5D470934 0000 00",
	"21 FF 3FD19487 0000 00",
}

// join brings a client into the game.
func (g *game) join(port uint16) *client {
	g.t.Helper()
	return g.joinFrom(netip.AddrPortFrom(netip.MustParseAddr("10.10.10.239"), port))
}

func (g *game) joinFrom(addr netip.AddrPort) *client {
	g.t.Helper()
	c := g.connectFrom(addr)
	name := fixtures.Unhex(g.t, "02 0A0A0AEF 430061006400790032000000")
	name[13] += byte(len(g.clients) - 1) // Cady2, Cady3
	c.send(arq.Message{Type: transport.NameChange, Body: name})
	for _, a := range answers {
		c.say(a)
	}
	c.say("2A 20")
	return c
}

// The first two datagrams of a stock join, as seen on the wire.
func TestFirstDatagram(t *testing.T) {
	h := NewHost(Config{})
	from := netip.MustParseAddrPort("10.10.10.239:1234")
	h.Receive(start, from, fixtures.Unhex(t, "FF D7 33 61 38 B3 5B 46 54 35 D1 4F C5 E2 55 71 66"))
	to, got, ok := h.Send()
	want := fixtures.Unhex(t, `01 D4 03 E1 65 94 E4 39 3C 21 9F 64 1F 82 C6 08 4F 4F ED 41 43 31 D3 7D 01 28 E4 7B 8F B3 03 B3 B8 CC 21`)
	if !ok || to != from || !bytes.Equal(got, want) {
		t.Fatalf("to %v\n% X, want\n% X", to, got, want)
	}
	if _, _, ok := h.Send(); ok {
		t.Error("the acknowledgement does not wait for the accept")
	}
	h.Advance(start.Add(time.Second / 20))
	_, got, _ = h.Send()
	if want := fixtures.Unhex(t, "01 01 01 00 00 02"); !bytes.Equal(cipher.Decrypt(nil, got), want) {
		t.Errorf("then % X, want % X", cipher.Decrypt(nil, got), want)
	}
}

func TestJoin(t *testing.T) {
	g := newGame(t, Config{Collisions: true})
	a := g.join(1001)
	want := []string{
		"03: 02",
		"20000800736372697074732F07004170702E70796320",
		"00: 020A0A0AEF430061006400790032000000",
		"20010800736372697074732F0C004175746F657865632E70796320",
		"20020D00736372697074732F736869707305002A2E70796321",
		"20031000736372697074732F6D61696E6D656E7505002A2E70796320",
		"20FF1300536372697074732F4D756C7469706C6179657205002A2E70796321",
		"28",
		"0000000000610025004D756C7469706C617965722E457069736F64652E4D697373696F6E312E4D697373696F6E31",
		"01",
		"350801FFFF",
		"1766080000F100800000000000FFFFFF3F02",
	}
	if got := a.take(); !slices.Equal(got, want) {
		t.Errorf("the first client is sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	ship := strings.Split("03 00 02 08800000 FFFFFF3F 01 000000000000000000000000 0000803F000000000000000000000000 00000000000000 0143 0153", " ")
	a.say(strings.Join(ship, ""))
	if got, want := a.take(), []string{"1DFFFFFF3F"}; !slices.Equal(got, want) {
		t.Errorf("the one with a ship is sent %v, want %v", got, want)
	}
	b := g.join(1002)
	got := b.take()
	want = []string{
		"350801FFFF",
		"3702000000000000000000000000000000",
		strings.Join(ship, ""),
		"1766080000F100800000000000FFFF034003",
	}
	if len(got) < 4 || !slices.Equal(got[len(got)-4:], want) {
		t.Errorf("the second client is sent\n%s\nwant at the end\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// Its name with its own id, though it says another.
	if got, want := a.take(), []string{"00: 030A0A0AEF430061006400790033000000", want[3]}; !slices.Equal(got, want) {
		t.Errorf("the first client is sent %v, want %v", got, want)
	}
	if n := strings.Count(strings.Join(got, " "), "00: "); n != 2 {
		t.Errorf("the second client is sent %d names, want its own and the other's", n)
	}
}

func TestClasses(t *testing.T) {
	tests := []struct {
		name, body string
		mode       Mode
		to         string // which of three clients get a copy; the first one sends
	}{
		{"StartFiring", "07 28810000 D8008000 00000000 05000040", Strict, "bc"},
		{"TorpedoFire", "19 01", Strict, "bc"},
		{"ChangedTarget", "0D 01", Strict, ""},
		{"CollisionEffect", "15 01", Strict, ""},
		{"SelfDestructRequest", "13", Strict, ""},
		{"Chat", "2C 02000000 0500 68656C6C6F", Strict, "abc"},
		{"TeamChat", "2D 02000000 0500 68656C6C6F", Strict, "ab"},
		{"StateUpdate", "1C FFFFFF3F 0000A041 80", Strict, ""},
		{"StateUpdate", "1C FFFFFF3F 0000A041 80", Playable, "bc"},
		{"Explosion", "29 01", Strict, ""},
		{"Explosion", "29 01", Playable, "bc"},
		{"unknown script", "77 010203", Strict, ""},
		{"unknown", "F0 010203", Playable, ""},
		{"RequestObject of none", "1E FFFFFF3F", Strict, ""},
		{"HostEvent", "06 01", Playable, ""},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.name, " ", tt.mode), func(t *testing.T) {
			g := newGame(t, Config{Mode: tt.mode})
			all := []*client{g.join(1001), g.join(1002), g.join(1003)}
			for i, team := range []string{"00", "00", "01"} {
				all[i].say(fmt.Sprintf("41 0%d000000 %s", i+2, team))
			}
			for _, c := range all {
				c.take()
			}
			all[0].say(tt.body)
			to := ""
			for i, c := range all {
				for _, m := range c.take() {
					if m != strings.ReplaceAll(tt.body, " ", "") {
						t.Errorf("client %d is sent %s", i, m)
					}
					to += string(rune('a' + i))
				}
			}
			if to != tt.to {
				t.Errorf("copies to %q, want %q", to, tt.to)
			}
		})
	}
}

// allAtOnce is the rate of those who say everything at one moment.
var allAtOnce = Rate{1e6, 1e6}

// A client that connects as the game's do, but acknowledges as OpenBC's do, is
// one of OpenBC's: that its ship is gone is passed on. A client of the game's
// that acknowledges as the game does stays one, and it is not.
func TestDialectOfClient(t *testing.T) {
	for _, tt := range []struct {
		flags uint8
		want  bool
	}{{0x80, true}, {0, false}} {
		g := newGame(t, Config{Mode: Playable})
		other, c := g.join(1001), g.join(1002)
		g.raw(c.addr, []byte{g.peerAt(c.addr).id, 1, byte(transport.Acknowledge), 0, 0, tt.flags})
		other.take()
		c.say("14 00000440")
		got := other.take()
		if slices.Contains(got, "1400000440") != tt.want || g.peerAt(c.addr).openBC() != tt.want {
			t.Errorf("acknowledgement with flags %02X: the other is sent %v", tt.flags, got)
		}
	}
}

// A client that connects as OpenBC's do: eight-bit lengths, no nonce, every
// acknowledgement with flags 0x80 and eight bits of the number, none for
// control messages. Its datagrams are written here byte by byte.
func TestOpenBCClient(t *testing.T) {
	g := newGame(t, Config{Mode: Playable, Limits: Limits{PeerRate: allAtOnce, ReliableRate: allAtOnce}})
	stock := g.join(1001)
	from := netip.MustParseAddrPort("10.0.0.9:40000")
	send := func(plain string) (got []transport.Message) {
		t.Helper()
		g.host.Receive(g.now, from, cipher.Encrypt(nil, fixtures.Unhex(t, plain)))
		for {
			to, d, ok := g.host.Send()
			if !ok {
				return got
			}
			plain := cipher.Decrypt(nil, d)
			if to == stock.addr {
				stock.receive(plain)
				continue
			}
			split, err := transport.Split(plain)
			if err != nil {
				t.Fatal(err)
			}
			for {
				m, ok, err := split.Next()
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				m.Body = bytes.Clone(m.Body)
				got = append(got, m)
			}
		}
	}
	first := send("FF 01 03 08 01 00 00 00 7F 00")
	if len(first) != 2 || first[0].Type != transport.Connect || !bytes.HasPrefix(first[1].Body, []byte{0x20, 0}) {
		t.Fatalf("first datagram: %+v", first)
	}
	send("02 01 00 12 80 00 00 00 7F 00 00 01 42 00 6F 00 74 00 00 00")
	for i, a := range answers {
		send(fmt.Sprintf("02 01 01 %02X 00 80", i)) // acknowledges the request
		body := fixtures.Unhex(t, a)
		got := send(fmt.Sprintf("02 01 32 %02X 80 %02X 00 %X", 5+len(body), i, body))
		if i < 4 && (len(got) != 2 || got[0].Type != transport.Acknowledge || got[1].Body[0] != 0x20) {
			t.Errorf("round %d: %+v", i, got)
		}
	}
	send("02 01 32 07 80 05 00 2A 20")
	stock.take()
	for i := 6; i < 600; i++ { // through two wraps of its numbers
		send(fmt.Sprintf("02 01 32 0A 80 %02X 00 15 01 02 03 04", i&0xFF))
	}
	if got := stock.take(); len(got) != 594 || got[593] != "1501020304" {
		t.Errorf("the other is sent %d copies, want 594", len(got))
	}
	for i := range 600 { // the other speaks; everything is acknowledged with eight bits
		stock.say(fmt.Sprintf("07 %08X", i))
	}
	for i := range 3 * 256 {
		send(fmt.Sprintf("02 01 01 %02X 00 80", i&0xFF))
	}
	if !g.host.byAddr[from][0].link.Idle() {
		t.Error("messages are taken for not acknowledged")
	}
	stock.take()
	send("02 01 06 02")
	g.wait(2 * time.Second)
	if got, want := stock.take(), []string{"05: 0300000000", "1803000000426F74"}; !slices.Equal(got, want) {
		t.Errorf("when it leaves, the other is sent %v, want %v", got, want)
	}
}

func TestRefusals(t *testing.T) {
	t.Run("password", func(t *testing.T) {
		g := newGame(t, Config{Password: "x"})
		c := g.connect(1001)
		if got, want := c.take(), []string{"04: 02FF"}; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
		for i, password := range []string{"7800", "5800"} { // the case of letters does not matter
			c = &client{g: g, addr: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(1+i)), link: arq.New(0xFF, arq.Limits{})}
			g.clients[c.addr] = c
			c.send(arq.Message{Type: transport.Connect, Body: fixtures.Unhex(t, "0A0A0AEF 5F0A0000 "+password+" 0000")})
			if got := c.take(); len(got) != 2 || got[0] != fmt.Sprintf("03: %02X", 2+i) {
				t.Errorf("with the password %s it is sent %v", password, got)
			}
		}
	})
	t.Run("banned", func(t *testing.T) {
		g := newGame(t, Config{Banned: func(claimed [4]byte, _ netip.Addr) bool { return claimed == [4]byte{10, 10, 10, 239} }})
		if got, want := g.connect(1001).take(), []string{"04: 05FF"}; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	})
	t.Run("full", func(t *testing.T) {
		g := newGame(t, Config{Players: 1})
		a := g.join(1001)
		if got, want := g.connect(1002).take(), []string{"03: 03", "04: 0303"}; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
		a.send(arq.Message{Type: transport.Disconnect, Body: fixtures.Unhex(t, "02 0A0A0AEF")})
		if got := g.connect(1003).take(); len(got) != 2 || got[0] != "03: 04" {
			t.Errorf("when there is room it is sent %v", got)
		}
	})
	t.Run("hashes", func(t *testing.T) {
		g := newGame(t, Config{Check: func(a *msg.ChecksumResponse) string {
			if a.Round == 1 {
				return "Autoexec.pyc"
			}
			return ""
		}})
		c := g.connect(1001)
		c.say(answers[0])
		c.take()
		c.say(answers[1])
		if got, want := c.take(), []string{"220C004175746F657865632E707963"}; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
		c = g.connect(1002)
		c.take()
		c.say("21 00 00000000 2FCBAF4D 0000 00")
		if got, want := c.take(), []string{"2302003630"}; !slices.Equal(got, want) {
			t.Errorf("another version is sent %v, want %v", got, want)
		}
	})
}

func TestLeave(t *testing.T) {
	g := newGame(t, Config{})
	a, b := g.join(1001), g.join(1002)
	b.take()
	a.leave("02 0A0A0AEF")
	if got, want := b.take(), []string{"18" + cady2, "05: 020A0A0AEF"}; !sameButOrder(got, want) {
		t.Errorf("the other is sent %v, want %v", got, want)
	}
	delete(g.clients, a.addr)
	g.wait(16 * time.Second)
	g.clients = nil                     // the other falls silent
	g.wait(46*time.Second + arq.Linger) // it is told for a while
	for p := range g.host.Peers() {
		t.Errorf("peer %d is still there", p.ID)
	}
	if len(g.host.byAddr) != 0 || g.host.slots != [MaxPlayers]*peer{} || g.host.ids != [lastID + 1]*peer{} {
		t.Error("something is left of the clients")
	}
}

func TestSilence(t *testing.T) {
	g := newGame(t, Config{})
	a, b := g.join(1001), g.join(1002)
	b.take()
	delete(g.clients, a.addr)
	g.wait(44 * time.Second)
	if got := b.take(); got != nil {
		t.Errorf("after 44 s the other is sent %v", got)
	}
	g.wait(2 * time.Second)
	if got, want := b.take(), []string{"18" + cady2, "04: 0102"}; !sameButOrder(got, want) {
		t.Errorf("after 45 s the other is sent %v, want %v", got, want)
	}
}

func TestKickAndShutdown(t *testing.T) {
	g := newGame(t, Config{})
	a, b := g.join(1001), g.join(1002)
	a.take()
	b.take()
	if !g.host.Kick(g.now, 2, transport.BootKicked) || g.host.Kick(g.now, 9, transport.BootKicked) {
		t.Error("Kick does not tell who is there")
	}
	g.exchange()
	for _, c := range []*client{a, b} {
		want := []string{"04: 0402"}
		if c == b {
			want = []string{"18" + cady2, "04: 0402"}
		}
		if got := c.take(); !sameButOrder(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	}
	g.host.Shutdown(g.now)
	g.exchange()
	if got, want := b.take(), []string{"05: 0100000000"}; !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	if !g.host.Idle() {
		t.Error("something still waits")
	}
}

// A client that has proved nothing is sent no more than four times the bytes
// that it sent, however long the host waits for it.
func TestAmplification(t *testing.T) {
	h := NewHost(Config{})
	got, gave := 0, 0
	from := netip.MustParseAddrPort("192.0.2.1:53")
	for i := range 100 {
		now := start.Add(time.Duration(i) * 300 * time.Millisecond)
		if i%9 == 0 {
			d := fixtures.Unhex(t, "FF D7 33 61 38 B3 5B 46 54 35 D1 4F C5 E2 55 71 66")
			got += len(d)
			h.Receive(now, from, d)
		}
		h.Advance(now)
		for {
			_, d, ok := h.Send()
			if !ok {
				break
			}
			gave += len(d)
		}
		if gave > 4*got {
			t.Fatalf("%d bytes for %d", gave, got)
		}
	}
	if gave == 0 {
		t.Error("nothing is sent at all")
	}
}

func TestBrowser(t *testing.T) {
	g := newGame(t, Config{Name: "My Game23", Map: "DM"})
	g.join(1001)
	from := netip.MustParseAddrPort("10.10.10.1:6500")
	g.host.Receive(g.now, from, []byte(`\status\`))
	_, got, ok := g.host.Send()
	want := `\gamename\bcommander\gamever\60\location\1\hostname\My Game23\missionscript\Multiplayer.Episode.Mission1.Mission1` +
		`\mapname\DM\numplayers\1\maxplayers\8\gamemode\openplaying\timelimit\-1\fraglimit\-2\system\Multi1\password\0` +
		`\player_0\Dedicated Server\player_1\Cady2\final\\queryid\1.1`
	if !ok || string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	n := 0
	for range 1000 {
		g.host.Receive(g.now, from, []byte(`\status\`))
		for {
			if _, _, ok := g.host.Send(); !ok {
				break
			}
			n++
		}
	}
	if n != 9 {
		t.Errorf("%d more answers at once, want 9", n)
	}
}

// Clients whose addresses never answer keep no player out.
func TestForgedTakeNoSlots(t *testing.T) {
	g := newGame(t, Config{Players: 2})
	connect := fixtures.Unhex(t, "FF D7 33 61 38 B3 5B 46 54 35 D1 4F C5 E2 55 71 66")
	for i := range byte(20) {
		g.host.Receive(g.now, netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, i}), 1), connect)
	}
	for i := range uint16(2) {
		c := g.join(1001 + i)
		if got := c.take(); len(got) < 2 || got[0][:3] != "03:" || got[1][:4] != "2000" {
			t.Errorf("player %d is sent %v", i+1, got)
		}
	}
	if s := g.host.Status(); s.Playing != 2 {
		t.Errorf("%d play", s.Playing)
	}
	for range 12 {
		g.now = g.now.Add(time.Second)
		g.host.Receive(g.now, netip.MustParseAddrPort("192.0.2.0:1"), connect)
		g.exchange()
	}
	for p := range g.host.Peers() {
		if p.ID == 2 {
			t.Error("asking again keeps the id for ever")
		}
	}
}

// Strangers that are turned away do not use up the ids.
func TestIDsAreGivenBack(t *testing.T) {
	g := newGame(t, Config{Players: 1})
	g.join(1001)
	connect := fixtures.Unhex(t, "FF D7 33 61 38 B3 5B 46 54 35 D1 4F C5 E2 55 71 66")
	for i := range 600 { // thirty a second
		g.host.Receive(g.now, netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}), 1), connect)
		if i%3 == 0 {
			g.now = g.now.Add(100 * time.Millisecond)
			g.exchange()
		}
	}
	if got := g.connect(1002).take(); len(got) != 2 || got[0][:3] != "03:" || got[1][:6] != "04: 03" {
		t.Errorf("another client is sent %v", got)
	}
}

func TestComplaints(t *testing.T) {
	g := newGame(t, Config{})
	a := g.join(1001)
	g.events = nil
	for range 100 {
		a.say("21 00 00000000 2FCBAF4D 0000 00")
	}
	if n := len(g.events); n != complaints {
		t.Errorf("%d reports, want %d", n, complaints)
	}
}

// A control channel needs the players, a word to all, and bans that take
// effect on those who are there.
func TestControl(t *testing.T) {
	banned := false
	g := newGame(t, Config{Name: "Test", Banned: func(_ [4]byte, a netip.Addr) bool {
		return banned && a == netip.MustParseAddr("192.0.2.66")
	}})
	a := g.join(1001)
	b := g.joinFrom(netip.MustParseAddrPort("192.0.2.66:1002"))
	list := g.host.Players()
	if len(list) != 2 || list[0].ID != 2 || list[1].ID != 3 || list[1].Slot != 1 || string(list[0].Name) != "C\x00a\x00d\x00y\x002\x00" {
		t.Errorf("players: %+v", list)
	}
	if s := g.host.Status(); s.Players != 2 || s.Playing != 2 || s.Limit != 8 || s.Name != "Test" || !s.Since.Equal(start) {
		t.Errorf("status: %+v", s)
	}
	a.take()
	b.take()
	if n := g.host.Say(g.now, "hello"); n != 2 {
		t.Errorf("said to %d, want 2", n)
	}
	g.exchange()
	for _, c := range []*client{a, b} {
		if got, want := c.take(), []string{"2C010000000500" + "68656C6C6F"}; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	}
	g.host.Say(g.now, strings.Repeat("é", 150)) // 300 bytes
	g.exchange()
	if got := a.take(); len(got) != 2 || len(got[0]) != 2*(7+200) || len(got[1]) != 2*(7+100) {
		t.Errorf("a long line is sent as %v", got)
	}
	b.take()
	a.say("03000208800000FFFFFF3F010000000000000000000000000000803F0000000000000000000000000000000000000001430153")
	objects := func() int { return g.host.Players()[0].Objects }
	if objects() != 1 {
		t.Errorf("a player has %d objects", objects())
	}
	a.take()
	b.take()
	if n := g.host.Restart(g.now); n != 2 || objects() != 0 {
		t.Errorf("the match restarts for %d players, and one has %d objects", n, objects())
	}
	g.exchange()
	for _, c := range []*client{a, b} {
		if got := c.take(); !slices.Equal(got, []string{"39"}) {
			t.Errorf("sent %v at a restart", got)
		}
	}
	if n := g.host.Recheck(g.now); n != 0 {
		t.Errorf("%d put out without a ban", n)
	}
	banned = true
	if n := g.host.Recheck(g.now); n != 1 {
		t.Errorf("%d put out, want 1", n)
	}
	g.exchange()
	for _, c := range []*client{a, b} {
		want := []string{"04: 0503"}
		if c == a {
			want = []string{"18" + cady3, "04: 0503"}
		}
		if got := c.take(); !sameButOrder(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	}
	if s := g.host.Status(); s.Players != 1 || s.Stats.Events[Kicked] != 1 {
		t.Errorf("status: %+v", s)
	}
}

// Every id is given once, whatever the random numbers are.
func TestRandomIDs(t *testing.T) {
	for _, random := range []func() uint32{nil, func() uint32 { return 90 }, rand.New(rand.NewPCG(1, 2)).Uint32} {
		h := NewHost(Config{Random: random})
		seen := map[uint8]bool{}
		for range lastID - firstID {
			id, ok := h.freeID(new(peer))
			if !ok || id < firstID || id > lastID || id == skippedID || seen[id] {
				t.Fatalf("id %d, %v", id, ok)
			}
			seen[id] = true
			h.ids[id] = &peer{}
		}
		if id, ok := h.freeID(new(peer)); ok {
			t.Errorf("id %d although all are given", id)
		}
	}
}

// A leave always means the sender, whatever id it names.
func TestLeaveForAnother(t *testing.T) {
	g := newGame(t, Config{})
	a, b, c := g.join(1001), g.join(1002), g.join(1003)
	for _, x := range []*client{a, b, c} {
		x.take()
	}
	b.leave("02 0A0A0AEF") // a's id
	for _, x := range []*client{a, c} {
		if got, want := x.take(), []string{"18" + cady3, "05: 030A0A0AEF"}; !sameButOrder(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	}
	for p := range g.host.Peers() {
		if (p.ID == 3) != (p.Phase == Leaving) {
			t.Errorf("id %d is %v", p.ID, p.Phase)
		}
	}
}

// Who has left is answered for 15 seconds: its goodbye may come again, because
// the answer got lost.
func TestLinger(t *testing.T) {
	g := newGame(t, Config{})
	a := g.join(1001)
	a.send(arq.Message{Type: transport.Disconnect, Body: fixtures.Unhex(t, "02 0A0A0AEF")})
	delete(g.clients, a.addr)
	again := fixtures.Unhex(t, "02 01 05 0A C0 02 00 02 0A 0A 0A EF")
	g.wait(14 * time.Second)
	g.raw(a.addr, again)
	if g.sentTo(a.addr) == 0 {
		t.Error("not answered 14 s after it left")
	}
	g.wait(2 * time.Second)
	g.raw(a.addr, again)
	if n := g.sentTo(a.addr); n > 0 || g.peerAt(a.addr) != nil {
		t.Errorf("%d bytes 16 s after it left", n)
	}
}

// Team chat goes to the players of the sender's team, and not to players
// without a team.
func TestTeamChat(t *testing.T) {
	g := newGame(t, Config{})
	a, b, none, other := g.join(1001), g.join(1002), g.join(1003), g.join(1004)
	a.say("41 02000000 00")
	b.say("41 03000000 00")
	other.say("41 05000000 01")
	all := []*client{a, b, none, other}
	for _, c := range all {
		c.take()
	}
	a.say("2D 02000000 0100 78")
	for i, c := range all {
		if n := len(c.take()); n != []int{1, 1, 0, 0}[i] {
			t.Errorf("client %d is sent %d lines", i, n)
		}
	}
	none.say("2D 04000000 0100 78") // its team is not known: all may be
	for i, c := range all {
		if n := len(c.take()); n != 1 {
			t.Errorf("client %d is sent %d lines of one without a team", i, n)
		}
	}
}
