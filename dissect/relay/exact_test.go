package relay

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A line of the host's has 200 bytes at most, and does not end inside a letter.
func TestSayLines(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []int // bytes of each line
	}{
		{"nothing", "", nil},
		{"a full line", strings.Repeat("x", 200), []int{200}},
		{"one byte more", strings.Repeat("x", 201), []int{200, 1}},
		{"a letter of two bytes across the end", strings.Repeat("x", 199) + "éx", []int{199, 3}},
		{"a letter of two bytes before the end", strings.Repeat("x", 198) + "éx", []int{200, 1}},
		{"no letters at all", strings.Repeat("\x80", 202), []int{1, 1, 200}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGame(t, Config{})
			a, b := g.join(1001), g.join(1002)
			a.take()
			b.take()
			want := 2
			if tt.want == nil {
				want = 0
			}
			if n := g.host.Say(g.now, tt.text); n != want {
				t.Errorf("said to %d, want %d", n, want)
			}
			g.exchange()
			var got []int
			text := ""
			for _, m := range a.take() {
				body := fixtures.Unhex(t, m)
				got = append(got, len(body)-7) // opcode, sender, length
				text += string(body[7:])
			}
			if !slices.Equal(got, tt.want) || text != tt.text {
				t.Errorf("lines of %v bytes, want %v", got, tt.want)
			}
		})
	}
}

// Every id that a client can have can be put out, and no other.
func TestKickIDs(t *testing.T) {
	g := newGame(t, Config{Random: func() uint32 { return lastID - firstID }})
	g.join(1001)
	for id := range 256 {
		if id != lastID && g.host.Kick(g.now, uint8(id), transport.BootKicked) {
			t.Errorf("id %d was put out", id)
		}
	}
	if !g.host.Kick(g.now, lastID, transport.BootKicked) || g.host.Kick(g.now, lastID, transport.BootKicked) {
		t.Error("the last id is not put out once")
	}
}

// thing returns a message of size bytes that creates an object other than a
// ship.
func thing(t *testing.T, id, size int) string {
	t.Helper()
	// A torpedo, with a long map name: opcode, slot, class, id, species, place,
	// orientation, speed, three bytes, then a text with its length.
	head := fixtures.Unhex(t, "02 00 09 80 00 00 00 00 00 00 02 00 00 80 3f 00 00 00 40 00 00 40 40"+
		"00 00 80 3f 00 00 00 00 00 00 00 00 00 00 00 00 7f 00 00 00 98 41 00")
	tail := fixtures.Unhex(t, "ff ff ff 3f ff ff 03 40 02 1e 00 7f 00 80")
	head[6], head[7], head[8], head[9] = byte(id), byte(id>>8), 0xFF, 0x3F
	n := size - len(head) - 1 - len(tail)
	return fmt.Sprintf("%X%02X%X%X", head, n, strings.Repeat("M", n), tail)
}

