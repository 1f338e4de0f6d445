package relay

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/internal/session"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// raw gives the host a datagram in its deciphered form.
func (g *game) raw(from netip.AddrPort, plain []byte) {
	g.host.Receive(g.now, from, cipher.Encrypt(nil, plain))
}

// sentTo returns how many bytes the host sends to an address now. Others get
// their datagrams.
func (g *game) sentTo(addr netip.AddrPort) (n int) {
	g.host.Advance(g.now)
	for {
		to, d, ok := g.host.Send()
		if !ok {
			return n
		}
		if to == addr {
			n += len(d)
		} else if c := g.clients[to]; c != nil {
			c.receive(cipher.Decrypt(nil, d))
		}
	}
}

// has reports whether an event of a kind with a word in its text was reported.
func (g *game) has(kind EventKind, word string) bool {
	return slices.ContainsFunc(g.events, func(e string) bool {
		return strings.HasPrefix(e, kind.String()+" ") && strings.Contains(e, word)
	})
}

func (g *game) peerAt(addr netip.AddrPort) *peer {
	for _, p := range g.host.byAddr[addr] {
		return p
	}
	return nil
}

// stockConnect is a request to be let in, with a nonce.
func stockConnect(nonce uint32) []byte {
	d := []byte{0xFF, 1, byte(transport.Connect), 15, 0xC0, 0, 0, 10, 10, 10, 239}
	d = binary.LittleEndian.AppendUint32(d, nonce)
	return append(d, 0, 0)
}

// Only the right id proves that its user receives at its address.
func TestWrongIDProvesNothing(t *testing.T) {
	victim := netip.MustParseAddrPort("192.0.2.1:53")
	random := uint32(70)
	for _, forms := range []struct {
		name    string
		connect []byte
	}{
		{"stock", stockConnect(1)},
		{"OpenBC", fixtures.Unhex(t, "FF 01 03 08 01 00 00 00 7F 00")},
	} {
		t.Run(forms.name, func(t *testing.T) {
			g := newGame(t, Config{Random: func() uint32 { return random }})
			talker := g.join(1001)
			in, out := 0, 0
			send := func(d []byte) {
				in += len(d)
				g.raw(victim, d)
			}
			for second := range 60 {
				send(forms.connect)
				out += g.sentTo(victim)
				for id := 2; id < 6; id++ {
					send([]byte{byte(id), 1, byte(transport.DoNothing)})
				}
				for range 10 {
					talker.say("2C 02000000 0500 68656C6C6F")
					g.now = g.now.Add(100 * time.Millisecond)
					out += g.sentTo(victim)
				}
				if out > 4*in {
					t.Fatalf("after %d s: %d bytes out for %d in", second, out, in)
				}
			}
			if out == 0 {
				t.Error("nothing was sent")
			}
			if p := g.peerAt(victim); p != nil && p.proved {
				t.Error("a wrong id is taken for proof")
			}
		})
	}
}

// Strangers who take all slots by trying all ids, each for another address, are
// sent little for it. They keep no player out.
func TestIDsAreGuessed(t *testing.T) {
	random := uint32(0)
	g := newGame(t, Config{Players: 4, Public: true, Random: func() uint32 { random += 7; return random }})
	in, out := 0, 0
	for n := range 60 {
		victim := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n % 4)}), 53)
		send := func(d []byte) {
			in += len(d)
			g.raw(victim, d)
		}
		send(stockConnect(1))
		for id := byte(2); id < 127; id++ {
			if id != skippedID {
				send([]byte{id, 1, byte(transport.DoNothing)})
			}
		}
		g.now = g.now.Add(time.Second)
		out += g.sentTo(victim)
	}
	if n := g.host.Status().Players; n != 4 {
		t.Errorf("%d players, want all slots taken", n)
	}
	if out == 0 || out > 4*in {
		t.Errorf("%d bytes out for %d in", out, in)
	}
	if c := g.join(1001); g.peerAt(c.addr) == nil || g.peerAt(c.addr).phase != Playing {
		t.Errorf("who comes then is not let in: %v", g.events[max(0, len(g.events)-4):])
	}
}

