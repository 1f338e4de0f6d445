package relay

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// longestName is how many characters of a name are passed on.
const longestName = 48

// readable returns a name without characters that nobody sees or that break a
// line, and without spaces around it.
func readable(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, name)
	name = strings.TrimSpace(name)
	if r := []rune(name); len(r) > longestName {
		name = strings.TrimSpace(string(r[:longestName]))
	}
	return name
}

// alike maps characters to those of the same look, in lower case.
var alike = strings.NewReplacer(
	"i", "l", "1", "l", "|", "l", "!", "l", "0", "o",
	"а", "a", "в", "b", "е", "e", "к", "k", "м", "m", "н", "h", "о", "o", "р", "p", "с", "c", "т", "t", "у", "y", "х", "x",
	"і", "l", "ј", "j", "ѕ", "s", "ԁ", "d",
	"α", "a", "β", "b", "ε", "e", "η", "n", "ι", "l", "κ", "k", "μ", "m", "ν", "v", "ο", "o", "ρ", "p", "τ", "t", "υ", "u", "χ", "x",
)

// skeleton returns the same text for names that people take for each other.
func skeleton(name string) string {
	return alike.Replace(strings.Map(func(r rune) rune {
		const wide = 0xFEE0 // from a letter to its form of full width
		if r >= '!'+wide && r <= '~'+wide {
			r -= wide
		}
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) || unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name))
}

// nameFor returns the name under which others know a client that calls itself
// name: that one, unless it cannot be read or is taken. The stock host makes
// names unique, too.
func (h *Host) nameFor(p *peer, name string) string {
	base := readable(name)
	if base == "" {
		base = fmt.Sprintf("Player %d", p.slot+1)
	}
	taken := map[string]bool{skeleton(dedicated): true}
	for _, o := range h.peers {
		if o != p && o.phase != Leaving && len(o.alias) > 0 {
			taken[skeleton(wire.WideText(o.alias).Raw())] = true
		}
	}
	unique := base
	for n := 2; taken[skeleton(unique)]; n++ {
		unique = fmt.Sprintf("%s (%d)", base, n)
	}
	return unique
}
