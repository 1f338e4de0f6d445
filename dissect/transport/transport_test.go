package transport

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/fixtures"
)

// all splits as much of a datagram as possible.
func all(plain []byte) (s Splitter, list []Message, err error) {
	if s, err = Split(plain); err != nil {
		return s, nil, err
	}
	for {
		m, ok, err := s.Next()
		if err != nil || !ok {
			return s, list, err
		}
		list = append(list, m)
	}
}

// facts returns a message's properties in the terms of the examples.
func facts(tb testing.TB, m *Message) map[string]any {
	tb.Helper()
	f := map[string]any{
		"type": float64(m.Type), "len": float64(m.Len),
		"reliable": bit(m.Reliable), "priority": bit(m.Priority),
		"payload": hex.EncodeToString(m.Body),
	}
	if m.HasSeq {
		f["seq"] = float64(m.Seq)
	}
	if m.Type == Acknowledge {
		f["frag"], f["below32"] = bit(m.Fragment), bit(m.Control())
		if m.Fragment {
			f["frag_idx"] = float64(m.Index)
		}
	}
	s := SpecFor(m)
	if s == nil {
		return f
	}
	body := s.Layout.New()
	if rest, err := decode.ReadFields(new(decode.Codec), s.Name, body, m.Body, decode.Stock); err != nil || len(rest) > 0 {
		tb.Errorf("%s: got %v and %d bytes left", s.Name, err, len(rest))
	}
	dotted := func(a [4]byte) string { return fmt.Sprintf("%d.%d.%d.%d", a[0], a[1], a[2], a[3]) }
	switch b := body.(type) {
	case *Identity:
		f["peer"], f["ip"], f["name"] = float64(b.ID), dotted(b.Addr), wire.WideText(b.Name).Raw()
	case *Request:
		f["ip"], f["nonce"], f["password"] = dotted(b.Addr), float64(b.Nonce), wire.WideText(b.Password).Raw()
	case *Accept:
		f["assigned"] = float64(b.ID)
	case *Boot:
		f["reason"], f["peer"] = float64(b.Reason), float64(b.ID)
	case *Goodbye:
		f["peer"], f["ip"] = float64(b.ID), dotted(b.Addr)
	default:
		tb.Errorf("%s: a body of type %T", s.Name, b)
	}
	return f
}

