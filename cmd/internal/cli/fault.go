package cli

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// Fault says that the program's own code is at fault, and returns the exit status
// for that. A deferred function calls it with what it recovered.
func Fault(w io.Writer, fault any) int {
	Say(w, "internal error, please report: %v; bcdissect %s, %s/%s (BCDISSECT_DEBUG=1 shows where)", fault, Version(), runtime.GOOS, runtime.GOARCH)
	if os.Getenv("BCDISSECT_DEBUG") != "" {
		fmt.Fprintf(w, "%s", debug.Stack())
	}
	return ExitInternal
}

// Guard ends the program in place of Go's dump of all goroutines, if the goroutine
// that defers it panics. Each goroutine does: Go can't recover it elsewhere.
func Guard() {
	if fault := recover(); fault != nil {
		os.Exit(Fault(os.Stderr, fault)) //nolint:forbidigo // as the panic would
	}
}
