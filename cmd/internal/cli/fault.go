package cli

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// Fault reports a panic of the program and returns the exit status for it. A
// deferred function calls it with the recovered value.
func Fault(w io.Writer, fault any) int {
	Say(w, "internal error, please report: %v; bcdissect %s, %s/%s (BCDISSECT_DEBUG=1 shows where)", fault, Version(), runtime.GOOS, runtime.GOARCH)
	if os.Getenv("BCDISSECT_DEBUG") != "" {
		fmt.Fprintf(w, "%s", debug.Stack())
	}
	return ExitInternal
}

// Guard ends the program with a short message instead of Go's stack traces if
// the goroutine that defers it panics. Each goroutine needs to defer it, since
// Go cannot recover a panic in another goroutine.
func Guard() {
	if fault := recover(); fault != nil {
		os.Exit(Fault(os.Stderr, fault)) //nolint:forbidigo // as the panic would
	}
}
