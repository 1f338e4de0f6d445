package cli

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestLimitMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	for _, tt := range []struct {
		env        string
		had, wants int64
	}{
		{"", math.MaxInt64, 1 << 40},
		{"", 1 << 41, 1 << 41},
		{"off", math.MaxInt64, math.MaxInt64},
	} {
		t.Setenv("GOMEMLIMIT", tt.env)
		debug.SetMemoryLimit(tt.had)
		LimitMemory(1 << 40)
		if got := debug.SetMemoryLimit(-1); got != tt.wants {
			t.Errorf("limit %d with GOMEMLIMIT=%q, had %d: want %d", got, tt.env, tt.had, tt.wants)
		}
	}
}
