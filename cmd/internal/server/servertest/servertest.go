// Package servertest plays games over a network in memory. Its sockets can fail
// like sockets of the system. Times are the times of the caller's
// testing/synctest bubble.
package servertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
)

const waiting = 1024 // datagrams that a socket buffers

// A Network delivers datagrams without delay.
type Network struct {
	mu      sync.Mutex
	sockets map[netip.AddrPort]*Conn
	rand    *rand.Rand
	failing bool
	errors  int
}

// NewNetwork returns a network without sockets.
func NewNetwork() *Network {
	const seed = 28
	return &Network{sockets: map[netip.AddrPort]*Conn{}, rand: rand.New(rand.NewPCG(seed, seed))}
}

// A Conn is a socket of a network.
type Conn struct {
	of     *Network
	at, to netip.AddrPort // a connected socket has a valid address to
	fails  bool           // it fails when the network does
	inbox  chan datagram
	closed chan struct{}
	once   sync.Once
}

type datagram struct {
	from netip.AddrPort
	data []byte
}

// Open opens a socket. If fails is set, it fails when the network does. If to
// is valid, the socket is connected.
func (n *Network) Open(at, to netip.AddrPort, fails bool) *Conn {
	c := &Conn{of: n, at: at, to: to, fails: fails, inbox: make(chan datagram, waiting), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sockets[at] = c
	return c
}

// Fail makes the network fail or recover. While the network fails, one in ten
// calls on a socket returns an error, and all calls do so for one second of
// every seven.
func (n *Network) Fail(failing bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failing = failing
}

// Errors returns the number of calls that have failed.
func (n *Network) Errors() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.errors
}

// err returns the error of a call on a socket, or nil. The errors are those of
// a full buffer and of a failing system.
func (c *Conn) err() error {
	n := c.of
	n.mu.Lock()
	defer n.mu.Unlock()
	if !c.fails || !n.failing || time.Now().Unix()%7 != 3 && n.rand.IntN(10) > 0 {
		return nil
	}
	n.errors++
	return &net.OpError{Op: "call", Net: "udp", Err: []error{syscall.ENOBUFS, syscall.EIO}[n.errors%2]}
}

// ReadFromUDPAddrPort waits for a datagram. If it returns an error, the next
// call returns the datagram.
func (c *Conn) ReadFromUDPAddrPort(b []byte) (size int, from netip.AddrPort, err error) {
	if err := c.err(); err != nil {
		return 0, from, err
	}
	select {
	case d := <-c.inbox:
		return copy(b, d.data), d.from, nil
	case <-c.closed:
		return 0, from, net.ErrClosed
	}
}

// ReadMsgUDPAddrPort is like ReadFromUDPAddrPort.
func (c *Conn) ReadMsgUDPAddrPort(b, _ []byte) (size, control, flags int, from netip.AddrPort, err error) {
	size, from, err = c.ReadFromUDPAddrPort(b)
	return size, 0, 0, from, err
}

// WriteToUDPAddrPort sends a datagram. The datagram is lost if the receiver has
// no room for it.
func (c *Conn) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (size int, err error) {
	if err := c.err(); err != nil {
		return 0, err
	}
	c.of.mu.Lock()
	receiver := c.of.sockets[to]
	c.of.mu.Unlock()
	if receiver != nil && (!receiver.to.IsValid() || receiver.to == c.at) {
		select {
		case receiver.inbox <- datagram{c.at, append([]byte(nil), b...)}:
		default:
		}
	}
	return len(b), nil
}

// Write sends a datagram to the address that the socket is connected to.
func (c *Conn) Write(b []byte) (int, error) { return c.WriteToUDPAddrPort(b, c.to) }

// LocalAddr returns the address of the socket.
func (c *Conn) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(c.at) }

// SyscallConn returns an error, since the system does not know the socket.
func (*Conn) SyscallConn() (syscall.RawConn, error) { return nil, errors.ErrUnsupported }