// A recorded join that is sent blindly gets no client into the game.
func TestBlindJoin(t *testing.T) {
	victim := netip.MustParseAddrPort("192.0.2.1:53")
	g := newGame(t, Config{Random: func() uint32 { return 50 }})
	in := 0
	out := 0
	send := func(d []byte) {
		in += len(d)
		g.raw(victim, d)
		out += g.sentTo(victim)
	}
	for range 30 {
		send(stockConnect(1))
		for i, a := range answers {
			body := fixtures.Unhex(t, a)
			send(append([]byte{2, 1, 0x32, byte(5 + len(body)), 0x80, byte(i), 0}, body...))
		}
		send(fixtures.Unhex(t, "02 01 32 07 80 05 00 2A 20"))
		g.now = g.now.Add(time.Second)
	}
	if out > 4*in || g.host.Status().Players > 0 {
		t.Errorf("%d bytes out for %d in; %d players", out, in, g.host.Status().Players)
	}
}

// OpenBC's test clients count their ids from 2 whatever they are given. Each is let
// in, but keeps the id that it began with, and is never sent more than four times
// the bytes that it sent.
func TestAssumedID(t *testing.T) {
	for _, id := range []byte{2, 3, 17} {
		t.Run(fmt.Sprint(id), func(t *testing.T) { testAssumedID(t, id) })
	}
	g := newGame(t, Config{Mode: Playable, Random: func() uint32 { return 50 }})
	from := netip.MustParseAddrPort("192.0.2.1:53")
	g.raw(from, fixtures.Unhex(t, "FF 01 03 08 01 00 00 00 7F 00"))
	for _, id := range []string{"12", "01", "00", "35"} { // 0x36 is its own
		g.raw(from, fixtures.Unhex(t, id+" 01 00 12 80 00 00 00 7F 00 00 01 42 00 6F 00 74 00 00 00"))
	}
	if s := g.host.Status(); s.Players > 0 {
		t.Errorf("%d have a slot by an id that nobody counts to", s.Players)
	}
}

func testAssumedID(t *testing.T, id byte) {
	t.Helper()
	from := netip.MustParseAddrPort("192.0.2.1:53")
	g := newGame(t, Config{Mode: Playable, Random: func() uint32 { return 50 }})
	talker := g.join(1001)
	in, out := 0, 0
	send := func(plain string) {
		d := fixtures.Unhex(t, plain)
		in += len(d)
		g.raw(from, d)
		out += g.sentTo(from)
	}
	send("FF 01 03 08 01 00 00 00 7F 00")
	own := fmt.Sprintf("%02X", id)
	send(own + " 01 00 12 80 00 00 00 7F 00 00 01 42 00 6F 00 74 00 00 00")
	for i, a := range answers {
		body := fixtures.Unhex(t, a)
		send(own + fmt.Sprintf(" 01 32 %02X 80 %02X 00 %X", 5+len(body), i, body))
	}
	send(own + " 01 32 07 80 05 00 2A 20")
	if s := g.host.Status(); s.Playing != 2 {
		t.Fatalf("%d play", s.Playing)
	}
	received := g.host.Stats().Messages
	send(fmt.Sprintf("%02X 01 32 07 80 06 00 2A 20", id+1))
	if g.host.Stats().Messages != received {
		t.Error("it speaks with two ids")
	}
	for range 300 {
		talker.send(arq.Message{Type: transport.Standard, Body: append(fixtures.Unhex(t, "1C FFFFFF3F 0000A041 80"), make([]byte, 100)...)})
		g.now = g.now.Add(100 * time.Millisecond)
		out += g.sentTo(from)
		if out > 4*in {
			t.Fatalf("%d bytes out for %d in", out, in)
		}
	}
}

