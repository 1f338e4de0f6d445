package relay

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// naming returns a message by which the client with an id takes a name.
func naming(id uint8, name string) arq.Message {
	body := wire.AppendWideTextOf([]byte{id, 10, 0, 0, id}, name)
	return arq.Message{Type: transport.NameChange, Body: append(body, 0, 0)}
}

// sends sends one transport message past the client's link.
func (c *client) sends(h transport.Header, body []byte) {
	c.g.t.Helper()
	d, err := transport.Append([]byte{c.id(), 1}, &h, body)
	if err != nil {
		c.g.t.Fatal(err)
	}
	c.g.raw(c.addr, d)
	c.g.exchange()
}

// id returns the id of the client.
func (c *client) id() uint8 { return c.g.peerAt(c.addr).id }

// No client takes the name of another client that is there, or a name that looks
// like it. No name is empty or breaks a line.
func TestNameOfAnother(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"Spock", "Spock"},
		{"Großvater Юрий", "Großvater Юрий"},
		{"Will Decker", "Will Decker (2)"},
		{"WILL DECKER", "WILL DECKER (2)"},
		{"WillDecker", "WillDecker (2)"},
		{"  Will Decker ", "Will Decker (2)"},
		{"Wi11 Decker", "Wi11 Decker (2)"},
		{"WiII Decker", "WiII Decker (2)"},
		{"Will Dесkеr", "Will Dесkеr (2)"}, // three letters are Cyrillic
		{"Will De\u0301cker", "Will De\u0301cker (2)"},
		{"Will\u200b Decker", "Will Decker (2)"},
		{"\u202eWill Decker", "Will Decker (2)"},
		{"Ｗill Ｄecker", "Ｗill Ｄecker (2)"},
		{"Will\nDecker", "Will Decker (2)"},
		{"Riker\nWill", "Riker Will"},
		{"Will Decker\u3164", "Will Decker (2)"}, // fillers, which are letters, and an empty symbol
		{"Will\u2800Decker", "WillDecker (2)"},
		{"Will \uFFA0Decker\u115F", "Will Decker (2)"},
		{"𝐖𝐢𝐥𝐥 𝐃𝐞𝐜𝐤𝐞𝐫", "𝐖𝐢𝐥𝐥 𝐃𝐞𝐜𝐤𝐞𝐫 (2)"},
		{"ᎳiⅼⅠ Ꭰecker", "ᎳiⅼⅠ Ꭰecker (2)"}, // Cherokee and Roman numerals
		{"ＷΙＬＬ ＤΕＣΚΕＲ", "ＷΙＬＬ ＤΕＣΚΕＲ (2)"},
		{"\u3164\u2800", "Player 2"},
		{"\u0301\uFE0F", "Player 2"}, // marks without a letter
		{"Wilma Decker", "Wilma Decker"},
		{"Дмитрий", "Дмитрий"},
		{"", "Player 2"},
		{"\x01 \u200b", "Player 2"},
		{"Dedicated Server", "Dedicated Server (2)"},
		{strings.Repeat("x", 180), strings.Repeat("x", 48)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGame(t, Config{})
			a, b := g.join(1001), g.join(1002)
			a.send(naming(2, "Will Decker"))
			a.take()
			b.take()
			g.events = nil
			b.send(naming(3, tt.name))
			want := fmt.Sprintf("00: %X", naming(3, tt.want).Body)
			for _, c := range []*client{a, b} {
				if got := c.take(); !slices.Equal(got, []string{want}) {
					t.Errorf("sent\n%v, want\n%v", got, want)
				}
			}
			if corrected := tt.name != tt.want; corrected != g.has(Corrected, fmt.Sprintf("known as %q", tt.want)) {
				t.Errorf("reported: %v", g.events)
			}
		})
	}
}

// A name is free again when its owner has left, and a client may keep its own.
func TestNameIsFreeAgain(t *testing.T) {
	g := newGame(t, Config{})
	a, b, c := g.join(1001), g.join(1002), g.join(1003)
	a.send(naming(2, "Data"))
	a.send(naming(2, "data"))
	b.send(naming(3, "Data"))
	a.send(arq.Message{Type: transport.Disconnect, Body: []byte{2, 10, 0, 0, 2}})
	g.wait(2 * time.Second)
	c.take()
	b.send(naming(3, "Data"))
	if got, want := c.take(), []string{fmt.Sprintf("00: %X", naming(3, "Data").Body)}; !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	if n := strings.Count(strings.Join(g.events, "\n"), "known as"); n != 1 {
		t.Errorf("reported: %v", g.events)
	}
}

