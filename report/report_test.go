package report

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

func TestASCII(t *testing.T) {
	for in, want := range map[string]string{
		"":             "",
		"Kirk ~!":      "Kirk ~!",
		"Jörg → 你好…":   "J?rg ? ???",
		"a\xffb\u0301": "a?b?",
	} {
		if got := ASCII(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestEscape(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"ASCII", "Kirk ~!\\\"", "Kirk ~!\\\""},
		{"escape sequence", "\x1b[2Jx", `\x1b[2Jx`},
		{"bell and backspace", "a\a\b", `a\x07\x08`},
		{"line ends and tab", "a\r\n\tb", `a\x0d\x0a\x09b`},
		{"null and delete", "\x00\x7f", `\x00\x7f`},
		{"C1 control", "\u009b31m\u0085", `\u{9b}31m\u{85}`},
		{"bytes that are not UTF-8", "a\x9b\xff\xc3", `a\x9b\xff\xc3`},
		{"a surrogate in UTF-8", "\xed\xa0\x80", `\xed\xa0\x80`},
		{"more than needed", "\xc0\x9b", `\xc0\x9b`},
		{"right to left override", "abc\u202efdp.exe", `abc\u{202e}fdp.exe`},
		{"isolates and marks", "\u2066\u2069\u200f\u061c", `\u{2066}\u{2069}\u{200f}\u{61c}`},
		{"of no width", "a\u200bb\u200dc\ufeff", `a\u{200b}b\u{200d}c\u{feff}`},
		{"line separator", "a\u2028b", `a\u{2028}b`},
		{"tag characters", "a\U000e0041", `a\u{e0041}`},
		{"not assigned, and private", "\u0378\ue000", `\u{378}\u{e000}`},
		{"letters", "Jörg 你好 Привет 🚀", "Jörg 你好 Привет 🚀"},
		{"accent of its own", "e\u0301", "e\u0301"},
		{"spaces", "a\u00a0b\u3000c", "a\u00a0b\u3000c"},
		{"replacement character", "\ufffd", "\ufffd"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Escape(test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got := string(AppendEscaped([]byte("> "), []byte(test.in))); got != "> "+test.want {
				t.Errorf("bytes: got %q, want %q", got, test.want)
			}
			if got := Escape(test.want); got != test.want {
				t.Errorf("escaped again: got %q, want %q", got, test.want)
			}
		})
	}
}

// A byte is escaped or not wherever in a text it stands.
func TestEscapeAnywhere(t *testing.T) {
	for n := 1; n <= 24; n++ {
		for at := range n {
			for c := range 256 {
				in := []byte(strings.Repeat("~ a", 8)[:n])
				in[at] = byte(c)
				want := string(in)
				if c < ' ' || c > '~' {
					want = fmt.Sprintf("%s\\x%02x%s", in[:at], c, in[at+1:])
				}
				if got := Escape(string(in)); got != want {
					t.Fatalf("%q: got %q, want %q", in, got, want)
				}
				if got := string(AppendEscaped(nil, in)); got != want {
					t.Fatalf("%q as bytes: got %q, want %q", in, got, want)
				}
			}
		}
	}
}

// part is a record of a transport message; from makes it come from a datagram.
func part(frame, n int, dir dissect.Dir, h transport.Header, payload string) *dissect.Record {
	r := &dissect.Record{Datagram: &dissect.Datagram{Number: frame}, Part: n, Dir: dir, Transport: h}
	if payload != "" {
		r.Payload = []byte(payload)
	}
	return r
}

func TestTally(t *testing.T) {
	var (
		reliable = transport.Header{Type: transport.Standard, Reliable: true}
		loose    = transport.Header{Type: transport.Standard}
		piece    = transport.Header{Type: transport.Standard, Reliable: true, Fragment: true}
		ackPiece = transport.Header{Type: transport.Acknowledge, Fragment: true}
		with     = func(r *dissect.Record, s dissect.Status, rest string) *dissect.Record {
			r.Status, r.Rest = s, []byte(rest)
			return r
		}
		malformed = func(frame, n int, cut bool) *dissect.Record {
			return &dissect.Record{
				Datagram: &dissect.Datagram{Number: frame}, Kind: dissect.KindMalformed, Part: n,
				Status: dissect.StatusMalformed, Cut: cut, Rest: []byte("xyz"),
			}
		}
		update = "\x1c________\x9e_"
	)
	var tally Tally
	for _, r := range []*dissect.Record{
		// A datagram of three messages: an acknowledgement of a fragment, two
		// opcodes of which one has bytes left over.
		part(1, 0, dissect.ToHost, ackPiece, ""),
		part(1, 1, dissect.ToHost, loose, update),
		with(part(1, 2, dissect.ToHost, reliable, "\x2cabc"), dissect.StatusTrailing, "bc"),
		// The last of them again: a duplicate.
		with(part(2, 0, dissect.ToHost, reliable, "\x2cabc"), dissect.StatusDuplicate, ""),
		// A message in two fragments, of which the first is repeated.
		with(part(3, 0, dissect.FromHost, piece, ""), dissect.StatusPending, ""),
		with(part(4, 0, dissect.FromHost, piece, ""), dissect.StatusDuplicate, ""),
		part(5, 0, dissect.FromHost, piece, "\x21fragmented"),
		// One that was never completed.
		{Datagram: &dissect.Datagram{Number: 5}, Kind: dissect.KindEvicted, Transport: piece},
		// The other direction, another flag; one too short for flags; one whose
		// direction is not known.
		part(6, 0, dissect.FromHost, loose, "\x1c________\x20"),
		part(6, 1, dissect.FromHost, loose, "\x1c________"),
		part(7, 0, dissect.DirUnknown, loose, update),
		// A message that makes no sense.
		with(part(8, 0, dissect.ToHost, reliable, "\x19a"), dissect.StatusMalformed, "a"),
		// A datagram that splits only at first, one that does not, and one that
		// the capture cut.
		part(9, 0, dissect.ToHost, loose, update),
		malformed(9, 1, false),
		malformed(10, 0, false),
		part(11, 0, dissect.ToHost, loose, update),
		malformed(11, 1, true),
		// Another capture begins with the same number.
		part(11, 0, dissect.ToHost, loose, update),
		malformed(11, 0, false),
		malformed(11, 0, false),
		{Datagram: &dissect.Datagram{Number: 12}, Kind: dissect.KindGameSpy},
	} {
		if err := tally.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := tally.Close(); err != nil {
		t.Fatal(err)
	}

	for _, test := range []struct {
		name      string
		got, want int64
	}{
		{"game", tally.Game, 10}, // frames 1 to 8, 11 and the second 11
		{"gamespy", tally.GameSpy, 1},
		{"malformed", tally.Malformed, 4}, // frames 9, 10, and twice 11 of the other
		{"messages", tally.Messages, 14},
		{"acks", tally.Types[transport.Acknowledge], 1},
		{"standard", tally.Types[transport.Standard], 13},
		{"reliable", tally.Reliable, 6},
		{"unreliable", tally.Unreliable, 8},
		{"duplicates", tally.Duplicates, 2},
		{"fragments", tally.Fragments, 3},
		{"reassembled", tally.Reassembled, 1},
		{"incomplete", tally.Incomplete, 1},
		{"counted", tally.Counted, 10},
		{"1C", tally.Opcodes[0x1C].Total, 7},
		{"1C to the host", tally.Opcodes[0x1C].ToHost, 4},
		{"1C from the host", tally.Opcodes[0x1C].FromHost, 2},
		{"1C bytes", tally.Opcodes[0x1C].Bytes, 5*11 + 10 + 9},
		{"21", tally.Opcodes[0x21].Total, 1},
		{"2C", tally.Opcodes[0x2C].Total, 1},
		{"19", tally.Opcodes[0x19].Total, 1},
		{"9E to the host", tally.Flags[dissect.ToHost][0x9E], 4},
		{"20 from the host", tally.Flags[dissect.FromHost][0x20], 1},
		{"flags to the host", tally.Flags[dissect.ToHost].Total(), 4},
		{"flags from the host", tally.Flags[dissect.FromHost].Total(), 1},
		{"flags of no direction", tally.Flags[dissect.DirUnknown].Total(), 0},
		{"payload bytes", tally.PayloadBytes, 5*11 + 10 + 9 + 4 + 11 + 2},
		{"residue bytes", tally.ResidueBytes, 3},
		{"errors", tally.Errors, 5}, // a message, and four datagrams that are not cut
	} {
		if test.got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, test.got, test.want)
		}
	}

	var order []string
	for _, o := range tally.ByCount() {
		order = append(order, o.Opcode.String())
	}
	if got := strings.Join(order, " "); got != "0x1C 0x19 0x21 0x2C" {
		t.Errorf("order: got %s", got)
	}
	if got := tally.Share(tally.Opcodes[0x1C].Total); got != 0.7 {
		t.Errorf("share: got %v, want 0.7", got)
	}
	if got := new(Tally).Share(0); got != 0 {
		t.Errorf("share of nothing: got %v, want 0", got)
	}
}

