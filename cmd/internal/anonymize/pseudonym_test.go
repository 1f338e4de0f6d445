package anonymize

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"unicode"

	"github.com/bcdissect/bcdissect/decode/wire"
)

func testPseudonyms(t *testing.T) *pseudonyms {
	t.Helper()
	p, err := newPseudonyms(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Names of one shape that are few enough get pseudonyms of their own, all of
// that shape: the 26 capitals, and a hundred numbered names.
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

// The search finds all original values that are left, but for short ones among
// numbers.
func TestSearch(t *testing.T) {
	s := &search{byStart: map[[searched]byte][]string{}, values: map[string]value{}}
	s.add("Kirk", value{kind: playerName, frame: 3})
	s.add("Leonard", value{kind: playerName, frame: 4})
	numbers := []bool{true, true, true, true, true, true, true, true}
	for _, tt := range []struct {
		text    string
		least   int
		numbers []bool
		frame   int
	}{
		{"xxKirk", 0, nil, 3},
		{"xxKirk", 0, numbers, 0},
		{"xxKirk", sure, nil, 0},
		{"Leonard", sure, numbers, 4},
		{"Leonar", 0, nil, 0},
		{"xxKirkxxxx", 0, numbers[:5], 3},
		{"Kir", 0, nil, 0},
	} {
		s.found = nil
		s.in([]byte(tt.text), tt.least, tt.numbers)
		if got := s.found; got == nil && tt.frame > 0 || got != nil && got.frame != tt.frame {
			t.Errorf("%q from %d: got %v, want %d", tt.text, tt.least, got, tt.frame)
		}
	}
}

// No new key leaves an address as it is.
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