// Chat has no characters that could begin another line, as if another player
// had written it.
func TestChatOfOneLine(t *testing.T) {
	g := newGame(t, Config{})
	a, b := g.join(1001), g.join(1002)
	a.take()
	for _, op := range []byte{byte(msg.OpChat), byte(msg.OpTeamChat)} {
		b.send(arq.Message{Type: transport.Standard, Reliable: true, Body: append([]byte{op, 3, 0, 0, 0, 9, 0}, "hi\r\nb: \x7f\xe4"...)})
		want := fmt.Sprintf("%X%X", []byte{op, 3, 0, 0, 0, 9, 0}, "hi  b:  \xe4")
		if got := a.take(); !slices.Equal(got, []string{want}) {
			t.Errorf("sent %v, want %v", got, want)
		}
	}
	if !g.has(Corrected, "control characters") {
		t.Errorf("reported: %v", g.events)
	}
}

// A name or message is not passed on if no datagram can carry it. It would stop
// everything behind it, or seem to be the receivers' fault.
func TestTooLongToPassOn(t *testing.T) {
	long := naming(3, strings.Repeat("y", 700))
	for _, tt := range []struct {
		name string
		send func(b *client)
	}{
		{"name", func(b *client) {
			b.sends(transport.Header{Type: transport.NameChange, Priority: true, Seq: 2}, long.Body)
		}},
		{"leave", func(b *client) {
			b.sends(transport.Header{Type: transport.Disconnect, Priority: true, Seq: 2}, append([]byte{3}, make([]byte, 600)...))
		}},
		{"message", func(b *client) {
			const pieces, size = 255, 900 // a client of the game sends 406
			const seq = 6
			for i := range pieces {
				h := transport.Header{Type: transport.Standard, Reliable: true, Fragment: true, Seq: seq, Index: uint8(i)}
				if i == 0 {
					h.Count = pieces
				}
				b.sends(h, append([]byte{byte(msg.OpStartFiring)}, make([]byte, size)...))
				b.g.wait(100 * time.Millisecond)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGame(t, Config{})
			a, b, c := g.join(1001), g.join(1002), g.join(1003)
			tt.send(b)
			g.wait(time.Second)
			a.take()
			c.say("2C 04000000 0100 78")
			if got, want := a.take(), []string{"2C04000000010078"}; !slices.Equal(got, want) {
				t.Errorf("sent %v, want %v", got, want)
			}
			for _, p := range []*client{a, c} {
				if q := g.peerAt(p.addr); q == nil || q.phase != Playing {
					t.Errorf("%v is out: %v", p.addr, g.events)
				}
			}
		})
	}
}

// No client destroys another client's ship.
func TestDestroyAnother(t *testing.T) {
	g := newGame(t, Config{Mode: Playable})
	a, b, c := g.join(1001), g.join(1002), g.join(1003)
	const ship = "03 00 02 08800000 FFFFFF3F 01 000000000000000000000000 0000803F000000000000000000000000 00000000000000 0143 0153"
	a.say(ship)
	g.peerAt(b.addr).voice.Decide(decode.OpenBC, 2) // the game's own clients destroy nothing at all
	c.take()
	b.say("14 FFFFFF3F")
	if got := c.take(); len(got) > 0 {
		t.Errorf("sent %v", got)
	}
	if !g.has(Corrected, "the end of a ship of id 2") {
		t.Errorf("reported: %v", g.events)
	}
}

// On a public host, no client acts for another client's ship.
func TestActForAnother(t *testing.T) {
	for _, tt := range []struct {
		name string
		says string // %s is an object of slot 0 or of slot 1
	}{
		{"StartFiring", "07 28810000 D8008000 00000000 %s FFFF0340 00000000 00"},
		{"StopFiring", "08 01010000 DA008000 00000000 %s"},
		{"StopFiringAtTarget", "09 0C010000 DC008000 00000000 %s FFFF0340"},
		{"SubsystemStatus", "0A 04010000 DD008000 00000000 %s 00"},
		{"AddToRepairList", "0B 01010000 DF008000 00000000 %s"},
		{"ClientEvent", "0C 05010000 E0008000 00000000 %s 01"},
		{"StartCloaking", "0E 01010000 E2008000 00000000 %s"},
		{"StopCloaking", "0F 01010000 E4008000 00000000 %s"},
		{"RepairListPriority", "11 0C010000 76008000 00000000 %s FFFFFF3F"},
		{"SetPhaserLevel", "12 05010000 E0008000 00000000 %s 00"},
		{"TorpedoFire", "19 %s 67 04 007F00"},
		{"PulseFire", "1A %s 67 007F00 00"},
		{"TorpedoTypeChange", "1B 05010000 FE008000 00000000 %s 01"},
		{"Explosion", "29 %s 007F00 0000 0000 0000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGame(t, Config{Mode: Playable, Public: true, Random: func() uint32 { return 100 }})
			a, b, c := g.join(1001), g.join(1002), g.join(1003)
			b.take()
			c.take()
			b.say(fmt.Sprintf(tt.says, "05000040"))
			if got := c.take(); len(got) > 0 || !g.has(Corrected, "refused: it acts for object 0x40000005, which is not its own") {
				t.Errorf("for another: sent %v; %v", got, g.events)
			}
			own := fmt.Sprintf(tt.says, "05000440")
			b.say(own)
			if got, want := c.take(), []string{strings.ReplaceAll(own, " ", "")}; !slices.Equal(got, want) {
				t.Errorf("for itself: sent %v, want %v", got, want)
			}
			a.take()
		})
	}
}

