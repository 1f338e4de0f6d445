//go:build unix

package launch

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

const daemons = runtime.GOOS == "linux"

// detached makes a process a daemon: it leaves the process group and the session.
var detached = &syscall.SysProcAttr{Setsid: true}

var requests = []os.Signal{syscall.SIGTERM}

// lock locks a file, which the system unlocks when the process ends.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// A server that crashes says by which signal, as one that is killed does.
func TestSignal(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{"kill -9 $$": "signal: killed", "ulimit -c 0; kill -SEGV $$": "signal: segmentation fault"} {
		s, err := Start(command)
		if err != nil {
			t.Fatal(err)
		}
		s.within(time.Minute)
		if how, ended := s.Ended(); how != want || !ended {
			t.Errorf("%s: %q, %v", command, how, ended)
		}
		s.End()
	}
}
