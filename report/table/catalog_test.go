package table

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report/reference"
)

func everything() []reference.Entry {
	return append(reference.Entries(msg.Catalog()), reference.TransportEntries()...)
}

func TestCatalog(t *testing.T) {
	var b bytes.Buffer
	if err := Catalog(&b, everything(), Options{}); err != nil {
		t.Fatal(err)
	}
	fixtures.Golden(t, "opcodes/all.txt", b.Bytes())
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(line); n > catalogWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestEntry(t *testing.T) {
	for _, name := range []string{"TorpedoFire", "StateUpdate", "GameInit", "Unused04", "BOOT_PLAYER"} {
		for _, e := range everything() {
			if e.Name != name && e.Constant != name {
				continue
			}
			var b bytes.Buffer
			if err := Entry(&b, &e, Options{}); err != nil {
				t.Fatal(err)
			}
			fixtures.Golden(t, "opcodes/"+strings.ToLower(name)+".txt", b.Bytes())
		}
	}
}

// Every message can be shown in any width, and every field is there. At 80
// columns some names are folded.
func TestEntries(t *testing.T) {
	for _, width := range []int{20, 120, 200} {
		for _, e := range everything() {
			var b bytes.Buffer
			if err := Entry(&b, &e, Options{Width: width, ASCII: true, Color: width == 120}); err != nil {
				t.Fatal(err)
			}
			for _, l := range e.Layouts {
				for _, f := range l.Fields {
					if !strings.Contains(b.String(), " "+f.Path+" ") {
						t.Errorf("%s: %s is not shown", e.Name, f.Path)
					}
				}
			}
		}
	}
}

// A message fits the terminal.
func TestEntryWidth(t *testing.T) {
	for _, e := range everything() {
		for _, width := range []int{80, 120} {
			var b bytes.Buffer
			if err := Entry(&b, &e, Options{Width: width}); err != nil {
				t.Fatal(err)
			}
			if got := new(widths).widest(b.Bytes()); got > width {
				t.Errorf("%s: %d columns of %d", e.Name, got, width)
			}
		}
	}
}

func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"one":                     "one",
		"one two  three":          "one two|three",
		"one inconceivable three": "one|inconceivable|three",
		"seven 12":                "seven 12",
	} {
		if g := strings.Join(new(widths).fold(text, 8, true), "|"); g != want {
			t.Errorf("%q: got %q, want %q", text, g, want)
		}
	}
}
