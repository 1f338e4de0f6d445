package bpf

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

type kind uint8

const (
	end kind = iota
	word
	value // number or address: begins with a digit or contains a colon
	opening
	closing
	slash
	and
	or
	not
)

// A token is a piece of an expression, its bytes from pos to end.
type token struct {
	kind     kind
	text     string
	pos, end int
}

// String returns the token quoted for an error, shortened if it is long.
func (t token) String() string {
	const enough = 32
	if len(t.text) > enough {
		return strconv.Quote(t.text[:enough]) + "..."
	}
	return strconv.Quote(t.text)
}

// keywords are the words of the language, lower-case as in tcpdump.
const keywords = "ip, ip6, udp, tcp, src, dst, host, net, port, portrange, and, or, not"

// refused are further common words of tcpdump.
const refused = "ah, arp, atalk, broadcast, byte, decnet, dir, direction, esp, ether, gateway, geneve, greater, icmp, icmp6, ifindex, " +
	"igmp, inbound, ipx, iso, len, length, less, link, llc, mask, mpls, multicast, netbeui, outbound, pim, pppoed, pppoes, proto, " +
	"protochain, rarp, sctp, stp, subtype, type, vlan, vrrp, vxlan, wlan"

func among(list, s string) bool {
	return slices.Contains(strings.Split(list, ", "), s)
}

// isName reports whether a word can only be a host or service name.
func (t token) isName() bool {
	lower := strings.ToLower(t.text)
	return t.kind == word && !among(keywords, lower) && !among(refused, lower)
}

// lex splits an expression into tokens. The last one marks the end.
func lex(expr string) ([]token, error) {
	var tokens []token
	for at := 0; ; {
		for at < len(expr) && strings.IndexByte(" \t\r\n", expr[at]) >= 0 {
			at++
		}
		if at == len(expr) {
			return append(tokens, token{kind: end, pos: at, end: at}), nil
		}
		t := token{pos: at, end: at + 1}
		switch c, rest := expr[at], expr[at:]; {
		case c == '(':
			t.kind = opening
		case c == ')':
			t.kind = closing
		case c == '/':
			t.kind = slash
		case c == '!' && !strings.HasPrefix(rest, "!="):
			t.kind = not
		case strings.HasPrefix(rest, "&&"):
			t.kind, t.end = and, at+2
		case strings.HasPrefix(rest, "||"):
			t.kind, t.end = or, at+2
		case strings.IndexByte("[]<>=+*%&|^!", c) >= 0:
			return nil, fault(expr, at, at+1, "bytes at an offset, lengths and arithmetic are not supported")
		case inWord(c):
			for t.end < len(expr) && inWord(expr[t.end]) {
				t.end++
			}
			t.kind = kindOf(expr[at:t.end])
		default:
			_, size := utf8.DecodeRuneInString(rest)
			return nil, fault(expr, at, at+size, "this character has no meaning here")
		}
		t.text = expr[t.pos:t.end]
		at = t.end
		tokens = append(tokens, t)
	}
}

func kindOf(s string) kind {
	switch {
	case s == "and":
		return and
	case s == "or":
		return or
	case s == "not":
		return not
	case s[0] >= '0' && s[0] <= '9', strings.IndexByte(s, ':') >= 0:
		return value
	}
	return word
}

func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._:-", c) >= 0
}