// Connects that others write in the name of a client that counts its ids itself don't
// throw it out. When it doesn't answer any more, a connect from its address begins anew.
func TestAssumedForged(t *testing.T) {
	from := netip.MustParseAddrPort("192.0.2.1:53")
	const id = "02"
	var n uint32
	g := newGame(t, Config{Mode: Playable, Public: true, Random: func() uint32 { n++; return 50 + n*7919 }})
	there := true
	pass := func(d time.Duration) {
		for end := g.now.Add(d); g.now.Before(end); g.now = g.now.Add(50 * time.Millisecond) {
			g.host.Advance(g.now)
			for {
				to, sent, ok := g.host.Send()
				if !ok {
					break
				}
				split, err := transport.Split(cipher.Decrypt(nil, sent))
				for to == from && there && err == nil {
					var m transport.Message
					if m, ok, err = split.Next(); !ok {
						break
					}
					if m.Type == transport.Standard && m.HasSeq {
						g.host.Receive(g.now, from, cipher.Encrypt(nil, fixtures.Unhex(t, fmt.Sprintf("%s 01 01 %02X 00 80", id, m.Seq))))
					}
				}
			}
		}
	}
	send := func(plain string) {
		g.raw(from, fixtures.Unhex(t, plain))
		pass(100 * time.Millisecond)
	}
	const connect = "FF 01 03 08 01 00 00 00 7F 00"
	join := func() {
		send(connect)
		send(id + " 01 00 12 80 00 00 00 7F 00 00 01 42 00 6F 00 74 00 00 00")
		for i, a := range answers {
			body := fixtures.Unhex(t, a)
			send(id + fmt.Sprintf(" 01 32 %02X 80 %02X 00 %X", 5+len(body), i, body))
		}
		send(id + " 01 32 07 80 05 00 2A 20")
	}
	join()
	for _, forged := range []string{connect, "FF 01 03 0F C0 00 00 0A 0A 0A EF 09 09 09 09 00 00"} {
		for range 5 {
			send(forged)
			pass(3 * time.Second)
		}
		if s := g.host.Status(); s.Playing != 1 || g.has(Replaced, "") || g.has(Left, "") {
			t.Fatalf("after %s: %d play; %v", forged, s.Playing, g.events)
		}
	}
	there = false
	send(connect)
	pass(2 * time.Second)
	there = true
	if join(); !g.has(Left, "") || g.host.Status().Playing != 1 {
		t.Errorf("%d play; %v", g.host.Status().Playing, g.events)
	}
}

// A connect or a disconnect that forged datagrams for does not end a session.
func TestForgedConnect(t *testing.T) {
	g := newGame(t, Config{Public: true, Random: func() uint32 { return 100 }})
	a, b := g.join(1001), g.join(1002)
	g.now = g.now.Add(500 * time.Millisecond)
	a.take()
	b.take()
	for i := range uint32(10) {
		g.raw(a.addr, stockConnect(0x1000+i))
		g.raw(a.addr, fixtures.Unhex(t, "09 01 05 0A C0 02 00 09 0A 0A 0A EF")) // a leave with another id
		g.raw(a.addr, fixtures.Unhex(t, "FF 01 06 02"))                         // and with none
		g.now = g.now.Add(time.Second)
		g.exchange()
	}
	a.got = slices.DeleteFunc(a.got, func(m string) bool {
		// These are for the forged client, which has these numbers already.
		return strings.HasPrefix(m, "03:") || strings.HasPrefix(m, "2000")
	})
	b.say("2C 03000000 0500 68656C6C6F")
	a.say("2C 02000000 0500 68656C6C6F")
	g.wait(4 * time.Second)             // until it comes with a sign
	for _, c := range []*client{a, b} { // their ids are 102 and 103
		if got, want := c.take(), []string{"2C670000000500" + "68656C6C6F", "2C660000000500" + "68656C6C6F"}; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	}
	if g.has(Replaced, "") || g.has(Left, "") || g.host.Status().Playing != 2 {
		t.Errorf("%d play; %v", g.host.Status().Playing, g.events)
	}
}

