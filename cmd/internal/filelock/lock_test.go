package filelock

import (
	"path/filepath"
	"sync"
	"testing"
)

// TestLock has several lock one file: each waits until the one before has unlocked it.
func TestLock(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	waited := make(chan struct{}, 3)
	unlock, err := Lock(name, func() { t.Error("nobody has locked the file") })
	if err != nil {
		t.Fatal(err)
	}
	inside := 0 // the race detector sees what the lock doesn't keep apart
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			unlock, err := Lock(name, func() { waited <- struct{}{} })
			if err != nil {
				t.Error(err)
				return
			}
			inside++
			unlock()
		})
	}
	for range 3 {
		<-waited
	}
	if inside != 0 {
		t.Errorf("%d are inside", inside)
	}
	unlock()
	all.Wait()
	if inside != 3 {
		t.Errorf("%d were inside, not 3", inside)
	}
	if _, err := Lock(filepath.Join(name, "below"), nil); err == nil {
		t.Error("a file below a file is locked")
	}
}
