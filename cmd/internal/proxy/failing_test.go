package proxy

import (
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
	"github.com/bcdissect/bcdissect/cmd/internal/server/servertest"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// On both sides of the proxy, the system sometimes has no room for datagrams or
// fails to read them. No acknowledged message is lost, no client gets another
// socket, and memory does not grow.
func TestFailingSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := servertest.NewNetwork()
		hostAddr, at := netip.MustParseAddrPort("192.0.2.1:22101"), netip.MustParseAddrPort("192.0.2.2:22101")
		s := server.New(n.Open(hostAddr, netip.AddrPort{}, false), hostAddr)
		s.Host = relay.NewHost(relay.Config{Mode: relay.Playable, Public: true, Random: rand.New(rand.NewPCG(1, 1)).Uint32})
		s.Log = cli.NewLog(io.Discard, false)
		defer s.Log.Close()
		target, err := ParseTarget(hostAddr.String())
		if err != nil {
			t.Fatal(err)
		}
		p := New(n.Open(at, netip.AddrPort{}, true), target, hostAddr)
		p.Log = cli.NewLog(io.Discard, false)
		defer p.Log.Close()
		sockets := uint16(0)
		p.dial = func(host netip.AddrPort, _ netip.Addr) (server.Conn, error) {
			sockets++
			return n.Open(netip.AddrPortFrom(at.Addr(), 5000+sockets), host, true), nil
		}
		stop, ended := make(chan struct{}), make(chan error, 2)
		go func() { ended <- p.Serve(stop) }()
		go func() { ended <- s.Serve(stop, nil) }()
		servertest.Play(t, n, at, 2*time.Minute)
		close(stop)
		for range cap(ended) {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if p.stats.unsent.Load() == 0 || sockets != 4 {
			t.Errorf("%d could not be sent; %d sockets for 4 players", p.stats.unsent.Load(), sockets)
		}
	})
}

// A crowded socket finds no room for what it is to send.
type crowded struct{ *servertest.Conn }

func (crowded) Write([]byte) (int, error) {
	return 0, &net.OpError{Op: "write", Net: "udp", Err: syscall.ENOBUFS}
}

// A full buffer of the system does not lead to another socket, with which the
// host would see another player.
func TestNoRoom(t *testing.T) {
	p := newTestProxy(t, io.Discard, "192.0.2.1:22101")
	sockets := 0
	p.dial = func(host netip.AddrPort, _ netip.Addr) (server.Conn, error) {
		sockets++
		return crowded{servertest.NewNetwork().Open(host, host, false)}, nil
	}
	for n := range 10 {
		p.forward(time.Duration(n)*time.Second, netip.MustParseAddrPort("198.51.100.1:4000"), []byte("x"))
		p.tidy(time.Duration(n) * time.Second)
	}
	if got := p.stats.unsent.Load(); got != 10 || sockets != 1 {
		t.Errorf("%d could not be sent, want 10; %d sockets", got, sockets)
	}
}
