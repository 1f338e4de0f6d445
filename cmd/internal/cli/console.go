package cli

import (
	"cmp"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// A Display holds the limits of the terminal. The zero value has no limits.
type Display struct {
	NoANSI bool // neither colours nor a moving cursor, as in an old Windows console
	ASCII  bool // standard output shows only ASCII characters
	// CodePage is the code page that the reader of standard output expects, or
	// 0 for UTF-8. Programs that read from a pipe of a Windows console expect
	// one, for example more, or PowerShell for its > operator.
	CodePage uint32
	// File is set on Windows if standard output is an empty file, as in
	// "bcdissect ... > games.csv". Programs there take a file without a byte
	// order mark for text in their own code page.
	File bool
}

// OpenDisplay finds the limits of the program's terminal and switches on its
// disabled features. The program must call restore before it ends.
func OpenDisplay(out, err *os.File) (d Display, restore func()) {
	d, restore = openConsole(out, err)
	if localeOf(os.Getenv) != "" { // such as in Git's shell, whose terminal is not a Windows console
		d.CodePage = 0
	}
	d.ASCII = d.ASCII || d.CodePage != 0 || !utf8Locale(os.Getenv)
	return d, restore
}

// localeOf returns the locale for text, or "" if none is set.
func localeOf(getenv func(string) string) string {
	return cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
}

// utf8Locale reports whether the locale has UTF-8. An unset locale counts as
// UTF-8: containers and services have none, and their terminals show UTF-8.
func utf8Locale(getenv func(string) string) bool {
	locale := localeOf(getenv)
	if locale == "" {
		return true
	}
	_, charset, _ := strings.Cut(locale, ".") // as in de_DE.UTF-8@euro
	charset, _, _ = strings.Cut(charset, "@")
	return strings.EqualFold(strings.ReplaceAll(charset, "-", ""), "utf8")
}

// Text returns the writer for a text report. It replaces characters that the
// terminal cannot show, since names of players may have any character.
func (o *Output) Text() io.Writer {
	switch {
	case o.CodePage != 0:
		return &pageWriter{w: o, encode: func(text []byte) []byte { return inCodePage(o.CodePage, text) }}
	case o.ASCII:
		return asciiWriter{o}
	}
	return o
}

// A pageWriter converts UTF-8 to the code page of a console.
type pageWriter struct {
	w      io.Writer
	encode func(text []byte) []byte
	rest   []byte // the beginning of a character that is divided between two calls
}

// Write implements [io.Writer].
func (p *pageWriter) Write(b []byte) (int, error) {
	text := append(p.rest, b...)
	whole := len(text)
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				whole -= n
			}
			break
		}
	}
	_, err := p.w.Write(p.encode(text[:whole]))
	p.rest = append([]byte(nil), text[whole:]...)
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// An asciiWriter replaces each character that is not ASCII by a question mark.
type asciiWriter struct{ w io.Writer }

// Write implements [io.Writer]. A character may be split between two calls, so
// its first byte becomes the question mark and its other bytes are dropped.
func (a asciiWriter) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p))
	for _, c := range p {
		switch {
		case c < utf8.RuneSelf:
			out = append(out, c)
		case utf8.RuneStart(c):
			out = append(out, '?')
		}
	}
	if _, err := a.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
