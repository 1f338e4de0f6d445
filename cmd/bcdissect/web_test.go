package main

import (
	"bytes"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
)

// TestListenLocally checks that ports are open only for this computer, unless
// an address is given.
func TestListenLocally(t *testing.T) {
	listen := func(address string) (net.Listener, error) {
		return server.ListenLocally("--listen", address, "8080", "; without --listen, web takes a free one")
	}
	for _, address := range []string{"0", ":0", "127.0.0.1:0"} {
		l, err := listen(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Addr().String(); !strings.HasPrefix(got, "127.0.0.1:") {
			t.Errorf("%s listens on %s", address, got)
		}
		if _, err := listen(l.Addr().String()); err == nil || !strings.HasSuffix(err.Error(), "; without --listen, web takes a free one") {
			t.Errorf("a port in use: %v", err)
		}
		_ = l.Close()
	}
	if _, err := listen("here"); err == nil || !strings.Contains(err.Error(), "want an address and port") {
		t.Errorf("here: %v", err)
	}
}

// TestWebAddress opens the address that --web prints. If the page is for other computers too,
// it has an address of this computer that they can use.
func TestWebAddress(t *testing.T) {
	elsewhere := server.SeenAs(netip.MustParseAddrPort("0.0.0.0:1")).Addr()
	for typed, want := range map[string]netip.Addr{
		"0": netip.MustParseAddr("127.0.0.1"), "127.0.0.1:0": netip.MustParseAddr("127.0.0.1"), "[::1]:0": netip.IPv6Loopback(),
		"0.0.0.0:0": elsewhere, "[::]:0": elsewhere,
	} {
		var said bytes.Buffer
		log := cli.NewLog(&said, false)
		w := livePages{address: typed}
		if err := w.open(log); err != nil {
			if typed == "[::1]:0" {
				continue // this computer has no IPv6
			}
			t.Fatal(err)
		}
		log.Close()
		line, _, _ := strings.Cut(said.String(), "\n")
		_, address, _ := strings.Cut(line, "live page: ")
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := netip.ParseAddrPort(u.Host); err != nil || got.Addr() != want || got.Port() == 0 {
			t.Errorf("--web=%s prints %q, not of %v: %v", typed, address, want, err)
		}
		answer, err := http.Get(address)
		if err != nil {
			t.Errorf("--web=%s: %v", typed, err)
		} else if _ = answer.Body.Close(); answer.StatusCode != http.StatusOK {
			t.Errorf("--web=%s: %s", typed, answer.Status)
		}
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}
}
