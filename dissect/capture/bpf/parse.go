package bpf

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The qualifiers of a value.
type (
	proto string // ip, ip6, udp, tcp or none
	class string // host, net, port, portrange or none
	sides string // src, dst, both, either or none
)

const (
	ip  proto = "ip"
	ip6 proto = "ip6"
	udp proto = "udp"
	tcp proto = "tcp"

	host      class = "host"
	network   class = "net"
	port      class = "port"
	portRange class = "portrange"

	src    sides = "src"
	dst    sides = "dst"
	both   sides = "both"
	either sides = "either"
)

// A qual is the set of qualifiers of a value, written before it or inherited
// from an earlier one.
type qual struct {
	proto proto
	sides sides
	class class
	by    token // the protocol
	set   bool  // there are qualifiers to inherit
}

// kind returns the class, host by default.
func (q qual) kind() class {
	if q.class == "" {
		return host
	}
	return q.class
}

type parser struct {
	expr   string
	tokens []token
	at     int
	depth  int
	link   link
}

func (p *parser) peek() token { return p.tokens[p.at] }

// next consumes a token. It never consumes the end.
func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

// refuse returns an error about a token.
func (p *parser) refuse(t token, format string, args ...any) error {
	return fault(p.expr, t.pos, t.end, fmt.Sprintf(format, args...))
}

func (p *parser) parse() (expr, error) {
	e, err := p.chain(qual{}, false)
	if err != nil {
		return nil, err
	}
	switch t := p.peek(); t.kind {
	case end:
		return e, nil
	case closing:
		return nil, p.refuse(t, "there is no ( for this )")
	default:
		return nil, p.unwanted(t, "the end")
	}
}

// unwanted rejects a token after a complete condition.
func (p *parser) unwanted(t token, last string) error {
	if t.kind == word && !among(keywords, t.text) {
		return p.unknown(t)
	}
	return p.want(t, "and, or or "+last)
}

// chain parses operands joined by and and or. Each inherits the qualifiers of the
// previous one, the first one those of q.
func (p *parser) chain(q qual, values bool) (expr, error) {
	e, q, err := p.operand(q, values)
	for err == nil && (p.peek().kind == and || p.peek().kind == or) {
		join := conj
		if p.next().kind == or {
			join = disj
		}
		left := e
		if e, q, err = p.operand(q, values || p.beginsValue()); err == nil {
			e = join(left, e)
		}
	}
	return e, err
}

// beginsValue reports whether a value follows, skipping parentheses and
// negations.
func (p *parser) beginsValue() bool {
	for _, t := range p.tokens[p.at:] {
		switch t.kind {
		case opening, not:
		default:
			return t.kind == value || t.isName()
		}
	}
	return false
}

func (p *parser) close(open token) error {
	switch t := p.next(); t.kind {
	case closing:
		return nil
	case end:
		return p.refuse(open, "this ( is not closed")
	default:
		return p.unwanted(t, ")")
	}
}

// operand parses a condition, a negated one, or several in parentheses. If values
// is set, these are values with the qualifiers of q.
func (p *parser) operand(q qual, values bool) (expr, qual, error) {
	t := p.next()
	switch {
	case t.kind == not || t.kind == opening:
		if p.depth++; p.depth > MaxDepth {
			return nil, q, p.refuse(t, "more than %d nested parentheses and negations", MaxDepth)
		}
		defer func() { p.depth-- }()
		if t.kind == not {
			e, q, err := p.operand(q, values)
			return neg(e), q, err
		}
		e, err := p.chain(q, values)
		if err == nil {
			err = p.close(t)
		}
		return e, q, err // qualifiers in parentheses do not apply after them
	case values:
		e, err := p.value(q, t)
		return e, q, err
	case t.kind == word:
		p.at--
		return p.primitive()
	case t.kind == value:
		return nil, q, p.bare(t)
	default:
		return nil, q, p.want(t, "a condition, such as udp port 22101")
	}
}

