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