func bit(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

func TestDatagramExamples(t *testing.T) {
	for _, e := range examples(t, "datagram") {
		t.Run(e.Name, func(t *testing.T) {
			var want struct {
				Sender, Count *int
				Messages      []map[string]any
			}
			if err := json.Unmarshal(e.Expect, &want); err != nil {
				t.Fatal(err)
			}
			s, list, err := all(e.Hex[0])
			if err != nil || len(s.Rest()) > 0 {
				t.Fatalf("got error %v, rest %x", err, s.Rest())
			}
			if want.Sender != nil && int(s.Peer) != *want.Sender {
				t.Errorf("sender: got %d, want %d", s.Peer, *want.Sender)
			}
			if want.Count != nil && s.Count != *want.Count {
				t.Errorf("count: got %d, want %d", s.Count, *want.Count)
			}
			if len(list) != len(want.Messages) {
				t.Fatalf("got %d messages, want %d", len(list), len(want.Messages))
			}
			for i := range list {
				got := facts(t, &list[i])
				for key, v := range want.Messages[i] {
					if got[key] != v {
						t.Errorf("message %d, %s: got %v, want %v", i, key, got[key], v)
					}
				}
			}
			if !Plausible(e.Hex[0], true) {
				t.Error("not plausible")
			}
		})
	}
}

func TestFragmentExamples(t *testing.T) {
	for _, e := range examples(t, "fragment") {
		t.Run(e.Name, func(t *testing.T) {
			switch e.Name {
			case "fragments_832":
				var want struct {
					Wire    []int `json:"wire_sizes"`
					Payload []int `json:"payload_sizes"`
					Seq     uint16
					Total   uint8
					CRC     string `json:"reassembled_crc32"`
					Acks    []string
				}
				if err := json.Unmarshal(e.Expect, &want); err != nil {
					t.Fatal(err)
				}
				var whole []byte
				for i, b := range e.Hex {
					m, rest, err := Next(b)
					if err != nil || len(rest) > 0 {
						t.Fatalf("fragment %d: got %v, rest %x", i, err, rest)
					}
					if m.Len != want.Wire[i] || len(m.Body) != want.Payload[i] {
						t.Errorf("fragment %d: got %d bytes with body of %d, want %d and %d", i, m.Len, len(m.Body), want.Wire[i], want.Payload[i])
					}
					total := want.Total
					if i > 0 {
						total = 0
					}
					if !m.Fragment || !m.Reliable || int(m.Index) != i || m.Seq != want.Seq || m.Count != total {
						t.Errorf("fragment %d: got %+v", i, m.Header)
					}
					ack := AckOf(&m.Header)
					got, err := Append(nil, &ack, nil)
					if err != nil || !bytes.Equal(got, fixtures.Unhex(t, want.Acks[i])) {
						t.Errorf("acknowledge of fragment %d: got % X, %v, want %s", i, got, err, want.Acks[i])
					}
					whole = append(whole, m.Body...)
				}
				if got := fmt.Sprintf("%08X", crc32.ChecksumIEEE(whole)); got != want.CRC {
					t.Errorf("checksum of the parts: got %s, want %s", got, want.CRC)
				}
			case "fragment0_captured_prefix":
				// The first 29 of the datagram's 418 bytes include both headers.
				b := e.Hex[0]
				s, list, err := all(b)
				if !errors.Is(err, ErrShort) || len(list) != 1 || s.Count != 2 {
					t.Fatalf("got %d of %d messages, %v", len(list), s.Count, err)
				}
				if a := list[0]; a.Type != Acknowledge || a.Seq != 2 {
					t.Errorf("first message: got %+v", a.Header)
				}
				m, _, err := Next(append(bytes.Clone(s.Rest()), make([]byte, 418-len(b))...))
				if err != nil || m.Len != 412 || m.Size != 7 || m.Seq != 2 || m.Index != 0 || m.Count != 3 || m.Body[0] != 0x21 {
					t.Errorf("second message: got %+v, %v", m.Header, err)
				}
				if !Plausible(b, false) || Plausible(b, true) {
					t.Error("the cut datagram is plausible as such only")
				}
			case "fragment_threshold":
				for _, tt := range []struct {
					h          Header
					body, want int
				}{
					{Header{Type: Standard, Reliable: true}, 407, MaxMessage},
					{Header{Type: Standard, Reliable: true}, 408, MaxMessage + 1},
					{Header{Type: Standard, Reliable: true, Fragment: true, Count: 2}, 405, 412},
					{Header{Type: Standard, Reliable: true, Fragment: true, Index: 1}, 3, 9},
				} {
					got, err := Append(nil, &tt.h, make([]byte, tt.body))
					if err != nil || len(got) != tt.want {
						t.Errorf("body of %d: got %d bytes, %v, want %d", tt.body, len(got), err, tt.want)
					}
				}
			default:
				t.Error("nothing tests this example")
			}
		})
	}
}

// The OpenBC server and its test clients send the short forms.
func TestNext(t *testing.T) {
	for _, tt := range []struct {
		name, hex string
		want      Header
		body      string
		rest      int
	}{
		{"keepalive", "02", Header{Type: DoNothing, Len: 1, Size: 1}, "", 0},
		{"keepalive, then more", "02 02 01", Header{Type: DoNothing, Len: 1, Size: 1}, "", 2},
		{
			"acknowledge control", "01 00 01 02",
			Header{Type: Acknowledge, Len: 4, Size: 4, HasSeq: true, Seq: 0x100, AckFlags: 2},
			"", 0,
		},
		{
			"acknowledge a fragment", "01 02 00 01 FF 02",
			Header{Type: Acknowledge, Len: 5, Size: 5, HasSeq: true, Seq: 2, AckFlags: 1, Fragment: true, Index: 0xFF},
			"", 1,
		},
		{
			"acknowledge of a test client", "01 02 00 80 FF",
			Header{Type: Acknowledge, Len: 4, Size: 4, HasSeq: true, Seq: 2, AckFlags: 0x80},
			"", 1,
		},
		{
			"connect", "03 06 C0 00 00 02",
			Header{Type: Connect, Len: 6, Size: 5, Reliable: true, Priority: true, HasSeq: true},
			"02", 0,
		},
		{
			"connect without priority", "03 06 80 34 12 02",
			Header{Type: Connect, Len: 6, Size: 5, Reliable: true, HasSeq: true, Seq: 0x1234},
			"02", 0,
		},
		{
			"control of no body", "05 05 C0 01 00",
			Header{Type: Disconnect, Len: 5, Size: 5, Reliable: true, Priority: true, HasSeq: true, Seq: 1},
			"", 0,
		},
		{
			"short connect", "03 08 01 00 00 7F 00 01",
			Header{Type: Connect, Len: 8, Size: 2, Short: true},
			"01 00 00 7F 00 01", 0,
		},
		{"short keepalive", "00 02", Header{Type: NameChange, Len: 2, Size: 2, Short: true}, "", 0},
		{
			"short keepalive, then data", "00 02 32 06 80 05 00 28",
			Header{Type: NameChange, Len: 2, Size: 2, Short: true},
			"", 6,
		},
		{
			"short keepalive, then an acknowledge", "00 02 01 02 00 00",
			Header{Type: NameChange, Len: 2, Size: 2, Short: true},
			"", 4,
		},
		{"short leave", "06 02", Header{Type: Leave, Len: 2, Size: 2, Short: true}, "", 0},
		{"short leave, then what looks like flags", "06 02 C0", Header{Type: Leave, Len: 2, Size: 2, Short: true}, "", 1},
		{"unreliable", "32 04 00 1C", Header{Type: Standard, Len: 4, Size: 3}, "1C", 0},
		{"nothing in it", "32 03 00", Header{Type: Standard, Len: 3, Size: 3}, "", 0},
		{
			"unreliable, priority", "32 04 40 1C",
			Header{Type: Standard, Len: 4, Size: 3, Priority: true},
			"1C", 0,
		},
		{
			"reliable", "32 06 80 FF 01 28 00",
			Header{Type: Standard, Len: 6, Size: 5, Reliable: true, HasSeq: true, Seq: 511},
			"28", 1,
		},
		{
			"last fragment", "32 07 A0 02 00 02 AB",
			Header{Type: Standard, Len: 7, Size: 6, Reliable: true, HasSeq: true, Seq: 2, Fragment: true, Index: 2},
			"AB", 0,
		},
		{
			"first fragment", "32 08 E0 02 00 00 03 AB",
			Header{Type: Standard, Len: 8, Size: 7, Reliable: true, Priority: true, HasSeq: true, Seq: 2, Fragment: true, Count: 3},
			"AB", 0,
		},
		{
			"unreliable fragment", "32 05 20 01 AB",
			Header{Type: Standard, Len: 5, Size: 4, Fragment: true, Index: 1},
			"AB", 0,
		},
		{
			"unreliable first fragment of nothing", "32 05 20 00 00",
			Header{Type: Standard, Len: 5, Size: 5, Fragment: true},
			"", 0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := fixtures.Unhex(t, tt.hex)
			m, rest, err := Next(b)
			if err != nil {
				t.Fatal(err)
			}
			if m.Header != tt.want {
				t.Errorf("got %+v, want %+v", m.Header, tt.want)
			}
			if want := fixtures.Unhex(t, tt.body); !bytes.Equal(m.Body, want) {
				t.Errorf("body: got % X, want % X", m.Body, want)
			}
			if len(rest) != tt.rest || m.Len+len(rest) != len(b) {
				t.Errorf("rest: got % X, want %d bytes", rest, tt.rest)
			}
			if cap(m.Body) != len(m.Body) {
				t.Error("appending to the body would overwrite what follows")
			}
		})
	}
}

