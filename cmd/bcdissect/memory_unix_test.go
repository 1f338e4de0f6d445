//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// processorTime returns the processor time that the tests have taken.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// weighs runs the program, and prints the most memory that it had at a time. A
// process begins with the peak of the one that started it, which is gigabytes for
// the tests.
func weighs() {
	cmd := exec.Command("bcdissect", os.Args[1:]...)
	if said, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %s", err, said)
		os.Exit(1)
	}
	fmt.Print("peak ", peakMemory(cmd.ProcessState))
}

// peakMemory returns the most memory that an ended process had at a time.
func peakMemory(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	most := int64(u.Maxrss) //nolint:unconvert // it has 32 bits on some systems
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return most
	}
	return most << 10
}
