package anonymize

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"
	"unicode"

	"github.com/google/gopacket"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/cipher"
)

func testPseudonyms(t *testing.T) *pseudonyms {
	t.Helper()
	p, err := newPseudonyms(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// If a shape has few enough names, all of them have different pseudonyms with
// the shape: the 26 capitals, and a hundred numbered names.
func TestDistinct(t *testing.T) {
	p := testPseudonyms(t)
	var names []string
	for c := 'A'; c <= 'Z'; c++ {
		names = append(names, string(c))
	}
	for i := range 100 {
		names = append(names, fmt.Sprintf("%02d", i))
	}
	seen := map[string]string{}
	for _, name := range names {
		// Without the second try for a text that is its own pseudonym.
		other := string(p.shaped([]byte(name), false, 0))
		if before, ok := seen[other]; ok {
			t.Errorf("%s and %s both become %s", before, name, other)
		}
		seen[other] = name
		if len(other) != len(name) || unicode.IsDigit(rune(other[0])) != unicode.IsDigit(rune(name[0])) || unicode.IsUpper(rune(other[0])) != unicode.IsUpper(rune(name[0])) {
			t.Errorf("%s becomes %s", name, other)
		}
	}
}

// Texts keep their length and change, whatever they consist of.
func TestShapes(t *testing.T) {
	p := testPseudonyms(t)
	for _, tt := range []struct {
		text string
		talk bool
		kept string // at their places
	}{
		{"Jean-Luc", false, ""},
		{"    ", false, ""},
		{"!!!!", true, ""},
		{"<<##>>", false, ""},
		{"hi, all: 42!", true, "  ,    :   !"},
		{"J\xf6rg the\x01Great", false, "        \x01"},
		{"a very long name of many words that is not short at all", false, ""},
	} {
		got := p.ofText([]byte(tt.text), tt.talk)
		if len(got) != len(tt.text) || string(got) == tt.text || bytes.IndexByte(got, '\\') >= 0 {
			t.Errorf("%q becomes %q", tt.text, got)
		}
		for i := range tt.kept {
			if c := tt.kept[i]; c != ' ' && got[i] != c {
				t.Errorf("%q becomes %q, without %q at %d", tt.text, got, c, i)
			}
		}
	}
}

// A name is the same in both encodings. One that only UTF-16 has keeps its
// length.
func TestWide(t *testing.T) {
	p := testPseudonyms(t)
	name := "J\xf6rg \x80"
	narrow := p.ofText([]byte(name), false)
	wide := p.ofWide(wire.AppendWideTextOf(nil, wire.Text([]byte(name))), false)
	if want := wire.AppendWideTextOf(nil, wire.Text(narrow)); !bytes.Equal(wide, want) {
		t.Errorf("got % x, want % x", wide, want)
	}
	only := wire.AppendWideTextOf(nil, "李 𝄞x")
	if got := p.ofWide(only, false); len(got) != len(only) || bytes.Equal(got[:2], only[:2]) || bytes.Equal(got[4:6], only[4:6]) || !bytes.Equal(got[2:4], only[2:4]) {
		t.Errorf("% x becomes % x", only, got)
	}
}

// The check finds values in every encoding. It finds short values only together
// with their length.
func TestCheck(t *testing.T) {
	v := newValues(testPseudonyms(t), false)
	v.remember(playerName, []byte("K\xefrk"))
	v.remember(playerName, []byte("Ace"))
	v.remember(playerName, []byte("Q"))
	v.remember(ipv4Address, []byte{203, 0, 113, 5})
	v.remember(ipv4Address, []byte{127, 0, 0, 1})
	v.remember(hardwareAddress, []byte("\x00\x0c\x29\xaa\xbb\xcc"))
	c := newCheck(v)
	for _, tt := range []struct {
		text  string
		found bool
	}{
		{"xxK\xefrk", true},
		{"xK\x00\xef\x00r\x00k\x00", true},
		{"x\x00K\x00\xef\x00r\x00k", true},
		{"Kïrk", true},
		{"4bef726b", true},
		{"Kirk", false},
		{"\x03Ace", true},
		{"\x03\x00Ace", true},
		{"A\x00c\x00e\x00", true},
		{"Acer", false},
		{"\xcb\x00\x71\x05", true},
		{"\x05\x71\x00\xcb", true},
		{"203.0.113.5", true},
		{"\x7f\x00\x00\x01", false}, // as in acknowledgements
		{"127.0.0.1", true},
		{"\x00\x0c\x29\xaa\xbb\xcc", true},
		{"00-0C-29-AA-BB-CC", true},
	} {
		found := false
		c.in([]byte(tt.text), func(hit) { found = true })
		if found != tt.found {
			t.Errorf("%q: found is %v", tt.text, found)
		}
	}
	if c.skipped != 1 || c.values != 5 {
		t.Errorf("%d values, %d skipped", c.values, c.skipped)
	}
}

// Letters of other alphabets change as a whole, also in UTF-8.
func TestOtherAlphabets(t *testing.T) {
	p := testPseudonyms(t)
	const name = "Иван"
	got := p.ofText([]byte(name), false)
	if len(got) != len(name) || bytes.Contains(got, []byte("\x98")) && bytes.Contains(got, []byte("\xb2")) && bytes.Contains(got, []byte("\xbd")) {
		t.Errorf("%q becomes %q", name, got)
	}
}

// Packet IDs and hashes change. Equal ones stay equal, and 0 stays 0.
func TestNumbers(t *testing.T) {
	p := testPseudonyms(t)
	seen := map[uint16]bool{}
	for id := range uint16(2000) {
		got := p.ofPacketID(id)
		if seen[got] || got != p.ofPacketID(id) || (got == 0) != (id == 0) {
			t.Fatalf("%d becomes %d", id, got)
		}
		seen[got] = true
	}
	if a, b := p.ofHash(0x47C155EF), p.ofHash(0x47C155EF); a != b || a == 0x47C155EF || p.ofHash(0) != 0 {
		t.Errorf("a hash becomes %x and %x", a, b)
	}
}

// With a new key every address changes.
func TestNewKeyChangesAddresses(t *testing.T) {
	for range 200 {
		p, err := newPseudonyms(NewKey())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []string{"0.0.0.1", "10.0.0.1", "127.0.0.1", "192.168.1.7", "::1", "fe80::1", "2001:db8::1"} {
			b := netip.MustParseAddr(a).AsSlice()
			first := b[0]
			p.ofIP(b)
			if (b[0]^first)&0x80 == 0 {
				t.Errorf("%s becomes %v: the first bit is the same", a, b)
			}
		}
	}
}

// What the rewriter misses, the check finds, and a copy lacks: the message around a text,
// the bytes of an address, a word of a query, and otherwise the frame.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	created := 0
	create := func() (string, io.WriteCloser, error) {
		created++
		f, err := os.CreateTemp(dir, "*")
		if err != nil {
			return "", nil, err
		}
		return f.Name(), f, nil
	}
	packet := func(src string, payload []byte) []byte {
		b := append([]byte{0x45, 0, 0, byte(28 + len(payload)), 0, 1, 0, 0, 64, 17, 0, 0}, netip.MustParseAddr(src).AsSlice()...)
		b = append(b, 192, 0, 2, 2, 0x13, 0x88, 0x56, 0x55, 0, byte(8+len(payload)), 0, 0)
		return append(b, payload...)
	}
	game := func(message string) []byte {
		return cipher.Encrypt(nil, append([]byte{2, 2, 2}, "\x32"+string(byte(3+len(message)))+"\x00"+message...)) // after a keepalive
	}
	name, to, err := create()
	if err != nil {
		t.Fatal(err)
	}
	w, err := capture.NewWriter(name, to, &capture.WriterOptions{Link: 101})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]byte{
		packet("192.0.2.1", game("\x1cxxKirkxx")),
		packet("192.0.2.1", game("\x1cxxxx\xcb\x00\x71\x05")),
		packet("192.0.2.1", []byte(`\status\Kirk\`)),
		packet("203.0.113.5", game("\x1cxxxx")),
		packet("192.0.2.1", game("\x1cxxxx")),
	} {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(0, 0), CaptureLength: len(p), Length: len(p)}, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	v := newValues(testPseudonyms(t), false)
	v.remember(playerName, []byte("Kirk"))
	v.remember(ipv4Address, []byte{203, 0, 113, 5})
	j := &Job{w: &rewriter{values: v}}
	verified, err := j.Verify(name, create)
	if err != nil || verified == name || created != 2 {
		t.Fatal(verified, created, err)
	}
	src, err := capture.Open(verified, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var got []string
	for d := range dissect.Datagrams(src) {
		b := d.Payload
		if !isText(b) {
			b = cipher.Decrypt(nil, b)[6:]
		}
		got = append(got, string(b))
	}
	want := []string{"\x1c\x00\x00\x00\x00\x00\x00\x00\x00", "\x1cxxxx\x00\x00\x00\x00", "\\status\\\x00\x00\x00\x00\\", "\x1cxxxx"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