func TestSplitErrors(t *testing.T) {
	for _, tt := range []struct {
		name, hex string
		want      error
		text      string
		messages  int
		rest      string
	}{
		{"nothing", "", ErrEmpty, "0 bytes", 0, ""},
		{"no count", "01", ErrEmpty, "1 bytes", 0, ""},
		{"unknown type", "01 02 02 07 02 03", ErrType, "0x07", 1, "07 02 03"},
		{"type between", "01 01 31 04 00 1C", ErrType, "0x31", 0, "31 04 00 1C"},
		{"type above", "01 01 33 04 00 1C", ErrType, "0x33", 0, "33 04 00 1C"},
		{"size 0", "01 01 32 00 00 1C", ErrSize, "type 0x32 says 0 bytes, its header alone has 3", 0, "32 00 00 1C"},
		{"size below the header", "01 01 32 04 80 01 00 28", ErrSize, "says 4 bytes, its header alone has 5", 0, "32 04 80 01 00 28"},
		{"fragment 0 without count", "01 01 32 06 A0 01 00 00 03", ErrSize, "says 6 bytes, its header alone has 7", 0, "32 06 A0 01 00 00 03"},
		{"control size below the header", "01 01 03 04 C0 00 00 02", ErrSize, "type 0x03 says 4 bytes, its header alone has 5", 0, "03 04 C0 00 00 02"},
		{"control size 3, which ends the datagram", "01 01 05 03 80", ErrSize, "type 0x05 says 3 bytes, its header alone has 5", 0, "05 03 80"},
		{"short size 0", "01 01 00 00 00 00", ErrSize, "type 0x00 says 0 bytes, its header alone has 2", 0, "00 00 00 00"},
		{"short size 1", "01 01 06 01", ErrSize, "says 1 bytes", 0, "06 01"},
		{"beyond the datagram", "01 02 02 32 06 80 01 00", ErrShort, "need 6 bytes, have 5", 1, "32 06 80 01 00"},
		{"acknowledge cut", "01 01 01 00 00", ErrShort, "need 4 bytes, have 3", 0, "01 00 00"},
		{"acknowledge of a fragment cut", "01 01 01 00 00 01", ErrShort, "need 5 bytes, have 4", 0, "01 00 00 01"},
		{"control cut in its size", "01 01 03", ErrShort, "need 2 bytes, have 1", 0, "03"},
		{"control cut after its size", "01 01 03 06", ErrShort, "need 6 bytes, have 2", 0, "03 06"},
		{"control cut", "01 01 03 06 C0 00 00", ErrShort, "need 6 bytes, have 5", 0, "03 06 C0 00 00"},
		{"short form cut", "01 01 03 08 01 00 00 7F 00", ErrShort, "need 8 bytes, have 7", 0, "03 08 01 00 00 7F 00"},
		{"standard cut in its size", "01 01 32 06", ErrShort, "need 3 bytes, have 2", 0, "32 06"},
		{"more announced", "01 03 02 02", ErrCount, "2 of 3", 2, ""},
		{"nothing but the announcement", "01 FF", ErrCount, "0 of 255", 0, ""},
		{"more than announced", "01 01 02 02 02", ErrExtra, ": 2", 1, "02 02"},
		{"none announced", "01 00 02", ErrExtra, ": 1", 0, "02"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := fixtures.Unhex(t, tt.hex)
			s, list, err := all(b)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got error %v, want %v with %q", err, tt.want, tt.text)
			}
			if len(list) != tt.messages {
				t.Errorf("got %d messages, want %d", len(list), tt.messages)
			}
			if want := fixtures.Unhex(t, tt.rest); !bytes.Equal(s.Rest(), want) {
				t.Errorf("rest: got % X, want % X", s.Rest(), want)
			}
			if Plausible(b, true) {
				t.Error("plausible")
			}
			// The error stays.
			if err != nil && len(b) > 1 {
				if _, ok, again := s.Next(); ok || again == nil || again.Error() != err.Error() {
					t.Errorf("asked again: got %v, %v", ok, again)
				}
			}
		})
	}
	if _, rest, err := Next(nil); !errors.Is(err, ErrShort) || len(rest) > 0 {
		t.Errorf("Next of nothing: got %v", err)
	}
	if s, err := Split([]byte{1, 0}); err != nil || s.Count != 0 {
		t.Errorf("an empty datagram: got %v", err)
	} else if _, ok, err := s.Next(); ok || err != nil {
		t.Errorf("an empty datagram: got %v, %v", ok, err)
	}
}

