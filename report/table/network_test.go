package table

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// named knows every object by the same name.
type named string

func (n named) Player(decode.Number, int64) *dissect.Player          { return nil }
func (n named) Object(wire.ObjectID) wire.Untrusted                  { return wire.Untrusted(n) }
func (n named) AppendObject(dst []byte, _ wire.ObjectID) []byte      { return append(dst, n...) }
func (n named) ShipOf(id wire.ObjectID) (ship wire.ObjectID, _ bool) { return id, true }

// measured returns a meter that has seen a player with a name that would clear
// the screen: messages 0, 1 (twice) and 3, acknowledgements after 20 and 40 ms,
// two updates of a ship, and two keepalives.
func measured(player, ship string) *measure.Meter {
	host, client := netip.MustParseAddrPort("192.168.0.1:22101"), netip.MustParseAddrPort("192.168.0.10:22102")
	m := new(measure.Meter)
	n := 0
	add := func(ms int, dir dissect.Dir, h transport.Header, status dissect.Status, payload string) {
		n++
		h.HasSeq = h.Reliable || h.Type == transport.Acknowledge
		d := &dissect.Datagram{Number: n, Time: began.Add(time.Duration(ms) * time.Millisecond), Src: client, Dst: host, Full: 20}
		if dir == dissect.FromHost {
			d.Src, d.Dst = host, client
		}
		r := &dissect.Record{
			Datagram: d, Dir: dir, Transport: h, Status: status, Repeat: status == dissect.StatusDuplicate, Payload: []byte(payload), Client: wire.Untrusted(player), Session: named(ship),
		}
		if dir == dissect.ToHost && h.Seq == 3 {
			r.Gap = 1
		}
		_ = m.Record(r)
	}
	reliable := func(seq uint16) transport.Header {
		return transport.Header{Type: transport.Standard, Reliable: true, Seq: seq}
	}
	ack := func(seq uint16) transport.Header { return transport.Header{Type: transport.Acknowledge, Seq: seq} }
	loose := transport.Header{Type: transport.Standard}
	idle := transport.Header{Type: transport.DoNothing}
	add(0, dissect.ToHost, reliable(0), dissect.StatusOK, "\x2c")
	add(20, dissect.FromHost, ack(0), dissect.StatusOK, "")
	add(100, dissect.ToHost, reliable(1), dissect.StatusOK, "\x2c")
	add(1100, dissect.ToHost, reliable(1), dissect.StatusDuplicate, "\x2c")
	add(1200, dissect.ToHost, reliable(3), dissect.StatusOK, "\x2c")
	add(1240, dissect.FromHost, ack(3), dissect.StatusOK, "")
	add(1300, dissect.ToHost, loose, dissect.StatusOK, "\x1c\xff\xff\xff\x3f_____")
	add(1350, dissect.ToHost, loose, dissect.StatusOK, "\x1c\xff\xff\xff\x3f_____")
	add(6350, dissect.ToHost, idle, dissect.StatusOK, "")
	add(11400, dissect.ToHost, idle, dissect.StatusOK, "")
	return m
}

