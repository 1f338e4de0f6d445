//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peak returns the maximum memory of a process.
func peak(s *os.ProcessState) int64 {
	r, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	size := int64(r.Maxrss) //nolint:unconvert // it has 32 bits on some systems
	if runtime.GOOS == "darwin" {
		return size
	}
	return size << 10
}
