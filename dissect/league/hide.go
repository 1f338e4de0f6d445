package league

import (
	"net/netip"
	"regexp"
	"strings"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// spelled matches text that may be an address, with or without a port.
var spelled = regexp.MustCompile(`\[?[0-9A-Fa-f:.]*[0-9A-Fa-f:]+[.:][0-9A-Fa-f:.]*[0-9A-Fa-f]\]?(:[0-9]+)?`)

// hide replaces addresses in a text. It replaces known addresses, and all that
// look like one, since texts about clients without a name contain addresses.
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

// dotted matches IPv4 addresses in file names. colons matches an IPv6 address.
var (
	dotted = regexp.MustCompile(`[0-9]{1,3}(\.[0-9]{1,3}){3}`)
	colons = regexp.MustCompile(`:+`)
)

// hideInFile replaces addresses in a file name. A recording is named after its
// server, with hyphens for characters that file names cannot have.
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
