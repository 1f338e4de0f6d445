// Package sockets exchanges the datagrams of scripted and of captured clients
// over UDP.
package sockets

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// Limits of a driver.
const (
	waiting = 4096 // received datagrams that wait, and more are dropped, as in a network
	biggest = 2048 // bytes of a datagram, longer ones are truncated
	idle    = 5 * time.Millisecond

	addresses = 250 // loopback addresses of this machine that the clients use
)

// A Driver implements suite.Driver with a socket for each client.
type Driver struct {
	ctx      context.Context
	host     netip.AddrPort
	sockets  map[netip.AddrPort]*net.UDPConn
	opened   int
	incoming chan relay.Arrival
	refused  chan error // errors of reading, such as ECONNREFUSED after an ICMP port unreachable message
	err      error      // the last of these errors
}

// New returns a driver for a host. When the context is cancelled, all waiting
// ends.
func New(ctx context.Context, host netip.AddrPort) *Driver {
	return &Driver{
		ctx: ctx, host: host, sockets: map[netip.AddrPort]*net.UDPConn{}, opened: rand.N(addresses),
		incoming: make(chan relay.Arrival, waiting), refused: make(chan error, 1),
	}
}

// Now returns the time.
func (d *Driver) Now() time.Time { return time.Now() }

// Host returns the address of the host.
func (d *Driver) Host() netip.AddrPort { return d.host }

// Open opens a socket. If the host is on this machine and the system has more
// than one loopback address, each socket has a different address. Some hosts
// make an address wait before it may connect again. Each run begins with
// different addresses than the previous one.
func (d *Driver) Open() (netip.AddrPort, error) {
	var conn *net.UDPConn
	err := net.ErrClosed
	if d.host.Addr().Is4() && d.host.Addr().IsLoopback() {
		const first = 2
		local := net.IPv4(127, 0, 0, byte(first+d.opened%addresses))
		d.opened++
		conn, err = net.DialUDP("udp", &net.UDPAddr{IP: local}, net.UDPAddrFromAddrPort(d.host))
	}
	if err != nil {
		if conn, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(d.host)); err != nil {
			return netip.AddrPort{}, err
		}
	}
	a, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		_ = conn.Close() // nothing is written to it
		return a, err
	}
	local := netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
	d.sockets[local] = conn
	go func() {
		defer cli.Guard()
		d.read(conn, local, d.host)
	}()
	return local, nil
}

// Listen opens a socket at a local address that receives datagrams from any
// address.
func (d *Driver) Listen(local netip.AddrPort) error {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(local))
	if err == nil {
		d.sockets[local] = conn
		go func() {
			defer cli.Guard()
			d.read(conn, local, netip.AddrPort{})
		}()
	}
	return err
}

// read reads datagrams until the socket is closed. If only is valid, it ignores
// datagrams from other addresses.
func (d *Driver) read(conn *net.UDPConn, local, only netip.AddrPort) {
	for {
		buf := make([]byte, biggest)
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if only.IsValid() {
			from = only
		}
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // the host's port is closed, or not yet open
			select {
			case d.refused <- err:
			default:
			}
			time.Sleep(idle)
			continue
		}
		select {
		case d.incoming <- relay.Arrival{At: time.Now(), From: netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), To: local, Datagram: buf[:n:n]}:
		default: // the host sends faster than datagrams are handled
		}
	}
}

// Close closes a socket.
func (d *Driver) Close(local netip.AddrPort) {
	if conn := d.sockets[local]; conn != nil {
		_ = conn.Close() // nothing is written to it
		delete(d.sockets, local)
	}
}

// Send sends a datagram.
func (d *Driver) Send(local netip.AddrPort, datagram []byte) error {
	conn := d.sockets[local]
	if conn == nil {
		return net.ErrClosed
	}
	_, err := conn.Write(datagram)
	return d.noted(err)
}

// noted keeps an error for [Driver.Refused] unless it is nil.
func (d *Driver) noted(err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		err = errno // drops the addresses, which are known
	}
	if err != nil {
		d.err = err
	}
	return err
}

// Refused returns the read error since the last datagram, for example if the
// host's port is closed.
func (d *Driver) Refused() error { return d.err }

// Receive waits for a datagram.
func (d *Driver) Receive(until time.Time) (relay.Arrival, bool) {
	select {
	case a := <-d.incoming:
		d.err = nil // the host's port is open
		return a, true
	default:
	}
	wait := time.Until(until)
	if wait <= 0 {
		return relay.Arrival{}, false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case a := <-d.incoming:
		d.err = nil
		return a, true
	case err := <-d.refused:
		_ = d.noted(err)
	case <-timer.C:
	case <-d.ctx.Done():
		// Clients still disconnect after the context is cancelled. Without this
		// pause they would not wait for the answers.
		time.Sleep(min(wait, idle))
	}
	return relay.Arrival{}, false
}