func TestTallyDoesNotAllocate(t *testing.T) {
	var tally Tally
	r := part(1, 0, dissect.ToHost, transport.Header{Type: transport.Standard}, "\x1c________\x9e_")
	if n := testing.AllocsPerRun(100, func() { _ = tally.Record(r) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func BenchmarkTally(b *testing.B) {
	var tally Tally
	r := part(1, 0, dissect.ToHost, transport.Header{Type: transport.Standard}, "\x1c________\x9e_")
	b.ReportAllocs()
	for b.Loop() {
		_ = tally.Record(r)
	}
}

func TestFlagNames(t *testing.T) {
	for flags, want := range map[uint8]string{
		0:    "none",
		0x20: "SUBSYSTEMS",
		0x9D: "POSITION|FORWARD|UP|SPEED|POWER",
		0xFF: "POSITION|DELTA|FORWARD|UP|SPEED|SUBSYSTEMS|CLOAK|POWER",
	} {
		if got := string(AppendFlagNames(nil, flags)); got != want {
			t.Errorf("0x%02X: got %s, want %s", flags, got, want)
		}
	}
}

// taking is a writer that remembers what it was given, and fails in the end.
type taking struct {
	got  []string
	fail int // the write that fails, from 1
	part bool
}

var errBroken = errors.New("broken")

func (w *taking) Write(b []byte) (int, error) {
	w.got = append(w.got, string(b))
	if len(w.got) == w.fail {
		if w.part {
			return len(b) - 1, nil
		}
		return 0, errBroken
	}
	return len(b), nil
}

func TestLines(t *testing.T) {
	line := strings.Repeat("x", 999) + "\n"
	add := func(l *Lines, n int) (err error) {
		for range n {
			err = l.Done(append(l.Buffer(), line...))
		}
		return err
	}

	t.Run("collected", func(t *testing.T) {
		w := &taking{}
		l := NewLines(w, false)
		if err := add(l, 65); err != nil || len(w.got) != 0 {
			t.Fatalf("after 65 lines: %v, %d writes", err, len(w.got))
		}
		if err := add(l, 1); err != nil || len(w.got) != 1 {
			t.Fatalf("after 66 lines: %v, %d writes", err, len(w.got))
		}
		if err := add(l, 1); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(w.got, ""); got != strings.Repeat(line, 67) || len(w.got) != 2 {
			t.Errorf("got %d bytes in %d writes", len(got), len(w.got))
		}
		if err := l.Err(); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: got %v", err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("closed again: got %v", err)
		}
	})
	t.Run("live", func(t *testing.T) {
		w := &taking{}
		l := NewLines(w, true)
		if err := add(l, 3); err != nil || len(w.got) != 3 {
			t.Errorf("%v, %d writes", err, len(w.got))
		}
	})
	t.Run("broken", func(t *testing.T) {
		w := &taking{fail: 2}
		l := NewLines(w, true)
		if err := add(l, 2); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		if err := add(l, 1); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		if err := l.Close(); !errors.Is(err, errBroken) || len(w.got) != 2 {
			t.Errorf("close: got %v, %d writes", err, len(w.got))
		}
	})
	t.Run("short write", func(t *testing.T) {
		l := NewLines(&taking{fail: 1, part: true}, true)
		if err := add(l, 1); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("got %v", err)
		}
	})
}
