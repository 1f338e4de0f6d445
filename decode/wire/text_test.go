package wire

import (
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"ASCII", "My Game23", "My Game23"},
		{"control characters", "a\x00\x1b\x7f\n", "a\x00\x1b\x7f\n"},
		{"Latin-1", "J\xF6rg \xA0\xFF", "Jörg \u00a0ÿ"},
		{"quotes and dashes", "\x93D\xE9j\xE0 vu\x94 \x96 \x85", "“Déjà vu” – …"},
		{"euro, ligature, last of the block", "\x80 \x8C \x9F", "€ Œ Ÿ"},
		{"not assigned", "\x81\x8D\x8F\x90\x9D", "\u0081\u008d\u008f\u0090\u009d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Text([]byte(tt.in)); got.Raw() != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := string(AppendText([]byte("> "), []byte(tt.in))); got != "> "+tt.want {
				t.Errorf("appended: got %q, want %q", got, "> "+tt.want)
			}
			if got := string(AppendTextOf([]byte("> "), tt.want)); got != "> "+tt.in {
				t.Errorf("back: got %q, want %q", got, "> "+tt.in)
			}
			if got := IsPlain([]byte(tt.in)); got != (tt.in == tt.want) {
				t.Errorf("plain: got %v", got)
			}
		})
	}
}

func TestTextThatHasNoBytes(t *testing.T) {
	if got := string(AppendTextOf(nil, "a李\u0100\U0001F680\u0080é")); got != "a????\xE9" {
		t.Errorf("got %q", got)
	}
}

// Each byte is one character, and no two bytes are the same one.
func TestTextIsInjective(t *testing.T) {
	seen := map[string]int{}
	for c := range 256 {
		s := Text([]byte{byte(c)})
		if other, ok := seen[s.Raw()]; ok || utf8.RuneCountInString(s.Raw()) != 1 || !utf8.ValidString(s.Raw()) {
			t.Errorf("byte %02X: got %q, as byte %02X", c, s, other)
		}
		seen[s.Raw()] = c
	}
}

func TestWideText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"ASCII", "C\x00a\x00d\x00y\x002\x00", "Cady2"},
		{"Latin, Cyrillic", "\xF6\x00\x16\x04", "öЖ"},
		{"surrogate pair", "\x3D\xD8\x80\xDEx\x00", "🚀x"},
		{"high half, then a letter", "\x3D\xD8x\x00", "\uFFFDx"},
		{"high half at the end", "x\x00\x3D\xD8", "x\uFFFD"},
		{"low half", "\x80\xDEx\x00", "\uFFFDx"},
		{"two high halves, then a low one", "\x3D\xD8\x3D\xD8\x80\xDE", "\uFFFD🚀"},
		{"a real U+FFFD", "\xFD\xFFx\x00", "\uFFFDx"},
		{"not a character", "\xFF\xFF", "\uFFFF"},
		{"odd byte", "x\x00y", "x\uFFFD"},
		{"odd byte after a high half", "\x3D\xD8y", "\uFFFD\uFFFD"},
		{"nothing ends it", "a\x00\x00\x00b\x00", "a\x00b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := WideText([]byte(tt.in)); got.Raw() != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := string(AppendWideText([]byte("> "), []byte(tt.in))); got != "> "+tt.want {
				t.Errorf("appended: got %q, want %q", got, "> "+tt.want)
			}
		})
	}
}

func TestAppendWideTextOf(t *testing.T) {
	if got, want := string(AppendWideTextOf([]byte("> "), "x李🚀")), "> x\x00\x4E\x67\x3D\xD8\x80\xDE"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAppendTextDoesNotAllocate(t *testing.T) {
	narrow, wide := []byte("D\xE9j\xE0 vu\x85"), []byte("C\x00\x3D\xD8\x80\xDE")
	dst := make([]byte, 0, 64)
	if got := testing.AllocsPerRun(100, func() { AppendText(dst, narrow); AppendWideText(dst, wide) }); got > 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("D\xE9j\xE0 vu\x85"))
	f.Add([]byte("C\x00\x3D\xD8\x80\xDEy"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s := Text(b); !utf8.ValidString(s.Raw()) || utf8.RuneCountInString(s.Raw()) != len(b) {
			t.Errorf("got %q of %d bytes", s, len(b))
		}
		if s := WideText(b); !utf8.ValidString(s.Raw()) || utf8.RuneCountInString(s.Raw()) > (len(b)+1)/2 {
			t.Errorf("wide: got %q of %d bytes", s, len(b))
		}
	})
}
