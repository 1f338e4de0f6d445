package dissect_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// A table is a simulated game: a host and clients, each with a port.
type table struct {
	t     *testing.T
	p     *dissect.Pipeline
	frame int
	seqs  map[int]uint16 // reliable sequence numbers by port, negative from the host
	seen  []string       // frame, client, name and origin of game messages
	last  dissect.Record
}

func newTable(t *testing.T) *table {
	t.Helper()
	return &table{t: t, p: dissect.New(dissect.Config{}), seqs: map[int]uint16{}}
}

var tableHost = netip.MustParseAddrPort("10.0.0.1:22101")

// send sends a message from a client to the host, or with a negative port from
// the host to a client.
func (b *table) send(port int, peer uint8, h transport.Header, body []byte) {
	b.t.Helper()
	if h.Reliable {
		h.HasSeq, h.Seq = true, b.seqs[port]
		b.seqs[port]++
	}
	plain, err := transport.Append([]byte{peer, 1}, &h, body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.frame++
	d := &dissect.Datagram{Number: b.frame, Time: time.Unix(1000, 0).Add(time.Duration(b.frame) * 50 * time.Millisecond), Dst: tableHost}
	d.Src = netip.AddrPortFrom(netip.MustParseAddr("10.0.0.9"), uint16(max(port, -port)))
	if port < 0 {
		d.Src, d.Dst = d.Dst, d.Src
	}
	err = b.p.PushPlain(d, plain, func(r *dissect.Record) error {
		b.last = *r
		if _, ok := r.Opcode(); !ok {
			return nil
		}
		text := fmt.Sprintf("%d %s %s", r.Datagram.Number, r.Client, r.Spec.Name)
		if r.First {
			text += " first"
		}
		if r.CopyOf > 0 {
			text += fmt.Sprintf(" copy of %d", r.CopyOf)
		}
		if r.Author != nil {
			text += " by " + r.Author.Name.Raw()
		}
		b.seen = append(b.seen, text)
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// game sends a reliable game message.
func (b *table) game(port int, payload ...byte) {
	peer := uint8(1)
	if port > 0 {
		peer = uint8(port)
	}
	b.send(port, peer, transport.Header{Type: transport.Standard, Reliable: true}, payload)
}

// join admits a client with its port as its id, and gives it a slot.
func (b *table) join(port int, name string) {
	wide := []byte{uint8(port), 10, 0, 0, 9}
	for _, c := range name {
		wide = append(wide, byte(c), 0)
	}
	b.send(-port, 1, transport.Header{Type: transport.Connect, Reliable: true}, []byte{uint8(port)})
	b.send(port, uint8(port), transport.Header{Type: transport.NameChange, Reliable: true}, append(wide, 0, 0))
	settings := []byte{0, 0, 0, 0, 0, 0x61, uint8(port - 2), 0, 0}
	b.game(-port, settings...)
	b.seen = nil
}

// chat returns a line of chat.
func chat(sender uint8, text string) []byte {
	return append([]byte{byte(msg.OpChat), sender, 0, 0, 0, uint8(len(text)), 0}, text...)
}

func (b *table) want(lines ...string) {
	b.t.Helper()
	if !slices.Equal(b.seen, lines) {
		b.t.Errorf("got\n%q, want\n%q", b.seen, lines)
	}
}

// A line typed twice is two lines, each with its copies, even if copies of the
// first come after the second.
func TestLineTypedTwice(t *testing.T) {
	b := newTable(t)
	b.join(2, "Ann")
	b.join(3, "Bob")
	first := b.frame + 1
	b.game(2, chat(2, "gg")...)
	b.game(2, chat(2, "gg")...)
	b.game(3, chat(3, "gg")...) // another player's
	for range 2 {
		b.game(-2, chat(2, "gg")...)
		b.game(-3, chat(2, "gg")...)
	}
	b.game(-2, chat(3, "gg")...)
	f := func(n int, format string, of ...any) string {
		return fmt.Sprintf("%d ", first+n) + fmt.Sprintf(format, of...)
	}
	b.want(
		f(0, "Ann Chat first"), f(1, "Ann Chat first"), f(2, "Bob Chat first"),
		f(3, "Ann Chat copy of %d by Ann", first), f(4, "Bob Chat copy of %d by Ann", first),
		f(5, "Ann Chat copy of %d by Ann", first+1), f(6, "Bob Chat copy of %d by Ann", first+1),
		f(7, "Ann Chat copy of %d by Bob", first+2),
	)
}

// Without the original, the first copy counts as the original. A later message
// with the same bytes to the same player is a different one.
func TestCopyWithoutOriginal(t *testing.T) {
	b := newTable(t)
	b.join(2, "Ann")
	b.join(3, "Bob")
	first := b.frame + 1
	fire := []byte{byte(msg.OpSubsystemStatus), 4, 1, 0, 0, 0xDD, 0, 0x80, 0, 5, 0, 0, 0x40, 5, 0, 0, 0x40, 1}
	b.game(-2, fire...)
	b.game(-3, fire...)
	b.game(-2, fire...)
	b.game(-3, fire...)
	b.want(
		fmt.Sprintf("%d Ann SubsystemStatus first", first), fmt.Sprintf("%d Bob SubsystemStatus copy of %d", first+1, first),
		fmt.Sprintf("%d Ann SubsystemStatus first", first+2), fmt.Sprintf("%d Bob SubsystemStatus copy of %d", first+3, first+2),
	)
}

// Equal messages from a host to single clients are not copies.
func TestSameWordsToEach(t *testing.T) {
	b := newTable(t)
	b.join(2, "Ann")
	b.join(3, "Bob")
	first := b.frame + 1
	b.game(-2, byte(msg.OpChecksumComplete))
	b.game(-3, byte(msg.OpChecksumComplete))
	b.want(fmt.Sprintf("%d Ann ChecksumComplete first", first), fmt.Sprintf("%d Bob ChecksumComplete first", first+1))
}

// A host that forwards OpenBC's forms does not use them itself.
func TestHostPassesFormsOn(t *testing.T) {
	b := newTable(t)
	b.join(2, "Ann")
	b.join(3, "Bob")
	b.send(2, 2, transport.Header{Type: transport.Acknowledge, HasSeq: true, AckFlags: 0x80}, nil) // as OpenBC's clients do
	short := []byte{byte(msg.OpStartFiring), 5, 0, 0, 0x40}
	b.game(2, short...)
	if b.last.Sender != decode.OpenBC || b.last.Layout != decode.OpenBC {
		t.Fatalf("the client: %v, %v", b.last.Sender, b.last.Layout)
	}
	for _, missing := range []bool{false, true} { // with and without the original
		if missing {
			short[1]++
		}
		b.game(-3, short...)
		if b.last.Sender == decode.OpenBC {
			t.Errorf("the host is taken for OpenBC (original missing: %v)", missing)
		}
		if b.last.Layout != decode.OpenBC || b.last.Status != dissect.StatusOK {
			t.Errorf("the copy is read as %v: %v (original missing: %v)", b.last.Layout, b.last.Status, missing)
		}
	}
	// A ship update with a cloak bit, which OpenBC's clients invert.
	update := []byte{byte(msg.OpStateUpdate), 0xFF, 0xFF, 0xFF, 0x3F, 0, 0, 0x80, 0x3F, byte(msg.DirtyCloak), 0x20}
	b.send(2, 2, transport.Header{Type: transport.Standard}, update)
	b.send(-3, 1, transport.Header{Type: transport.Standard}, update)
	if b.last.Writer != decode.OpenBC || b.last.Layout != decode.OpenBC || b.last.Sender == decode.OpenBC || b.last.Author == nil || b.last.Author.Name != "Ann" {
		t.Errorf("the update: writer %v, layout %v, sender %v, author %v", b.last.Writer, b.last.Layout, b.last.Sender, b.last.Author)
	}
	b.send(-3, 1, transport.Header{Type: transport.Standard}, append(update[:6:6], 1, 0x80, 0x3F, byte(msg.DirtyCloak), 0x20))
	if b.last.Layout == decode.OpenBC || b.last.CopyOf != 0 {
		t.Errorf("the host's own update: layout %v, copy of %d", b.last.Layout, b.last.CopyOf)
	}
}

// The order of a host's messages at a join tells its dialect: OpenBC sends the
// scores before the client is ready, the game's host sends the mission first.
func TestHostByItsJoin(t *testing.T) {
	mission := []byte{byte(msg.OpMissionInit), 8, 1, 255, 255}
	for _, tt := range []struct {
		name  string
		first []byte
		want  decode.Dialect
	}{
		{"scores", append([]byte{byte(msg.OpScore), 2}, make([]byte, 15)...), decode.OpenBC},
		{"team scores", append([]byte{byte(msg.OpScoreInit), 2}, make([]byte, 16)...), decode.OpenBC},
		{"mission", mission, decode.Stock},
	} {
		b := newTable(t)
		b.send(2, 0xFF, transport.Header{Type: transport.Connect, Reliable: true}, []byte{10, 0, 0, 9, 1, 2, 3, 4, 0, 0})
		b.join(2, "Ann")
		b.game(-2, tt.first...)
		b.game(-2, mission...)
		if b.last.Sender != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, b.last.Sender, tt.want)
		}
	}
}

// Every message of forged_small is in the stock format by construction.
func TestForgedIsStock(t *testing.T) {
	recorded.Records(t, "forged_small.pcap", dissect.Config{}, func(r *dissect.Record) {
		if r.Sender == decode.OpenBC {
			t.Fatalf("frame %d: the sender is taken for OpenBC", r.Datagram.Number)
		}
	})
}
