package table

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// world is a session that knows some objects and players, and the ship of
// player 0 as an Akira.
type world struct{}

func (world) ShipOf(id wire.ObjectID) (wire.ObjectID, bool) { return id, true }

func (w world) AppendObject(dst []byte, id wire.ObjectID) []byte { return append(dst, w.Object(id)...) }

func (world) Object(id wire.ObjectID) wire.Untrusted {
	switch id {
	case 0x3FFFFFFF:
		return "Akira of Cady2"
	case 0x4000000D:
		return "Torpedoes of Akira of Cady2"
	case 0x4007FFFF:
		return "Galaxy of \x1b[2JKirk"
	}
	return ""
}

func (world) Player(by decode.Number, n int64) *dissect.Player {
	if by == decode.NetworkID && n == 2 {
		return &dissect.Player{Name: "Cady2"}
	}
	return nil
}

func (world) Ship(id wire.ObjectID) *ship.Class {
	if id == 0x3FFFFFFF {
		return ship.BySpecies(1)
	}
	return nil
}

func (world) Base(wire.ObjectID) (p wire.Vec3, ok bool) { return p, false }

var (
	client = netip.MustParseAddrPort("192.168.0.10:22102")
	host   = netip.MustParseAddrPort("192.168.0.1:22101")
	start  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// message makes the record of a reliable game message that Cady2 sends.
func message(tb testing.TB, payload string) *dissect.Record {
	tb.Helper()
	b := fixtures.Unhex(tb, payload)
	r := control(tb, hex.EncodeToString([]byte{0x32, byte(5 + len(b)), 0x80, 0x2C, 0x03})+payload)
	r.Client, r.ClientID, r.Session = "Cady2", 2, world{}
	r.Payload, r.Spec = b, msg.Catalog().Lookup(decode.Opcode(b[0]))
	if r.Spec == nil {
		r.Status, r.Rest = dissect.StatusUnknown, b[1:]
		return r
	}
	res := decode.NewDecoder().Read(r.Spec, b, decode.Stock, world{})
	r.SetMessage(res, b, 1)
	switch {
	case res.Err != nil && errors.Is(res.Err, decode.ErrState):
		r.Status = dissect.StatusUnresolved
	case res.Err != nil:
		r.Status = dissect.StatusMalformed
	case len(res.Rest) > 0:
		r.Status = dissect.StatusTrailing
	}
	return r
}

// control makes the record of a transport message from a client without a known
// name.
func control(tb testing.TB, b string) *dissect.Record {
	tb.Helper()
	raw := fixtures.Unhex(tb, b)
	m, rest, err := transport.Next(raw)
	if err != nil || len(rest) > 0 {
		tb.Fatalf("%s: %v, %d bytes left", b, err, len(rest))
	}
	r := &dissect.Record{
		Datagram: &dissect.Datagram{Number: 12, Time: start.Add(153 * time.Millisecond), Digits: 6, Src: client, Dst: host},
		Dir:      dissect.ToHost, Peer: 2, Offset: 2, Bytes: raw, Transport: m.Header,
	}
	if spec := transport.SpecFor(&m); spec != nil {
		r.Spec = spec
		r.SetMessage(decode.NewDecoder().ReadBody(spec, m.Body), m.Body, 0)
	}
	return r
}

// shown returns a sink's output for records.
func shown(tb testing.TB, o Options, rs ...*dissect.Record) string {
	tb.Helper()
	if o.Start.IsZero() {
		o.Start = start
	}
	var out bytes.Buffer
	s := New(&out, o)
	for _, r := range rs {
		if err := s.Record(r); err != nil {
			tb.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

const (
	torpedo = "19 0D 00 00 40 02 01 DF 87 11 FF FF 03 40 00 88 D8 5C"
	chat    = "2C 02000000 0500 68656C6C6F"
	ownShip = "1cffffff3f0080e1419d0000b042000084c2000092c22137fb0b684630bb5e000001cc02cc04cc"
)

func TestLine(t *testing.T) {
	fromHost := func(r *dissect.Record) *dissect.Record {
		r.Dir, r.Datagram.Src, r.Datagram.Dst, r.Peer = dissect.FromHost, host, client, 1
		return r
	}
	tests := []struct {
		name string
		o    Options
		r    func() *dissect.Record
		want string
	}{
		{
			name: "torpedo",
			r:    func() *dissect.Record { return message(t, torpedo) },
			want: "    12    0.153 Cady2 → host          TorpedoFire        Torpedoes of Akira of Cady2  target 0x4003FFFF",
		},
		{
			name: "torpedo in ASCII",
			o:    Options{ASCII: true},
			r:    func() *dissect.Record { return fromHost(message(t, torpedo)) },
			want: "    12    0.153 host -> Cady2          TorpedoFire        Torpedoes of Akira of Cady2  target 0x4003FFFF",
		},
		{
			name: "chat",
			r:    func() *dissect.Record { return message(t, chat) },
			want: `    12    0.153 Cady2 → host          Chat               Cady2  "hello"`,
		},
		{
			name: "hostile chat",
			r:    func() *dissect.Record { return message(t, "2C 07000000 0800 1B5B324A 07819B22") },
			want: `    12    0.153 Cady2 → host          Chat               Cady2  "\x1b[2J\x07\u{81}›""`,
		},
		{
			name: "own ship",
			r:    func() *dissect.Record { return message(t, ownShip) },
			want: "    12    0.153 Cady2 → host          StateUpdate        Akira of Cady2  pos fwd up speed power  position (88,-66,-73)" +
				"  speed 0  power_settings Shield Generator 100%, Sensor Array 100%, Impulse Engines 100%",
		},
		{
			name: "own ship at 120 columns",
			o:    Options{Width: 120},
			r:    func() *dissect.Record { return message(t, ownShip) },
			want: "    12    0.153 Cady2 → host          StateUpdate        Akira of Cady2  pos fwd up speed power  position (88,-66,-73) …",
		},
		{
			name: "subsystems",
			r:    func() *dissect.Record { return fromHost(message(t, "1C FFFFFF3F 00A01B42 20 08 FF 60 FF80FF FF FA")) },
			want: "    12    0.153 host → Cady2          StateUpdate        Akira of Cady2  sub" +
				"  subsystems Engineering 100%, Tractors 100%, Bridge 100%, Hull 98%, Shield Generator" +
				"  malformed: subsystems.entries[4].condition at +18: message ends inside the field (need 1, have 0)",
		},
		{
			name: "a ship that is not known",
			o:    Options{Width: 120},
			r:    func() *dissect.Record { return fromHost(message(t, "1C FFFF0340 00A01B42 20 08 FF 60 FF80FF FF FA")) },
			want: "    12    0.153 host → Cady2          StateUpdate        object 0x4003FFFF  …  unresolved: the class of the ship is not…",
		},
		{
			name: "trailing",
			r:    func() *dissect.Record { return message(t, "190d0000400204df8711dead") },
			want: "    12    0.153 Cady2 → host          TorpedoFire        Torpedoes of Akira of Cady2  trailing 2 bytes",
		},
		{
			name: "malformed at 120 columns",
			o:    Options{Width: 120},
			r:    func() *dissect.Record { return message(t, "190d0000400202df8711ffff03400088") },
			want: "    12    0.153 Cady2 → host          TorpedoFire        Torpedoes of Akira …  malformed: target_offset.direction at +1…",
		},
		{
			name: "unknown opcode",
			r: func() *dissect.Record {
				r := message(t, torpedo)
				r.Spec, r.Message, r.Status, r.Rest = nil, nil, dissect.StatusUnknown, r.Payload[1:]
				r.Payload[0] = 0xCD
				r.Err = errors.New("unknown opcode 0xCD")
				return r
			},
			want: "    12    0.153 Cady2 → host          unknown 0xCD       0d 00 00 40 02 01 df 87 11 ff ff 03 40 00 88 d8 …  unknown, 17 bytes",
		},
		{
			name: "a spec for other opcodes, too",
			r: func() *dissect.Record {
				r := message(t, torpedo)
				r.Payload[0] = 0xCD
				return r
			},
			want: "    12    0.153 Cady2 → host          TorpedoFire 0xCD   Torpedoes of Akira of Cady2  target 0x4003FFFF",
		},
		{
			name: "duplicate",
			r: func() *dissect.Record {
				r := message(t, chat)
				r.Message, r.Status = nil, dissect.StatusDuplicate
				return r
			},
			want: "    12    0.153 Cady2 → host          Chat               duplicate",
		},
		{
			name: "notes and pieces",
			r: func() *dissect.Record {
				r := message(t, chat)
				r.Pieces = []int{10, 11, 12}
				r.Notes = []dissect.Note{{Code: "seq-gap", Text: "number 811 has not been seen"}, {Code: "\x1b", Text: ""}}
				return r
			},
			want: `    12    0.153 Cady2 → host          Chat               Cady2  "hello"  from 3 fragments  [numbers missing before]  [\x1b]`,
		},
		{
			name: "first fragment",
			r: func() *dissect.Record {
				r := control(t, "3209a0 2c03 0003 1900")
				r.Status = dissect.StatusPending
				return r
			},
			want: "    12    0.153 …68.0.10:22102 → host fragment           1 of 3  seq 812",
		},
		{
			name: "acknowledgement of a fragment",
			r:    func() *dissect.Record { return fromHost(control(t, "0105000307")) },
			want: "    12    0.153 host → …68.0.10:22102 ack                seq 5  fragment 8  control",
		},
		{
			name: "keepalive",
			r:    func() *dissect.Record { return control(t, "02") },
			want: "    12    0.153 …68.0.10:22102 → host keepalive",
		},
		{
			name: "a transport message with fields",
			r:    func() *dissect.Record { return control(t, "030f 80 0500 c0a8000a 2a000000 0000") },
			want: "    12    0.153 …68.0.10:22102 → host connect            ip 192.168.0.10  nonce 42",
		},
		{
			name: "another transport type",
			r: func() *dissect.Record {
				r := control(t, "060402ff")
				r.Spec, r.Message = nil, nil
				r.Status, r.Rest = dissect.StatusUnknown, r.Bytes[2:]
				return r
			},
			want: "    12    0.153 …68.0.10:22102 → host type_06            02 ff  unknown, 2 bytes",
		},
		{
			name: "the rest of a datagram",
			r: func() *dissect.Record {
				r := control(t, "02")
				r.Kind, r.Transport, r.Bytes = dissect.KindMalformed, transport.Header{}, []byte{0x77, 1}
				r.Status, r.Err = dissect.StatusMalformed, errors.New("unknown transport type 0x77")
				return r
			},
			want: "    12    0.153 …68.0.10:22102 → host malformed          77 01  malformed: unknown transport type 0x77",
		},
		{
			name: "GameSpy",
			r: func() *dissect.Record {
				r := control(t, "02")
				r.Kind, r.Transport, r.Bytes = dissect.KindGameSpy, transport.Header{}, []byte("\\hostname\\Ho\x1bme\\numplayers\\2")
				r.Datagram.Src, r.Datagram.Dst, r.Dir = host, client, dissect.DirUnknown
				r.GameSpy = gamespy.Parse(r.Bytes)
				return r
			},
			want: `    12    0.153 …168.0.1:22101 → ?    gamespy reply      hostname Ho\x1bme  numplayers 2`,
		},
		{
			name: "evicted at the end of a capture",
			r: func() *dissect.Record {
				return &dissect.Record{
					Datagram: &dissect.Datagram{Number: 7, Src: client, Dst: host}, Kind: dissect.KindEvicted, Dir: dissect.ToHost,
					Status: dissect.StatusPending, Err: errors.New("given up to keep to a limit: 2 of 3 fragments"),
					Notes: []dissect.Note{{Code: "incomplete", Text: "the same"}},
				}
			},
			want: "     7          …68.0.10:22102 → host evicted            given up to keep to a limit: 2 of 3 fragments",
		},
		{
			name: "of no capture",
			o:    Options{NoCapture: true},
			r: func() *dissect.Record {
				r := message(t, chat)
				r.Datagram, r.Dir, r.Kind, r.Client, r.Peer = &dissect.Datagram{}, dissect.DirUnknown, dissect.KindPayload, "", 0
				return r
			},
			want: `Chat               Cady2  "hello"`,
		},
		{
			name: "a datagram of no capture",
			o:    Options{NoCapture: true},
			r: func() *dissect.Record {
				r := control(t, "02")
				r.Datagram = &dissect.Datagram{}
				return r
			},
			want: "peer 2 → host         keepalive",
		},
		{
			name: "a name of wide characters",
			r: func() *dissect.Record {
				r := message(t, chat)
				r.Client = "你好世界" // 8 columns
				return r
			},
			want: `    12    0.153 你好世界 → host       Chat               你好世界  "hello"`,
		},
		{
			name: "a name that is cut between wide characters",
			r: func() *dissect.Record {
				r := message(t, chat)
				r.Client = "你好世界你好世界" // 16 columns: 6 characters and the ellipsis take 13
				return r
			},
			want: `    12    0.153 你好世界你好… → host  Chat               你好世界你好世界  "hello"`,
		},
		{
			name: "a name with a combining accent",
			r: func() *dissect.Record {
				r := message(t, chat)
				r.Client = "Rene\u0301" // 4 columns
				return r
			},
			want: "    12    0.153 Rene\u0301 → host           Chat               Rene\u0301  \"hello\"",
		},
		{
			name: "a hostile name",
			r: func() *dissect.Record {
				r := message(t, chat)
				r.Client = "\u202eab\xff"
				return r
			},
			want: `    12    0.153 \u{202e}ab\xff → host Chat               \u{202e}ab\xff  "hello"`,
		},
		{
			name: "80 columns",
			o:    Options{Width: 80},
			r:    func() *dissect.Record { return message(t, chat) },
			want: `   12    0.153 Cady2 → host    Chat             Cady2  "hello"`,
		},
		{
			name: "80 columns and a long name in ASCII",
			o:    Options{Width: 80, ASCII: true},
			r: func() *dissect.Record {
				r := message(t, chat)
				r.Client = "XFS01 Dauntless"
				return r
			},
			want: `   12    0.153 XFS01... -> host Chat             XFS01 Dauntless  "hello"`,
		},
		{
			name: "a full host",
			r: func() *dissect.Record {
				r := fromHost(control(t, "0407C0020003FF")) // transport.Boot with reason 3
				r.Client = ""
				return r
			},
			want: "    12    0.153 host → …68.0.10:22102 boot               refused by the host: full  id 255",
		},
		{
			name: "a boot that a client sends",
			r:    func() *dissect.Record { return control(t, "0407C0020003FF") },
			want: "    12    0.153 …68.0.10:22102 → host boot               too many players  id 255",
		},
		{
			name: "the dialect of a sender",
			r: func() *dissect.Record {
				r := message(t, chat)
				r.Notes = []dissect.Note{{Code: "dialect", Text: "the client writes openbc: a keepalive of two bytes"}, {Code: "seq-late", Text: "number 3 was missing until now"}}
				return r
			},
			want: `    12    0.153 Cady2 → host          Chat               Cady2  "hello"  [the client writes openbc]  [late]`,
		},
		{
			name: "a subsystem by its index",
			r: func() *dissect.Record {
				r := message(t, "0A FFFFFF3F 00 0080D945") // 6960
				res := decode.NewDecoder().Read(r.Spec, r.Payload, decode.OpenBC, world{})
				r.SetMessage(res, r.Payload, 1)
				r.Status = dissect.StatusOK
				return r
			},
			want: "    12    0.153 Cady2 → host          SubsystemStatus    Akira of Cady2  Hull  condition 6960",
		},
		{
			name: "a narrow terminal",
			o:    Options{Width: 30},
			r:    func() *dissect.Record { return message(t, chat) },
			want: "   12    0.153 Cady2 → host  …",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := shown(t, test.o, test.r()); got != test.want+"\n" {
				t.Errorf("\ngot  %swant %s", got, test.want)
			}
		})
	}
}

func TestColor(t *testing.T) {
	const red, off = "\x1b[31;1m", "\x1b[0;22m"
	r := message(t, "190d0000400202df8711ffff03400088")
	got := shown(t, Options{Color: true, Width: 120}, r)
	want := "    12    0.153 Cady2 → host          " + red + "TorpedoFire" + off + "        " +
		"Torpedoes of Akira …  " + red + "malformed: target_offset.direction at +1…" + off + "\n"
	if got != want {
		t.Errorf("\ngot  %q\nwant %q", got, want)
	}

	r = control(t, "02")
	if got, want := shown(t, Options{Color: true}, r), "\x1b[2m    12    0.153 …68.0.10:22102 → host keepalive\x1b[22m\n"; got != want {
		t.Errorf("\ngot  %q\nwant %q", got, want)
	}
}

// The caller decides about colour, not the environment.
func TestColorIsForced(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	if got := shown(t, Options{Color: true}, message(t, torpedo)); !strings.Contains(got, "\x1b[36mTorpedoFire\x1b[0m") {
		t.Errorf("no colour: %q", got)
	}
}

func TestVerbose(t *testing.T) {
	r := message(t, torpedo)
	r.Notes = []dissect.Note{{Code: "seq-gap", Text: "number 811 \x1bhas not been seen"}}
	got := shown(t, Options{Verbose: true, Hex: true}, r)
	want := `    12    0.153 Cady2 → host          TorpedoFire        Torpedoes of Akira of Cady2  target 0x4003FFFF  [numbers missing before]
       2026-01-02 03:04:05.153000 UTC, 192.168.0.10:22102 → 192.168.0.1:22101
       standard, message 0 of peer 2 at +2, 23 bytes, reliable, seq 812
       +0       19           opcode         0x19 (TorpedoFire)
       +1..5    0d 00 00 40  tube           0x4000000D (slot 0, Torpedoes of Akira of Cady2)
       +5       02           firing_player  2 (Cady2)
       +6       01           flags          0x01 (bit0)
       +7..10   df 87 11     direction      (-0.25984251, -0.9527559, 0.13385826)
       +10..14  ff ff 03 40  target         0x4003FFFF (slot 1)
                             target_offset
       +14..17  00 88 d8       direction    (0, -0.9448819, -0.31496063)
       +17      5c             ratio        36.1%
       note   seq-gap: number 811 \x1bhas not been seen
       0000  32 17 80 2c 03 19 0d 00  00 40 02 01 df 87 11 ff  2..,.....@......
       0010  ff 03 40 00 88 d8 5c                              ..@...\
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestVerboseTroubles(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		r    func() *dissect.Record
		want string
	}{
		{
			name: "groups, bits and residue",
			o:    Options{NoCapture: true},
			r: func() *dissect.Record {
				r := message(t, "1C FFFFFF3F 00A01B42 20 08 FF 60 FF80FF FF FA F0 FFFFFFFFFF80 0102030405060708090A")
				r.Datagram, r.Dir, r.Transport, r.Kind = nil, dissect.DirUnknown, transport.Header{}, dissect.KindPayload
				return r
			},
			want: `Cady2 → ?             StateUpdate        Akira of Cady2  sub` +
				`  subsystems Engineering 100%, Tractors 100%, Bridge 100%, Hull 98%, Shield Generator 94%  trailing 10 bytes
       +0       1c                         opcode           0x1C (StateUpdate)
       +1..5    ff ff ff 3f                object_id        0x3FFFFFFF (slot 0, Akira of Cady2)
                                           ship             Akira
       +5..9    00 a0 1b 42                game_time        38.90625
       +9       20                         flags            0x20 (SUBSYSTEMS)
                                           subsystems
       +10      08                           start          8
                                             entries        5 elements
                                               [0]
                                                 index      8
                                                 name       Engineering
       +11      ff                               condition  100.0%
       +12      60                               has_power  no
                                               [1]
                                                 index      9
                                                 name       Tractors
       +13      ff                               condition  100.0%
       +14..16  80 ff                            children   50% 100%
                                                 has_power  no
                                               [2]
                                                 index      10
                                                 name       Bridge
       +16      ff                               condition  100.0%
                                               [3]
                                                 index      0
                                                 name       Hull
       +17      fa                               condition  98.0%
                                               [4]
                                                 index      1
                                                 name       Shield Generator
       +18      f0                               condition  94.1%
                                                 has_power  no
       +19..25  ff ff ff ff ff 80                facings    100% 100% 100% 100% 100% 50%
       +25..35  01 02 03 04 05 06 07 08 …  residue          10 bytes
         0019  01 02 03 04 05 06 07 08  09 0a                    ..........
`,
		},
		{
			name: "a datagram that does not split",
			r: func() *dissect.Record {
				r := control(t, "02")
				r.Kind, r.Transport, r.Bytes, r.Rest = dissect.KindMalformed, transport.Header{}, []byte{0x77, 1}, []byte{0x77, 1}
				r.Status, r.Err = dissect.StatusMalformed, errors.New("unknown transport type 0x77")
				return r
			},
			want: `    12    0.153 …68.0.10:22102 → host malformed          77 01  malformed: unknown transport type 0x77
       2026-01-02 03:04:05.153000 UTC, 192.168.0.10:22102 → 192.168.0.1:22101
       error  unknown transport type 0x77
`,
		},
		{
			name: "GameSpy of no capture",
			o:    Options{NoCapture: true},
			r: func() *dissect.Record {
				r := &dissect.Record{Kind: dissect.KindGameSpy, Bytes: []byte("\\status\\\\a\x1b\\b")}
				r.GameSpy = gamespy.Parse(r.Bytes)
				return r
			},
			want: `gamespy query      status  a\x1b b
       status
       a\x1b  b
`,
		},
		{
			name: "a fragmented message",
			r: func() *dissect.Record {
				r := control(t, "3208a02c03 02 0102")
				r.Payload, r.Pieces = fixtures.Unhex(t, chat), []int{10, 11, 12}
				r.Spec = msg.Catalog().Lookup(0x2C)
				r.SetMessage(decode.NewDecoder().Read(r.Spec, r.Payload, decode.Stock, nil), r.Payload, 1)
				return r
			},
			want: `    12    0.153 …68.0.10:22102 → host Chat               sender 2  "hello"  from 3 fragments
       2026-01-02 03:04:05.153000 UTC, 192.168.0.10:22102 → 192.168.0.1:22101
       standard, message 0 of peer 2 at +2, 8 bytes, reliable, seq 812, fragment 3, from frames 10 11 12
       +0      2c                    opcode  0x2C (Chat)
       +1..5   02 00 00 00           sender  2
       +5..12  05 00 68 65 6c 6c 6f  text    "hello"
`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.o.Verbose = true
			if got := shown(t, test.o, test.r()); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct {
		f    float64
		want string
	}{
		{0, "0"},
		{1, "1"},
		{-1, "-1"},
		{0.5, "0.5"},
		{0.0004, "0"},
		{-0.0004, "0"},
		{0.0006, "0.001"},
		{1.005, "1"},
		{1.015, "1.01"},
		{99.999, "100"},
		{123.456, "123.5"},
		{999.96, "1000"},
		{1234.5, "1235"},
		{-5998.2, "-5998"},
		{1e9, "1e+09"},
		{3.4e38, "3.4e+38"},
	}
	for _, test := range tests {
		if got := string(display.AppendNumber(nil, test.f)); got != test.want {
			t.Errorf("%v: got %s, want %s", test.f, got, test.want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0.000", 999 * time.Microsecond: "0.000", 1500 * time.Millisecond: "1.500", -20 * time.Millisecond: "-0.020", time.Hour: "3600.000",
	} {
		if got := string(appendSeconds(nil, d, 0)); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestErrors(t *testing.T) {
	s := New(closedWriter{}, Options{Live: true})
	for range 2 {
		if err := s.Record(message(t, chat)); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
	}
	if err := s.Close(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("close: got %v", err)
	}
}

func BenchmarkRecord(b *testing.B) {
	for _, bench := range []struct{ name, payload string }{{"own ship", ownShip}, {"torpedo", torpedo}, {"chat", chat}} {
		for _, color := range []bool{false, true} {
			name := bench.name
			if color {
				name += " in colour"
			}
			b.Run(name, func(b *testing.B) {
				r := message(b, bench.payload)
				s := New(io.Discard, Options{Color: color})
				b.ReportAllocs()
				for b.Loop() {
					if err := s.Record(r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// FuzzRecord checks that no line is too wide and none carries control
// characters, for any traffic.
func FuzzRecord(f *testing.F) {
	for _, s := range []string{torpedo, chat, ownShip, "CD2A"} {
		f.Add(fixtures.Unhex(f, s), "name \x1b\u202e你", uint8(120), uint8(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, name string, width, status uint8) {
		if len(b) == 0 || len(b) > 1000 {
			return
		}
		r := &dissect.Record{
			Datagram: &dissect.Datagram{Number: 1, Time: start, Src: client, Dst: host}, Dir: dissect.Dir(status % 3),
			Bytes: b, Payload: b, Client: wire.Untrusted(name), Status: dissect.Status(status % 7), Session: world{},
			Spec: msg.Catalog().Lookup(decode.Opcode(b[0])), Notes: []dissect.Note{{Code: name, Text: name}},
		}
		r.Transport = transport.Header{Type: transport.Standard, Len: len(b)}
		if r.Spec != nil && r.Spec.Known() {
			r.SetMessage(decode.NewDecoder().Read(r.Spec, b, decode.Stock, world{}), b, 1)
		} else {
			r.Err, r.Rest = errors.New(name), b[1:]
		}
		var w widths
		o := Options{Width: int(width) + 1, ASCII: status&8 != 0}
		got := shown(t, o, r)
		if n := w.of([]byte(strings.TrimSuffix(got, "\n"))); n > o.Width {
			t.Errorf("%d columns, want at most %d: %s", n, o.Width, got)
		}
		o.Verbose, o.Hex = true, true
		for _, s := range []string{got, shown(t, o, r)} {
			for _, c := range s {
				if c != '\n' && (c == utf8.RuneError || !unicode.IsGraphic(c)) && !strings.ContainsRune(name, c) {
					t.Fatalf("%q in %q", c, s)
				}
			}
			if strings.ContainsAny(s, "\x1b\u202e\u009b") {
				t.Fatalf("not escaped: %q", s)
			}
		}
	})
}

func TestDecimals(t *testing.T) {
	pow := []float64{1, 10, 100, 1000}
	for _, n := range []uint64{0, 1, 9, 10, 99, 100, 999, 1000, 1001, 9999, 10000, 12345, 999999, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1<<50 - 1} {
		for decimals, scale := range pow {
			for _, width := range []int{0, 6, 8, 20} {
				for _, sign := range []string{"", "-"} {
					want := fmt.Sprintf("> %*s", width, sign+strconv.FormatFloat(float64(n)/scale, 'f', decimals, 64))
					if got := string(display.AppendDecimal([]byte("> "), sign != "", n, decimals, width)); got != want {
						t.Errorf("%s%d, %d decimals, %d columns: got %q, want %q", sign, n, decimals, width, got, want)
					}
				}
			}
		}
	}
	if got, want := string(display.AppendDecimal(nil, true, math.MaxUint64, 3, 32)), "          -18446744073709551.615"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A line does not depend on those before it.
func TestLinesAlone(t *testing.T) {
	var rs []*dissect.Record
	for _, payload := range []string{torpedo, chat, ownShip, "1C", "FF", ownShip, chat} {
		for _, client := range []string{"Cady2", "Kirk", ""} {
			for _, dir := range []dissect.Dir{dissect.ToHost, dissect.FromHost, dissect.DirUnknown} {
				for n := range 3 {
					r := message(t, payload)
					r.Client, r.Dir = wire.Untrusted(client), dir
					r.Datagram.Number += n / 2
					r.Datagram.Time = r.Datagram.Time.Add(time.Duration(n) * time.Second)
					rs = append(rs, r, r)
				}
			}
		}
	}
	for _, o := range []Options{{}, {Color: true}, {ASCII: true, Width: 80}, {Color: true, Width: 30}, {NoCapture: true}, {Verbose: true}} {
		o.Start = start
		var want strings.Builder
		for _, r := range rs {
			want.WriteString(shown(t, o, r))
		}
		if got := shown(t, o, rs...); got != want.String() {
			t.Errorf("%+v:\n got %s\nwant %s", o, got, want.String())
		}
	}
}
