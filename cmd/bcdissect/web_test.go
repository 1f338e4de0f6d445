package main

import (
	"net"
	"strings"
	"testing"

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