// primitive parses a protocol, or qualifiers with a value.
func (p *parser) primitive() (expr, qual, error) {
	q := qual{set: true}
	t := p.next()
	switch proto(t.text) {
	case ip, ip6, udp, tcp:
		q.proto, q.by = proto(t.text), t
		t = p.next()
	}
	if first := sides(t.text); first == src || first == dst {
		var err error
		if q.sides, err = p.sides(first); err != nil {
			return nil, q, err
		}
		t = p.next()
	}
	switch class(t.text) {
	case host, network, port, portRange:
		q.class = class(t.text)
		t = p.next()
	}
	if t.kind != end {
		p.at--
	}
	if q.sides == "" && q.class == "" {
		if q.proto != "" {
			if t.kind == value {
				return nil, q, p.bare(t)
			}
			return p.link.proto(q.proto), qual{}, nil
		}
		return nil, q, p.unknown(t)
	}
	return p.operand(q, true)
}

// sides parses the second of two sides, if present.
func (p *parser) sides(first sides) (sides, error) {
	op, t := p.peek().kind, p.tokens[min(p.at+1, len(p.tokens)-1)]
	second := sides(t.text)
	switch {
	case op != and && op != or, second != src && second != dst:
		return first, nil
	case second == first:
		return first, p.refuse(t, "want the other side: src or dst, src and dst")
	}
	p.at += 2
	if op == and {
		return both, nil
	}
	return either, nil
}

// bare rejects a value without qualifiers.
func (p *parser) bare(t token) error {
	switch {
	case looksLikeAddress(t.text):
		return p.refuse(t, "missing qualifier; write host %s", t.text)
	case looksLikePort(t.text):
		return p.refuse(t, "missing qualifier; write %s", portOrNet(t.text))
	}
	return p.unknown(t)
}

// unknown rejects an unknown word.
func (p *parser) unknown(t token) error {
	if lower := strings.ToLower(t.text); lower != t.text && among(keywords, lower) {
		return p.refuse(t, "%v is written in lower case: %s", t, lower)
	}
	return p.refuse(t, "%v is not supported; there are %s", t, keywords)
}

// value returns the condition for a single value.
func (p *parser) value(q qual, t token) (expr, error) {
	if !q.set {
		if t.kind == value {
			return nil, p.bare(t)
		}
		return nil, p.unknown(t)
	}
	if err := p.fits(q, t); err != nil {
		return nil, err
	}
	if t.kind == word && !t.isName() && !among(keywords, t.text) {
		return nil, p.unknown(t)
	}
	if t.kind != value && !t.isName() {
		want := map[class]string{
			host:      "an address",
			network:   "a network, such as 10.0.0.0/8",
			port:      "the number of a port",
			portRange: "two ports, such as 22101-22110",
		}
		return nil, p.want(t, want[q.kind()])
	}
	switch q.kind() {
	case port, portRange:
		return p.ports(q, t)
	case network:
		return p.net(q, t)
	default:
		return p.host(q, t)
	}
}

// fits rejects a protocol that is incompatible with value t.
func (p *parser) fits(q qual, t token) error {
	kind := q.kind()
	ports := kind == port || kind == portRange
	switch {
	case (q.proto == udp || q.proto == tcp) && q.class == "":
		return p.want(t, "port or portrange")
	case (q.proto == udp || q.proto == tcp) && !ports, (q.proto == ip || q.proto == ip6) && ports:
		return p.refuse(q.by, "%s does not go with %s; write %s and %s ...", q.proto, kind, q.proto, kind)
	}
	return nil
}

// want rejects a token where another kind is required.
func (p *parser) want(t token, what string) error {
	if t.kind == end {
		return p.refuse(t, "want %s", what)
	}
	return p.refuse(t, "want %s, got %v", what, t)
}

// ports parses a port or a range of ports.
func (p *parser) ports(q qual, t token) (expr, error) {
	low, high, two := strings.Cut(t.text, "-")
	first, ok := decimal(low)
	last := first
	if two {
		var fine bool
		last, fine = decimal(high)
		ok = ok && fine
	}
	switch {
	case !ok && t.kind == word:
		return nil, p.refuse(t, "names of services are not looked up; write the number")
	case !ok && looksLikeAddress(t.text):
		return nil, p.refuse(t, "this is an address, and %s goes before ports; write host %s", q.class, t.text)
	case !ok:
		return nil, p.refuse(t, "this is not a port; ports are decimal numbers")
	case first > 65535 || last > 65535:
		return nil, p.refuse(t, "the largest port is 65535")
	case two && q.class == port:
		return nil, p.refuse(t, "these are two ports; write portrange %s", t.text)
	case q.class == port:
		return p.link.ports(q.proto, q.sides, is(uint32(first))), nil
	}
	return p.link.ports(q.proto, q.sides, within(uint32(min(first, last)), uint32(max(first, last)))), nil
}

