//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report/verdicts"
)

// ends waits for a process that has to end, and returns its status.
func ends(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	_ = cmd.Wait() // the status says it, also if it had to be killed
	return cmd.ProcessState.ExitCode()
}

// fullPipe returns both ends of a pipe that has no room.
func fullPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = w.Write(make([]byte, 4096))
	}
	return r, w
}

// If standard error is not read, the game goes on, and SIGTERM ends it.
func TestRelayBlockedStandardError(t *testing.T) {
	t.Parallel()
	at := freePort(t)
	_, full := fullPipe(t)
	file := filepath.Join(t.TempDir(), "relay.pcapng")
	cmd := exec.Command("bcdissect", "relay", "--listen", at.String(), "-w", file)
	cmd.Stderr = full
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	if !answers(t, at) {
		t.Fatal("the host does not answer")
	}
	for n := range 3 {
		if c := join(t, at, n+1); c.Phase != relaytest.Playing {
			t.Errorf("client %d: phase %d", n, c.Phase)
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if status := ends(t, cmd); status != cli.ExitOK {
		t.Errorf("status %d", status)
	}
	if n := counted(t, file).Datagrams.Game; n == 0 {
		t.Error("nothing was recorded")
	}
}

// After a second signal the reports are written all the same: timeout sends SIGTERM
// twice.
func TestTerminatedTwice(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"bots", "conform"} {
		host := startHost(t, "-T", "none")
		var out bytes.Buffer
		cmd := exec.Command("bcdissect", command, host.at.String(), "-T", "json")
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if !host.says(" ready ") {
			t.Errorf("%s does not play: %s", command, host)
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Process.Signal(os.Interrupt) // the system joins equal signals
		status := ends(t, cmd)
		if status == cli.ExitAborted || !json.Valid(out.Bytes()) || !strings.Contains(out.String(), "interrupted") {
			t.Errorf("%s: status %d and %d bytes", command, status, out.Len())
		}
	}
}

// A report that is not read does not prevent the host from ending.
func TestRelayBlockedReport(t *testing.T) {
	t.Parallel()
	at := freePort(t)
	_, full := fullPipe(t)
	cmd := exec.Command("bcdissect", "relay", "--listen", at.String(), "-T", "json")
	cmd.Stdout = full
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	if !answers(t, at) {
		t.Fatal("the host does not answer")
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if status := ends(t, cmd); status != cli.ExitFailed {
		t.Errorf("status %d, want that of a report that is not complete", status)
	}
}

// A closed standard error, as of "2>&1 | head -1", does not end the game.
func TestRelayClosedStandardError(t *testing.T) {
	t.Parallel()
	at := freePort(t)
	file := filepath.Join(t.TempDir(), "relay.pcapng")
	cmd := exec.Command("bcdissect", "relay", "--listen", at.String(), "-w", file)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	if line, err := bufio.NewReader(pipe).ReadString('\n'); err != nil || !strings.Contains(line, "hosting") {
		t.Fatalf("got %q and %v", line, err)
	}
	_ = pipe.Close()
	for n := range 2 {
		if c := join(t, at, n+1); c.Phase != relaytest.Playing {
			t.Errorf("client %d: phase %d", n, c.Phase)
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if status := ends(t, cmd); status != cli.ExitOK {
		t.Errorf("status %d", status)
	}
	if n := counted(t, file).Datagrams.Game; n == 0 {
		t.Error("nothing was recorded")
	}
}

// A hangup ends a host like SIGTERM, unless it was started to outlive its
// terminal.
func TestRelayHangup(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "relay.pcapng")
	host := startHost(t, "-w", file)
	if c := join(t, host.at, 1); c.Phase != relaytest.Playing {
		t.Errorf("phase %d", c.Phase)
	}
	_ = host.cmd.Process.Signal(syscall.SIGHUP)
	<-host.done
	if status := ends(t, host.cmd); status != cli.ExitOK || !strings.Contains(host.String(), "hosted for") {
		t.Errorf("status %d: %s", status, host)
	}
	if _, last, rest := blocks(t, file); last != ngStatistics || rest != 0 {
		t.Errorf("the file ends with block %d and %d bytes", last, rest)
	}

	at := freePort(t)
	cmd := exec.Command("sh", "-c", `trap "" HUP; exec bcdissect relay --listen `+at.String()) // as nohup does
	cmd.Stderr = io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	if !answers(t, at) {
		t.Fatal("the host does not answer")
	}
	_ = cmd.Process.Signal(syscall.SIGHUP)
	time.Sleep(100 * time.Millisecond)
	if !answers(t, at) {
		t.Error("the hangup has ended it")
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if status := ends(t, cmd); status != cli.ExitOK {
		t.Errorf("status %d", status)
	}
}

// Whatever ends a proxy, the file of -w has all datagrams that were forwarded.
func TestProxyEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		stop func(p *hostProcess, out io.Closer, send func())
	}{
		{"SIGTERM", func(p *hostProcess, _ io.Closer, _ func()) { _ = p.cmd.Process.Signal(syscall.SIGTERM) }},
		{"SIGINT", func(p *hostProcess, _ io.Closer, _ func()) { _ = p.cmd.Process.Signal(os.Interrupt) }},
		{"SIGHUP", func(p *hostProcess, _ io.Closer, _ func()) { _ = p.cmd.Process.Signal(syscall.SIGHUP) }},
		{"closed pipe", func(_ *hostProcess, out io.Closer, send func()) { _ = out.Close(); send() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host, client := udpSocket(t), udpSocket(t)
			file := filepath.Join(t.TempDir(), "proxy.pcapng")
			cmd := proxyTo(addrOf(host), "-w", file, "-T", "json")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			p := startProgram(t, cmd, `forwarding from (127\.0\.0\.1:\d+) to `)
			sent := 0
			b := make([]byte, 100)
			send := func() {
				if _, err := client.WriteToUDPAddrPort([]byte(`\status\`), p.at); err != nil {
					t.Fatal(err)
				}
				if _, err := host.Read(b); err != nil {
					t.Fatalf("%v after %d datagrams: %s", err, sent, p)
				}
				sent++
			}
			lines := bufio.NewReader(out)
			for range 20 {
				send()
				if line, err := lines.ReadString('\n'); !strings.Contains(line, `"dir":"c2s"`) {
					t.Fatalf("got %q and %v", line, err)
				}
			}
			tt.stop(p, out, send)
			<-p.done
			if status := ends(t, cmd); status != cli.ExitOK || !strings.Contains(p.String(), "forwarded for") {
				t.Errorf("status %d: %s", status, p)
			}
			kinds, last, rest := blocks(t, file)
			if kinds[ngPackets] != sent || last != ngStatistics || rest != 0 {
				t.Errorf("%d were sent, the file has blocks %v, the last is %d, and %d bytes more", sent, kinds, last, rest)
			}
		})
	}
}

// A report that is not read delays neither the datagrams nor the end.
func TestProxyBlockedReport(t *testing.T) {
	t.Parallel()
	host, client := udpSocket(t), udpSocket(t)
	_, full := fullPipe(t)
	cmd := proxyTo(addrOf(host), "-T", "json")
	cmd.Stdout = full
	p := startProgram(t, cmd, `forwarding from (127\.0\.0\.1:\d+) to `)
	b := make([]byte, 100)
	for range 500 {
		if _, err := client.WriteToUDPAddrPort([]byte(`\status\`), p.at); err != nil {
			t.Fatal(err)
		}
		if _, err := host.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if status := ends(t, cmd); status != cli.ExitFailed {
		t.Errorf("status %d, want that of a report that is not complete", status)
	}
}

// udpSocket returns a socket of loopback with a deadline.
func udpSocket(t *testing.T) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

func addrOf(c *net.UDPConn) netip.AddrPort { return netip.MustParseAddrPort(c.LocalAddr().String()) }

// fed starts a program, writes the beginning of its standard input, and returns
// the pipe for the rest.
func fed(t *testing.T, cmd *exec.Cmd, beginning []byte) io.Writer {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if _, err := in.Write(beginning); err != nil {
		t.Fatal(err)
	}
	return in
}

// An interrupt leaves the output that was there before, and nothing else.
func TestOutputKilled(t *testing.T) {
	for command, args := range map[string][]string{"read": {"-o"}, "anonymize": {"--force", "-w"}} {
		t.Run(command, func(t *testing.T) { outputKilled(t, append([]string{command, "-"}, args...)...) })
	}
}

// A kill, which no program can tidy up after, leaves no anonymous capture that was not
// verified, other than under a name that says it is a draft, for its owner only.
func TestAnonymizeKilled(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("bcdissect", "anonymize", "-", "-w", filepath.Join(dir, "anonymous.pcapng"))
	b := fixtures.Read(t, "captures/join_flow.pcap")
	fed(t, cmd, b[:len(b)/2])
	for n := 0; entries(t, dir) < 1 && n < 6000; n++ {
		time.Sleep(10 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("there are %v, %v", all, err)
	}
	info, err := all[0].Info()
	if err != nil || !strings.HasPrefix(info.Name(), ".bcdissect-") || info.Mode() != 0o600 {
		t.Errorf("%v is left, %v", info, err)
	}
}

// outputKilled ends a command that reads a capture, while it writes a file.
func outputKilled(t *testing.T, args ...string) {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "output")
	if err := os.WriteFile(name, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bcdissect", append(args, name)...)
	b := fixtures.Read(t, "captures/join_flow.pcap")
	fed(t, cmd, b[:len(b)/2])
	for n := 0; entries(t, dir) < 2 && n < 6000; n++ {
		time.Sleep(10 * time.Millisecond)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if status := ends(t, cmd); status != -1 {
		t.Errorf("status %d, want an end by the signal", status)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "before" || entries(t, dir) != 1 {
		t.Errorf("the file holds %q, %v; there are %d", got, err, entries(t, dir))
	}
}

// A copy of standard input that is interrupted holds all that came, also that
// which the program before the pipe writes when it is interrupted.
func TestCopyInterrupted(t *testing.T) {
	t.Parallel()
	b := fixtures.Read(t, "captures/join_flow.pcap")
	for _, args := range [][]string{nil, {"-Y", "frame>=1"}} { // read once, and twice
		dir := t.TempDir()
		name := filepath.Join(dir, "copy.pcap")
		cmd := exec.Command("bcdissect", append([]string{"read", "-", "-F", "pcap", "-w", name}, args...)...)
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		in := fed(t, cmd, b[:len(b)/2])
		for n := 0; entries(t, dir) == 0 && n < 6000; n++ {
			time.Sleep(10 * time.Millisecond)
		}
		_ = cmd.Process.Signal(os.Interrupt)
		if _, err := in.Write(b[len(b)/2:]); err != nil { // and no end
			t.Fatal(err)
		}
		if status := ends(t, cmd); status != cli.ExitOK {
			t.Errorf("status %d", status)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, b) || entries(t, dir) != 1 {
			t.Errorf("the copy has %d bytes of %d, %v; there are %d files", len(got), len(b), err, entries(t, dir))
		}
	}
}

// A signal also ends Wireshark, and the plugin is removed.
func TestWiresharkKilled(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	fake := filepath.Join(dir, "wireshark")
	writeProgram(t, fake, []byte("#!/bin/sh\n[ $1 = -k ] || exit 1\ntouch "+dir+"/started\nexec sleep 60\n"))
	cmd := exec.Command("bcdissect", "wireshark", "--program", fake, fixtures.Path("captures/join_flow.pcap"))
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	for n := 0; absent(filepath.Join(dir, "started")) && n < 6000; n++ {
		time.Sleep(10 * time.Millisecond)
	}
	if all, err := os.ReadDir(temp); err != nil || len(all) != 1 {
		t.Errorf("got %v and %v while Wireshark runs, want a plugin", all, err)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if status := ends(t, cmd); status != cli.ExitFailed {
		t.Errorf("status %d", status)
	}
	if all, err := os.ReadDir(temp); err != nil || len(all) != 0 {
		t.Errorf("left %v, %v", all, err)
	}
}

// entries returns the number of files in a folder.
func entries(t *testing.T, dir string) int {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// absent reports whether a file does not exist.
func absent(name string) bool {
	_, err := os.Stat(name)
	return err != nil
}

// blocks returns how many blocks of each type are in a pcapng file of this
// machine's byte order, the type of the last, and the bytes behind it.
func blocks(t *testing.T, file string) (kinds map[uint32]int, last uint32, rest int) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kinds = map[uint32]int{}
	for len(b) >= 12 {
		kind, size := binary.LittleEndian.Uint32(b), int(binary.LittleEndian.Uint32(b[4:]))
		if size < 12 || size > len(b) {
			break
		}
		kinds[kind]++
		last = kind
		b = b[size:]
	}
	return kinds, last, len(b)
}

const (
	ngPackets    = 6
	ngStatistics = 5
)

// An interrupted run reports how far it came, writes its reports, and fails.
func TestConformInterrupted(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			h := startHost(t)
			page := filepath.Join(t.TempDir(), "run.html")
			cmd := exec.Command("bcdissect", "conform", h.at.String(), "--profile", "playable", "--html", page, "-T", "json")
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill() }()
			if !h.says(" left ") { // it goes on for a minute
				t.Errorf("it tries nothing: %s", h)
			}
			_ = cmd.Process.Signal(sig)
			if status := ends(t, cmd); status != cli.ExitFailed {
				t.Errorf("status %d", status)
			}
			rep, err := verdicts.Read(&out)
			if err != nil {
				t.Fatalf("%v: %s", err, errs.String())
			}
			if rep.Passed || rep.Stopped != "interrupted" || rep.Counts["PASS"] == 0 || rep.Counts["SKIP"] == 0 {
				t.Errorf("passed %v, stopped %q, %v", rep.Passed, rep.Stopped, rep.Counts)
			}
			line := regexp.MustCompile(`^bcdissect: interrupted: (\d+) of (\d+) cases were tried\n$`).FindStringSubmatch(errs.String())
			if line == nil || line[2] != strconv.Itoa(len(rep.Cases)) || line[1] == "0" || line[1] == line[2] {
				t.Errorf("%d cases: %q", len(rep.Cases), errs.String())
			}
			if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "Stopped early: interrupted.") {
				t.Errorf("the page: %v, %d bytes", err, len(b))
			}
		})
	}
}

// writeProgram writes a file to be executed. A process that another test starts meanwhile would
// hold it open for a moment, and the system refuses to execute a file that is open for writing.
func writeProgram(t *testing.T, name string, data []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(name, data, 0o755); err != nil { //nolint:gosec // another user executes it
		t.Fatal(err)
	}
}
