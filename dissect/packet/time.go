package packet

import (
	"math"
	"time"
)

// A capture's clock may be damaged or forged, so that two datagrams are
// centuries apart. The functions below do not overflow. If a result is out of
// range, they return the nearest number in range, as [time.Time.Sub] does.

// Nanos returns the nanoseconds since 1970. The range is from 1677 to 2262.
func Nanos(t time.Time) int64 {
	const most = math.MaxInt64 / int64(time.Second)
	s := t.Unix()
	if s >= -most && s < most {
		return s*int64(time.Second) + int64(t.Nanosecond())
	}
	return limit(s)
}

// Since returns t - from as [time.Time.Sub] does, but faster.
func Since(t, from time.Time) time.Duration {
	const most = 1 << 33 // in seconds: a duration can have so many seconds in nanoseconds
	if a, b := t.Unix(), from.Unix(); uint64(a) < most && uint64(b) < most {
		return time.Duration(a-b)*time.Second + time.Duration(t.Nanosecond()-from.Nanosecond())
	}
	return t.Sub(from)
}

// Duration returns a number of nanoseconds as a duration. NaN gives 0.
func Duration(ns float64) time.Duration {
	switch {
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns < math.MinInt64:
		return math.MinInt64
	case ns == ns:
		return time.Duration(ns)
	}
	return 0
}

// Sum returns a + b.
func Sum[T ~int64](a, b T) T {
	sum := a + b
	if (sum > a) == (b > 0) {
		return sum
	}
	return limit(b)
}

// Minus returns a - b.
func Minus[T ~int64](a, b T) T {
	rest := a - b
	if (rest < a) == (b > 0) {
		return rest
	}
	return -1 - limit(b)
}

// limit returns the end of the range on the side of n.
func limit[T ~int64](n T) T {
	if n < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}
