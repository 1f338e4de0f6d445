package display

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestVectors(t *testing.T) {
	calls := 0
	write := func(dst []byte, v []float32) []byte {
		calls++
		for _, x := range v {
			dst = fmt.Appendf(dst, "%08x ", math.Float32bits(x))
		}
		return dst
	}
	var all vectors
	values := []float32{
		0, float32(math.Copysign(0, -1)), 1, -1, 0.1, float32(math.NaN()), math.Float32frombits(0x7FC00001),
		float32(math.Inf(1)), math.MaxFloat32, math.SmallestNonzeroFloat32,
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	const rounds = 20000
	for range rounds {
		v := [3]float32{values[rnd.IntN(len(values))], values[rnd.IntN(len(values))], values[rnd.IntN(len(values))]}
		want := fmt.Sprintf("> %08x %08x %08x ", math.Float32bits(v[0]), math.Float32bits(v[1]), math.Float32bits(v[2]))
		if got := string(all.Append([]byte("> "), &v, write)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if calls == rounds {
		t.Error("nothing was remembered")
	}
}

// A text that is too long to be remembered is written every time, and does not
// leave half of itself behind.
func TestVectorsTooLong(t *testing.T) {
	var all vectors
	long := func(dst []byte, v []float32) []byte {
		return append(dst, strings.Repeat("long ", int(v[0]))...)
	}
	for n := range 200 {
		for range 2 {
			v := [3]float32{float32(n)}
			if got, want := string(all.Append(nil, &v, long)), strings.Repeat("long ", n); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	}
}
