package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// The first collection ends the exception for the start.
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
}
