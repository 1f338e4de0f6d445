// Package proxy forwards the datagrams of clients to a host and its answers
// back, unchanged, and records and reports them on the way. It can make the
// lines to the clients bad.
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

// Bounds of a proxy.
const (
	largest      = 1 << 16 // bytes of a datagram; UDP has no larger ones
	socketBuffer = 1 << 20 // bytes that the system may keep for a socket
	mostClients  = 16

	datagramsPerSecond = 2000 // of one client
	bytesPerSecond     = 1 << 20

	// Silence of a client, after which its place may go to another, and after
	// which it is forgotten. The host drops a player after 45 s.
	playerSpare, playerIdle   = 15 * time.Second, 2 * time.Minute
	browserSpare, browserIdle = 2 * time.Second, 10 * time.Second

	unanswered  = 10 * time.Second // of a client that sends; then the host may have moved
	failingFor  = 3 * time.Second  // sends from a socket, before another is opened
	resolveWait = 5 * time.Second
)

// A client has a socket of its own to the host, which therefore sees clients
// with different ports.
type client struct {
	addr netip.AddrPort

	// Of the goroutine that reads from clients.
	second time.Duration // of the limits
	count  int
	bytes  int

	heard    moment // of its last datagram
	answered moment // of the host's last datagram, or when the wait for one began
	failing  moment // since when sending to the host fails; 0 if it does not

	lines []*line // by direction; none without impairment

	// The proxy's lock guards these.
	up    server.Conn // to the host
	plays bool        // sent more than queries of server browsers
}

// A moment is a time since the start of the proxy; unlike the time of day it
// does not jump.
type moment struct{ atomic.Int64 }

func (m *moment) set(now time.Duration)                       { m.Store(int64(now)) }
func (m *moment) since(now time.Duration) (ago time.Duration) { return now - time.Duration(m.Load()) }

// A Proxy forwards between clients and a host. It has a goroutine for datagrams
// of clients, one for those of the host to each client, and one that records
// and reports; none of the former waits for the last.
type Proxy struct {
	server.Recorder
	Impair *Impairment // of the clients' lines; nil for none

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
	notes    *server.Feed // that wait for recording and report
	tape     sync.Mutex   // of the recorder
	enough   chan struct{}
	broken   chan error
	resolved chan resolution

	resolving bool
	asked     time.Duration // for the host's address
	trouble   bool          // was said
	failed    int64         // unsent datagrams, as of the last second

	stats counters
}

// counters count datagrams by their fate.
type counters struct {
	fromClients, fromHost, bytesIn, bytesOut atomic.Int64
	unsent, limited, noRoom                  atomic.Int64
	refused                                  atomic.Int64 // of clients without a place
	refusals                                 atomic.Int64 // answers that nobody listens at the host's port
	sendError                                atomic.Pointer[error]
	clients                                  atomic.Int64 // so far
}

// Counts are the numbers of datagrams so far.
type Counts struct {
	FromClients, FromHost int64
	Dropped               int64 // not forwarded, or lost before
	Unnoted               int64 // forwarded, but not in recording and report
}

// Open resolves the host and opens the socket for clients, on the first address where
// that is possible.
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
		_ = conn.Close() // nothing came
	}
	return nil, err
}

// New returns a proxy that listens on a socket.
func New(front server.Conn, target *Target, host netip.AddrPort) *Proxy {
	return &Proxy{
		front: front, target: target, dial: dial, host: host, clients: map[netip.AddrPort]*client{}, notes: server.NewFeed(),
		began:  time.Now(),
		enough: make(chan struct{}), broken: make(chan error, 1), resolved: make(chan resolution, 1),
	}
}

// Close closes the socket of a proxy that does not serve.
func (p *Proxy) Close() { _ = p.front.Close() } // nothing is kept in it

// Join returns the address that players of this computer join: without the port if
// that is the game's.
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

// Greet says where clients find the proxy.
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

// Serve forwards until stop is closed. It completes the recording.
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
	p.ended = true // no more clients
	p.mu.Unlock()
	for _, c := range p.clients {
		c.endLines()
	}
	_ = p.front.Close() // so that the readers end
	forwarding.Wait()   // a datagram that is recorded is forwarded, too
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
		case server.Gone(err), server.TooLong(err): // Windows says here that a client is no longer there
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
	if c.heard.since(now) >= unanswered {
		c.answered.set(now) // the host had nothing to answer
	}
	c.heard.set(now)
	p.stats.fromClients.Add(1)
	p.stats.bytesIn.Add(int64(len(payload)))
	if c.lines != nil {
		c.lines[impair.ToServer].put(payload)
		return
	}
	p.note(from, host, payload) // before it can be answered
	p.toHost(now, c, up, payload)
}

