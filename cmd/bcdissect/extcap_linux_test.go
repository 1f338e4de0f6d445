package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A user is a user who may only capture, with a home folder that contains the
// program.
type user struct {
	home, program string
}

// newUser returns the user "nobody" (65534), in the network of the test.
func newUser(t *testing.T) *user {
	t.Helper()
	u := &user{home: t.TempDir()}
	found, err := exec.LookPath("bcdissect")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(found)
	if err != nil {
		t.Fatal(err)
	}
	u.program = filepath.Join(t.TempDir(), "bcdissect")
	writeProgram(t, u.program, b)
	if err := os.Chmod(filepath.Dir(u.home), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(u.home, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	return u
}

// command returns a command of the user.
func (u *user) command(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = []string{"HOME=" + u.home, "PATH=" + os.Getenv("PATH")}
	cmd.Dir = u.home
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: 65534, Gid: 65534},
		AmbientCaps: []uintptr{unix.CAP_NET_RAW},
	}
	return cmd
}

// output runs a command of the user.
func (u *user) output(t *testing.T, args ...string) string {
	t.Helper()
	cmd := u.command(args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, errs.String())
	}
	return string(out)
}

// extcap returns the process that captures for Wireshark.
func (u *user) extcap(t *testing.T) (pid int) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if program, err := os.Readlink(link); err == nil && program == u.program {
			if pid, err = strconv.Atoi(filepath.Base(filepath.Dir(link))); err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("no process captures")
	return 0
}

// captures returns the number of captures of the test's network, not counting
// the test's own socket.
func captures(t *testing.T) (n int) {
	t.Helper()
	b, err := os.ReadFile("/proc/thread-self/net/packet")
	if err != nil {
		t.Fatal(err)
	}
	const all = "0003" // ETH_P_ALL: a socket that packets come to
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 3 && f[3] == all {
			n++
		}
	}
	return n
}

// awaitCaptures waits until there is this number of captures.
func awaitCaptures(t *testing.T, want int) {
	t.Helper()
	for range 1200 {
		if captures(t) == want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("got %d captures, want %d", captures(t), want)
}

// TestExtcap captures in a network namespace with tshark as an ordinary user:
// Wireshark finds the interface, asks for options, shows each packet at once, and
// ends the program, also by its own death.
func TestExtcap(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is missing")
	}
	send := cable(t)
	u := newUser(t)
	u.output(t, u.program, "wireshark", "install")
	if list := u.output(t, "tshark", "-D"); !strings.Contains(list, "bcdissect (Bridge Commander)") {
		t.Fatalf("not listed:\n%s", list)
	}
	if links := u.output(t, "tshark", "-i", "bcdissect", "-L"); !strings.Contains(links, "EN10MB (Ethernet)") {
		t.Errorf("got link types %s", links)
	}
	// tshark has read the options: it knows one and refuses another.
	if out, err := u.command("tshark", "-i", "bcdissect", "-o", "extcap.bcdissect.planet:x", "-a", "duration:1").CombinedOutput(); err == nil || captures(t) > 0 {
		t.Errorf("an unknown option: got %v: %s", err, out)
	}

	start := func(said io.Writer) (tshark *exec.Cmd, lines *bufio.Scanner) {
		cmd := u.command("tshark", "-i", "bcdissect", "-o", "extcap.bcdissect.iface:v0", "-f", "udp", "-l", "-T", "fields", "-e", "frame.number", "-e", "udp.payload", "-e", "bc.kind")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		awaitCaptures(t, 1)
		return cmd, bufio.NewScanner(out)
	}

	// Without rights, tshark ends and shows the reason. It shows no error about
	// a pipe that was never opened.
	refused := u.command("tshark", "-i", "bcdissect", "-o", "extcap.bcdissect.iface:v0")
	refused.SysProcAttr.AmbientCaps = nil
	watchdog := time.AfterFunc(patience, func() { _ = refused.Process.Kill() })
	out, err := refused.CombinedOutput()
	if text := string(out); err == nil || !watchdog.Stop() || !strings.Contains(text, "v0: no permission to capture") || strings.Contains(text, "no device") {
		t.Errorf("without rights: got %v: %s", err, text)
	}

	frames := framesOf(t, fixtures.Read(t, "captures/join_flow.pcap"))
	tshark, lines := start(io.Discard)
	checkThreads(t, u.extcap(t), "65534")
	go func() {
		_ = send(append(bytes.Repeat([]byte{0xff}, 12), 0x08, 0x06, 0, 1)) // the filter drops it
		for _, f := range frames {
			if err := send(f); err != nil {
				t.Error(err)
			}
		}
	}()
	timeout := time.AfterFunc(patience, func() { _ = tshark.Process.Kill() })
	for n, f := range frames {
		if !lines.Scan() {
			t.Fatalf("got %d lines, want %d", n, len(frames))
		}
		const headers = 14 + 20 + 8
		payload := f[headers:]
		if payload[0] != '\\' { // else it is GameSpy's
			payload = cipher.Decrypt(nil, payload)
		}
		got := strings.Split(lines.Text(), "\t")
		if len(got) != 3 || got[0] != strconv.Itoa(n+1) || got[1] != hex.EncodeToString(payload) || got[2] == "" {
			t.Fatalf("got %q, want frame %d with %x and the kinds of its messages", got, n+1, payload)
		}
	}
	timeout.Stop()
	_ = tshark.Process.Signal(os.Interrupt)
	awaitCaptures(t, 0)
	if err := tshark.Wait(); err != nil {
		t.Errorf("tshark: %v", err)
	}

	// A Wireshark that dies leaves no capture behind once a packet comes, which its
	// dumpcap cannot report.
	tshark, _ = start(io.Discard)
	_ = tshark.Process.Kill()
	for n := 0; captures(t) > 0 && n < 1200; n++ {
		_ = send(frames[0])
		time.Sleep(50 * time.Millisecond)
	}
	awaitCaptures(t, 0)
	_ = tshark.Wait()

	// A capture that stops by itself says why.
	var said bytes.Buffer
	tshark, _ = start(&said)
	if out, err := exec.Command("ip", "link", "delete", "v0").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	timeout = time.AfterFunc(patience, func() { _ = tshark.Process.Kill() })
	_ = tshark.Wait() // its status differs between versions

	if !timeout.Stop() || !strings.Contains(said.String(), "v0: the interface went down") {
		t.Errorf("without its interface tshark says %q", said.String())
	}

	u.output(t, u.program, "wireshark", "uninstall")
	if list := u.output(t, "tshark", "-D"); strings.Contains(list, "bcdissect") {
		t.Errorf("still listed:\n%s", list)
	}
	if left := u.output(t, "find", u.home, "-mindepth", "1"); left != "" {
		t.Errorf("uninstall left:\n%s", left)
	}
}

// framesOf returns the frames of a little-endian pcap file.
func framesOf(t *testing.T, b []byte) (frames [][]byte) {
	t.Helper()
	for b = b[24:]; len(b) > 16; {
		size := int(b[8]) | int(b[9])<<8
		frames = append(frames, b[16:16+size])
		b = b[16+size:]
	}
	return frames
}