// accounted checks that messages and rest make up the datagram, byte for byte,
// and that each message can be rebuilt.
func accounted(tb testing.TB, plain []byte) (list []Message, err error) {
	tb.Helper()
	s, list, err := all(plain)
	if errors.Is(err, ErrEmpty) {
		return nil, err
	}
	got := []byte{s.Peer, byte(s.Count)}
	off := 2
	for i := range list {
		m := &list[i]
		if m.Len != m.Size+len(m.Body) {
			tb.Errorf("message %d: got header of %d and body of %d in %d bytes", i, m.Size, len(m.Body), m.Len)
		}
		one, err := Append(nil, &m.Header, m.Body)
		if err != nil || !bytes.Equal(one, plain[off:off+m.Len]) {
			tb.Errorf("message %d: got % X, %v, want % X", i, one, err, plain[off:off+m.Len])
		}
		got = append(got, one...)
		off += m.Len
	}
	if off != s.Offset() || !bytes.Equal(append(got, s.Rest()...), plain) {
		tb.Errorf("messages end at %d, Offset is %d, rest % X", off, s.Offset(), s.Rest())
	}
	return list, err
}

func TestEveryPrefix(t *testing.T) {
	for _, e := range examples(t, "datagram") {
		t.Run(e.Name, func(t *testing.T) {
			b := e.Hex[0]
			whole, err := accounted(t, b)
			if err != nil {
				t.Fatal(err)
			}
			ends := []int{2}
			for i := range whole {
				ends = append(ends, ends[i]+whole[i].Len)
			}
			for n := range b {
				list, err := accounted(t, b[:n:n])
				// Only the messages that end before the cut.
				want := max(0, slices.IndexFunc(ends, func(end int) bool { return end > n })-1)
				if len(list) != want {
					t.Errorf("%d bytes: got %d messages, want %d", n, len(list), want)
				}
				cause := ErrShort
				switch {
				case n < 2:
					cause = ErrEmpty
				case slices.Contains(ends, n):
					cause = ErrCount
				}
				if !errors.Is(err, cause) {
					t.Errorf("%d bytes: got %v, want %v", n, err, cause)
				}
				if Plausible(b[:n], true) {
					t.Errorf("%d bytes: plausible as a whole datagram", n)
				}
				if got := Plausible(b[:n], false); got != (want > 0) {
					t.Errorf("%d bytes: plausible as cut short: got %v with %d messages", n, got, want)
				}
			}
		})
	}
}

