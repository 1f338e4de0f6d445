package cli

import (
	"math"
	"os"
	"runtime/debug"
)

// LimitMemory sets the number of bytes above which the garbage collector works
// harder, for as long as the process runs. It does not change a limit that the
// user has set with GOMEMLIMIT, or that an earlier call has set.
func LimitMemory(bytes int64) {
	if os.Getenv("GOMEMLIMIT") == "" && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(bytes)
	}
}

// CollectOften has the garbage collector run when the heap has grown by a
// percentage, for as long as the process runs. It does not change a percentage
// that the user has set with GOGC.
func CollectOften(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
