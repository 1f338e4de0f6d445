// Package proxy forwards the datagrams of clients to a host and its answers
// back, unchanged. It records and reports them. It can impair the connections
// to the clients.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/capture/device"
	"github.com/bcdissect/bcdissect/dissect/impair"
)

// Limits of a proxy.
const (
	largest      = 1 << 16 // bytes of a datagram, the maximum of UDP
	socketBuffer = 1 << 20 // bytes of the system's buffer for a socket
	mostClients  = 16

	datagramsPerSecond = 2000 // limit for each client
	bytesPerSecond     = 1 << 20

	// Time of silence after which the place of a client may be given to another
	// client, and time after which a client is removed. The host drops a player
	// after 45 s.
	playerSpare, playerIdle   = 15 * time.Second, 2 * time.Minute
	browserSpare, browserIdle = 2 * time.Second, 10 * time.Second

	unanswered  = 10 * time.Second // time without an answer to a client that sends, after which the host may have moved
	failingFor  = 3 * time.Second  // time of errors in sending, after which another socket is opened
	resolveWait = 5 * time.Second
)

// A client is a client of the proxy. Each client has its own socket to the
// host, so that the host sees clients with different ports.
type client struct {
	addr netip.AddrPort

	// Only the goroutine that reads from clients uses these.
	second time.Duration // current second of the limits
	count  int
	bytes  int

	lastReceived moment // time of the client's last datagram
	answered     moment // time of the host's last datagram, or when the client began to wait for one
	failing      moment // time since which sending to the host fails, 0 if it does not fail

	lines []*line // by direction, nil without impairment

	// The proxy's lock protects these.
	up    server.Conn // socket to the host
	plays bool        // it has sent more than queries of server browsers
}

// A moment is a time since the start of the proxy. Changes of the system's
// clock do not affect it.
type moment struct{ atomic.Int64 }

func (m *moment) set(now time.Duration)                       { m.Store(int64(now)) }
func (m *moment) since(now time.Duration) (ago time.Duration) { return now - time.Duration(m.Load()) }

// A Proxy forwards datagrams between clients and a host. One goroutine reads
// datagrams of clients, one goroutine for each client reads datagrams of the
// host, and another goroutine records and reports. The first two never wait for
// the last.
type Proxy struct {
	server.Recorder
	Impair *Impairment // impairment of the clients' connections, nil for none

	front  server.Conn
	target *Target
	dial   func(host netip.AddrPort, client netip.Addr) (server.Conn, error)
	began  time.Time
	drawn  Counts

	mu      sync.Mutex
	host    netip.AddrPort
	clients map[netip.AddrPort]*client
	ended   bool
	readers sync.WaitGroup

	noting   sync.Mutex
	notes    *server.Feed // datagrams to record and report
	tape     sync.Mutex   // protects the recorder
	enough   chan struct{}
	broken   chan error
	resolved chan resolution

	resolving bool
	asked     time.Duration // time of the last request for the host's address
	trouble   bool          // the current trouble was reported
	failed    int64         // number of unsent datagrams at the last second

	stats counters
}

// counters count datagrams by what happened to them.
type counters struct {
	fromClients, fromHost, bytesIn, bytesOut atomic.Int64
	unsent, limited, noRoom                  atomic.Int64
	refused                                  atomic.Int64 // datagrams of clients for which there was no place
	refusals                                 atomic.Int64 // ICMP port unreachable messages from the host
	sendError                                atomic.Pointer[error]
	clients                                  atomic.Int64 // number of clients so far
}

// Counts are the numbers of datagrams so far.
type Counts struct {
	FromClients, FromHost int64
	Dropped               int64 // not forwarded, or lost before the proxy
	Unnoted               int64 // forwarded but neither recorded nor reported
}

// Open resolves the host and opens the socket for clients, on the first of the
// addresses that works.
func Open(ctx context.Context, target *Target, listen ...string) (p *Proxy, err error) {
	hosts, err := target.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	for _, address := range listen {
		var conn *net.UDPConn
		if conn, err = Listen(address); err != nil {
			continue
		}
		if err = checkLoop(conn, hosts[0]); err == nil {
			return New(conn, target, hosts[0]), nil
		}
		_ = conn.Close() // no datagram was read
	}
	if n := len(listen); n > 1 {
		err = fmt.Errorf("none of the ports %s to %s of this computer is free; end other recordings and hosts, or the game, and try again", listen[0], listen[n-1])
	}
	return nil, err
}