// A message that ends before the object that acts is not passed on: the game would read on behind it.
func TestActForNothing(t *testing.T) {
	for _, says := range []string{"07", "07 2881", "08 01010000 DA008000 00000000", "0E 01010000 E2008000 00000040 0500", "19 0500", "1A", "1B 05010000 FE008000 0500"} {
		g := newGame(t, Config{Mode: Playable, Public: true, Random: func() uint32 { return 100 }})
		g.join(1001)
		b, c := g.join(1002), g.join(1003)
		c.take()
		b.say(says)
		if got := c.take(); len(got) > 0 || !g.has(Corrected, "it ends before the object that acts") {
			t.Errorf("%s: sent %v; %v", says, got, g.events)
		}
	}
}

// No client creates an object of the host.
func TestCreateForHost(t *testing.T) {
	g := newGame(t, Config{Mode: Playable, Public: true, Random: func() uint32 { return 100 }})
	a, b := g.join(1001), g.join(1002)
	a.take()
	for _, id := range []string{"05000000", "FEFFFF3F", "00000080"} {
		b.say("03 01 67 08800000 " + id + " 01 000000000000000000000000 0000803F000000000000000000000000 00000000000000 0143 0153")
		if got := a.take(); len(got) > 0 || !g.has(Corrected, "which is the host's to create") {
			t.Errorf("%s: sent %v; %v", id, got, g.events)
		}
		g.events = nil
	}
}

// A public host puts the true shooter into a shot, and tells no client another
// client's address.
func TestPublicCorrections(t *testing.T) {
	g := newGame(t, Config{Mode: Playable, Public: true, Random: func() uint32 { return 100 }})
	a, b := g.join(1001), g.join(1002)
	a.take()
	b.say("19 05000440 66 04 007F00")
	if got, want := a.take(), []string{"19050004406704007F00"}; !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	b.send(naming(0x67, "Troi"))
	g.wait(1100 * time.Millisecond) // the first one may have no sign
	want := naming(0x67, "Troi").Body
	clear(want[1:5])
	if got := a.take(); !slices.Equal(got, []string{fmt.Sprintf("00: %X", want)}) {
		t.Errorf("sent %v, want 00: %X", got, want)
	}
	b.leave("67 0A0A0AEF")
	g.wait(4 * time.Second)
	if got := a.take(); !slices.Contains(got, "05: 6700000000") {
		t.Errorf("of the leave: sent %v", got)
	}
}
