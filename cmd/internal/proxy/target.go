package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/query"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
)

// Listen opens the socket for clients. If the address has only a port, it
// listens on loopback, so that no other computer can use the proxy.
func Listen(address string) (*net.UDPConn, error) {
	return server.Listen(server.Local(address))
}

// A Target is the host in the form that the user typed.
type Target struct {
	name  string
	port  uint16
	fixed bool // an IP address, not a name
}

// ParseTarget parses HOST or HOST:PORT.
func ParseTarget(text string) (*Target, error) {
	withPort, err := query.WithPort(text)
	if err != nil {
		return nil, err
	}
	name, port, _ := net.SplitHostPort(withPort) // cannot fail after WithPort
	number, _ := strconv.ParseUint(port, 10, 16)
	t := &Target{name: name, port: uint16(number)}
	if addr, err := netip.ParseAddr(name); err == nil {
		if !addr.Unmap().Is4() {
			return nil, fmt.Errorf("%s: the game does not support IPv6; give an IPv4 address", text)
		}
		if addr.IsUnspecified() || addr.Unmap().IsMulticast() || addr.Unmap() == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
			return nil, fmt.Errorf("%s: not the address of a host; give HOST or HOST:PORT", text)
		}
		t.fixed = true
	}
	return t, nil
}

// Port returns the host's port.
func (t *Target) Port() uint16 { return t.port }

func (t *Target) String() string { return net.JoinHostPort(t.name, strconv.Itoa(int(t.port))) }

// A resolution is the result of resolving a host.
type resolution struct {
	hosts []netip.AddrPort
	err   error
}

// Resolve returns the addresses of the host. If err is nil, there is at least
// one.
func (t *Target) Resolve(ctx context.Context) ([]netip.AddrPort, error) {
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", t.name)
	var bad *net.DNSError
	switch {
	case errors.As(err, &bad) && bad.IsNotFound:
		return nil, cli.Failed(fmt.Errorf("%s: no such host; check the name", t))
	case err != nil:
		return nil, cli.Failed(fmt.Errorf("%s: %w", t, err))
	}
	hosts := make([]netip.AddrPort, len(addrs))
	for i, a := range addrs {
		hosts[i] = netip.AddrPortFrom(a.Unmap(), t.port)
	}
	return hosts, nil
}

// checkLoop returns an error if the host is the proxy itself.
func checkLoop(front server.Conn, host netip.AddrPort) error {
	at := unmapped(front.LocalAddr().(*net.UDPAddr))
	if host.Port() == at.Port() && (host.Addr() == at.Addr() || at.Addr().IsUnspecified() && isLocal(host.Addr())) {
		return fmt.Errorf("%s: this program listens there itself; choose another port for it with --listen %d", host, at.Port()%0xFFFF+1)
	}
	return nil
}

// unmapped converts an address to the form in datagrams, without IPv4-mapped
// IPv6.
func unmapped(a *net.UDPAddr) netip.AddrPort {
	at := a.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// isLocal reports whether an address belongs to this machine.
func isLocal(addr netip.Addr) bool {
	if addr.IsLoopback() {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Unmap() == addr {
			return true
		}
	}
	return false
}
