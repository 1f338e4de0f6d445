package main

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/fixtures"
)

// TestQueryLAN finds a server on another computer of the local network, which is a
// cable between two network namespaces.
func TestQueryLAN(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	cable(t)
	ip := func(args string) error {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
		return nil
	}
	thread, ready := make(chan int), make(chan bool)
	served := make(chan error, 1)
	go func() { // the thread ends with the goroutine, and with it the namespace
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			thread <- 0
			return
		}
		thread <- unix.Gettid()
		<-ready
		for _, args := range []string{"addr add 10.77.0.2/24 dev v1", "link set v1 up"} {
			if err := ip(args); err != nil {
				served <- err
				return
			}
		}
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{Port: 22150})
		served <- err
		if err != nil {
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
		game := gamespy.Game{Version: "60", Name: "On the LAN", Map: "DM", Limit: 8}
		buf := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			for _, d := range gamespy.Answer(gamespy.Parse(buf[:n]), &game, 1) {
				_, _ = conn.WriteToUDPAddrPort(d, from)
			}
		}
	}()
	id := <-thread
	if id == 0 {
		t.Skip("no second network namespace")
	}
	for _, args := range []string{fmt.Sprintf("link set v1 netns %d", id), "addr add 10.77.0.1/24 dev v0", "link set lo up"} {
		if err := ip(args); err != nil {
			t.Skip(err)
		}
	}
	close(ready)
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	query := func(args ...string) (code int, out, errs string) {
		var o, e bytes.Buffer
		code = run(append([]string{"query", "--lan"}, args...), cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
		return code, o.String(), e.String()
	}
	for deadline := time.Now().Add(patience); ; { // until the cable is up
		code, out, errs := query("--timeout", "300ms")
		if code == cli.ExitOK && strings.Contains(out, "10.77.0.2:22150") && strings.Contains(out, "On the LAN") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("status %d: %s%s", code, out, errs)
		}
	}
	if code, out, errs := query("-T", "json", "--retries", "0", "--timeout", "2s"); code != cli.ExitOK || strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, `{"host":"10.77.0.2:22150","addr":"10.77.0.2:22150","round_trip_ms":`) {
		t.Errorf("status %d: %s%s", code, out, errs)
	}
	if err := ip("link set v0 down"); err != nil {
		t.Fatal(err)
	}
	code, out, errs := query("--retries", "0", "--timeout", "100ms")
	if want := "--lan: no server answered on the ports 22101 to 22201 of 127.0.0.1; "; code != cli.ExitFailed || out != "" || !strings.Contains(errs, want) {
		t.Errorf("without a cable: status %d: %s%s", code, out, errs)
	}
}
