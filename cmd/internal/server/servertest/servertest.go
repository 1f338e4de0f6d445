// Package servertest plays games over a network in memory, whose sockets fail as the
// system's can. Times are those of the caller's testing/synctest bubble.
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

const waiting = 1024 // datagrams that a socket keeps

// A Network carries datagrams at once.
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
	at, to netip.AddrPort // to is valid for a socket that is connected
	fails  bool           // as the system's do
	inbox  chan datagram
	closed chan struct{}
	once   sync.Once
}

type datagram struct {
	from netip.AddrPort
	data []byte
}

// Open opens a socket, which fails with the network if it is told so. If to is valid
// it is connected.
func (n *Network) Open(at, to netip.AddrPort, fails bool) *Conn {
	c := &Conn{of: n, at: at, to: to, fails: fails, inbox: make(chan datagram, waiting), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sockets[at] = c
	return c
}

// Fail has the network fail or recover: while it fails, each call on a socket has an
// error with a chance of one in ten, and for a second of seven all have.
func (n *Network) Fail(failing bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failing = failing
}

// Errors returns how many calls have failed.
func (n *Network) Errors() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.errors
}

// err returns the error of a call on a socket: the system has no room, or fails.
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

// ReadFromUDPAddrPort waits for a datagram. An error leaves it for the next call.
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

// ReadMsgUDPAddrPort is ReadFromUDPAddrPort.
func (c *Conn) ReadMsgUDPAddrPort(b, _ []byte) (size, control, flags int, from netip.AddrPort, err error) {
	size, from, err = c.ReadFromUDPAddrPort(b)
	return size, 0, 0, from, err
}

// WriteToUDPAddrPort sends a datagram, which is lost if nobody has room for it.
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

// Write sends a datagram to where the socket is connected.
func (c *Conn) Write(b []byte) (int, error) { return c.WriteToUDPAddrPort(b, c.to) }

// LocalAddr returns the socket's address.
func (c *Conn) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(c.at) }

// SyscallConn says that the system does not know the socket.
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

// A player is a client at a socket of its own.
type player struct {
	*relaytest.Client
	conn *Conn
	last map[string]int // number of the last message that it got, by stream and sender
}

// Play has four players fight at a host while the network fails. What each has sent
// must reach the others once and in order, and memory stay as it is.
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
	run(20*time.Second, nil) // what is under way arrives
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

// exchange takes and sends what there is.
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

// hear checks that a message that Fight numbered follows the one before.
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

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // the first moved caches, this frees them
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