func TestPlausible(t *testing.T) {
	for _, tt := range []struct {
		name, hex  string
		whole, cut bool
	}{
		{"keepalive", "02 01 02", true, true},
		{"short forms", "FF 03 00 02 06 02 03 08 01 00 00 7F 00 01", true, true},
		{"61 messages", "01 3D" + strings.Repeat(" 02", 61), true, true},
		{"no messages", "01 00", false, false},
		{"cut in the header", "01", false, false},
		{"cut in the first message", "01 02 32 1B 80 00", false, false},
		{"cut in the second message", "01 02 02 32 1B 80 00", false, true},
		{"cut between messages", "01 02 02", false, true},
		{"unknown type after a message", "01 02 02 77 00 00 00", false, false},
		{"bytes after the last message", "01 01 02 00", false, false},
		{"sender 0", "00 01 02", false, false},
		{"sender of GameSpy text", "5C 01 02", false, false},
		{"sender above the last", "7F 01 02", false, false},
		{"enciphered: the sample of the cipher", "01 D7 33 68 C3 BF 76 DB", false, false},
		{"deciphered by xor from byte 0", "40 BB 51 11 91 CA 1A BE", false, false},
		{"deciphered by xor from byte 1", "01 96 5F 0A BA ED 03 B7", false, false},
		{"deciphered with words made first", "01 90 73 49 AF 99 7A F1", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := fixtures.Unhex(t, tt.hex)
			if got := Plausible(b, true); got != tt.whole {
				t.Errorf("whole: got %v, want %v", got, tt.whole)
			}
			if got := Plausible(b, false); got != tt.cut {
				t.Errorf("cut short: got %v, want %v", got, tt.cut)
			}
		})
	}
}