// Close closes the socket.
func (c *Conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		if c.of.sockets[c.at] == c {
			delete(c.of.sockets, c.at)
		}
	})
	return nil
}

// A player is a client with its own socket.
type player struct {
	*relaytest.Client
	conn *Conn
	last map[string]int // number of the last message received, by stream and sender
}

// Play makes four players fight on a host while the network fails. It fails the
// test if a message does not reach the other players once and in order, or if
// memory grows.
func Play(tb testing.TB, n *Network, host netip.AddrPort, lasts time.Duration) {
	tb.Helper()
	const most, step = 4, 20 * time.Millisecond
	var all []*player
	for i := range most {
		p := &player{Client: relaytest.NewClient(relaytest.Options{Name: fmt.Sprint("player", i), Nonce: uint32(i) + 1}), last: map[string]int{}}
		p.conn = n.Open(netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i) + 1}), 4000), netip.AddrPort{}, false)
		p.Deliver = func(_ time.Time, m *arq.Message) { p.hear(tb, m.Body) }
		all = append(all, p)
	}
	run := func(lasts time.Duration, each func(tick int)) {
		for tick := range int(lasts / step) {
			for _, p := range all {
				p.exchange(tb, host)
			}
			if each != nil {
				each(tick)
			}
			time.Sleep(step)
		}
	}
	for _, p := range all {
		p.Connect(time.Now())
		run(3*time.Second, nil)
		p.CreateShip(time.Now())
	}
	run(time.Second, nil)
	n.Fail(true)
	var early uint64
	run(lasts, func(tick int) {
		if tick%5 == 0 {
			for _, p := range all {
				p.Fight(time.Now(), tick/5)
			}
		}
		if tick == int(lasts/step/4) {
			early = heap()
		}
	})
	late := heap()
	n.Fail(false)
	run(20*time.Second, nil) // lets the last messages arrive
	for _, p := range all {
		for _, o := range all {
			forward, chat := fmt.Sprint(relaytest.Forward, o.Slot), fmt.Sprint(relaytest.Chat, o.Name)
			if want := o.Last(relaytest.Forward); o != p && p.last[forward] != want {
				tb.Errorf("%s got up to %d of %s, want %d", p.Name, p.last[forward], o.Name, want)
			}
			if want := o.Last(relaytest.Chat); p.last[chat] != want || want == 0 {
				tb.Errorf("%s read up to line %d of %s, want %d", p.Name, p.last[chat], o.Name, want)
			}
		}
	}
	if n.Errors() < int(lasts/time.Second) {
		tb.Errorf("only %d calls failed", n.Errors())
	}
	if late > early+(1<<20) {
		tb.Errorf("%d KiB are in use, %d after a quarter of the time", late>>10, early>>10)
	}
	tb.Logf("%d calls failed; %d KiB in use, %d after a quarter of the time", n.Errors(), late>>10, early>>10)
}

// exchange receives waiting datagrams and sends the client's.
func (p *player) exchange(tb testing.TB, host netip.AddrPort) {
	tb.Helper()
	for {
		select {
		case d := <-p.conn.inbox:
			p.Receive(time.Now(), d.data)
			continue
		default:
		}
		break
	}
	for {
		d, ok := p.Datagram(time.Now())
		if !ok {
			return
		}
		if _, err := p.conn.WriteToUDPAddrPort(d, host); err != nil {
			tb.Error(err)
		}
	}
}

// hear checks that a message that Fight numbered follows the previous one.
func (p *player) hear(tb testing.TB, body []byte) {
	tb.Helper()
	stream, slot, name, number, ok := relaytest.Numbered(body)
	if !ok {
		return
	}
	from := fmt.Sprint(stream, slot)
	if stream == relaytest.Chat {
		from = fmt.Sprint(stream, name)
	}
	if number != p.last[from]+1 {
		tb.Errorf("%s got number %d of %s after %d", p.Name, number, from, p.last[from])
	}
	p.last[from] = number
}

// heap returns the size of the heap in use, in bytes.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // the first collection moves caches, and this one frees them
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
