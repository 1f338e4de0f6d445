package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// The first collection ends the exception for the start, unless the command has
// chosen a percentage.
func TestCollectLater(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	percent := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	t.Setenv("GOGC", "100")
	collectLater()
	if got := percent(); got != 100 {
		t.Errorf("with GOGC set, got %d percent, want 100", got)
	}
	t.Setenv("GOGC", "")
	collectLater()
	if got := percent(); got != 300 {
		t.Errorf("at the start: got %d percent, want 300", got)
	}
	for end := time.Now().Add(10 * time.Second); percent() != 100; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a collection: got %d percent, want 100", percent())
		}
		runtime.GC()
	}
	collectLater()
	cli.CollectOften(25)
	for range 100 { // the cleanup runs soon after a collection
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if got := percent(); got != 25 {
		t.Errorf("after a command has chosen 25 percent: got %d", got)
	}
	t.Setenv("GOGC", "100")
	cli.CollectOften(50)
	if got := percent(); got != 25 {
		t.Errorf("with GOGC set: got %d percent, want 25 as before", got)
	}
}