// toHost sends a client's datagram to the host, and reports whether it could be
// sent.
func (p *Proxy) toHost(now time.Duration, c *client, up server.Conn, payload []byte) bool {
	_, err := up.Write(payload)
	if server.Gone(err) { // about an earlier datagram; this one was not sent
		p.stats.refusals.Add(1)
		_, err = up.Write(payload)
	}
	if err == nil || server.Gone(err) {
		c.failing.Store(0)
		return true
	}
	p.unsent(err)
	if !server.NoRoom(err) { // with another socket the host would see another player
		c.failing.CompareAndSwap(0, int64(now))
	}
	return false
}

// toClient sends a datagram of the host to a client, and reports whether it
// could be sent.
func (p *Proxy) toClient(c *client, payload []byte) bool {
	_, err := p.front.WriteToUDPAddrPort(payload, c.addr)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		p.unsent(err)
	}
	return err == nil
}

// clientAt returns the client at an address, which may be new, with its socket
// to the host. It returns nil if the datagram cannot be forwarded.
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

// admit gives a new client a place and a socket. It returns nil if there is
// none. The lock is held.
func (p *Proxy) admit(now time.Duration, from netip.AddrPort) *client {
	for _, c := range p.clients {
		// A host's address that leads back here would fill all places.
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
	c.heard.set(now)
	c.answered.set(now)
	p.clients[from] = c
	c.lines = p.lines(c, int(p.stats.clients.Add(1)))
	p.listen(c, up, p.host)
	return c
}

// makeRoom takes the place of the client that has been silent longest, if that
// is long. The lock is held.
func (p *Proxy) makeRoom(now time.Duration) bool {
	var spare *client
	for _, c := range p.clients {
		if c.heard.since(now) >= c.limit(playerSpare, browserSpare) && (spare == nil || c.heard.since(now) > spare.heard.since(now)) {
			spare = c
		}
	}
	if spare != nil {
		p.forget(spare, now)
	}
	return spare != nil
}

// forget gives up a client. The lock is held.
func (p *Proxy) forget(c *client, now time.Duration) {
	delete(p.clients, c.addr)
	_ = c.up.Close() // nothing is kept in it
	if c.lines != nil {
		p.readers.Go(func() { // a line may wait for the lock
			defer cli.Guard()
			c.endLines()
		})
	}
	if c.plays {
		p.Log.Say("%s forgotten: silent for %s", c.addr, c.heard.since(now).Round(time.Second))
	}
}

// limit returns the time for players, or the one for server browsers.
func (c *client) limit(player, browser time.Duration) time.Duration {
	if c.plays {
		return player
	}
	return browser
}

// dial opens a socket to the host for a client. On loopback the host sees the
// client's own address: some hosts make an address wait before it connects again.
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
	_ = up.SetReadBuffer(socketBuffer) // the system may have its own opinion
	return up, nil
}

// listen forwards the host's datagrams to a client until its socket is closed.
// The lock is held.
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
			case err != nil: // such as a network that is not there; it may come back
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

// note queues a datagram for recording and report, if there is room.
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

// everySecond does the work that need not follow every datagram.
func (p *Proxy) everySecond(now time.Duration) {
	p.tape.Lock()
	p.Flush(p.counters())
	p.tape.Unlock()
	p.tidy(now)
	p.sayTrouble()
	p.draw()
}

// tidy forgets silent clients, opens another socket where one fails for long,
// and asks for the host's address again if the host is silent.
func (p *Proxy) tidy(now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	silent := false
	for _, c := range p.clients {
		if c.heard.since(now) >= c.limit(playerIdle, browserIdle) {
			p.forget(c, now)
			continue
		}
		if c.failing.Load() != 0 && c.failing.since(now) >= failingFor {
			p.redial(c)
		}
		silent = silent || c.heard.since(now) < unanswered && c.answered.since(now) >= unanswered
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

// redial gives a client another socket to the host. The lock is held.
func (p *Proxy) redial(c *client) {
	up, err := p.dial(p.host, c.addr.Addr())
	if err != nil {
		p.unsent(err)
		return // until the next second
	}
	_ = c.up.Close() // nothing is kept in it
	c.up = up
	c.failing.Store(0)
	p.listen(c, up, p.host)
	p.Log.Say("%s has another socket to %s", c.addr, p.host)
}

// moved takes the answer to the question for the host's address.
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

// sayTrouble says once when nobody listens at the host's port or datagrams
// cannot be sent, and when the host answers again.
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

// Playing returns the number of clients that do more than ask for servers.
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

// draw shows how things stand.
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