// Who connects anew from the same address takes the place of the session before
// as soon as it uses its id, and is sent nothing of that in the meantime.
func TestReconnect(t *testing.T) {
	g := newGame(t, Config{Players: 2})
	a, b := g.join(1001), g.join(1002)
	g.wait(2 * time.Second)
	a.deaf = true
	b.say("2C 03000000 0500 68656C6C6F") // it hears no more of this
	delete(g.clients, a.addr)
	g.wait(3 * time.Second)
	b.take()
	again := &client{g: g, addr: a.addr, link: arq.New(0xFF, arq.Limits{})}
	g.clients[a.addr] = again
	again.send(arq.Message{Type: transport.Connect, Body: fixtures.Unhex(t, "0A0A0AEF 99999999 0000")})
	if got := again.take(); len(got) != 3 || got[0] != "03: 04" || !strings.HasPrefix(got[1], "2000") && !strings.HasPrefix(got[2], "2000") {
		t.Errorf("the newcomer is sent %v", got)
	}
	if got, want := b.take(), []string{"04: 0102", "18" + cady2}; !sameButOrder(got, want) {
		t.Errorf("the other is sent %v, want %v", got, want)
	}
	for _, answer := range answers {
		again.say(answer)
	}
	again.say("2A 20")
	if s := g.host.Status(); s.Playing != 2 || !g.has(Replaced, "") {
		t.Errorf("%d play; %v", s.Playing, g.events)
	}
	if p := g.peerAt(a.addr); p.slot != 0 || p.id != 4 {
		t.Errorf("slot %d, id %d", p.slot, p.id)
	}
}

// A repeated connect with the same nonce is the same attempt.
func TestNonce(t *testing.T) {
	g := newGame(t, Config{})
	addr := netip.MustParseAddrPort("192.0.2.1:53")
	for _, tt := range []struct {
		nonce uint32
		peers int
	}{{1, 1}, {1, 1}, {2, 2}, {1, 2}, {2, 2}, {3, 3}, {4, 4}, {5, 4}, {6, 4}} {
		g.raw(addr, stockConnect(tt.nonce))
		if n := len(g.host.byAddr[addr]); n != tt.peers {
			t.Errorf("nonce %d: %d sessions, want %d", tt.nonce, n, tt.peers)
		}
	}
	newest := g.host.byAddr[addr][3]
	g.raw(addr, []byte{newest.id, 1, byte(transport.DoNothing)})
	if list := g.host.byAddr[addr]; len(list) != 1 || list[0] != newest || !newest.proved {
		t.Errorf("%d sessions after the proof", len(list))
	}
	// Although the session is proved, an old copy of its connect does not make
	// the host forget it.
	g.raw(addr, stockConnect(6))
	if list := g.host.byAddr[addr]; len(list) != 1 || list[0] != newest {
		t.Errorf("%d sessions after an old copy", len(list))
	}
}

// Who does not get into the game makes room, and is told.
func TestJoinDeadline(t *testing.T) {
	g := newGame(t, Config{})
	checking := g.connect(1001)
	loading := g.connect(1002)
	for _, a := range answers {
		loading.say(a)
	}
	g.wait(59 * time.Second)
	if s := g.host.Status(); s.Players != 2 {
		t.Errorf("after 59 s: %d players", s.Players)
	}
	checking.take()
	loading.take()
	g.wait(2 * time.Second)
	if s := g.host.Status(); s.Players != 0 {
		t.Errorf("after a minute: %d players", s.Players)
	}
	if got := checking.take(); !slices.Contains(got, "04: 0102") {
		t.Errorf("the one is told %v", got)
	}
	if got := loading.take(); !slices.Contains(got, "04: 0103") {
		t.Errorf("the other is told %v", got)
	}
	if !g.has(TimedOut, "not got into the game") {
		t.Errorf("%v", g.events)
	}
}

