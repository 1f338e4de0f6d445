//go:build unix

package wireshark

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// A pipe without a reader ends a capture, even if no packet comes.
func TestWatchPipe(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("macOS does not tell")
	}
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	pipe, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	stopped := make(chan struct{})
	watchPipe(pipe, func() { close(stopped) })
	if _, err := pipe.WriteString("still there"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stopped:
		t.Fatal("stopped while there is a reader")
	case <-time.After(20 * time.Millisecond):
	}
	_ = reader.Close()
	select {
	case <-stopped:
	case <-time.After(10 * time.Second):
		t.Error("not stopped")
	}
}
