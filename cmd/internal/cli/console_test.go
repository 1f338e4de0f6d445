package cli

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func TestUTF8Locale(t *testing.T) {
	for _, tt := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", true},
		{"C", "", "", false},
		{"", "POSIX", "", false},
		{"", "", "C", false},
		{"", "", "C.UTF-8", true},
		{"C", "", "de_DE.UTF-8", false},
		{"", "en_US.utf8", "C", true},
		{"de_DE.UTF-8@euro", "", "", true},
		{"de_DE@euro", "", "", false},
		{"", "", "de_DE", false},
		{"", "", "ja_JP.eucJP", false},
		{"", "", "ru_RU.ISO8859-5", false},
	} {
		env := map[string]string{"LC_ALL": tt.all, "LC_CTYPE": tt.ctype, "LANG": tt.lang}
		if got := utf8Locale(func(name string) string { return env[name] }); got != tt.want {
			t.Errorf("%v: got %v, want %v", env, got, tt.want)
		}
	}
}

func TestASCIIWriter(t *testing.T) {
	const in, want = "Jörg → 你好 🚀 \x1b[31m|\n", "J?rg ? ?? ? \x1b[31m|\n"
	var out strings.Builder
	if n, err := io.Copy(asciiWriter{&out}, iotest.OneByteReader(strings.NewReader(in))); n != int64(len(in)) || err != nil || out.String() != want {
		t.Errorf("got %q, %d and %v, want %q", out.String(), n, err, want)
	}
	broken := errors.New("broken")
	r, w := io.Pipe()
	_ = r.CloseWithError(broken)
	if n, err := (asciiWriter{w}).Write([]byte("x")); n != 0 || !errors.Is(err, broken) {
		t.Errorf("got %d and %v, want %v", n, err, broken)
	}
}

// A character that is divided between two calls is encoded as one.
func TestPageWriter(t *testing.T) {
	const in, want = "Jörg → 你好 🚀\n\xFF\xC3", "J·rg · ·· ·\n·"
	var out strings.Builder
	w := &pageWriter{w: &out, encode: func(text []byte) []byte {
		return []byte(strings.Map(func(r rune) rune {
			if r >= utf8.RuneSelf {
				return '·'
			}
			return r
		}, string(text)))
	}}
	if n, err := io.Copy(w, iotest.OneByteReader(strings.NewReader(in))); n != int64(len(in)) || err != nil || out.String() != want {
		t.Errorf("got %q, %d and %v, want %q", out.String(), n, err, want)
	}
}

// An old console has no colours unless they are asked for.
func TestColored(t *testing.T) {
	for _, name := range []string{"NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "TERM"} {
		t.Setenv(name, "")
	}
	for _, tt := range []struct {
		o    Output
		flag string
		want bool
	}{
		{Output{Terminal: true}, "auto", true},
		{Output{}, "auto", false},
		{Output{Terminal: true, Display: Display{NoANSI: true}}, "auto", false},
		{Output{Terminal: true, Display: Display{NoANSI: true}}, "always", true},
		{Output{Terminal: true}, "never", false},
	} {
		if got := tt.o.Colored(tt.flag); got != tt.want {
			t.Errorf("%+v, %s: got %v, want %v", tt.o, tt.flag, got, tt.want)
		}
	}
}