// Those that connect and do nothing cannot keep others out, neither from
// another address nor, for long, from their own.
func TestIdleSockets(t *testing.T) {
	g := newGame(t, Config{})
	for i := range uint16(20) {
		if c := g.connect(2000 + i); len(c.got) == 0 {
			delete(g.clients, c.addr) // it does not ask again
		}
	}
	held := g.host.Status().Players
	if held > 6 {
		t.Errorf("an address holds %d slots", held)
	}
	other := g.joinFrom(netip.MustParseAddrPort("192.0.2.9:1"))
	if s := g.host.Status(); s.Playing != 1 {
		t.Fatalf("another address does not get in: %v", other.take())
	}
	var own *client
	for second := 0; g.host.Status().Playing < 2; second++ {
		if second == 15 {
			t.Fatal("the same address does not get in for 15 s")
		}
		if own == nil || len(own.take()) == 0 { // it asks until it is answered
			own = g.connect(1001)
		}
		if p := g.peerAt(own.addr); p != nil && p.proved {
			for _, a := range answers {
				own.say(a)
			}
			own.say("2A 20")
		}
		g.wait(time.Second)
	}
}

// Eight players behind one address get in, all at once.
func TestEightBehindOneAddress(t *testing.T) {
	g := newGame(t, Config{})
	in, waiting := map[int]*client{}, map[int]*client{}
	for second := 0; len(in) < 8; second++ {
		if second > 5 {
			t.Fatalf("after %d s %d of 8 are in", second, len(in))
		}
		if second == 0 {
			for i := range 8 {
				waiting[i] = g.connect(uint16(1001 + i))
			}
		}
		for i, c := range waiting {
			if len(c.take()) == 0 {
				continue
			}
			for _, a := range answers {
				c.say(a)
			}
			c.say("2A 20")
			in[i] = c
			delete(waiting, i)
		}
		g.wait(time.Second)
	}
	if s := g.host.Status(); s.Playing != 8 {
		t.Errorf("%d play", s.Playing)
	}
}

// Whoever speaks, speaks for itself.
func TestImpersonation(t *testing.T) {
	const shipOf0, shipOf1 = "FFFFFF3F", "FFFF0340"
	ship := func(slot, player, id string) string {
		return "03" + slot + player + "08800000" + id + "01000000000000000000000000" + "0000803F000000000000000000000000" + "00000000000000" + "01430153"
	}
	body := func(s string) arq.Message {
		return arq.Message{Type: transport.Standard, Reliable: true, Body: fixtures.Unhex(t, s)}
	}
	tests := []struct {
		name string
		m    arq.Message // message from the client with id 3 and slot 1
		want []string    // messages to the client with id 2 and slot 0
		log  string
	}{
		{"name", arq.Message{Type: transport.NameChange, Body: fixtures.Unhex(t, "02 0A0A0AEF 580000 00")}, []string{"00: 030A0A0AEF58000000"}, "as id 2"},
		{"chat", body("2C 02000000 0100 78"), []string{"2C03000000010078"}, "chat as id 2"},
		{"chat as the host", body("2C 01000000 0100 78"), []string{"2C03000000010078"}, "chat as id 1"},
		{"team chat", body("2D 02000000 0100 78"), []string{"2D03000000010078"}, "chat as id 2"},
		{"team", body("41 02000000 01"), []string{"410300000001"}, "team for id 2"},
		{"own chat", body("2C 03000000 0100 78"), []string{"2C03000000010078"}, ""},
		{"ship of another", body(ship("00", "02", shipOf0)), nil, "slot 0's to create"},
		{"ship in another's range", body(ship("01", "03", shipOf0)), nil, "slot 0's to create"},
		{"ship for another", body(ship("00", "02", shipOf1)), []string{ship("01", "03", shipOf1), "1DFFFF0340"}, "for slot 0"},
		{"ship for another id", body(ship("01", "02", shipOf1)), []string{ship("01", "03", shipOf1), "1DFFFF0340"}, "for id 2"},
		{"own ship", body(ship("01", "03", shipOf1)), []string{ship("01", "03", shipOf1), "1DFFFF0340"}, ""},
		{"update of another's", body("1C FFFFFF3F 0000A041 80"), nil, "ship of id 2"},
		{"own update", body("1C FFFF0340 0000A041 80"), []string{"1CFFFF03400000A04180"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGame(t, Config{Mode: Playable})
			a, b := g.join(1001), g.join(1002)
			a.say(ship("00", "02", shipOf0))
			a.take()
			g.events = nil
			b.send(tt.m)
			if got := a.take(); !slices.Equal(got, tt.want) {
				t.Errorf("sent\n%v, want\n%v", got, tt.want)
			}
			switch {
			case tt.log == "" && g.has(Corrected, ""):
				t.Errorf("reported: %v", g.events)
			case tt.log != "" && !g.has(Corrected, tt.log):
				t.Errorf("reported: %v, want %q", g.events, tt.log)
			}
			if tt.log != "" && !strings.HasPrefix(g.events[0], "corrected 3 ") {
				t.Errorf("reported: %v, want the true sender", g.events)
			}
		})
	}
}