func TestPlausiblePeer(t *testing.T) {
	n := 0
	for id := range 256 {
		if PlausiblePeer(uint8(id)) {
			n++
		}
	}
	// 01 to 7E except 5C, and FF.
	if n != 0x7E-1+1 {
		t.Errorf("got %d peer ids, want %d", n, 0x7E)
	}
	for id, want := range map[uint8]bool{0: false, 1: true, 2: true, 0x5B: true, 0x5C: false, 0x5D: true, 0x7E: true, 0x7F: false, 0x80: false, 0xFE: false, 0xFF: true} {
		if got := PlausiblePeer(id); got != want {
			t.Errorf("0x%02X: got %v, want %v", id, got, want)
		}
	}
}

func TestKind(t *testing.T) {
	for typ, want := range map[Type]string{
		NameChange: "name_change", Acknowledge: "ack", DoNothing: "keepalive", Connect: "connect", BootPlayer: "boot",
		Disconnect: "disconnect", Leave: "type_06", Standard: "standard", 0x07: "type_07", 0xAB: "type_AB",
	} {
		if got := typ.Kind(); got != want {
			t.Errorf("0x%02X: got %q, want %q", uint8(typ), got, want)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	list := datagrams(t)
	out := make([]byte, 0, MaxDatagram)
	got := testing.AllocsPerRun(100, func() {
		for _, b := range list {
			s, err := Split(b)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out[:0], b[:2]...)
			for {
				m, ok, err := s.Next()
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				if out, err = Append(out, &m.Header, m.Body); err != nil {
					t.Fatal(err)
				}
			}
			if !Plausible(b, true) || !bytes.Equal(out, b) {
				t.Fatalf("got % X, want % X", out, b)
			}
		}
	})
	if got > 0 {
		t.Errorf("got %v allocations a run, want 0", got)
	}
}

func FuzzSplit(f *testing.F) {
	for _, b := range datagrams(f) {
		f.Add(b)
	}
	for _, text := range []string{
		"", "01", "01 00", "FF 03 00 02 06 02 03 08 01 00 00 7F 00 01", "01 02 32 05 20 00 00 02",
		"02 02 01 02 00 80 01 02 00 01 01", "01 01 32 0D E0 01 00 00 03 01 02", "5C 01 02",
	} {
		f.Add(fixtures.Unhex(f, text))
	}
	f.Fuzz(func(t *testing.T, plain []byte) {
		list, err := accounted(t, plain)
		want := err == nil && len(list) > 0 && PlausiblePeer(plain[0])
		if got := Plausible(plain, true); got != want {
			t.Errorf("plausible: got %v, want %v; %v", got, want, err)
		}
		if !want {
			return
		}
		for _, m := range list {
			if m.Type == DoNothing && m.Len > 1 {
				return // such a keepalive is recognised by the fit of the whole datagram
			}
		}
		// A cut anywhere after the first message leaves it plausible.
		for n := 2 + list[0].Len; n < min(len(plain), 2*MaxDatagram); n++ {
			if !Plausible(plain[:n], false) {
				t.Errorf("not plausible when cut to %d of %d bytes", n, len(plain))
			}
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	list := datagrams(b)
	for b.Loop() {
		for _, d := range list {
			s, _ := Split(d)
			for {
				if _, ok, _ := s.Next(); !ok {
					break
				}
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/datagram")
}

func BenchmarkPlausible(b *testing.B) {
	list := datagrams(b)
	for b.Loop() {
		for _, d := range list {
			Plausible(d, true)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/datagram")
}
