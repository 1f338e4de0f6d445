package report

import (
	"net/netip"
	"time"
)

// A Clock formats times in UTC. It caches the text of the last second.
type Clock struct {
	Layout string // layout of whole seconds

	second int64
	text   []byte
}

// Append appends t with the given number of digits after the point.
func (c *Clock) Append(dst []byte, t time.Time, digits int8) []byte {
	if s := t.Unix(); s != c.second || len(c.text) == 0 {
		c.second = s
		c.text = t.UTC().AppendFormat(c.text[:0], c.Layout)
	}
	return AppendFraction(append(dst, c.text...), uint32(t.Nanosecond()), digits)
}

// billionths has, for each number of digits, the billionths that the last digit
// stands for.
var billionths = [10]uint32{1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1}

// AppendFraction appends a decimal point and the first digits of ns billionths.
// It appends nothing if digits is 0.
func AppendFraction(dst []byte, ns uint32, digits int8) []byte {
	if digits <= 0 {
		return dst
	}
	digits = min(digits, 9)
	n := ns / billionths[digits]
	var b [10]byte
	for i := digits; i > 0; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
	b[0] = '.'
	return append(dst, b[:1+digits]...)
}

// Addresses caches the texts of recently written addresses. The zero value is
// ready to use.
type Addresses struct{ slots [64]addressText }

// An addressText is an address and its text.
type addressText struct {
	addr netip.AddrPort
	n    uint8 // length of text, 0 for none
	text [47]byte
}

// Append appends an address.
func (a *Addresses) Append(dst []byte, addr netip.AddrPort) []byte {
	s := &a.slots[addr.Port()%uint16(len(a.slots))]
	if s.n > 0 && s.addr == addr {
		return append(dst, s.text[:s.n]...)
	}
	from := len(dst)
	dst = addr.AppendTo(dst)
	s.n = 0
	if len(dst)-from <= len(s.text) {
		s.addr, s.n = addr, uint8(copy(s.text[:], dst[from:]))
	}
	return dst
}
