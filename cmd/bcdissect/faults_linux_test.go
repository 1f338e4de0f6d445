package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A recording is a program that captures its test's packets on a network that
// nothing else sees.
type recording struct {
	cmd    *exec.Cmd
	out    *bufio.Reader
	closer io.Closer // closes out
	said   []string  // lines of errors, once it has ended
	errs   *bufio.Reader
	send   func()
	sent   int
}

// record starts capturing into a file. The thread of the test, which the
// program inherits the network from, is not used for anything afterwards.
func record(t *testing.T, file string, args ...string) *recording {
	t.Helper()
	r := prepare(t, file, args...)
	errs, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.errs = bufio.NewReader(errs)
	r.start(t)
	if line, err := r.errs.ReadString('\n'); !strings.Contains(line, "capturing on lo") {
		t.Fatalf("got %q and %v", line, err)
	}
	return r
}

// start starts the program.
func (r *recording) start(t *testing.T) {
	t.Helper()
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.cmd.Process.Kill()
			_ = r.cmd.Wait()
		}
	})
}

// prepare makes the network and the command.
func prepare(t *testing.T, file string, args ...string) *recording {
	t.Helper()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("no network of its own: %v", err)
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Skipf("no loopback interface: %v: %s", err, out)
	}
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	port := c.LocalAddr().(*net.UDPAddr).Port
	r := &recording{}
	acknowledgement := cipher.Encrypt(nil, []byte{2, 1, 1, 0, 0, 2})
	r.send = func() {
		if _, err := c.WriteTo(acknowledgement, c.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		r.sent++
	}
	r.cmd = exec.Command("bcdissect", append([]string{"live", "-i", "lo", "-f", "udp port " + strconv.Itoa(port), "-p", strconv.Itoa(port), "-T", "json", "-w", file}, args...)...)
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out, r.closer = bufio.NewReader(out), out
	return r
}

// seen sends datagrams, and waits until each is reported.
func (r *recording) seen(t *testing.T, n int) {
	t.Helper()
	for range n {
		r.send()
		if line, err := r.out.ReadString('\n'); !strings.Contains(line, `"kind":"ack"`) {
			t.Fatalf("got %q and %v", line, err)
		}
	}
}

// end waits for the end of the program and returns its status, -1 if a signal
// was the end.
func (r *recording) end() int {
	_, _ = io.Copy(io.Discard, r.out) // until it is closed
	for {
		line, err := r.errs.ReadString('\n')
		if line != "" {
			r.said = append(r.said, line)
		}
		if err != nil {
			break
		}
	}
	_ = r.cmd.Wait() // the status says it
	return r.cmd.ProcessState.ExitCode()
}

// ownThread keeps the test on a thread that ends with it, since that has
// another network, or other files, than the rest of the program.
func ownThread(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can have a network of its own")
	}
	runtime.LockOSThread()
}

// Whatever ends a capture, the file of -w has all packets that were reported,
// and says at its end how many came.
func TestLiveEnds(t *testing.T) {
	fixtures.System(t)
	for _, tt := range []struct {
		name string
		stop func(r *recording)
	}{
		{"SIGTERM", func(r *recording) { _ = r.cmd.Process.Signal(syscall.SIGTERM) }},
		{"SIGINT", func(r *recording) { _ = r.cmd.Process.Signal(os.Interrupt) }},
		{"SIGHUP", func(r *recording) { _ = r.cmd.Process.Signal(syscall.SIGHUP) }},
		{"closed pipe", func(r *recording) { _ = r.closer.Close(); r.send() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ownThread(t)
			file := filepath.Join(t.TempDir(), "live.pcapng")
			r := record(t, file)
			r.seen(t, 20)
			tt.stop(r)
			if status := r.end(); status != cli.ExitOK {
				t.Errorf("status %d: %q", status, r.said)
			}
			kinds, last, rest := blocks(t, file)
			if kinds[ngPackets] != r.sent || kinds[ngStatistics] != 1 || last != ngStatistics || rest != 0 {
				t.Errorf("%d packets were sent, the file has blocks %v, the last is %d, and %d bytes more", r.sent, kinds, last, rest)
			}
			if got := counted(t, file); got.Datagrams.Game != r.sent {
				t.Errorf("got %+v, want %d datagrams", got, r.sent)
			}
			if all := strings.Join(r.said, ""); !strings.Contains(all, strconv.Itoa(r.sent)+" packets captured, 0 dropped") {
				t.Errorf("it said %q", all)
			}
		})
	}
}

// If standard error is not read, the capture goes on, and SIGTERM ends it.
func TestLiveBlockedStandardError(t *testing.T) {
	ownThread(t)
	_, full := fullPipe(t)
	file := filepath.Join(t.TempDir(), "live.pcapng")
	r := prepare(t, file)
	r.cmd.Stderr = full
	r.start(t)
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		_, _ = r.out.ReadString('\n')
	}()
	for begun := false; !begun; { // it does not say when it begins
		r.send()
		select {
		case <-reported:
			begun = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	if status := ends(t, r.cmd); status != cli.ExitOK {
		t.Errorf("status %d", status)
	}
	if kinds, last, rest := blocks(t, file); kinds[ngPackets] == 0 || last != ngStatistics || rest != 0 {
		t.Errorf("the file has blocks %v, the last is %d, and %d bytes more", kinds, last, rest)
	}
}

// A full disk ends the capture with an error, and the file stays readable.
func TestLiveDiskFull(t *testing.T) {
	fixtures.System(t)
	ownThread(t)
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Skipf("no files of its own: %v", err)
	}
	dir := t.TempDir()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skipf("no mounts of its own: %v", err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Skipf("no small disk: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	file := filepath.Join(dir, "live.pcapng")
	r := record(t, file)
	ended := make(chan int)
	go func() { ended <- r.end() }()
	status, packets := 0, 0
	for sending := true; sending; { // it is told of the disk when it next flushes
		select {
		case status = <-ended:
			sending = false
		default:
			if packets++; packets < 5000 {
				r.send()
			}
		}
	}
	all := strings.Join(r.said, "")
	if status != cli.ExitFailed || !strings.Contains(all, file+": no space left on device") {
		t.Errorf("status %d: %q", status, all)
	}
	kinds, _, _ := blocks(t, file)
	read := runIn(nil, "stats", "-T", "json", file)
	if kinds[ngPackets] < 100 || read.status != cli.ExitOK && read.status != cli.ExitDamaged || !strings.Contains(read.out, `"frames":`+strconv.Itoa(kinds[ngPackets])+",") {
		t.Errorf("the file has blocks %v; it is read with status %d as %s", kinds, read.status, read.out)
	}
}