// A client that acknowledges nothing has to go, and no other client goes
// because of it.
func TestDeafClient(t *testing.T) {
	g := newGame(t, Config{})
	a, b := g.join(1001), g.join(1002)
	b.deaf = true
	at := time.Duration(0)
	for began := g.now; g.now.Sub(began) < time.Minute && !g.has(Overloaded, "acknowledges nothing"); {
		a.say("2C 02000000 0100 78")
		if err := b.link.Queue(g.now, arq.Message{Type: transport.Standard, Body: []byte{0x0D, 1}}); err != nil {
			t.Fatal(err)
		}
		g.wait(100 * time.Millisecond)
		at = g.now.Sub(began)
	}
	if at < 25*time.Second || at > 35*time.Second {
		t.Errorf("given up after %v, want half a minute", at)
	}
	b.deaf = false
	b.take()
	g.wait(2 * time.Second)
	if got := b.take(); !slices.Contains(got, "04: 0103") {
		t.Errorf("it is told %d messages, none of which puts it out", len(got))
	}
	if s := g.host.Status(); s.Playing != 1 {
		t.Errorf("%d play", s.Playing)
	}
}

// A client that acknowledges messages never sent is put out.
func TestBogusAcks(t *testing.T) {
	g := newGame(t, Config{})
	a := g.join(1001)
	for i := range 200 {
		n := 30000 + i
		g.raw(a.addr, []byte{2, 1, 1, byte(n), byte(n >> 8), 0})
	}
	g.exchange()
	if !g.has(Kicked, "acknowledges messages that were never sent") || g.host.Status().Playing != 0 {
		t.Errorf("%v", g.events)
	}
}

// An unchanged name is not passed on. Other names are passed on at most once a
// second.
func TestNames(t *testing.T) {
	g := newGame(t, Config{})
	a, b := g.join(1001), g.join(1002)
	a.take()
	b.take()
	name := func(letter byte) {
		b.send(arq.Message{Type: transport.NameChange, Body: []byte{3, 10, 0, 0, 1, letter, 0, 0, 0}})
	}
	for range 5 {
		name('x')
		g.wait(2 * time.Second)
	}
	if got, want := a.take(), []string{"00: 030A00000178000000"}; !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	for i := range byte(200) {
		name(i + 1)
		g.wait(100 * time.Millisecond)
	}
	if n := len(a.take()); n == 0 || n > 26 {
		t.Errorf("%d names in 20 s", n)
	}
}

