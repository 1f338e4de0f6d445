package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

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

// However untrusted text is printed, a terminal gets it escaped.
func TestUntrusted(t *testing.T) {
	name := Untrusted("Q\x1b[2J\u202e\\")
	const want = `Q\x1b[2J\u{202e}\`
	for _, format := range []string{"%s", "%v", "%+v", "%1s"} {
		if got := fmt.Sprintf(format, name); got != want {
			t.Errorf("%s: got %q, want %q", format, got, want)
		}
	}
	if got, want := fmt.Sprint([]Untrusted{name}, struct{ Name Untrusted }{name}), "["+want+"] {"+want+"}"; got != want {
		t.Errorf("within other values: got %q, want %q", got, want)
	}
	if got := name.Raw(); got != "Q\x1b[2J\u202e\\" {
		t.Errorf("raw: got %q", got)
	}
	if got, err := json.Marshal(map[Untrusted]Untrusted{"a\x1b": "b\x1b"}); err != nil || string(got) != `{"a\u001b":"b\u001b"}` {
		t.Errorf("JSON: got %s, %v", got, err)
	}
}