// Failed returns the error that ended the recording, nil if there is none. The
// game goes on after it.
func (p *Proxy) Failed() error {
	p.tape.Lock()
	defer p.tape.Unlock()
	return p.Recorder.Failed()
}

// New returns a proxy that listens on a socket.
func New(front server.Conn, target *Target, host netip.AddrPort) *Proxy {
	return &Proxy{
		front: front, target: target, dial: dial, host: host, clients: map[netip.AddrPort]*client{}, notes: server.NewFeed(),
		began:  time.Now(),
		enough: make(chan struct{}), broken: make(chan error, 1), resolved: make(chan resolution, 1),
	}
}

// Close closes the socket of a proxy that is not serving.
func (p *Proxy) Close() { _ = p.front.Close() } // nothing is written to it

// Join returns the address that players on this computer type to join. It
// contains the port unless that is the game's default.
func (p *Proxy) Join() string {
	at := unmapped(p.front.LocalAddr().(*net.UDPAddr))
	join := at.Addr()
	if join.IsUnspecified() {
		join = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	if strconv.Itoa(int(at.Port())) == server.GamePort {
		return join.String()
	}
	return netip.AddrPortFrom(join, at.Port()).String()
}

// Greet prints the address for clients.
func (p *Proxy) Greet() {
	at := unmapped(p.front.LocalAddr().(*net.UDPAddr))
	host := p.target.String()
	if !p.target.fixed {
		host += " (" + p.host.Addr().String() + ")"
	}
	p.Log.Say("forwarding from %s to %s", at, host)
	p.Log.Say("join %s in the game", p.Join())
	if p.Impair != nil {
		p.Impair.greet(p.Log)
	}
	if !at.Addr().IsLoopback() {
		p.Log.Say("other computers can also reach %s through this one", p.target)
	}
}

// Serve forwards datagrams until stop is closed, and then completes the
// recording.
func (p *Proxy) Serve(stop <-chan struct{}) error {
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer cli.Guard()
		p.record()
	}()
	var forwarding sync.WaitGroup
	forwarding.Go(func() {
		defer cli.Guard()
		p.fromClients()
	})
	err := p.loop(stop)
	p.mu.Lock()
	p.ended = true // accept no more clients
	p.mu.Unlock()
	for _, c := range p.clients {
		c.endLines()
	}
	_ = p.front.Close() // makes the readers return
	forwarding.Wait()   // datagrams that are being forwarded are still recorded
	for _, c := range p.clients {
		_ = c.up.Close()
	}
	p.readers.Wait()
	p.notes.End()
	<-written
	p.Log.Status("")
	if e := p.Recorder.Close(p.counters()); err == nil {
		err = e
	}
	p.summary()
	if p.Impair != nil {
		if e := p.Impair.end(p.Log); err == nil {
			err = e
		}
	}
	return cli.Failed(err)
}

func (p *Proxy) loop(stop <-chan struct{}) error {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-p.enough:
			return nil
		case err := <-p.broken:
			return err
		case r := <-p.resolved:
			p.moved(r)
		case <-second.C:
			p.everySecond(p.now())
		}
	}
}

func (p *Proxy) now() time.Duration { return time.Since(p.began) }

// fromClients forwards datagrams of clients until the socket is closed.
func (p *Proxy) fromClients() {
	b := make([]byte, largest)
	socket := server.NewSocket(p.front, &p.stats.noRoom)
	for {
		n, from, err := socket.Receive(b)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case server.Gone(err), server.TooLong(err): // Windows reports here that a client's port is closed
			continue
		case err != nil:
			p.broken <- err
			return
		}
		p.forward(p.now(), from, b[:n])
	}
}