// Each of those who stay is told of a leave as it understands: the stock game's
// client that the ship dies, OpenBC's that it is gone.
func TestTellOfLeave(t *testing.T) {
	const ship = "03 00 02 08800000 FFFFFF3F 01 000000000000000000000000 0000803F000000000000000000000000 00000000000000 0143 0153"
	for _, how := range []string{"leave", "kick", "silence"} {
		t.Run(how, func(t *testing.T) {
			g := newGame(t, Config{Mode: Playable})
			a, b, c := g.join(1001), g.join(1002), g.join(1003)
			g.host.ids[4].voice.Decide(decode.OpenBC, session.Form) // this one understands OpenBC's messages
			a.say(ship)
			b.take()
			c.take()
			var word string
			switch how {
			case "leave":
				word = "05: 020A0A0AEF"
				a.leave("02 0A0A0AEF")
			case "kick":
				word = "04: 0402"
				g.host.Kick(g.now, 2, transport.BootKicked)
			default:
				word = "04: 0102"
				delete(g.clients, a.addr)
				g.wait(46 * time.Second)
			}
			g.exchange()
			// An explosion of 9.5 s, without a source.
			want := []string{word, "18050000004361647932", "06298100004E00800000000000FFFFFF3F0000000000001841"}
			if got := b.take(); !sameButOrder(got, want) {
				t.Errorf("sent %v, want %v", got, want)
			}
			want = []string{word, "14FFFFFF3F", "17660800000500060000000000FFFFFF3F02", "1805004361647932"}
			if got := c.take(); !sameButOrder(got, want) {
				t.Errorf("OpenBC's client is sent %v, want %v", got, want)
			}
			// No client that comes later is sent the ship.
			d := g.join(1004)
			for _, m := range d.take() {
				if strings.HasPrefix(m, "0300") {
					t.Errorf("a newcomer is sent %s", m)
				}
			}
		})
	}
}

// A receiver for which too much waits goes, is told, and is not taken for the
// one who sent it.
func TestOverloaded(t *testing.T) {
	g := newGame(t, Config{Limits: Limits{Link: arq.Limits{Waiting: 100}, ReliableRate: allAtOnce}})
	a, b, c := g.join(1001), g.join(1002), g.join(1003)
	b.deaf = true
	c.take()
	for range 150 {
		a.say("2C 02000000 0100 78")
	}
	if !g.has(Overloaded, "3 too much waits") {
		t.Errorf("%v", g.events)
	}
	b.deaf = false
	b.take()
	g.wait(2 * time.Second)
	if got := b.take(); !slices.Contains(got, "04: 0103") {
		t.Errorf("it is told %v", got)
	}
	chat := 0
	for _, m := range c.take() {
		if strings.HasPrefix(m, "2C") {
			chat++
		}
	}
	if chat != 150 || g.host.Status().Playing != 2 {
		t.Errorf("the third got %d lines, want 150; %d play", chat, g.host.Status().Playing)
	}
}

// Over its budget a client is slowed, and then put out and told; its messages
// are not acknowledged.
func TestBudgets(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits Limits
		flood  func(i int) arq.Message
		drop   Drop
	}{
		{"datagrams", Limits{PeerRate: Rate{10, 20}}, nil, DropDatagrams},
		{"bytes", Limits{PeerBytes: Rate{100, 2000}}, func(int) arq.Message {
			return arq.Message{Type: transport.Standard, Body: make([]byte, 300)}
		}, DropBytes},
		{"messages", Limits{MessageRate: Rate{10, 60}}, nil, DropMessages},
		{"control", Limits{}, func(i int) arq.Message {
			return arq.Message{Type: transport.NameChange, Body: []byte{2, 10, 0, 0, 1, byte(i), 1, 0, 0}}
		}, DropControl},
		{"game", Limits{GameRate: Rate{10, 20}}, nil, DropGame},
		{"reliable", Limits{ReliableRate: Rate{10, 20}}, func(int) arq.Message {
			return arq.Message{Type: transport.Standard, Reliable: true, Body: []byte{0x0D, 1}}
		}, DropReliable},
		{"reliable bytes", Limits{ReliableBytes: Rate{100, 1000}}, func(int) arq.Message {
			return arq.Message{Type: transport.Standard, Reliable: true, Body: append([]byte{0x0D}, make([]byte, 100)...)}
		}, DropReliable},
		{"fan-out", Limits{FanOut: Rate{100, 2000}}, func(int) arq.Message {
			return arq.Message{Type: transport.Standard, Body: append([]byte{0x2C, 2, 0, 0, 0, 100, 0}, make([]byte, 100)...)}
		}, DropFanOut},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limits := tt.limits
			limits.Patience = Rate{5, 300}
			g := newGame(t, Config{Limits: limits})
			a := g.join(1001)
			flood := tt.flood
			if flood == nil {
				flood = func(int) arq.Message { return arq.Message{Type: transport.Standard, Body: []byte{0x0D, 1}} }
			}
			g.now = g.now.Add(5 * time.Second)
			seq := 0
			for i := 0; g.host.Status().Playing > 0; i++ {
				if i == 5000 {
					t.Fatalf("it still plays; dropped %v", g.host.Stats().Dropped)
				}
				m := flood(i)
				h := transport.Header{Type: m.Type, Reliable: m.Reliable, Priority: m.Type != transport.Standard, Seq: uint16(seq + 20)}
				if m.Type == transport.NameChange {
					h.Seq = uint16(seq + 2)
				}
				seq++
				plain, err := transport.Append([]byte{2, 1}, &h, m.Body)
				if err != nil {
					t.Fatal(err)
				}
				g.raw(a.addr, plain)
				g.now = g.now.Add(time.Millisecond)
			}
			if n := g.host.Stats().Dropped[tt.drop]; n < 300 {
				t.Errorf("%d were dropped for that, want 300 and more: %v", n, g.host.Stats().Dropped)
			}
			if !g.has(Limited, tt.drop.traffic()) || !g.has(Kicked, "goes on sending more "+tt.drop.traffic()) {
				t.Errorf("%v", g.events)
			}
			a.take()
			g.exchange()
			if got := a.take(); !slices.Contains(got, "04: 0402") {
				t.Errorf("it is told %v", got)
			}
		})
	}
}