// decimal parses a number without sign and leading zeros.
func decimal(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return n, err == nil && (s[0] != '0' || s == "0")
}

func looksLikePort(s string) bool {
	n, ok := decimal(s)
	return ok && n <= 65535
}

// portOrNet suggests corrections for a bare number.
func portOrNet(s string) string {
	if _, _, ok := shortNet(s); ok {
		return "port " + s + " or net " + s
	}
	return "port " + s
}

func looksLikeAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// host parses an address.
func (p *parser) host(q qual, t token) (expr, error) {
	addr, err := netip.ParseAddr(t.text)
	switch {
	case err == nil:
	case t.kind == word:
		return nil, p.refuse(t, "names of hosts are not looked up; write the address")
	case looksLikePort(t.text):
		return nil, p.refuse(t, "this is not an address; write %s", portOrNet(t.text))
	default:
		if _, _, ok := shortNet(t.text); ok {
			return nil, p.refuse(t, "this is not a whole address; write net %s", t.text)
		}
		return nil, p.refuse(t, "this is not an IP address")
	}
	if s := p.peek(); s.kind == slash {
		return nil, p.refuse(s, "host wants one address; for a network, write net")
	}
	return p.addresses(q, t, netip.PrefixFrom(addr, addr.BitLen()))
}

// net parses a network: a full or shortened IPv4 address or an IPv6 address,
// with an optional prefix length.
func (p *parser) net(q qual, t token) (expr, error) {
	addr, bits, ok := shortNet(t.text)
	if !ok {
		var err error
		addr, err = netip.ParseAddr(t.text)
		if err != nil && t.kind == word {
			return nil, p.refuse(t, "names of networks are not looked up; write the address")
		}
		if err != nil {
			return nil, p.refuse(t, "this is not an IP address")
		}
		bits = addr.BitLen()
	}
	if p.peek().kind == slash {
		p.next()
		n := p.next()
		length, ok := decimal(n.text)
		if n.kind != value || !ok || length > uint64(addr.BitLen()) {
			return nil, p.refuse(n, "want a number of bits, at most %d", addr.BitLen())
		}
		bits = int(length)
		if prefix := netip.PrefixFrom(addr, bits); prefix.Masked().Addr() != addr {
			return nil, p.refuse(token{pos: t.pos, end: n.end}, "the address has bits beyond the first %d; write %v", bits, prefix.Masked())
		}
	}
	return p.addresses(q, t, netip.PrefixFrom(addr, bits))
}

// shortNet parses one to four numbers with dots, and returns their number of
// bits. Like tcpdump, it reads 0 as the address 0.0.0.0.
func shortNet(s string) (addr netip.Addr, bits int, ok bool) {
	var b [4]byte
	parts := strings.Split(s, ".")
	if len(parts) > len(b) {
		return addr, 0, false
	}
	for i, part := range parts {
		n, ok := decimal(part)
		if !ok || n > 255 {
			return addr, 0, false
		}
		b[i] = byte(n)
	}
	bits = 8 * len(parts)
	if s == "0" {
		bits = 32
	}
	return netip.AddrFrom4(b), bits, true
}

// addresses returns the condition for a network or a single address.
func (p *parser) addresses(q qual, t token, net netip.Prefix) (expr, error) {
	if is4 := net.Addr().Is4(); is4 && q.proto == ip6 || !is4 && q.proto == ip {
		kind := "IPv6"
		if is4 {
			kind = "IPv4"
		}
		return nil, p.refuse(t, "this is an %s address, and %s stands before it", kind, q.proto)
	}
	if net.Addr().Is4() {
		return p.link.net4(q.proto, q.sides, net), nil
	}
	return p.link.net6(q.sides, net), nil
}
