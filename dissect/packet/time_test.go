package packet

import (
	"math"
	"math/big"
	"testing"
	"time"
)

// Results are exact whole numbers, kept within the range of 64 bits.
func TestTimesSaturate(t *testing.T) {
	within := func(n *big.Int) int64 {
		switch {
		case n.IsInt64():
			return n.Int64()
		case n.Sign() < 0:
			return math.MinInt64
		}
		return math.MaxInt64
	}
	numbers := []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt64 / 2, -1e9, -1, 0, 1, 1e9, math.MaxInt64 / 2, math.MaxInt64 - 1, math.MaxInt64}
	for _, a := range numbers {
		for _, b := range numbers {
			x, y := big.NewInt(a), big.NewInt(b)
			if got, want := Sum(a, b), within(new(big.Int).Add(x, y)); got != want {
				t.Errorf("%d + %d = %d, want %d", a, b, got, want)
			}
			if got, want := Minus(a, b), within(new(big.Int).Sub(x, y)); got != want {
				t.Errorf("%d - %d = %d, want %d", a, b, got, want)
			}
		}
	}
	for _, sec := range []int64{-62135596800, -9223372038, -9223372037, -9223372036, -1, 0, 1, 9223372035, 9223372036, 9223372037, 253402300799} {
		for _, nsec := range []int64{0, 145224191, 145224192, 854775807, 854775808, 999999999} {
			exact := new(big.Int).Mul(big.NewInt(sec), big.NewInt(1e9))
			want := within(exact.Add(exact, big.NewInt(nsec)))
			got := Nanos(time.Unix(sec, nsec))
			// The last second at either end counts as its end.
			if off := Minus(max(got, want), min(got, want)); off >= 1e9 || off > 0 && got != math.MaxInt64 && got != math.MinInt64 {
				t.Errorf("%d s and %d ns are %d ns, want %d", sec, nsec, got, want)
			}
		}
	}
	for _, tt := range []struct {
		s    float64
		want time.Duration
	}{
		{0, 0},
		{1.5, 1500 * time.Millisecond},
		{-1.5, -1500 * time.Millisecond},
		{1e10, math.MaxInt64},
		{-1e10, math.MinInt64},
		{math.Inf(1), math.MaxInt64},
		{math.Inf(-1), math.MinInt64},
		{math.NaN(), 0},
	} {
		if got := Duration(tt.s * 1e9); got != tt.want {
			t.Errorf("%v s: %d ns, want %d", tt.s, got, tt.want)
		}
	}
}

// Since returns what time.Time.Sub does, within the range of its short cut and out
// of it.
func TestSince(t *testing.T) {
	var times []time.Time
	for _, sec := range []int64{-62135596800, -1 << 33, -1, 0, 1, 1<<33 - 1, 1 << 33, 253402300799} {
		times = append(times, time.Unix(sec, 0), time.Unix(sec, 999_999_999).UTC())
	}
	for _, a := range times {
		for _, b := range times {
			if got, want := Since(a, b), a.Sub(b); got != want {
				t.Errorf("%v - %v = %v, want %v", a, b, got, want)
			}
		}
	}
}