// As many objects are kept as the limits allow; beyond, the oldest goes.
func TestKeptObjects(t *testing.T) {
	a, b, c, again := thing(t, 1, 100), thing(t, 2, 100), thing(t, 3, 100), thing(t, 1, 90)
	large := thing(t, 4, 300)
	for _, tt := range []struct {
		name    string
		limits  Limits
		created []string
		want    []string // for those who join later
		limited int      // events
	}{
		{"all", Limits{}, []string{a, b, c}, []string{a, b, c}, 0},
		{"two", Limits{Objects: 2}, []string{a, b}, []string{a, b}, 0},
		{"of three, the last two", Limits{Objects: 2}, []string{a, b, c}, []string{b, c}, 1},
		{"200 bytes", Limits{ObjectBytes: 200}, []string{a, b}, []string{a, b}, 0},
		{"of 300 bytes, the last 200", Limits{ObjectBytes: 200}, []string{a, b, c}, []string{b, c}, 1},
		{"199 bytes", Limits{ObjectBytes: 199}, []string{a, b}, []string{b}, 1},
		{"one that is as large as all may be", Limits{ObjectBytes: 300}, []string{large}, []string{large}, 0},
		{"one that is larger", Limits{ObjectBytes: 299}, []string{a, large}, []string{a}, 1},
		{"one again", Limits{}, []string{a, b, again}, []string{b, again}, 0},
		{"one that is gone", Limits{}, []string{a, b, "14 0100FF3F"}, []string{b}, 0},
		{"the place of those that are gone", Limits{ObjectBytes: 200}, []string{a, b, "14 0100FF3F", c}, []string{b, c}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.limits.ReliableRate, tt.limits.GameRate = allAtOnce, allAtOnce
			g := newGame(t, Config{Limits: tt.limits})
			creator := g.join(1001)
			for _, body := range tt.created {
				creator.say(body)
			}
			var got []string
			for _, m := range g.join(1002).take() {
				if strings.HasPrefix(m, "02") && len(m) > 100 {
					got = append(got, m)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("a newcomer is sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			if n := g.host.Stats().Events[Limited]; n != tt.limited {
				t.Errorf("%d events, want %d: %q", n, tt.limited, g.events)
			}
			n, size := 0, 0
			for _, o := range g.peerAt(creator.addr).objects {
				n, size = n+1, size+len(o.body)
			}
			if p := g.peerAt(creator.addr); p.objectB != size || n != len(tt.want) {
				t.Errorf("%d objects of %d bytes are kept, counted as %d bytes", n, size, p.objectB)
			}
		})
	}
	g := newGame(t, Config{}) // one can be asked for by its id
	creator, other := g.join(1001), g.join(1002)
	creator.say(a)
	creator.say(b)
	other.take()
	other.say("1E 0200FF3F")
	if got := other.take(); !slices.Equal(got, []string{b}) {
		t.Errorf("asked for object 2: %v", got)
	}
}

// Events name the messages that a client must not send before its files are
// checked, and those that do not decode.
func TestIgnored(t *testing.T) {
	for _, tt := range []struct {
		name   string
		like   decode.Dialect
		bodies []string
		join   bool
		want   string
	}{
		{"chat before its files", decode.Stock, []string{"2C 02000000 0100 78"}, false, "ignored 2 0x2C before its files are checked"},
		{"ready before its files", decode.Stock, []string{"2A 20"}, false, "ignored 2 it is ready before its files are checked"},
		{"ready before its files, OpenBC", decode.OpenBC, []string{"2A 20"}, false, "ignored 2 0x2A before its files are checked"},
		{"unreadable hashes", decode.Stock, []string{"21 00"}, false, "ignored 2 unreadable hashes"},
		{"hashes of another round", decode.Stock, []string{answers[1]}, false, "ignored 2 hashes of another round than asked for"},
		{"hashes when it plays", decode.Stock, []string{answers[0]}, true, "ignored 2 hashes that were not asked for"},
		{"chat that does not read", decode.Stock, []string{"2C 02000000 0500 78"}, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGame(t, Config{Like: tt.like})
			var c *client
			if tt.join {
				c = g.join(1001)
			} else {
				c = g.connect(1001)
			}
			g.events = nil
			for _, body := range tt.bodies {
				c.say(body)
			}
			got := slices.DeleteFunc(g.events, func(e string) bool { return !strings.HasPrefix(e, "ignored") })
			if g := strings.Join(got, "\n"); g != tt.want {
				t.Errorf("got %q, want %q", g, tt.want)
			}
		})
	}
}

