package league

import (
	"net/netip"
	"regexp"
	"strings"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// spelled finds what may be an address, with or without a port.
var spelled = regexp.MustCompile(`\[?[0-9A-Fa-f:.]*[0-9A-Fa-f:]+[.:][0-9A-Fa-f:.]*[0-9A-Fa-f]\]?(:[0-9]+)?`)

// hide replaces addresses in a text: those that are known, and all that look like
// one, as texts about clients without a name have it.
func hide(text wire.Untrusted, known map[string]bool) wire.Untrusted {
	return wire.Untrusted(spelled.ReplaceAllStringFunc(text.Raw(), func(s string) string {
		if known[strings.Trim(s, "[]")] {
			return "an address"
		}
		if _, err := netip.ParseAddrPort(s); err == nil {
			return "an address"
		}
		if _, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
			return "an address"
		}
		return s
	}))
}

// dotted finds addresses of IPv4 in the names of files, colons an address's of IPv6.
var (
	dotted = regexp.MustCompile(`[0-9]{1,3}(\.[0-9]{1,3}){3}`)
	colons = regexp.MustCompile(`:+`)
)

// hideInFile replaces addresses in the name of a file: home names a recording by its
// server, with hyphens for the characters that names of files can't have.
func hideInFile(name string, known map[string]bool) string {
	const hidden = "address"
	name = dotted.ReplaceAllString(name, hidden)
	for address := range known {
		if strings.Contains(address, ":") {
			name = strings.ReplaceAll(name, colons.ReplaceAllString(address, "-"), hidden)
		}
	}
	return hide(wire.Untrusted(name), known).Raw()
}
