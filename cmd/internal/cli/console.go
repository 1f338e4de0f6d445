package cli

import (
	"cmp"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// A Display holds the terminal's limits. The zero value has none.
type Display struct {
	NoANSI bool // neither colours nor a moving cursor: an old Windows console
	ASCII  bool // standard output: no characters but those of ASCII
}

// OpenDisplay finds the limits of the program's terminal and switches on its
// disabled features. The program must call restore before it ends.
func OpenDisplay(out, err *os.File) (d Display, restore func()) {
	d, restore = openConsole(out, err)
	d.ASCII = d.ASCII || !utf8Locale(os.Getenv)
	return d, restore
}

// utf8Locale reports whether the locale has UTF-8. A locale that is not set says
// nothing: containers and services have none, and their terminals show UTF-8.
func utf8Locale(getenv func(string) string) bool {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	if locale == "" {
		return true
	}
	_, charset, _ := strings.Cut(locale, ".") // as in de_DE.UTF-8@euro
	charset, _, _ = strings.Cut(charset, "@")
	return strings.EqualFold(strings.ReplaceAll(charset, "-", ""), "utf8")
}

// Text returns where a report for people is to be written. Names that players
// give themselves are not ASCII only, whatever the report draws.
func (o *Output) Text() io.Writer {
	if o.ASCII {
		return asciiWriter{o}
	}
	return o
}

// An asciiWriter writes a question mark for every other character of the UTF-8
// that it is given.
type asciiWriter struct{ w io.Writer }

// Write implements [io.Writer]. A character may be divided between two calls:
// its first byte stands for it, and the others are left out.
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