// forward sends a client's datagram to the host.
func (p *Proxy) forward(now time.Duration, from netip.AddrPort, payload []byte) {
	c, up, host := p.clientAt(now, from, payload)
	if c == nil {
		return
	}
	if now-c.second >= time.Second {
		c.second, c.count, c.bytes = now, 0, 0
	}
	c.count++
	c.bytes += len(payload)
	if c.count > datagramsPerSecond || c.bytes > bytesPerSecond {
		p.stats.limited.Add(1)
		return
	}
	if c.lastReceived.since(now) >= unanswered {
		c.answered.set(now) // restarts the wait: the host had no datagram to answer
	}
	c.lastReceived.set(now)
	p.stats.fromClients.Add(1)
	p.stats.bytesIn.Add(int64(len(payload)))
	if c.lines != nil {
		c.lines[impair.ToServer].put(payload)
		return
	}
	p.note(from, host, payload) // before the host can answer it, so that the order is right
	p.toHost(now, c, up, payload)
}

// toHost sends a client's datagram to the host. It returns false if it could
// not be sent.
func (p *Proxy) toHost(now time.Duration, c *client, up server.Conn, payload []byte) bool {
	_, err := up.Write(payload)
	if server.Gone(err) { // the error is about an earlier datagram, and this one was not sent
		p.stats.refusals.Add(1)
		_, err = up.Write(payload)
	}
	if err == nil || server.Gone(err) {
		c.failing.Store(0)
		return true
	}
	p.unsent(err)
	if !server.NoRoom(err) { // a new socket would make the host see another player, so it is not opened for a full buffer
		c.failing.CompareAndSwap(0, int64(now))
	}
	return false
}

// toClient sends a datagram of the host to a client. It returns false if it
// could not be sent.
func (p *Proxy) toClient(c *client, payload []byte) bool {
	_, err := p.front.WriteToUDPAddrPort(payload, c.addr)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		p.unsent(err)
	}
	return err == nil
}

// clientAt returns the client at an address, its socket to the host, and the
// host's address. It adds the client if it is new. It returns nil if the
// datagram cannot be forwarded.
func (p *Proxy) clientAt(now time.Duration, from netip.AddrPort, payload []byte) (c *client, up server.Conn, host netip.AddrPort) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, nil, host
	}
	if c = p.clients[from]; c == nil {
		if c = p.admit(now, from); c == nil {
			return nil, nil, host
		}
	}
	if !c.plays && (len(payload) == 0 || payload[0] != '\\') {
		c.plays = true
		p.Log.Say("%s plays on %s", from, p.host)
	}
	return c, c.up, p.host
}

func (p *Proxy) unsent(err error) {
	err = cli.Plain(err)
	p.stats.sendError.Store(&err)
	p.stats.unsent.Add(1)
}

// admit adds a client and opens its socket. It returns nil if there is no place
// or no socket. The caller must have locked p.
func (p *Proxy) admit(now time.Duration, from netip.AddrPort) *client {
	for _, c := range p.clients {
		// If the host's address is the proxy's own, the proxy would become its
		// own client until all places are taken.
		if local, ok := c.up.LocalAddr().(*net.UDPAddr); ok && unmapped(local) == from {
			p.stats.refused.Add(1)
			return nil
		}
	}
	if len(p.clients) >= mostClients && !p.makeRoom(now) {
		p.stats.refused.Add(1)
		return nil
	}
	up, err := p.dial(p.host, from.Addr())
	if err != nil {
		p.unsent(err)
		return nil
	}
	c := &client{addr: from, up: up, second: now}
	c.lastReceived.set(now)
	c.answered.set(now)
	p.clients[from] = c
	c.lines = p.lines(c, int(p.stats.clients.Add(1)))
	p.listen(c, up, p.host)
	return c
}

// makeRoom removes the client that has been silent longest, if that is long
// enough. The caller must have locked p.
func (p *Proxy) makeRoom(now time.Duration) bool {
	var spare *client
	for _, c := range p.clients {
		if c.lastReceived.since(now) >= c.limit(playerSpare, browserSpare) && (spare == nil || c.lastReceived.since(now) > spare.lastReceived.since(now)) {
			spare = c
		}
	}
	if spare != nil {
		p.forget(spare, now)
	}
	return spare != nil
}

// forget removes a client. The caller must have locked p.
func (p *Proxy) forget(c *client, now time.Duration) {
	delete(p.clients, c.addr)
	_ = c.up.Close() // nothing is written to it
	if c.lines != nil {
		p.readers.Go(func() { // in another goroutine, since a line may wait for the lock
			defer cli.Guard()
			c.endLines()
		})
	}
	if c.plays {
		p.Log.Say("%s forgotten: silent for %s", c.addr, c.lastReceived.since(now).Round(time.Second))
	}
}

