package relay

import (
	"fmt"
	"strings"
	"unicode"

	"go.mau.fi/util/confusable"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// longestName is the maximum length of a name in characters when it is passed
// on.
const longestName = 48

// invisible are the invisible characters that Unicode counts as letters, marks
// or symbols.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034F, Hi: 0x034F, Stride: 1}, // combining grapheme joiner
		{Lo: 0x115F, Hi: 0x1160, Stride: 1}, // fillers of Hangul
		{Lo: 0x17B4, Hi: 0x17B5, Stride: 1}, // inherent vowels of Khmer
		{Lo: 0x180B, Hi: 0x180F, Stride: 1}, // variation selectors of Mongolian
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // Braille pattern without dots
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // filler of Hangul
		{Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}, // variation selectors
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, // filler of Hangul
	},
	R32: []unicode.Range32{
		{Lo: 0x16FE4, Hi: 0x16FE4, Stride: 1}, // filler of Khitan
		{Lo: 0x1D159, Hi: 0x1D159, Stride: 1}, // null notehead
		{Lo: 0xE0100, Hi: 0xE01EF, Stride: 1}, // variation selectors
	},
}

// readable returns a name without spaces around it and without characters that
// are invisible or break a line. It returns "" if nothing visible is left.
func readable(name string) string {
	shows := false
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r) || unicode.Is(invisible, r):
			return -1
		}
		shows = shows || !unicode.Is(unicode.M, r)
		return r
	}, name)
	if !shows { // marks are visible only with a letter
		return ""
	}
	name = strings.TrimSpace(name)
	if r := []rune(name); len(r) > longestName {
		name = strings.TrimSpace(string(r[:longestName]))
	}
	return name
}

// alike maps characters to look-alikes in the game's lists, in lower case.
// Unicode does not count these as confusable.
var alike = strings.NewReplacer("i", "l", "1", "l", "|", "l", "!", "l", "0", "o", "β", "b", "ß", "b", "ε", "e", "η", "n", "κ", "k", "к", "k", "μ", "m", "м", "m", "в", "b", "н", "h", "т", "t", "τ", "t", "χ", "x")

// Skeleton folds look-alike characters (homoglyphs) by UTS 39, so that
// confusable names compare equal. It ignores case.
func Skeleton(name string) string {
	const wide = 0xFEE0 // distance from a letter to its full-width form
	name = strings.Map(func(r rune) rune {
		if r >= '!'+wide && r <= '~'+wide {
			r -= wide
		}
		return r
	}, name)
	for range 2 { // a letter may have a look-alike only in one case
		name = strings.Map(func(r rune) rune {
			if !unicode.IsGraphic(r) || unicode.IsSpace(r) || unicode.Is(unicode.Mn, r) || unicode.Is(invisible, r) {
				return -1
			}
			return unicode.ToLower(r)
		}, confusable.Skeleton(name))
	}
	return alike.Replace(name)
}

// nameFor returns the name under which others know a client. It is the name
// that the client gave, unless that is unreadable or taken. The stock host also
// makes names unique.
func (h *Host) nameFor(p *peer, name string) string {
	base := readable(name)
	if base == "" {
		base = fmt.Sprintf("Player %d", p.slot+1)
	}
	taken := map[string]bool{Skeleton(dedicated): true}
	for _, o := range h.peers {
		if o != p && o.phase != Leaving && len(o.alias) > 0 {
			taken[Skeleton(wire.WideText(o.alias).Raw())] = true
		}
	}
	unique := base
	for n := 2; taken[Skeleton(unique)]; n++ {
		unique = fmt.Sprintf("%s (%d)", base, n)
	}
	return unique
}