// Complaints about one client end with a word, and are counted on.
func TestLastComplaint(t *testing.T) {
	g := newGame(t, Config{Limits: Limits{GameRate: allAtOnce, ReliableRate: allAtOnce}})
	c := g.join(1001)
	g.events = nil
	before := g.host.Stats()
	for range complaints + 5 {
		c.say(answers[0])
	}
	var got []string
	for _, e := range g.events {
		if strings.HasPrefix(e, "ignored") {
			got = append(got, e)
		}
	}
	const text = "ignored 2 hashes that were not asked for"
	for i, e := range got {
		if last := i == complaints-1; last != (e == text+" (the last report of this kind)") || !last && e != text {
			t.Errorf("report %d: %q", i, e)
		}
	}
	s := g.host.Stats()
	if len(got) != complaints || s.Events[Ignored]-before.Events[Ignored] != complaints+5 {
		t.Errorf("%d reports, want %d; %d are counted, want %d", len(got), complaints, s.Events[Ignored], complaints+5)
	}
	class := msg.Catalog().Lookup(msg.OpChecksumResponse).Relay
	if n := s.Messages[class] - before.Messages[class]; n != complaints+5 {
		t.Errorf("%d messages of class %v, want %d", n, class, complaints+5)
	}
}

// All that comes and goes is counted.
func TestCounts(t *testing.T) {
	g := newGame(t, Config{})
	addr := netip.MustParseAddrPort("10.0.0.1:1")
	in := stockConnect(1)
	g.raw(addr, in)
	out := g.sentTo(addr)
	g.host.Receive(g.now, addr, []byte(`\status\`))
	out2 := g.sentTo(addr)
	g.host.Receive(g.now, addr, nil)
	s := g.host.Stats()
	if s.Received != 3 || s.BytesIn != int64(len(in)+len(`\status\`)) || s.Sent != 2 || s.BytesOut != int64(out+out2) || s.Queries != 1 || s.Malformed != 1 {
		t.Errorf("%+v", s)
	}
}

// Who speaks for another is corrected or refused.
func TestSpeakers(t *testing.T) {
	galaxy := func(slot int) string {
		return fmt.Sprintf("02 %02X 09800000 0500FF3F 02 0000803f 00000040 00004040 0000803f 00000000 00000000 00000000 7f0000 00009841 00 01 4D ffffff3f ffff0340 02 1e 00 7f 00 80", slot)
	}
	for _, tt := range []struct {
		name, body string
		want       string // message that the other player gets
		event      string
	}{
		{"chat as itself", "2C 02000000 0100 78", "2C02000000010078", ""},
		{"chat as another", "2C 03000000 0100 78", "2C02000000010078", "sent on as its own: chat as id 3"},
		{"chat with its slot, though the game's", "2C 00000000 0100 78", "2C02000000010078", "sent on as its own: chat as id 0"},
		{"chat with a space", "2C 02000000 0300 782079", "2C020000000300782079", ""},
		{"chat with a line end", "2C 02000000 0300 780A79", "2C020000000300782079", "sent on as its own: chat with control characters"},
		{"an object with its slot", galaxy(0), strings.ReplaceAll(galaxy(0), " ", ""), ""},
		{"an object with another's slot", galaxy(1), strings.ReplaceAll(galaxy(0), " ", ""), "sent on as its own: a creation for slot 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGame(t, Config{})
			a, b := g.join(1001), g.join(1002)
			b.take()
			g.events = nil
			a.say(tt.body)
			got := strings.ToUpper(strings.Join(b.take(), " "))
			if got != strings.ToUpper(tt.want) && tt.want != "" {
				t.Errorf("the other is sent %s, want %s", got, strings.ToUpper(tt.want))
			}
			event := ""
			for _, e := range g.events {
				if _, text, ok := strings.Cut(e, "corrected 2 "); ok {
					event += text
				}
			}
			if event != tt.event {
				t.Errorf("reported %q, want %q", event, tt.event)
			}
		})
	}
}

// OpenBC's clients write their slot in the place of their id.
func TestOpenBCSpeaker(t *testing.T) {
	for sender, event := range map[int]string{0: "", 2: "", 1: "chat as id 1"} {
		g := newGame(t, Config{Mode: Playable})
		a, b := g.join(1001), g.join(1002)
		g.raw(a.addr, []byte{2, 1, byte(transport.Acknowledge), 0, 0, 0x80})
		b.take()
		g.events = nil
		a.say(fmt.Sprintf("2C %02X000000 0100 78", sender))
		if got := b.take(); !slices.Equal(got, []string{"2C02000000010078"}) {
			t.Errorf("as %d: the other is sent %q", sender, got)
		}
		if (event != "") != g.has(Corrected, event) {
			t.Errorf("as %d: events %q", sender, g.events)
		}
	}
}

// A new client knows nothing, and its first fault is kept.
func TestNewClient(t *testing.T) {
	c := NewClient(ClientConfig{Name: "Cady2"})
	if c.Reason != -1 || c.Slot != -1 || c.ID != 0 || c.Phase != ClientIdle || c.Err != nil || !c.Next().IsZero() {
		t.Errorf("%+v", c)
	}
	if _, ok := c.Datagram(start); ok {
		t.Error("it sends before it is asked to")
	}
	c.Send(start, arq.Message{Type: transport.Standard, Reliable: true, Body: make([]byte, arq.MaxBody+1)})
	c.Send(start, arq.Message{Type: transport.Standard, Reliable: true, Body: make([]byte, 2<<20)})
	if c.Err == nil || c.Err.Error() != "Cady2: "+arq.ErrLong.Error() {
		t.Errorf("the fault is %v", c.Err)
	}
	c.Connect(start, nil)
	if c.Next().IsZero() {
		t.Error("it need not be called though it connects")
	}
	c.Phase = ClientGone
	if _, ok := c.Datagram(start); ok || !c.Next().IsZero() {
		t.Error("it sends though it is gone")
	}
}

// hosted gives a client messages of a host.
func hosted(c *Client, now time.Time, list ...transport.Message) {
	plain := []byte{transport.HostPeer, byte(len(list))}
	for i := range list {
		var err error
		if plain, err = transport.Append(plain, &list[i].Header, list[i].Body); err != nil {
			panic(err)
		}
	}
	c.Receive(now, cipher.Encrypt(nil, plain))
}

func unreliable(body string) transport.Message {
	return transport.Message{Header: transport.Header{Type: transport.Standard}, Body: []byte(body)}
}

// A client remembers a few rounds that it is asked for, and an empty message is
// none.
func TestClientAsked(t *testing.T) {
	c := NewClient(ClientConfig{})
	delivered := 0
	c.Deliver = func(time.Time, *arq.Message) { delivered++ }
	c.Connect(start, nil)
	hosted(c, start, unreliable(""))
	want := []uint8{}
	for round := range uint8(mostAsked + 2) {
		body, err := decode.Append(nil, msg.Catalog().Lookup(msg.OpChecksumRequest), &msg.ChecksumRequest{Round: round, Filter: []byte("*")}, decode.Stock)
		if err != nil {
			t.Fatal(err)
		}
		hosted(c, start, unreliable(string(body)))
		if len(want) < mostAsked {
			want = append(want, round)
		}
	}
	if !bytes.Equal(c.Asked, want) || delivered != 1+mostAsked+2 {
		t.Errorf("asked for %v of %d messages, want %v", c.Asked, delivered, want)
	}
}

// A client in OpenBC's forms: its datagrams byte by byte.
func TestClientOfOpenBC(t *testing.T) {
	c := NewClient(ClientConfig{OpenBC: true})
	next := func(now time.Time) string {
		d, ok := c.Datagram(now)
		if !ok {
			return ""
		}
		return fmt.Sprintf("%X", cipher.Decrypt(nil, d))
	}
	expect := func(name string, now time.Time, want string) {
		t.Helper()
		if got := next(now); got != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	c.Connect(start, nil)
	expect("connect", start, "FF 01 03 08 01 00 00 00 7F 00")
	if got := next(start.Add(900 * time.Millisecond)); got != "" {
		t.Errorf("it does not wait: %s", got)
	}
	hosted(c, start, transport.Message{Header: transport.Header{Type: transport.Connect, Reliable: true, Priority: true, HasSeq: true}, Body: []byte{5}})
	if c.ID != 5 || c.Phase != ClientJoining {
		t.Fatalf("%+v", c)
	}
	now := start.Add(time.Second)
	c.Say(now, msg.OpClientReady, new(msg.ClientReady))
	c.Say(now, msg.OpClientReady, new(msg.ClientReady))
	c.Send(now, arq.Message{Type: transport.NameChange, Body: []byte{5}})
	// The name comes first, with a number that begins with 0; the datagram has an
	// eight-bit count of messages, and no acknowledgement of the connect.
	expect("three messages", now, "05 03 00 06 C0 00 00 05 32 07 80 00 00 2A 20 32 07 80 01 00 2A 20")
	for i, want := range map[time.Duration]string{arq.KeepaliveAfter - 1: "", arq.KeepaliveAfter: "05 01 00 02"} {
		c.sent = now
		c.link.Abandon()
		c.link.Settle(transport.NameChange)
		expect(fmt.Sprint("keepalive after ", i), now.Add(i), want)
	}
	c.Phase = ClientConnecting
	c.sent = now
	expect("no keepalive while it connects", now.Add(4*arq.KeepaliveAfter), "")
}

// The host has eight bits of the numbers of OpenBC's clients.
func TestClientOfOpenBCIsAcknowledged(t *testing.T) {
	c := NewClient(ClientConfig{OpenBC: true})
	c.Phase = ClientPlaying
	ack := func(seq, flags uint8) {
		hosted(c, start, transport.Message{Header: transport.Header{Type: transport.Acknowledge, HasSeq: true, Seq: uint16(seq), AckFlags: flags}})
	}
	const lag = 3 // messages under way
	for n := range 300 + lag {
		if n < 300 {
			c.SendBody(start, true, []byte{0x2A})
			for _, ok := c.Datagram(start); ok; _, ok = c.Datagram(start) {
			}
		}
		if n >= lag && n-lag != 20 { // which is lost
			ack(uint8(n-lag), 0)
		}
	}
	if s := c.Link(); s.Acknowledged != 299 || s.Waiting != 1 || s.Bogus != 0 {
		t.Errorf("%+v, want all but message 20", s)
	}
	// Control messages have one number less than the link gives them, because the
	// connect has none.
	c.Send(start, arq.Message{Type: transport.Connect, Body: []byte{1}})
	c.Send(start, arq.Message{Type: transport.NameChange, Body: []byte{1}})
	c.Datagram(start)
	if ack(0, 2); c.Link().Acknowledged != 300 || c.Link().Waiting != 2 {
		t.Errorf("%+v, want the name acknowledged", c.Link())
	}
}

// A creation says which slot it is for; requests are answered by the range of
// ids of a slot.
func TestSlotsOfIDs(t *testing.T) {
	h := NewHost(Config{Players: 2})
	a, b := &peer{slot: 0}, &peer{slot: 1}
	h.slots[0], h.slots[1] = a, b
	for _, tt := range []struct {
		id   wire.ObjectID
		of   *peer
		want *peer
	}{
		{wire.FirstObject(0), a, nil},
		{wire.FirstObject(1), a, b},
		{wire.FirstObject(0), b, a},
		{wire.FirstObject(1) - 1, b, a},
		{wire.FirstObject(2), a, nil},
		{wire.FirstObject(MaxPlayers), a, nil},
		{0, a, nil},
	} {
		if got := h.other(tt.of, tt.id); got != tt.want {
			t.Errorf("0x%08X: got %v, want %v", uint32(tt.id), got, tt.want)
		}
	}
}