// limit returns player for players and browser for server browsers.
func (c *client) limit(player, browser time.Duration) time.Duration {
	if c.plays {
		return player
	}
	return browser
}

// dial opens a socket to the host for a client. On loopback the socket has the
// client's own address, since some hosts make an address wait before it can
// connect again.
func dial(host netip.AddrPort, client netip.Addr) (server.Conn, error) {
	to := net.UDPAddrFromAddrPort(host)
	up, err := (*net.UDPConn)(nil), net.ErrClosed
	if host.Addr().IsLoopback() && client.IsLoopback() {
		up, err = net.DialUDP("udp4", &net.UDPAddr{IP: client.AsSlice()}, to)
	}
	if err != nil {
		up, err = net.DialUDP("udp4", nil, to)
	}
	if err != nil {
		return nil, err
	}
	_ = up.SetReadBuffer(socketBuffer) // the system may limit the size
	return up, nil
}

// listen forwards the host's datagrams to a client until its socket is closed.
// The caller must have locked p.
func (p *Proxy) listen(c *client, up server.Conn, host netip.AddrPort) {
	p.readers.Go(func() {
		defer cli.Guard()
		b := make([]byte, largest)
		socket := server.NewSocket(up, &p.stats.noRoom)
		for {
			n, _, err := socket.Receive(b)
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case server.Gone(err):
				p.stats.refusals.Add(1)
				continue
			case err != nil: // such as a missing network, which may come back
				continue
			}
			c.answered.set(p.now())
			p.stats.fromHost.Add(1)
			p.stats.bytesOut.Add(int64(n))
			if c.lines != nil {
				c.lines[impair.ToClient].put(b[:n])
				continue
			}
			p.note(host, c.addr, b[:n])
			p.toClient(c, b[:n])
		}
	})
}

// note queues a datagram for recording and report. It drops the datagram if the
// queue is full.
func (p *Proxy) note(from, to netip.AddrPort, payload []byte) {
	p.noting.Lock()
	p.notes.Put(time.Now(), from, to, payload)
	p.noting.Unlock()
}

// record records and reports the queued datagrams until the queue is closed.
func (p *Proxy) record() {
	for {
		d, err := p.notes.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if p.Full() {
			continue
		}
		p.tape.Lock()
		p.Note(d.Time, d.Src, d.Dst, d.Payload)
		p.tape.Unlock()
		if p.Full() {
			close(p.enough)
		}
	}
}

// everySecond does the work that is not needed for each datagram.
func (p *Proxy) everySecond(now time.Duration) {
	p.tape.Lock()
	p.Flush(p.counters())
	p.tape.Unlock()
	p.tidy(now)
	p.sayTrouble()
	p.draw()
}

// tidy removes silent clients, opens another socket for a client whose socket
// fails for long, and resolves the host again if the host is silent.
func (p *Proxy) tidy(now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	silent := false
	for _, c := range p.clients {
		if c.lastReceived.since(now) >= c.limit(playerIdle, browserIdle) {
			p.forget(c, now)
			continue
		}
		if c.failing.Load() != 0 && c.failing.since(now) >= failingFor {
			p.redial(c)
		}
		silent = silent || c.lastReceived.since(now) < unanswered && c.answered.since(now) >= unanswered
	}
	if silent && !p.resolving && !p.target.fixed && now-p.asked >= unanswered {
		p.resolving, p.asked = true, now
		go func() {
			defer cli.Guard()
			ctx, cancel := context.WithTimeout(context.Background(), resolveWait)
			defer cancel()
			hosts, err := p.target.Resolve(ctx)
			p.resolved <- resolution{hosts, err}
		}()
	}
}

// redial opens another socket to the host for a client. The caller must have
// locked p.
func (p *Proxy) redial(c *client) {
	up, err := p.dial(p.host, c.addr.Addr())
	if err != nil {
		p.unsent(err)
		return // try again in the next second
	}
	_ = c.up.Close() // nothing is written to it
	c.up = up
	c.failing.Store(0)
	p.listen(c, up, p.host)
	p.Log.Say("%s has another socket to %s", c.addr, p.host)
}

