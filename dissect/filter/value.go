package filter

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A span is the numbers from lo to hi, both included.
type span[T cmp.Ordered] struct{ lo, hi T }

// A ranges is a set of numbers: disjoint spans in ascending order.
type ranges[T cmp.Ordered] []span[T]

func (r ranges[T]) has(v T) bool {
	i := sort.Search(len(r), func(i int) bool { return v <= r[i].hi })
	return i < len(r) && r[i].lo <= v
}

// newRanges makes a set from spans in any order.
func newRanges[T cmp.Ordered](spans []span[T]) ranges[T] {
	slices.SortFunc(spans, func(a, b span[T]) int { return cmp.Compare(a.lo, b.lo) })
	var r ranges[T]
	for _, s := range spans {
		if n := len(r); n > 0 && s.lo <= r[n-1].hi {
			r[n-1].hi = max(r[n-1].hi, s.hi)
			continue
		}
		r = append(r, s)
	}
	return r
}

// floats returns the numbers v for which "v o x" is true, for an order op.
func floats(o op, x float64) span[float64] {
	inf := math.Inf(1)
	switch o {
	case opLt:
		return span[float64]{-inf, math.Nextafter(x, -inf)}
	case opLe:
		return span[float64]{-inf, x}
	case opGt:
		return span[float64]{math.Nextafter(x, inf), inf}
	case opGe:
		return span[float64]{x, inf}
	default:
		return span[float64]{x, x}
	}
}

// ints returns the numbers v for which "v o x" is true, for an order op.
func ints(o op, x int64) span[int64] {
	switch {
	case o == opLt && x > math.MinInt64:
		return span[int64]{math.MinInt64, x - 1}
	case o == opLe:
		return span[int64]{math.MinInt64, x}
	case o == opGt && x < math.MaxInt64:
		return span[int64]{x + 1, math.MaxInt64}
	case o == opGe:
		return span[int64]{x, math.MaxInt64}
	case o.order(): // there is nothing below the least or above the greatest number
		return span[int64]{1, 0}
	}
	return span[int64]{x, x}
}

// single returns the 32-bit float nearest to x, or x if there is none.
func single(x float64) float64 {
	if f := float64(float32(x)); !math.IsInf(f, 0) {
		return f
	}
	return x
}

// A named value is compared by number and name, because the number may have
// another name in another field.
type named struct {
	v    uint64
	name string
	bit  int // bit number of a flag, or -1 for other values
}

func (n *named) is(f *decode.Field, v uint64) bool { return v == n.v && n.known(f) }

// known reports whether the field's value has this name.
func (n *named) known(f *decode.Field) bool {
	switch {
	case f.Names == nil:
		return false
	case n.bit >= 0:
		return f.Names.Name(uint64(n.bit)) == n.name
	}
	return f.Names.Name(n.v) == n.name
}

// A numbers is a set of accepted numbers.
type numbers struct {
	wide  ranges[float64]
	short ranges[float64] // accepted values of 32-bit floats
	nan   bool
	named []named
	neg   bool    // accept all other numbers instead
	bool  bool    // the values are true and false, so accept only fields that are
	bits  bool    // apply mask first
	mask  uint64  // mask, including the bits of flags
	flags []named // named bits in mask

	players []string // accepted player names
}

// is reports whether n accepts a number, or the name of the player with that
// number.
func (n *numbers) is(v int64, player wire.Untrusted) bool {
	return (n.wide.has(float64(v)) || player != "" && slices.Contains(n.players, player.Raw())) != n.neg
}

// whole reports whether n accepts a whole number.
func (n *numbers) whole(v int64) bool {
	if n.bits {
		v = int64(uint64(v) & n.mask)
	}
	return n.wide.has(float64(v)) != n.neg
}

// field reports whether n accepts the number of a field. If the field has none
// of the flags in n, ok is false.
func (n *numbers) field(f *decode.Field, v int64) (is, ok bool) {
	if len(n.named) == 0 && len(n.flags) == 0 {
		return n.whole(v), true
	}
	for i := range n.flags {
		if !n.flags[i].known(f) {
			return false, false
		}
	}
	if n.bits {
		v = int64(uint64(v) & n.mask)
	}
	is = n.wide.has(float64(v))
	for i := 0; !is && i < len(n.named); i++ {
		is = n.named[i].is(f, uint64(v))
	}
	return is != n.neg, true
}

// float reports whether n accepts a 32-bit float.
func (n *numbers) float(v float64) bool {
	return (n.short.has(v) || n.nan && math.IsNaN(v)) != n.neg
}

// parseNumber reads a number in any common notation.
func parseNumber(s string) (x float64, ok bool) {
	digits, neg := strings.CutPrefix(s, "-")
	if !neg {
		digits = strings.TrimPrefix(s, "+")
	}
	if digits == "" || digits[0] == '-' || digits[0] == '+' {
		return 0, false
	}
	base := 10
	switch {
	case strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X"):
		base, digits = 16, digits[2:]
	case strings.HasPrefix(digits, "0b") || strings.HasPrefix(digits, "0B"):
		base, digits = 2, digits[2:]
	}
	if u, err := strconv.ParseUint(digits, base, 64); err == nil {
		x = float64(u)
	} else if x, err = strconv.ParseFloat(digits, 64); err != nil || base != 10 {
		return 0, false
	}
	if neg {
		x = -x
	}
	return x, true
}

