//go:build unix

package wireshark

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// A capture that can't begin ends the pipe, which Wireshark waits for.
func TestExtcapFails(t *testing.T) {
	for option, want := range map[string]string{
		"--iface=no-such-interface":       "no-such-interface",
		"--extcap-capture-filter=udp prt": `"prt" is not supported`,
		"--port=0":                        "ports go from 1 to 65535",
		"--dialect=klingon":               "klingon",
	} {
		t.Run(option, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(name, 0o600); err != nil {
				t.Fatal(err)
			}
			type end struct {
				got []byte
				err error
			}
			ended := make(chan end, 1)
			go func() {
				got, err := os.ReadFile(name) // as Wireshark does: until a writer has come and gone
				ended <- end{got, err}
			}()
			var said bytes.Buffer
			args := []string{"--capture", "--extcap-interface=" + extcapName, "--fifo=" + name, option}
			if status := Extcap(args, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &said}); status == cli.ExitOK {
				t.Error("it succeeds")
			}
			if !strings.Contains(said.String(), want) || strings.Count(said.String(), "bcdissect:") != 1 {
				t.Errorf("got %q, want it to name %s, once", said.String(), want)
			}
			select {
			case e := <-ended:
				if len(e.got) > 0 || e.err != nil {
					t.Errorf("the pipe has %x and ends with %v", e.got, e.err)
				}
			case <-time.After(time.Minute):
				t.Error("the pipe was never opened")
			}
		})
	}
}

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
	case <-time.After(time.Minute):
		t.Error("not stopped")
	}
}
