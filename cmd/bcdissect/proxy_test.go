package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
)

// proxyTo returns the program as a proxy to a host, not yet started.
func proxyTo(host netip.AddrPort, args ...string) *exec.Cmd {
	return exec.Command("bcdissect", append([]string{"proxy", host.String(), "--listen", "127.0.0.1:0"}, args...)...)
}

func startProxy(t *testing.T, host netip.AddrPort, args ...string) *hostProcess {
	t.Helper()
	return startProgram(t, proxyTo(host, args...), `forwarding from (127\.0\.0\.1:\d+) to `)
}

// recordedBy returns the payloads of a recording by direction and address of
// the client, in their order.
func recordedBy(t *testing.T, file string, host netip.AddrPort) map[string][]string {
	t.Helper()
	src, err := capture.OpenAll([]string{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	all := map[string][]string{}
	for {
		d, err := src.Next()
		if errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		key := "to " + d.Dst.String()
		if d.Dst == host {
			key = "from " + d.Src.String()
		} else if d.Src != host {
			t.Errorf("%s → %s: neither is the host", d.Src, d.Dst)
		}
		all[key] = append(all[key], string(d.Payload))
	}
}

// TestProxySession has two clients that play through a proxy. Its recording
// agrees with the host's recording, except for the clients' ports. Host and
// clients can start again.
func TestProxySession(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program cannot be interrupted from outside on Windows")
	}
	t.Parallel()
	dir := t.TempDir()
	atHost, between, page := filepath.Join(dir, "relay.pcapng"), filepath.Join(dir, "proxy.pcapng"), filepath.Join(dir, "live.html")
	host := startHostAt(t, freePort(t).String(), "--name", "Behind", "-w", atHost, "--strangers")
	proxy := startProxy(t, host.at, "-w", between, "-T", "none", "--session", page)
	if !answers(t, proxy.at) {
		t.Error("a server browser is not answered")
	}
	a, b := joinFrom(t, net.UDPAddrFromAddrPort(freePort(t)), proxy.at, 1), join(t, proxy.at, 2)
	for _, c := range []*udpClient{a, b} {
		if c.Phase != relaytest.Playing {
			t.Fatalf("%s: phase %d, reason %d; want to play", c.Name, c.Phase, c.Reason)
		}
	}
	const talks = 7
	a.Fight(time.Now(), talks)
	hears := func(c, from *udpClient) func() bool {
		return func() bool {
			from.play(time.Now().Add(10*time.Millisecond), func(time.Time, int) {})
			return from.Last(relaytest.Chat) > from.First && c.seen["chat of "+from.Name][1] == from.Last(relaytest.Chat)
		}
	}
	if !b.until(hears(b, a)) {
		t.Errorf("%s does not hear %s: %v", b.Name, a.Name, b.seen)
	}
	host.stop(t)

	// A host at the same address, clients from a new port and from the old one.
	host = startHostAt(t, host.at.String())
	if c := join(t, proxy.at, 3); c.Phase != relaytest.Playing {
		t.Errorf("after a restart of the host: phase %d, reason %d; want to play; %s", c.Phase, c.Reason, proxy)
	}
	_ = a.conn.Close()
	if c := joinFrom(t, a.conn.LocalAddr().(*net.UDPAddr), proxy.at, 4); c.Phase != relaytest.Playing {
		t.Errorf("after a restart of the client: phase %d, reason %d; want to play", c.Phase, c.Reason)
	}
	proxy.stop(t)
	host.stop(t)

	want, got := recordedBy(t, atHost, host.at), recordedBy(t, between, host.at)
	const few = 10 // server browsers have fewer datagrams
	clients := 0
	for key, sent := range want {
		if len(sent) < few {
			continue
		}
		clients++
		dir, _, _ := strings.Cut(key, " ")
		same := 0
		for other, seen := range got {
			if strings.HasPrefix(other, dir+" ") && len(seen) >= len(sent) && slices.Equal(seen[:len(sent)], sent) {
				same++
			}
		}
		if same != 1 {
			t.Errorf("%d of the host's datagrams, %s: recorded by the proxy %d times, want once", len(sent), key, same)
		}
	}
	if clients != 4 {
		t.Errorf("the host has recorded %d directions of clients, want 4", clients)
	}
	for _, c := range []*udpClient{a, b} {
		if len(got["from "+c.conn.LocalAddr().String()]) == 0 {
			t.Errorf("nothing was recorded from the address of %s", c.Name)
		}
	}
	if got := counted(t, between); got.Datagrams.Game == 0 || got.Datagrams.GameSpy < 2 {
		t.Errorf("recorded %+v", got.Datagrams)
	}
	text, err := os.ReadFile(page)
	if err != nil || !bytes.Contains(text, []byte("Player 4")) {
		t.Errorf("the page has %d bytes, %v", len(text), err)
	}
	for _, want := range []string{"plays on " + host.at.String(), "forwarded for"} {
		if !strings.Contains(proxy.String(), want) {
			t.Errorf("it did not say %q: %s", want, proxy)
		}
	}
}

// A report on a screen is as of any other capture.
func TestProxyReport(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program cannot be interrupted from outside on Windows")
	}
	t.Parallel()
	host := startHost(t)
	var out bytes.Buffer
	cmd := proxyTo(host.at, "-Y", "connect or ChecksumRequest", "-e", "dir,kind,name,dst")
	cmd.Stdout = &out
	proxy := startProgram(t, cmd, `forwarding from (127\.0\.0\.1:\d+) to `)
	c := join(t, proxy.at, 1)
	proxy.stop(t)
	host.stop(t)
	client := c.conn.LocalAddr().String()
	lines := strings.Split(out.String(), "\n")
	want := []string{"dir,kind,name,dst", "c2s,connect,," + host.at.String(), "s2c,connect,," + client, "s2c,standard,ChecksumRequest," + client}
	if len(lines) < len(want) || !slices.Equal(lines[:len(want)], want) {
		t.Errorf("got %q, want %q", lines, want)
	}
}
