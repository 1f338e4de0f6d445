package cli

import (
	"math"
	"os"
	"runtime/debug"
)

// LimitMemory makes the garbage collector work harder above this number of bytes, for
// as long as the process runs. A limit that the user (GOMEMLIMIT) or an earlier call has
// set stays.
func LimitMemory(bytes int64) {
	if os.Getenv("GOMEMLIMIT") == "" && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(bytes)
	}
}