func TestNetwork(t *testing.T) {
	var out bytes.Buffer
	o := Options{ASCII: true, Start: began.Add(-time.Second)}
	if err := Network(&out, measured("\x1b[2J", "Akira \u202e"), o); err != nil {
		t.Fatal(err)
	}
	// The median of two values is the shorter one. 20 ms is in the range from
	// 19 to 20 times 2^20 ns, whose middle is 20.45 ms. The longest is 40 ms.
	want := `Connections
  \x1b[2J: fair, round trip 20 ms, 1 lost, 1 resent (33%), silent for 5.0 s

Worst moments (UTC, and since the first frame)
  03:04:05  00:00:01  host -> \x1b[2J  silent for 1220 ms
  03:04:11  00:00:07  \x1b[2J -> host  silent for 5050 ms

links     2
streams   1 of ship updates

 client              direction        datagrams  bytes  messages  reliable  resent data  resent control  duplicates  lost  late  acks
--------------------------------------------------------------------------------------------------------------------------------------
 192.168.0.10:22102  \x1b[2J -> host          8    160         8         4            1               0           0     1     0     0
 192.168.0.10:22102  host -> \x1b[2J          2     40         2         0            0               0           0     0     0     2

 client              direction        from s    to s  silent s  round trips  least ms  median ms  95% ms  most ms  keepalives  every s  most s
-----------------------------------------------------------------------------------------------------------------------------------------------
 192.168.0.10:22102  \x1b[2J -> host   1.000  12.400     5.050            2     20.00      20.45   40.00    40.00           2    5.050   5.050
 192.168.0.10:22102  host -> \x1b[2J   1.020   2.240     1.220            0         -          -       -        -           0        -       -

 client              direction        object      ship            updates  per s  every ms  jitter ms  longest ms
------------------------------------------------------------------------------------------------------------------
 192.168.0.10:22102  \x1b[2J -> host  0x3FFFFFFF  Akira \u{202e}        2  20.00     50.00          -       50.00
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestNetworkNames(t *testing.T) {
	var out bytes.Buffer
	m := measured(strings.Repeat("long name ", 100), strings.Repeat("你", 100))
	if err := Network(&out, m, Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		" long name long name… → host  ", " " + strings.Repeat("你", 14) + "…  ", "\x1b[31;1m1\x1b[", "\x1b[33m1\x1b[",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestNetworkOfSeveralHosts(t *testing.T) {
	m := measured("Kirk", "")
	other := netip.MustParseAddrPort("[2001:db8::1]:22101")
	add := func(n int) {
		_ = m.Record(&dissect.Record{
			Datagram: &dissect.Datagram{Number: 100 + n, Dst: other, Src: netip.AddrPortFrom(other.Addr(), uint16(n+1))},
			Dir:      dissect.ToHost, Transport: transport.Header{Type: transport.DoNothing},
		})
		_ = m.Record(&dissect.Record{Datagram: &dissect.Datagram{}})
	}
	contains := func(all ...string) {
		var out bytes.Buffer
		if err := Network(&out, m, Options{ASCII: true}); err != nil {
			t.Fatal(err)
		}
		for _, want := range all {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	}
	add(0)
	contains(
		"given up  1 message of an unknown sender\n\n",
		"\n host                 client              direction       datagrams ",
		"\n 192.168.0.1:22101    192.168.0.10:22102  Kirk -> host            8 ",
		"\n [2001:db8::1]:22101  [2001:db8::1]:1     client -> host          1      0         1         0            0               0           0     0     0     0\n",
		"client -> host       -       -         -            0         -          -       -        -           1        -       -\n",
		"\n 192.168.0.1:22101  192.168.0.10:22102  Kirk -> host  0x3FFFFFFF              2  20.00 ",
	)
	for n := range 699 {
		add(1 + n)
	}
	// 256 conversations of 701 stay. Those that went had a link each, the first
	// one two.
	contains("given up  446 links, of more than 512\n          1 stream, of such links or of more than 4096\n          700 messages of an unknown sender\n\n")
}

func TestNetworkOfNothing(t *testing.T) {
	var out bytes.Buffer
	if err := Network(&out, new(measure.Meter), Options{}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "links     0\nstreams   0 of ship updates\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNetworkErrors(t *testing.T) {
	for _, m := range []*measure.Meter{new(measure.Meter), measured("", "")} {
		if err := Network(closedWriter{}, m, Options{}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
	}
}

// Bad moments fit the terminal: ships' names are cut.
func TestNetworkMoments(t *testing.T) {
	n := networkTables{page: newPage(Options{Width: 80, ASCII: true, Start: began})}
	n.more = "~"
	b := &n.b
	n.worst([]measure.Moment{
		{Trouble: measure.NoUpdates, Dir: dissect.ToHost, At: began, Player: "Twenty letters long!", Object: "A ship with a name of 33 letters", Length: 207 * time.Millisecond},
		{Trouble: measure.NoUpdates, Dir: dissect.ToHost, At: began, Player: "Kirk", Object: "Galaxy", Length: 207 * time.Millisecond},
		{Trouble: measure.NoUpdates, Dir: dissect.ToHost, At: began, Player: "Kirk", Length: time.Second},
	})
	for line := range strings.Lines(b.String()) {
		if got := len(line) - 1; got > 80 {
			t.Errorf("%d columns: %s", got, line)
		}
	}
	for _, want := range []string{"host  no update of A s~ for 207 ms", "no update of Galaxy for 207 ms", "no update of a ship for 1000 ms"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// On a narrow terminal there is a block for each player.
func TestNetworkBlocks(t *testing.T) {
	for _, width := range []int{60, 80, 110, 130} {
		var out bytes.Buffer
		if err := Network(&out, measured("Kirk", strings.Repeat("long ", 10)), Options{Width: width, Start: began}); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		for _, want := range []string{
			"Connections\n  Kirk: fair, round trip 20 ms, 1 lost, 1 resent (33%), silent for 5.0 s\n", "\nKirk, 192.168.0.10:22102\n                 → host  host →\n",
			"\n datagrams            8       2\n", "\n most ms          40.00       -\n", "\n         ship   ", "\n → host  long ",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%d columns: no %q in\n%s", width, want, got)
			}
		}
		if strings.Contains(got, " client ") {
			t.Errorf("%d columns: a table of all players in\n%s", width, got)
		}
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(line) - 1; width >= 80 && n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
	}
	var out bytes.Buffer
	if err := Network(&out, measured("Kirk", "Akira"), Options{Width: 200}); err != nil || strings.Contains(out.String(), "\nKirk, ") {
		t.Errorf("got %v and\n%s", err, out.String())
	}
}
