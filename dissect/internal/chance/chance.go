// Package chance computes random numbers from keys. Equal keys always give
// equal numbers, so that a decision does not depend on how many decisions came
// before it.
package chance

// The constants of SplitMix64 (Steele, Lea and Flood 2014).
const (
	gamma   = 0x9E3779B97F4A7C15
	factor1 = 0xBF58476D1CE4E5B9
	factor2 = 0x94D049BB133111EB
)

// Bits returns 64 random bits for some keys. Their order matters.
func Bits(keys ...uint64) (z uint64) {
	for _, k := range keys {
		z = mix(z + gamma + mix(k+gamma))
	}
	return z
}

// mix spreads each bit over all bits.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * factor1
	z = (z ^ z>>27) * factor2
	return z ^ z>>31
}

// Share returns a number from 0 up to but not including 1 for some keys.
func Share(keys ...uint64) float64 {
	const used = 53 // a float64 holds so many bits exactly
	return float64(Bits(keys...)>>(64-used)) / (1 << used)
}

// Below returns a whole number from 0 to n-1 for some keys.
func Below(n int, keys ...uint64) int { return int(Share(keys...) * float64(n)) }
