// Package sockets carries the datagrams of scripted and of captured clients over UDP.
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

// The bounds of a driver.
const (
	waiting = 4096 // datagrams that wait to be looked at; more are dropped, as a network does
	biggest = 2048 // bytes of a datagram that are read
	idle    = 5 * time.Millisecond

	addresses = 250 // of this machine that the clients use
)

// A Driver implements suite.Driver with a socket for each client.
type Driver struct {
	ctx      context.Context
	host     netip.AddrPort
	sockets  map[netip.AddrPort]*net.UDPConn
	opened   int
	incoming chan relay.Arrival
	refused  chan error // an answer of the system that nobody listens
	err      error      // the last one
}

// New returns a driver for a host. The context ends all waiting.
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

// Open opens a socket. Each has an address of its own if the host is on this machine
// and the system has more than one loopback address: some hosts make an address
// wait before it may connect again. A run that follows another begins with other ones.
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
		_ = conn.Close() // nothing is kept in it
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

// Listen opens a socket at a local address, for datagrams from anybody.
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

// read reads datagrams until the socket is closed: from an address, or from anybody.
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
		case err != nil: // the host is not there, or not yet
			select {
			case d.refused <- err:
			default:
			}
			time.Sleep(idle)
			continue
		}
		select {
		case d.incoming <- relay.Arrival{At: time.Now(), From: netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), To: local, Datagram: buf[:n:n]}:
		default: // the host sends more than can be looked at
		}
	}
}

// Close closes a socket.
func (d *Driver) Close(local netip.AddrPort) {
	if conn := d.sockets[local]; conn != nil {
		_ = conn.Close() // nothing is kept in it
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

// noted keeps an error, nil excepted, for [Driver.Refused].
func (d *Driver) noted(err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		err = errno // without the addresses, which are known
	}
	if err != nil {
		d.err = err
	}
	return err
}

// Refused returns the error of the system since the last datagram came, such as that
// nobody listens at the host's port.
func (d *Driver) Refused() error { return d.err }

// Receive waits for a datagram.
func (d *Driver) Receive(until time.Time) (relay.Arrival, bool) {
	select {
	case a := <-d.incoming:
		d.err = nil // somebody does listen
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
		// The clients still say goodbye: without this they would not wait for the
		// answers.
		time.Sleep(min(wait, idle))
	}
	return relay.Arrival{}, false
}