// A texts is a set of accepted texts.
type texts struct {
	one  string
	many map[string]struct{}
	re   *regexp.Regexp
	neg  bool // accept all other texts instead

	contains bool // accept texts that contain one of the values
	part     []byte

	shape *shape // nil to compare whole values
	buf   []byte // buffer of has
}

// has works as hasBytes for a text.
func (t *texts) has(text wire.Untrusted) bool {
	t.buf = append(t.buf[:0], text.Raw()...)
	return t.hasBytes(t.buf)
}

// hasBytes reports whether t accepts a text. It rejects texts that lack the
// part to compare.
func (t *texts) hasBytes(s []byte) bool {
	if t.shape != nil {
		var ok bool
		if s, ok = t.shape.apply(s); !ok {
			return false
		}
	}
	switch {
	case t.re != nil:
		return t.re.Match(s)
	case t.contains:
		return bytes.Contains(s, t.part)
	case t.many != nil:
		_, ok := t.many[string(s)]
		return ok
	}
	return (string(s) == t.one) != t.neg
}

// parseBytes reads hexadecimal bytes, with or without colons.
func parseBytes(s string) (b []byte, ok bool) {
	s = strings.TrimPrefix(s, "0x")
	if strings.Contains(s, ":") {
		for _, part := range strings.Split(s, ":") {
			if len(part) != 2 {
				return nil, false
			}
		}
		s = strings.ReplaceAll(s, ":", "")
	}
	b, err := hex.DecodeString(s)
	return b, err == nil && len(b) > 0
}

// An address is an accepted address or network, with any port or a certain one.
type address struct {
	lo, hi netip.Addr
	net    netip.Prefix // set for a network
	port   int          // port, or -1 for any
}

func (a *address) has(ip netip.Addr, port uint16) bool {
	if a.port >= 0 && int(port) != a.port {
		return false
	}
	if a.net.IsValid() {
		return a.net.Contains(ip)
	}
	return a.lo.Compare(ip) <= 0 && ip.Compare(a.hi) <= 0
}

// An addresses is a set of accepted addresses.
type addresses struct {
	any []address
	neg bool
}

func (t *addresses) has(ip netip.Addr, port uint16) bool {
	for i := range t.any {
		if t.any[i].has(ip, port) {
			return !t.neg
		}
	}
	return t.neg
}

// parseAddress reads an address, a network, or an address with a port.
func parseAddress(s string) (a address, ok bool) {
	a.port = -1
	if p, err := netip.ParsePrefix(s); err == nil {
		a.net = p.Masked()
		return a, true
	}
	if ap, err := netip.ParseAddrPort(s); err == nil {
		a.lo, a.port = ap.Addr().Unmap().WithZone(""), int(ap.Port())
		a.hi = a.lo
		return a, true
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		s = s[1 : len(s)-1]
	}
	ip, err := netip.ParseAddr(s)
	a.lo = ip.Unmap().WithZone("")
	a.hi = a.lo
	return a, err == nil
}

// parseTime reads a time, in UTC by default.
func parseTime(s string) (ns int64, ok bool) {
	for _, form := range []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00",
		"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02",
	} {
		t, err := time.Parse(form, s)
		if err == nil && t.Year() > 1678 && t.Year() < 2262 { // int64 has the nanoseconds of these years
			return packet.Nanos(t), true
		}
	}
	return 0, false
}

// Seconds reads a time since the first frame: seconds, a duration with units
// such as 1m30s, or minutes or hours as the dashboard shows them, for example
// 00:01:30.
func Seconds(s string) (d time.Duration, ok bool) {
	ns, ok := parseSeconds(s)
	return time.Duration(ns), ok
}

// elapsed matches minutes and seconds, or hours before them.
var elapsed = regexp.MustCompile(`^(-?)(?:(\d+):)?(\d+):(\d+\.?\d*)$`)

// parseElapsed reads minutes and seconds, or hours before them.
func parseElapsed(s string) (ns int64, ok bool) {
	m := elapsed.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	most := 1e6 // maximum of the first number
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
		part := m[i+2]
		if part == "" {
			continue
		}
		x, err := strconv.ParseFloat(part, 64)
		if err != nil || x >= most {
			return 0, false
		}
		ns += int64(math.Round(x * float64(unit)))
		most = 60
	}
	if m[1] != "" {
		ns = -ns
	}
	return ns, true
}

// parseSeconds reads the text of [Seconds].
func parseSeconds(s string) (ns int64, ok bool) {
	if strings.Contains(s, ":") {
		return parseElapsed(s)
	}
	exact := s // parsed exactly, which a float is not
	if s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' {
		exact += "s"
	}
	if d, err := time.ParseDuration(exact); err == nil {
		return int64(d), true
	}
	x, ok := parseNumber(s) // such as 1e3
	if x = math.Round(x * 1e9); !ok || !(math.Abs(x) < 1<<63) {
		return 0, false
	}
	return int64(x), true
}

// fold returns a name without differences in spelling: case, spaces and signs.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