// moved handles the result of resolving the host.
func (p *Proxy) moved(r resolution) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resolving = false
	if r.err != nil {
		p.Log.Say("no answer from %s, and its name has no address now: %s", p.target, r.err.Error())
		return
	}
	if slices.Contains(r.hosts, p.host) {
		return
	}
	p.host = r.hosts[0]
	p.Log.Say("%s has moved to %s", p.target, p.host)
	for _, c := range p.clients {
		p.redial(c)
	}
}

// sayTrouble reports, only once, that the host's port is closed or that
// datagrams cannot be sent. It also reports when the host answers again.
func (p *Proxy) sayTrouble() {
	refusals, unsent := p.stats.refusals.Swap(0), p.stats.unsent.Load()
	fails := unsent > p.failed
	p.failed = unsent
	switch {
	case p.trouble:
		if refusals == 0 && !fails && p.stats.fromHost.Load() > p.drawn.FromHost {
			p.trouble = false
			p.Log.Say("%s answers again", p.target)
		}
	case refusals > 0:
		p.trouble = true
		p.Log.Say("%s: nothing listens there; clients can join once the host runs", p.target)
	case fails:
		p.trouble = true
		p.Log.Say("can't send datagrams: %s", (*p.stats.sendError.Load()).Error())
	}
}

// Counts returns the numbers of datagrams so far.
func (p *Proxy) Counts() Counts {
	s := &p.stats
	return Counts{
		FromClients: s.fromClients.Load(), FromHost: s.fromHost.Load(),
		Dropped: s.unsent.Load() + s.limited.Load() + s.refused.Load() + s.noRoom.Load(), Unnoted: p.notes.Dropped(),
	}
}

// Playing returns the number of clients that are not just server browsers.
func (p *Proxy) Playing() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		if c.plays {
			n++
		}
	}
	return n
}

// counters returns the counters for the end of a recording.
func (p *Proxy) counters() capture.Counters {
	c := p.Counts()
	skipped, noRoom := p.stats.limited.Load()+p.stats.refused.Load(), p.stats.noRoom.Load()
	return capture.Counters{
		Counters: device.Counters{
			Received: uint64(c.FromClients + c.FromHost + skipped + noRoom), Dropped: uint64(c.Unnoted + noRoom),
		},
		Skipped: uint64(skipped), NoRoom: uint64(noRoom),
		Time: time.Now(),
	}
}

// draw updates the status line.
func (p *Proxy) draw() {
	p.mu.Lock()
	clients := len(p.clients)
	p.mu.Unlock()
	c := p.Counts()
	text := fmt.Sprintf(plural.Form(clients, "%d {client|clients}, %d datagrams/s to the host, %d back, up %s"),
		clients, c.FromClients-p.drawn.FromClients, c.FromHost-p.drawn.FromHost, time.Since(p.began).Round(time.Second))
	if n := c.Dropped + c.Unnoted; n > 0 {
		text += fmt.Sprintf(", %d dropped", n)
	}
	p.drawn = c
	p.Log.Status(text)
}

// summary logs the totals.
func (p *Proxy) summary() {
	s := &p.stats
	p.Log.Say("forwarded for %s: %d %s, %d %s (%s) to the host, %d (%s) back", time.Since(p.began).Round(time.Second),
		s.clients.Load(), plural.Form(s.clients.Load(), "{client|clients}"),
		s.fromClients.Load(), plural.Form(s.fromClients.Load(), "{datagram|datagrams}"), server.Size(s.bytesIn.Load()), s.fromHost.Load(), server.Size(s.bytesOut.Load()))
	p.Lost(int(s.noRoom.Load()), "{was|were} dropped by the system because the program was busy")
	p.Lost(int(s.limited.Load()), "{was|were} dropped by the limit of a client")
	p.Lost(int(s.refused.Load()), "{was|were} dropped because there were too many clients")
	if err := s.sendError.Load(); err != nil {
		p.Lost(int(s.unsent.Load()), "could not be sent: %v", *err)
	}
	if p.Wanted() || p.Feed != nil {
		p.Lost(int(p.notes.Dropped()), "{is|are} neither recorded nor reported because that was too slow")
	}
	if p.Feed != nil {
		p.Lost(int(p.Feed.Dropped()), "{is|are} not in the report because it was too slow")
	}
}
