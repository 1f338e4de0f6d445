package ndjson

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// line returns the line of r as the sink writes it, and checks that it is one
// line of valid JSON.
func line(tb testing.TB, o Options, r *dissect.Record) string {
	tb.Helper()
	var out bytes.Buffer
	s := New(&out, o)
	if err := s.Record(r); err != nil {
		tb.Fatal(err)
	}
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	got, ok := strings.CutSuffix(out.String(), "\n")
	if !ok || strings.Contains(got, "\n") {
		tb.Fatalf("not one line: %q", out.String())
	}
	if !json.Valid([]byte(got)) {
		tb.Fatalf("not JSON: %s", got)
	}
	return got
}

// The beginning of the lines of records that message and the like make.
const (
	begin = `{"frame":12,"ts":"2026-01-02T03:04:05.153000Z","rel":0.153000,` +
		`"src":"192.168.0.10:22102","dst":"192.168.0.1:22101","dir":"c2s"`
	standard = begin + `,"peer":2,"msg":0,"kind":"standard","type":50`
)

func TestRecord(t *testing.T) {
	datagram := message(t, "01").Datagram
	control := func(typ transport.Type, b string) *dissect.Record {
		raw, err := hex.DecodeString(b)
		if err != nil {
			t.Fatal(err)
		}
		m, rest, err := transport.Next(raw)
		if err != nil || len(rest) > 0 || m.Type != typ {
			t.Fatalf("%s: %v, %d bytes left", b, err, len(rest))
		}
		return &dissect.Record{Datagram: datagram, Part: 1, Dir: dissect.ToHost, Peer: 2, Bytes: raw, Transport: m.Header}
	}
	const second = begin + `,"peer":2,"msg":1,`

	tests := []struct {
		name string
		o    Options
		r    func() *dissect.Record
		want string
	}{
		{
			name: "torpedo",
			r:    func() *dissect.Record { return message(t, "190d0000400201df8711ffff03400088d85c") },
			want: standard + `,"len":23,"reliable":true,"seq":812,"opcode":25,"name":"TorpedoFire",` +
				`"fields":{"tube":1073741837,"tube_slot":0,"firing_player":2,"flags":1,"flag_names":["bit0"],` +
				`"direction":[-0.25984251,-0.9527559,0.13385826],"target":1074003967,"target_slot":1,` +
				`"target_offset":{"direction":[0.0,-0.9448819,-0.31496063],"ratio":0.36078432}}}`,
		},
		{
			name: "payload",
			o:    Options{Payload: true},
			r: func() *dissect.Record {
				r := message(t, "190d0000400204df8711")
				r.Transport.Priority = true
				return r
			},
			want: standard + `,"len":15,"reliable":true,"priority":true,"seq":812,"opcode":25,"name":"TorpedoFire",` +
				`"fields":{"tube":1073741837,"tube_slot":0,"firing_player":2,"flags":4,"flag_names":["no_target"],` +
				`"direction":[-0.25984251,-0.9527559,0.13385826]},"payload":"190d0000400204df8711"}`,
		},
		{
			name: "trailing",
			r:    func() *dissect.Record { return message(t, "190d0000400204df8711dead") },
			want: standard + `,"len":17,"reliable":true,"status":"trailing","seq":812,"opcode":25,"name":"TorpedoFire",` +
				`"fields":{"tube":1073741837,"tube_slot":0,"firing_player":2,"flags":4,"flag_names":["no_target"],` +
				`"direction":[-0.25984251,-0.9527559,0.13385826]},"residue":"dead"}`,
		},
		{
			name: "ends inside a struct",
			r: func() *dissect.Record {
				r := message(t, "190d0000400202df8711ffff03400088")
				r.Notes = []dissect.Note{{Code: "seq-gap", Text: "number 811 has not been seen"}, {Code: "x", Text: "\x1b\"y\""}}
				return r
			},
			want: standard + `,"len":21,"reliable":true,"status":"malformed","seq":812,"opcode":25,"name":"TorpedoFire",` +
				`"fields":{"tube":1073741837,"tube_slot":0,"firing_player":2,"flags":2,"flag_names":["bit1"],` +
				`"direction":[-0.25984251,-0.9527559,0.13385826],"target":1074003967,"target_slot":1,"target_offset":{}},` +
				`"residue":"0088",` +
				`"error":{"offset":14,"field":"target_offset.direction","reason":"message ends inside the field (need 3, have 2)"},` +
				`"notes":[{"code":"seq-gap","text":"number 811 has not been seen"},{"code":"x","text":"\u001b\"y\""}]}`,
		},
		{
			name: "unknown opcode",
			r: func() *dissect.Record {
				r := message(t, "cd2a000000")
				r.Spec, r.Message, r.Status, r.Rest = nil, nil, dissect.StatusUnknown, r.Payload[1:]
				r.Err = errors.New("unknown opcode 0xCD")
				return r
			},
			want: standard + `,"len":10,"reliable":true,"status":"unknown","seq":812,"opcode":205,` +
				`"residue":"2a000000","error":{"reason":"unknown opcode 0xCD"}}`,
		},
		{
			name: "duplicate",
			r: func() *dissect.Record {
				r := message(t, "190d0000400204df8711")
				r.Message, r.Status = nil, dissect.StatusDuplicate
				return r
			},
			want: standard + `,"len":15,"reliable":true,"status":"duplicate","seq":812,"opcode":25,"name":"TorpedoFire"}`,
		},
		{
			name: "first fragment",
			r: func() *dissect.Record {
				r := control(transport.Standard, "3209a02c0300031900")
				r.Status = dissect.StatusPending
				return r
			},
			want: second + `"kind":"standard","type":50,"len":9,"reliable":true,"status":"pending","seq":812,` +
				`"fragment":{"index":0,"count":3}}`,
		},
		{
			name: "last fragment",
			r: func() *dissect.Record {
				r := control(transport.Standard, "3208a02c03020102")
				r.Payload, r.Pieces = []byte{0xCD, 0x2A, 0, 0, 0, 1, 2}, []int{10, 11, 12}
				r.Status, r.Rest = dissect.StatusUnknown, r.Payload[1:]
				return r
			},
			want: second + `"kind":"standard","type":50,"len":8,"reliable":true,"status":"unknown","seq":812,` +
				`"fragment":{"index":2},"reassembled":[10,11,12],"opcode":205,"residue":"2a0000000102"}`,
		},
		{
			name: "dialect of the layout",
			r: func() *dissect.Record {
				r := message(t, "190d0000400204df8711")
				r.Layout = decode.OpenBC
				return r
			},
			want: standard + `,"len":15,"reliable":true,"seq":812,"dialect":"openbc","opcode":25,"name":"TorpedoFire",` +
				`"fields":{"tube":1073741837,"tube_slot":0,"firing_player":2,"flags":4,"flag_names":["no_target"],` +
				`"direction":[-0.25984251,-0.9527559,0.13385826]}}`,
		},
		{
			name: "acknowledgement",
			r:    func() *dissect.Record { return control(transport.Acknowledge, "012c0300") },
			want: second + `"kind":"ack","type":1,"len":4,"ack":{"seq":812,"kind":"data"}}`,
		},
		{
			name: "acknowledgement of a fragment",
			r:    func() *dissect.Record { return control(transport.Acknowledge, "0105000307") },
			want: second + `"kind":"ack","type":1,"len":5,"ack":{"seq":5,"kind":"control","index":7}}`,
		},
		{
			name: "keepalive",
			r:    func() *dissect.Record { return control(transport.DoNothing, "02") },
			want: second + `"kind":"keepalive","type":2,"len":1}`,
		},
		{
			name: "a transport message with fields",
			r: func() *dissect.Record {
				r := control(transport.Disconnect, "050a80050002c0a8000a")
				r.Spec = transport.SpecFor(&transport.Message{Header: r.Transport, Body: r.Bytes[5:]})
				r.SetMessage(body(r.Bytes[5:], &transport.Goodbye{}))
				return r
			},
			want: second + `"kind":"disconnect","type":5,"len":10,"reliable":true,"seq":5,` +
				`"fields":{"id":2,"ip":"192.168.0.10"}}`,
		},
		{
			name: "another transport type",
			r: func() *dissect.Record {
				r := control(transport.Leave, "060402ff")
				r.Status, r.Rest, r.Sender = dissect.StatusUnknown, r.Bytes[2:], decode.OpenBC
				return r
			},
			want: second + `"kind":"type_06","type":6,"len":4,"status":"unknown","dialect":"openbc","residue":"02ff"}`,
		},
		{
			name: "the rest of a datagram",
			r: func() *dissect.Record {
				return &dissect.Record{
					Datagram: datagram, Kind: dissect.KindMalformed, Part: 3, Offset: 31, Dir: dissect.ToHost, Peer: 2,
					Bytes: []byte{0x77, 1}, Rest: []byte{0x77, 1}, Status: dissect.StatusMalformed, Err: errors.New("unknown transport type 0x77"),
				}
			},
			want: begin + `,"peer":2,"msg":3,"kind":"malformed","len":2,"status":"malformed","residue":"7701",` +
				`"error":{"offset":31,"reason":"unknown transport type 0x77"}}`,
		},
		{
			name: "evicted at the end of a capture",
			r: func() *dissect.Record {
				return &dissect.Record{
					Datagram: &dissect.Datagram{Number: 12, Src: client, Dst: host}, Kind: dissect.KindEvicted, Dir: dissect.ToHost,
					Transport: transport.Header{Type: transport.Standard, HasSeq: true, Seq: 812, Fragment: true, Count: 3},
					Status:    dissect.StatusPending, Notes: []dissect.Note{{Code: "incomplete", Text: "2 of 3 fragments"}},
				}
			},
			want: `{"frame":12,"src":"192.168.0.10:22102","dst":"192.168.0.1:22101","dir":"c2s","kind":"evicted","status":"pending","seq":812,` +
				`"notes":[{"code":"incomplete","text":"2 of 3 fragments"}]}`,
		},
		{
			name: "a datagram of no capture",
			o:    Options{NoCapture: true},
			r: func() *dissect.Record {
				r := control(transport.DoNothing, "02")
				r.Datagram, r.Dir = &dissect.Datagram{}, dissect.DirUnknown
				return r
			},
			want: `{"dir":"unknown","peer":2,"msg":1,"kind":"keepalive","type":2,"len":1}`,
		},
		{
			name: "a transport message of no datagram",
			o:    Options{NoCapture: true},
			r: func() *dissect.Record {
				r := control(transport.DoNothing, "02")
				r.Datagram, r.Dir, r.Peer = nil, dissect.DirUnknown, 0
				return r
			},
			want: `{"dir":"unknown","kind":"keepalive","type":2,"len":1}`,
		},
		{
			name: "a payload of no transport message",
			o:    Options{NoCapture: true},
			r: func() *dissect.Record {
				r := message(t, "190d0000400204df8711")
				r.Datagram, r.Dir, r.Kind, r.Bytes, r.Transport = nil, dissect.DirUnknown, dissect.KindPayload, r.Payload, transport.Header{}
				return r
			},
			want: `{"dir":"unknown","opcode":25,"name":"TorpedoFire",` +
				`"fields":{"tube":1073741837,"tube_slot":0,"firing_player":2,"flags":4,"flag_names":["no_target"],` +
				`"direction":[-0.25984251,-0.9527559,0.13385826]}}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.o.Start = start
			if got := line(t, test.o, test.r()); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// body decodes the fields of a transport message into m.
func body(b []byte, m decode.Message) (res decode.Result, fields []byte, at int) {
	rest, err := decode.ReadFields(&decode.Codec{}, "test", m, b, decode.Stock)
	return decode.Result{Message: m, Dialect: decode.Stock, Rest: rest, Err: err}, b, 0
}

// walk is a message that is a function.
type walk func(c *decode.Codec)

func (w walk) Walk(c *decode.Codec) { w(c) }

// shown returns the fields object of a message of the given bytes.
func shown(t *testing.T, b string, w walk) string {
	t.Helper()
	raw, err := hex.DecodeString(strings.ReplaceAll(b, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	r := &dissect.Record{}
	r.SetMessage(body(raw, w))
	var got struct{ Fields json.RawMessage }
	if err := json.Unmarshal([]byte(line(t, Options{NoCapture: true}, r)), &got); err != nil {
		t.Fatal(err)
	}
	return string(got.Fields)
}

func TestKinds(t *testing.T) {
	fruit := decode.FlagNames{"apple", "", "cherry"}
	tests := []struct {
		name, bytes string
		walk        walk
		want        string
	}{
		{"u8", "ff", func(c *decode.Codec) { c.U8("n", new(uint8), "") }, `{"n":255}`},
		{"u16", "3930", func(c *decode.Codec) { c.U16("n", new(uint16), "") }, `{"n":12345}`},
		{"u32", "ffffffff", func(c *decode.Codec) { c.U32("n", new(uint32), "") }, `{"n":4294967295}`},
		{"i16", "ffff", func(c *decode.Codec) { c.I16("n", new(int16), "") }, `{"n":-1}`},
		{"i32", "00000080", func(c *decode.Codec) { c.I32("n", new(int32), "") }, `{"n":-2147483648}`},
		{"f32", "cdcccc3d", func(c *decode.Codec) { c.F32("x", new(wire.F32), "") }, `{"x":0.1}`},
		{"f32 whole", "00007a44", func(c *decode.Codec) { c.F32("x", new(wire.F32), "") }, `{"x":1000.0}`},
		{"f32 minus 0", "00000080", func(c *decode.Codec) { c.F32("x", new(wire.F32), "") }, `{"x":-0.0}`},
		{"f32 tiny", "01000000", func(c *decode.Codec) { c.F32("x", new(wire.F32), "") }, `{"x":1e-45}`},
		{"f32 largest", "ffff7f7f", func(c *decode.Codec) { c.F32("x", new(wire.F32), "") }, `{"x":3.4028235e+38}`},
		{"f32 2^24", "0000804b", func(c *decode.Codec) { c.F32("x", new(wire.F32), "") }, `{"x":16777216.0}`},
		{"f32 not a number", "0000c07f", func(c *decode.Codec) { c.F32("x", new(wire.F32), "") }, `{"x":null}`},
		{"f32 infinite", "0000807f", func(c *decode.Codec) { c.F32("x", new(wire.F32), "") }, `{"x":null}`},
		{"f32 minus infinite", "000080ff", func(c *decode.Codec) { c.F32("x", new(wire.F32), "") }, `{"x":null}`},
		{"bits", "45", func(c *decode.Codec) {
			c.Bit("a", new(bool), "")
			c.BitNot("b", new(bool), true, "")
		}, "{}"}, // 010 00101 claims two bits but has three
		{"bits of a group", "41", func(c *decode.Codec) {
			c.Bit("a", new(bool), "")
			c.BitNot("b", new(bool), true, "")
		}, `{"a":true,"b":true}`},
		{"bool8", "000102", func(c *decode.Codec) {
			c.Bool8("a", new(uint8), "")
			c.Bool8("b", new(uint8), "")
			c.Bool8("c", new(uint8), "")
		}, `{"a":false,"b":true,"c":true,"c_byte":2}`},
		{"enum8", "0209", func(c *decode.Codec) {
			decode.Enum8(c, "level", new(uint8), names.PhaserLevels, "")
			decode.Enum8(c, "other", new(uint8), names.PhaserLevels, "")
		}, `{"level":2,"level_name":"high","other":9}`},
		{"enum8 without names", "02", func(c *decode.Codec) { decode.Enum8(c, "level", new(uint8), nil, "") }, `{"level":2}`},
		{
			"enum32", "02000000", func(c *decode.Codec) { decode.Enum32(c, "level", new(uint32), names.PhaserLevels, "") },
			`{"level":2,"level_name":"high"}`,
		},
		{"flags8", "8700", func(c *decode.Codec) {
			decode.Flags8(c, "flags", new(uint8), fruit, "")
			decode.Flags8(c, "basket", new(uint8), fruit, "")
		}, `{"flags":135,"flag_names":["apple","bit1","cherry","bit7"],"basket":0,"basket_names":[]}`},
		{"flags8 without names", "87", func(c *decode.Codec) { decode.Flags8(c, "flags", new(uint8), nil, "") }, `{"flags":135}`},
		{"objects", "ffff0340 00000000 ffffffff", func(c *decode.Codec) {
			c.Object("object_id", new(wire.ObjectID), "")
			c.Object("source", new(wire.ObjectID), "")
			c.Object("target", new(wire.ObjectID), "")
		}, `{"object_id":1074003967,"object_slot":1,"source":0,"target":4294967295}`},
		{"hash16", "37fb", func(c *decode.Codec) { c.Hash16("hash", new(uint16), "") }, `{"hash":64311}`},
		{
			"hash32", "01000000", func(c *decode.Codec) { c.Hash32("hash", new(uint32), decode.FlagNames{"", "App.pyc"}, "") },
			`{"hash":1,"hash_name":"App.pyc"}`,
		},
		{"cf16", "0000", func(c *decode.Codec) { c.CF16("x", new(wire.CF16), "") }, `{"x":0.0}`},
		{"ratio8", "00ff80", func(c *decode.Codec) {
			c.Ratio8("a", new(uint8), "")
			c.Ratio8("b", new(uint8), "")
			c.Ratio8("c", new(uint8), "")
		}, `{"a":0.0,"b":1.0,"c":0.5019608}`},
		{"percent8", "9c64", func(c *decode.Codec) {
			c.Percent8("a", new(int8), "")
			c.Percent8("b", new(int8), "")
		}, `{"a":-100,"b":100}`},
		{"power8", "ccff0080", func(c *decode.Codec) {
			c.Power8("a", new(uint8), "")
			c.Power8("b", new(uint8), "")
			c.Power8("c", new(uint8), "")
			c.Power8("d", new(uint8), "")
		}, `{"a":100.0,"b":125.0,"c":0.0,"d":62.75}`},
		{"dir3", "007f80", func(c *decode.Codec) { c.Dir3("d", new(wire.Dir3), "") }, `{"d":[0.0,1.0,-1.007874]}`},
		{"vec3", "0000b042 0000003f 0000c07f", func(c *decode.Codec) { c.Vec3("v", new([3]wire.F32), "") }, `{"v":[88.0,0.5,null]}`},
		{
			"quat", "0000803f 00000000 00000000 000000bf", func(c *decode.Codec) { c.Quat("q", new([4]wire.F32), "") },
			`{"q":[1.0,0.0,0.0,-0.5]}`,
		},
		{"vec4h", "7f0081 0010", func(c *decode.Codec) { c.Vec4h("v", new(wire.Vec4h), "") }, `{"v":[0.001,0.0,-0.001]}`},
		{"vec4f", "7f0081 00002041", func(c *decode.Codec) { c.Vec4f("v", new(wire.Vec4f), "") }, `{"v":[10.0,0.0,-10.0]}`},
		{"vec4b", "7f0081 ff", func(c *decode.Codec) { c.Vec4b("v", new(wire.Vec4b), "") }, `{"v":{"direction":[1.0,0.0,-1.0],"ratio":1.0}}`},
		{"ratios", "ff0080", func(c *decode.Codec) { c.Ratios("r", new([]byte), 3, nil, "") }, `{"r":[1.0,0.0,0.5019608]}`},
		{"no ratios", "", func(c *decode.Codec) { c.Ratios("r", new([]byte), 0, nil, "") }, `{"r":[]}`},
		{"str8", "05 4361647932", func(c *decode.Codec) { c.Str8("s", new(wire.Chars), "") }, `{"s":"Cady2"}`},
		{"str16", "0600 80e9225c1b0a", func(c *decode.Codec) { c.Str16("s", new(wire.Chars), "") }, `{"s":"€é\"\\\u001b\u000a"}`},
		{"str32", "02000000 819d", func(c *decode.Codec) { c.Str32("s", new(wire.Chars), "") }, `{"s":"\u0081\u009d"}`},
		{"str32z", "03000000 6f6b00", func(c *decode.Codec) { c.Str32z("s", new(wire.Chars), "") }, `{"s":"ok"}`},
		{"wstr32", "03000000 2e20 604f 2e20", func(c *decode.Codec) { c.WStr32("s", new(wire.WideChars), "") }, `{"s":"\u202e你\u202e"}`},
		{"wstrz", "3dd8 80de 0000", func(c *decode.Codec) { c.WStrz("s", new([]byte), "") }, `{"s":"🚀"}`},
		{"wstrz with half a pair", "3dd8 0000", func(c *decode.Codec) { c.WStrz("s", new([]byte), "") }, `{"s":"` + "\uFFFD" + `"}`},
		{"wstrz beyond the first plane", "40db 01dc 0000", func(c *decode.Codec) { c.WStrz("s", new([]byte), "") }, `{"s":"\udb40\udc01"}`},
		{"ipv4", "c0a8000a", func(c *decode.Codec) { c.IPv4("ip", new([4]byte), "") }, `{"ip":"192.168.0.10"}`},
		{"bytes", "00ff10", func(c *decode.Codec) { c.Bytes("raw", new([]byte), "") }, `{"raw":"00ff10"}`},
		{"no bytes", "", func(c *decode.Codec) { c.Bytes("raw", new([]byte), "") }, `{"raw":""}`},
		{"derived", "", func(c *decode.Codec) {
			c.Text("name", decode.Source{}, "Hull", "")
			c.Text("none", decode.Source{}, "", "")
			c.Number("index", decode.Source{}, 3, "")
			c.Place("at", decode.Source{}, wire.Vec3{1, 2.5, -3}, true, "")
		}, `{"name":"Hull","index":3,"at":[1.0,2.5,-3.0]}`},
		{"groups", "02 01 02 03", func(c *decode.Codec) {
			list := []uint8{}
			c.Struct("outer", "", func() {
				decode.List8(c, "numbers", &list, 1, "", func(e *uint8) { c.U8("n", e, "") })
			})
			c.U8("after", new(uint8), "")
		}, `{"outer":{"numbers_count":2,"numbers":[{"n":1},{"n":2}]},"after":3}`},
		{"empty list", "00", func(c *decode.Codec) {
			list := []uint8{}
			decode.List8(c, "numbers", &list, 1, "", func(e *uint8) { c.U8("n", e, "") })
		}, `{"numbers_count":0,"numbers":[]}`},
		{"an error inside a list", "01 02 03 04", func(c *decode.Codec) {
			list := []uint16{}
			c.Struct("outer", "", func() {
				decode.ListToEnd(c, "pairs", &list, "", func(e *uint16) {
					c.Struct("pair", "", func() {
						c.U8("a", new(uint8), "")
						c.U16("b", e, "")
					})
				})
			})
			c.U8("never", new(uint8), "")
		}, `{"outer":{"pairs":[{"pair":{"a":1,"b":770}},{"pair":{"a":4}}]}}`},
		{"nothing", "", func(*decode.Codec) {}, `{}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := shown(t, test.bytes, test.walk); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// Every value of the kinds that are looked up must equal the computed one.
func TestTables(t *testing.T) {
	for i := range 256 {
		c := uint8(i)
		w := walk(func(k *decode.Codec) {
			k.Ratio8("a", new(uint8), "")
			k.Power8("b", new(uint8), "")
			k.Dir3("c", new(wire.Dir3), "")
			k.Percent8("d", new(int8), "")
		})
		var got struct {
			A, B, D float64
			C       [3]float32
		}
		s := shown(t, hex.EncodeToString([]byte{c, c, c, c, c, c}), w)
		if err := json.Unmarshal([]byte(s), &got); err != nil {
			t.Fatal(err)
		}
		if want := float32(c) / 255; float32(got.A) != want {
			t.Errorf("ratio %d: got %v, want %v", c, got.A, want)
		}
		if want := float64(c) * 100 / 204; math.Abs(got.B-want) > 0.005001 {
			t.Errorf("power %d: got %v, want %v", c, got.B, want)
		}
		if want := float32(int8(c)) / 127; got.C[0] != want || got.C[2] != want {
			t.Errorf("direction %d: got %v, want %v", c, got.C, want)
		}
		if want := float64(int8(c)); got.D != want {
			t.Errorf("per cent %d: got %v, want %v", c, got.D, want)
		}
	}
}

func TestTimes(t *testing.T) {
	at := time.Date(2026, 12, 31, 23, 59, 59, 7, time.FixedZone("", 3600))
	tests := []struct {
		digits  int8
		since   time.Duration
		ts, rel string
	}{
		{0, 1500 * time.Millisecond, "2026-12-31T22:59:59Z", "1"},
		{3, 1500 * time.Millisecond, "2026-12-31T22:59:59.000Z", "1.500"},
		{6, 2608163 * time.Microsecond, "2026-12-31T22:59:59.000000Z", "2.608163"},
		{9, 7, "2026-12-31T22:59:59.000000007Z", "0.000000007"},
		{6, -1500 * time.Millisecond, "2026-12-31T22:59:59.000000Z", "-1.500000"},
	}
	for _, test := range tests {
		r := &dissect.Record{Datagram: &dissect.Datagram{Number: 1, Time: at, Digits: test.digits, Src: client, Dst: host}}
		got := line(t, Options{Start: at.Add(-test.since)}, r)
		want := `{"frame":1,"ts":"` + test.ts + `","rel":` + test.rel + `,"src":`
		if !strings.HasPrefix(got, want) {
			t.Errorf("%d digits: got %s, want %s", test.digits, got, want)
		}
	}
}

// Without another start, time counts from the first record that has one.
func TestStart(t *testing.T) {
	var out bytes.Buffer
	s := New(&out, Options{})
	for _, at := range []time.Time{{}, start, start.Add(time.Second)} {
		r := &dissect.Record{Kind: dissect.KindEvicted, Datagram: &dissect.Datagram{Time: at, Digits: 1}}
		if err := s.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	s.SetStart(start.Add(-time.Second))
	if err := s.Record(&dissect.Record{Datagram: &dissect.Datagram{Time: start}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var got []any
	for d := json.NewDecoder(&out); ; {
		var r map[string]any
		if err := d.Decode(&r); err != nil {
			break
		}
		got = append(got, r["rel"])
	}
	want := []any{nil, 0.0, 1.0, 1.0}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("record %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

func TestPairs(t *testing.T) {
	pairs := func(kv ...string) string {
		return "{" + string(appendPairs(nil, func(yield func(k, v wire.Untrusted) bool) {
			for i := 0; i+1 < len(kv); i += 2 {
				if !yield(wire.Untrusted(kv[i]), wire.Untrusted(kv[i+1])) {
					return
				}
			}
		})) + "}"
	}
	tests := []struct{ got, want string }{
		{pairs(), `{}`},
		{pairs("hostname", "Home", "numplayers", "2"), `{"hostname":"Home","numplayers":"2"}`},
		{pairs("a", "1", "a", "2", "a", "3"), `{"a":"1","a_2":"2","a_3":"3"}`},
		{pairs("a", "1", "a_2", "2", "a", "3", "a_2", "4", "a", "5"), `{"a":"1","a_2":"2","a_3":"3","a_2_2":"4","a_4":"5"}`},
		{pairs("", "1", "", "2", "\x1b\"", "\xff"), `{"":"1","_2":"2","\u001b\"":"\ufffd"}`},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
		if !json.Valid([]byte(test.got)) {
			t.Errorf("not JSON: %s", test.got)
		}
	}
}

// keys is a visitor that checks that no two members of an object have the same
// key, however the values of the fields turn out.
type keys struct {
	t     *testing.T
	where string
	open  []map[string]string // keys of the open objects, and the fields they are of
}

func (k *keys) Begin(g *decode.Group) {
	if g.Kind != decode.GroupElement {
		k.add(g.Name, g.Name)
	}
	k.open = append(k.open, map[string]string{})
}

func (k *keys) End(*decode.Group) { k.open = k.open[:len(k.open)-1] }

func (k *keys) Field(f *decode.Field) {
	k.add(f.Name, f.Name)
	switch f.Kind {
	case decode.KindEnum8, decode.KindEnum32, decode.KindHash32:
		k.add(f.Name+"_name", f.Name)
	case decode.KindFlags8:
		k.add(strings.TrimSuffix(f.Name, "s")+"_names", f.Name)
	case decode.KindObject:
		k.add(strings.TrimSuffix(f.Name, "_id")+"_slot", f.Name)
	}
}

// add adds a key. Fields of one name are of different conditions.
func (k *keys) add(key, of string) {
	object := k.open[len(k.open)-1]
	if other, ok := object[key]; ok && other != of {
		k.t.Errorf("%s: key %s is of %s and of %s", k.where, key, other, of)
	}
	object[key] = of
}

func TestKeysAreUnique(t *testing.T) {
	for _, s := range msg.Catalog().All() {
		decode.Describe(s.Layout, decode.Stock, &keys{t, s.Name, []map[string]string{{}}})
		for _, f := range s.Forms {
			decode.Describe(f.Layout, f.Dialect, &keys{t, s.Name + " of " + f.Dialect.String(), []map[string]string{{}}})
		}
	}
	for _, s := range transport.Catalog() {
		decode.Describe(s.Layout, decode.Stock, &keys{t, s.Name, []map[string]string{{}}})
	}
}

// failing is a writer that fails after it has taken some bytes.
type failing struct{ room int }

var errFull = errors.New("full")

func (f *failing) Write(b []byte) (int, error) {
	if len(b) > f.room {
		return f.room, errFull
	}
	f.room -= len(b)
	return len(b), nil
}

func TestErrors(t *testing.T) {
	r := message(t, "190d0000400204df8711")
	s := New(&failing{room: 1000}, Options{Live: true})
	n := 0
	for ; n < 10; n++ {
		if err := s.Record(r); err != nil {
			break
		}
	}
	if n != 2 { // lines of some 450 bytes
		t.Errorf("%d lines were taken, want 2", n)
	}
	for range 2 {
		if err := s.Record(r); !errors.Is(err, errFull) {
			t.Errorf("got %v, want %v", err, errFull)
		}
	}
	if err := s.Close(); !errors.Is(err, errFull) {
		t.Errorf("close: got %v, want %v", err, errFull)
	}

	s = New(&failing{}, Options{})
	if err := s.Record(r); err != nil {
		t.Errorf("a line that is only collected: %v", err)
	}
	if err := s.Close(); !errors.Is(err, errFull) {
		t.Errorf("close: got %v, want %v", err, errFull)
	}
}

func TestAllocations(t *testing.T) {
	// The names of flags are boxed by the walk that gives them to the codec,
	// so this message has none.
	var count uint8
	var text []byte
	var v [3]wire.F32
	w := walk(func(c *decode.Codec) {
		c.U8("count", &count, "")
		c.Vec3("place", &v, "")
		decode.Enum8(c, "level", &count, names.PhaserLevels, "")
		c.WStrz("text", &text, "")
	})
	r := message(t, "190d0000400204df8711")
	b, err := hex.DecodeString("03" + "0000b042" + "cdcccc3d" + "000084c2" + "02" + "4100e9000000")
	if err != nil {
		t.Fatal(err)
	}
	r.SetMessage(body(b, w))
	r.Notes = []dissect.Note{{Code: "seq-gap", Text: "number 811 has not been seen"}}
	s := New(io.Discard, Options{Payload: true})
	if n := testing.AllocsPerRun(1000, func() { _ = s.Record(r) }); n != 0 {
		t.Errorf("got %v allocations a line, want 0", n)
	}
}

// FuzzRecord gives arbitrary payloads of every opcode to the encoder.
func FuzzRecord(f *testing.F) {
	for _, s := range []string{ownShip, otherShip, "190d0000400201df8711ffff03400088d85c", "cd2a"} {
		b, err := hex.DecodeString(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "text", uint8(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, text string, sender uint8) {
		if len(b) == 0 {
			return
		}
		spec := msg.Catalog().Lookup(decode.Opcode(b[0]))
		r := &dissect.Record{
			Datagram: &dissect.Datagram{Number: 1, Time: start, Digits: int8(sender)},
			Payload:  b, Bytes: b, Spec: spec, Status: dissect.Status(sender % 7),
			Notes: []dissect.Note{{Code: text, Text: text}},
		}
		if spec != nil && spec.Known() {
			r.SetMessage(decode.NewDecoder().Read(spec, b, decode.Dialect(sender%3), allAkiras{}), b, 1)
		} else {
			r.Err = errors.New(text)
		}
		// A bit is a field with a name. The text comes three times, and a
		// character of it may take six bytes.
		if n := len(line(t, Options{Payload: true}, r)); n > 4000+3*6*len(text)+1000*len(b) {
			t.Errorf("%d bytes make a line of %d", len(b), n)
		}
		r.Kind = dissect.KindMalformed
		line(t, Options{}, r)
	})
}

// The part of a line about its datagram does not depend on the lines before it.
func TestPlaces(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	one := NewEncoder(Options{Start: start})
	lines := map[string]bool{}
	for _, number := range []int{1, 2} {
		for _, at := range []time.Time{start, start.Add(time.Second), {}} {
			for _, digits := range []int8{0, 3, 9} {
				for _, src := range []string{"192.0.2.1:22101", "192.0.2.2:22101", "192.0.2.2:22165", "[2001:db8::1%eth0.a.name.that.is.longer.than.any.other]:22101"} {
					for _, dst := range []string{"192.0.2.1:22101", "192.0.2.2:22101"} {
						for _, dir := range []dissect.Dir{dissect.DirUnknown, dissect.ToHost, dissect.FromHost} {
							d := &dissect.Datagram{Number: number, Time: at, Digits: digits, Src: netip.MustParseAddrPort(src), Dst: netip.MustParseAddrPort(dst)}
							r := &dissect.Record{Datagram: d, Dir: dir}
							want := string(NewEncoder(Options{Start: start}).Append(nil, r))
							for range 2 {
								if got := string(one.Append(nil, r)); got != want {
									t.Fatalf("got  %s\nwant %s", got, want)
								}
							}
							if !strings.Contains(want, `"src":"`+src+`","dst":"`+dst+`"`) {
								t.Fatalf("%s does not have %s and %s", want, src, dst)
							}
							lines[want] = true
						}
					}
				}
			}
		}
	}
	if want := 2 * (2*3 + 1) * 4 * 2 * 3; len(lines) != want { // without a time, digits do not matter
		t.Errorf("%d lines, want %d", len(lines), want)
	}
}
