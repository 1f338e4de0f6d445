package capture

import (
	"math/bits"
	"time"
)

// The range of times in a report (RFC 3339 has four digits for the year). Times
// beyond come from damage and are clamped.
const (
	minSecond = -62135596800 // year 1
	maxSecond = 253402300799 // end of year 9999
)

// A resolution is the unit and origin of a pcapng interface's 64-bit
// timestamps.
type resolution struct {
	exp    uint8 // the unit is 10^-exp or 2^-exp seconds, exp at most 127
	binary bool
	offset int64 // seconds to add
}

// microseconds is the resolution of an interface that does not state one.
var microseconds = resolution{exp: 6}

// digits returns the unit's number of decimals of a second, at most the number
// that a time has.
func (r resolution) digits() int8 {
	if r.binary {
		return int8(min((int(r.exp)*30103+99999)/100000, 9)) // exp * log10(2), rounded up
	}
	return int8(min(r.exp, 9))
}

func (r resolution) time(stamp uint64) time.Time {
	var sec, nsec uint64
	switch {
	case r.binary && r.exp < 64:
		sec = stamp >> r.exp
		hi, lo := bits.Mul64(stamp&(1<<r.exp-1), 1e9)
		nsec = hi<<(64-r.exp) | lo>>r.exp
	case r.binary:
		hi, _ := bits.Mul64(stamp, 1e9) // below one second
		nsec = hi >> (r.exp - 64)
	case r.exp == 6: // the most common one. Division by constants is faster.
		sec, nsec = stamp/1e6, stamp%1e6*1e3
	case r.exp == 9:
		sec, nsec = stamp/1e9, stamp%1e9
	case r.exp < 20:
		unit := pow10(r.exp)
		sec, nsec = stamp/unit, stamp%unit
		if r.exp < 9 {
			nsec *= pow10(9 - r.exp)
		} else {
			nsec /= pow10(r.exp - 9)
		}
	case r.exp < 29:
		nsec = stamp / pow10(r.exp-9)
	}
	return unixTime(int64(min(sec, maxSecond)), r.offset, int64(nsec))
}

// unixTime adds an offset of any number of seconds.
func unixTime(sec, offset, nsec int64) time.Time {
	sec += max(-1<<40, min(offset, 1<<40))
	return time.Unix(max(minSecond, min(sec, maxSecond)), nsec).UTC()
}

// pow10 returns 10^n for n up to 19.
func pow10(n uint8) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}