// The traffic of one address does not block connects of another, only its own
// beyond the rate.
func TestConnectRate(t *testing.T) {
	g := newGame(t, Config{})
	one := netip.MustParseAddr("192.0.2.1")
	for i := range uint16(40) {
		g.raw(netip.AddrPortFrom(one, 1000+i), stockConnect(1))
	}
	if got := len(g.host.peers); got > 16 {
		t.Errorf("%d sessions of one address, want 16 at most", got)
	}
	before := len(g.host.peers)
	g.now = g.now.Add(time.Second)
	for i := range uint16(40) {
		g.raw(netip.AddrPortFrom(one, 2000+i), stockConnect(1))
	}
	if got := len(g.host.peers); got != before+1 {
		t.Errorf("%d more a second later, want one", got-before)
	}
}

// An address has as many slots as it may have, however its clients come, and one
// more when one of them leaves or begins anew.
func TestPerAddress(t *testing.T) {
	g := newGame(t, Config{Players: 16, PerAddress: func(netip.Addr) int { return 4 }})
	from := func(port uint16) netip.AddrPort {
		return netip.AddrPortFrom(netip.MustParseAddr("192.0.2.77"), port)
	}
	enter := func(port uint16, nonce uint32) {
		g.raw(from(port), stockConnect(nonce))
		for p := range g.host.Peers() {
			if p.Addr == from(port) && !p.Proved {
				g.raw(from(port), []byte{p.ID, 1, byte(transport.DoNothing)})
			}
		}
		g.now = g.now.Add(2 * time.Second)
		g.exchange()
	}
	slots := func() (n int) {
		for p := range g.host.Peers() {
			if p.Addr.Addr() == from(0).Addr() && p.Proved && p.Slot >= 0 {
				n++
			}
		}
		return n
	}
	for port := range uint16(14) {
		enter(5000+port, 1)
	}
	if n := slots(); n != 4 {
		t.Errorf("an address has %d slots, want 4", n)
	}
	if !g.has(Refused, "") {
		t.Errorf("nobody is refused: %v", g.events)
	}
	enter(5000, 2) // the first begins anew
	if n := slots(); n != 4 {
		t.Errorf("%d slots after one has begun anew, want 4", n)
	}
	if g.join(1001); g.host.Status().Players != 5 {
		t.Errorf("another address is not let in: %+v", g.host.Status())
	}
	g.host.Kick(g.now, g.peerAt(from(5001)).id, transport.BootKicked)
	enter(6000, 1)
	if n := slots(); n != 4 {
		t.Errorf("%d slots after one has left and one has come, want 4", n)
	}
}
