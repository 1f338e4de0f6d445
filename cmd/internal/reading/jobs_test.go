package reading

import (
	"runtime"
	"testing"
)

func TestJobsByDefault(t *testing.T) {
	if got, want := newJobs(0), min(runtime.GOMAXPROCS(0), usefulJobs); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
	if got := newJobs(9); got != 9 {
		t.Errorf("got %d, want 9", got)
	}
}
