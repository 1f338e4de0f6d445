//go:build !unix

package main

import (
	"os"
	"time"
)

// processorTime returns 0: it is not known here.
func processorTime() time.Duration { return 0 }

// weighs is not known here.
func weighs() {}

// peakMemory returns 0: it is not known here.
func peakMemory(*os.ProcessState) int64 { return 0 }
