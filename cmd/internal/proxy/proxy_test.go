package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/server"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// wait is the time that a datagram may take on a busy machine.
const wait = time.Minute

// An endpoint is a socket of loopback.
type endpoint struct {
	*net.UDPConn
	at netip.AddrPort
}

func listenAt(tb testing.TB, at string) endpoint {
	tb.Helper()
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(at)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return endpoint{conn, unmapped(conn.LocalAddr().(*net.UDPAddr))}
}

func (e endpoint) send(tb testing.TB, to netip.AddrPort, payload string) {
	tb.Helper()
	if _, err := e.WriteToUDPAddrPort([]byte(payload), to); err != nil {
		tb.Fatal(err)
	}
}

// expect waits for a datagram and returns its sender.
func (e endpoint) expect(tb testing.TB, payload string) netip.AddrPort {
	tb.Helper()
	b := make([]byte, largest)
	if err := e.SetReadDeadline(time.Now().Add(wait)); err != nil {
		tb.Fatal(err)
	}
	n, from, err := e.ReadFromUDPAddrPort(b)
	if err != nil || string(b[:n]) != payload {
		tb.Fatalf("got %.50q, %v, want %.50q", b[:n], err, payload)
	}
	return from
}

// expectNothing checks that no datagram has come. Another one that was sent
// later must have come before.
func (e endpoint) expectNothing(t *testing.T) {
	t.Helper()
	if err := e.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, largest)
	if n, from, err := e.ReadFromUDPAddrPort(b); err == nil {
		t.Errorf("got %.50q from %s, want nothing", b[:n], from)
	}
}

// newTestProxy returns a proxy that does not serve: tests give it datagrams and
// times. Its log goes to a writer.
func newTestProxy(tb testing.TB, w io.Writer, target string) *Proxy {
	tb.Helper()
	tg, err := ParseTarget(target)
	if err != nil {
		tb.Fatal(err)
	}
	hosts, err := tg.Resolve(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	front, err := Listen("127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := New(front, tg, hosts[0])
	p.Log = cli.NewLog(w, false)
	tb.Cleanup(func() {
		p.Close()
		for _, c := range p.clients {
			_ = c.up.Close()
		}
		p.readers.Wait()
		p.Log.Close()
	})
	return p
}

// serve runs a proxy and returns its address and a function that ends it.
func serve(tb testing.TB, p *Proxy) (at netip.AddrPort, end func() error) {
	tb.Helper()
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- p.Serve(stop) }()
	return unmapped(p.front.LocalAddr().(*net.UDPAddr)), func() error {
		close(stop)
		return <-ended
	}
}

// Datagrams of any size reach the host, and its answers reach the right client.
// The recording has them in order, with the addresses of client and host.
func TestForward(t *testing.T) {
	var said bytes.Buffer
	host := listenAt(t, "127.0.0.1:0")
	p := newTestProxy(t, &said, host.at.String())
	name := filepath.Join(t.TempDir(), "proxy.pcapng")
	file, err := capture.CreateWriter(name, capture.DatagramOptions(capture.WriterOptions{Interface: "proxy"}))
	if err != nil {
		t.Fatal(err)
	}
	p.Record(file)
	p.Feed = server.NewFeed()
	at, end := serve(t, p)

	type datagram struct {
		from, to netip.AddrPort
		payload  string
	}
	var want []datagram
	clients := []endpoint{listenAt(t, "127.0.0.1:0"), listenAt(t, "127.0.0.1:0")}
	seen := map[netip.AddrPort]netip.AddrPort{} // by the host, of each client
	for n, payload := range []string{`\status\`, "\x01", "", strings.Repeat("x", 20_000), "\x00\xff"} {
		for _, c := range clients {
			payload := payload + fmt.Sprint(n)[:min(len(payload), 1)]
			c.send(t, at, payload)
			from := host.expect(t, payload)
			if old, ok := seen[c.at]; ok && old != from {
				t.Errorf("the host has seen a client at %s and %s", old, from)
			}
			seen[c.at] = from
			answer := "answer " + fmt.Sprint(n, c.at)
			host.send(t, from, answer)
			if from := c.expect(t, answer); from != at {
				t.Errorf("the answer came from %s, want %s", from, at)
			}
			want = append(want, datagram{c.at, host.at, payload}, datagram{host.at, c.at, answer})
		}
	}
	if seen[clients[0].at] == seen[clients[1].at] {
		t.Error("the host has seen both clients at the same port")
	}
	// Others cannot reach a client through its socket to the host.
	stranger := listenAt(t, "127.0.0.1:0")
	stranger.send(t, seen[clients[0].at], "stranger")
	host.send(t, seen[clients[0].at], "host")
	clients[0].expect(t, "host")
	clients[0].expectNothing(t)
	want = append(want, datagram{host.at, clients[0].at, "host"})

	if err := end(); err != nil {
		t.Fatal(err)
	}
	p.Feed.End()
	src, err := capture.OpenAll([]string{name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	before := time.Time{}
	for i, w := range want {
		d, err := src.Next()
		if err != nil {
			t.Fatal(i, err)
		}
		if got := (datagram{d.Src, d.Dst, string(d.Payload)}); got != w {
			t.Errorf("recorded %d: got %.80v, want %.80v", i, got, w)
		}
		if d.Time.Before(before) {
			t.Errorf("recorded %d: it is before the one before", i)
		}
		before = d.Time
		r, err := p.Feed.Next()
		if err != nil {
			t.Fatal(i, err)
		}
		if got := (datagram{r.Src, r.Dst, string(r.Payload)}); got != w || r.Number != i+1 {
			t.Errorf("reported %d: got %.80v, want %.80v", i, got, w)
		}
	}
	if d, err := src.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %+v, %v, want the end", d, err)
	}
	p.Log.Close()
	if text := "2 clients, 10 datagrams (40.0 kB) to the host, 11 (0.2 kB) back\n"; !strings.HasSuffix(said.String(), text) {
		t.Errorf("got %q, want the end %q", said.String(), text)
	}
}

// A blocked recording does not delay players, and lost datagrams are counted.
func TestStoppedRecording(t *testing.T) {
	host := listenAt(t, "127.0.0.1:0")
	p := newTestProxy(t, io.Discard, host.at.String())
	file := &stopped{writing: make(chan struct{}, 1), proceed: make(chan struct{})}
	p.Record(file)
	at, end := serve(t, p)
	c := listenAt(t, "127.0.0.1:0")
	c.send(t, at, "first")
	from := host.expect(t, "first")
	<-file.writing
	const sent = 700
	big := strings.Repeat("x", 60_000) // the queue takes 32 MiB
	for range sent {
		p.note(c.at, host.at, []byte(big))
	}
	host.send(t, from, "answer")
	c.expect(t, "answer")
	close(file.proceed)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	const fit = (32 << 20) / 60_000
	if got := p.Counts(); got.Unnoted != sent-fit || got.FromClients != 1 || got.FromHost != 1 {
		t.Errorf("got %+v, want %d that were not recorded", got, sent-fit)
	}
	// The small ones before and after fit.
	if file.written != fit+2 || file.last.Dropped != sent-fit || file.last.Received != 2 {
		t.Errorf("%d were recorded, counters %+v, want %d", file.written, file.last, fit+2)
	}
}

// A stopped file blocks its first packet until it may proceed.
type stopped struct {
	writing, proceed chan struct{}
	written          int
	last             capture.Counters
}

func (s *stopped) WritePacket(gopacket.CaptureInfo, []byte) error {
	if s.written++; s.written == 1 {
		s.writing <- struct{}{}
		<-s.proceed
	}
	return nil
}
func (s *stopped) Flush(c capture.Counters) error { s.last = c; return nil }
func (*stopped) Close() error                     { return nil }

// A proxy stops after a number of datagrams, and records no more than them.
func TestPackets(t *testing.T) {
	host := listenAt(t, "127.0.0.1:0")
	p := newTestProxy(t, io.Discard, host.at.String())
	p.Packets, p.Feed = 2, server.NewFeed()
	c := listenAt(t, "127.0.0.1:0")
	for range 3 {
		c.send(t, unmapped(p.front.LocalAddr().(*net.UDPAddr)), "x")
	}
	if err := p.Serve(nil); err != nil {
		t.Fatal(err)
	}
	p.Feed.End()
	n := 0
	for ; ; n++ {
		if _, err := p.Feed.Next(); err != nil {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d were reported, want 2", n)
	}
}

// Without a place for a new client the one that was silent longest goes, if
// that was long: seconds for a server browser, longer for a player.
func TestPlaces(t *testing.T) {
	host := listenAt(t, "127.0.0.1:0")
	p := newTestProxy(t, io.Discard, host.at.String())
	addr := func(n int) netip.AddrPort {
		return netip.AddrPortFrom(netip.MustParseAddr("198.51.100.1"), uint16(4000+n))
	}
	forwards := func(now time.Duration, n int, payload string, want bool) {
		t.Helper()
		before := p.stats.fromClients.Load()
		p.forward(now, addr(n), []byte(payload))
		if got := p.stats.fromClients.Load() > before; got != want {
			t.Errorf("client %d after %v: got %v, want %v", n, now, got, want)
		}
	}
	const query, play = `\status\`, "\x01"
	for n := range mostClients {
		if n < 2 {
			forwards(time.Duration(n), n, play, true)
		} else {
			forwards(time.Second+time.Duration(n), n, query, true)
		}
	}
	forwards(2*time.Second, 100, play, false)
	forwards(browserSpare+time.Second+2, 100, play, true) // in the place of 2
	if p.clients[addr(0)] == nil || p.clients[addr(2)] != nil || p.clients[addr(3)] == nil || len(p.clients) != mostClients {
		t.Errorf("the wrong client had to go: %v", p.clients)
	}
	if got := p.stats.refused.Load(); got != 1 {
		t.Errorf("%d were refused, want 1", got)
	}
	p.tidy(browserIdle + 2*time.Second)
	if len(p.clients) != 3 {
		t.Errorf("%d clients are left, want the three that play", len(p.clients))
	}
	forwards(playerIdle-1, 1, play, true)
	p.tidy(playerIdle)
	if len(p.clients) != 2 || p.clients[addr(1)] == nil || p.clients[addr(100)] == nil {
		t.Errorf("got %v, want the two that were heard of in two minutes", p.clients)
	}
}

// A host on loopback sees clients at their own loopback addresses, where the system
// has routes for all of them.
func TestLoopbackAddresses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("not tried on Windows: wine sends from 127.0.0.1 to 127.0.0.1")
	}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 7)})
	if err != nil {
		t.Skip("this system has one loopback address only")
	}
	defer conn.Close()
	host := listenAt(t, "127.0.0.1:0")
	p := newTestProxy(t, io.Discard, host.at.String())
	at, end := serve(t, p)
	c := endpoint{conn, unmapped(conn.LocalAddr().(*net.UDPAddr))}
	c.send(t, at, "one")
	from := host.expect(t, "one")
	if from.Addr() != c.at.Addr() || from.Port() == c.at.Port() {
		t.Errorf("the host sees %s of %s", from, c.at)
	}
	host.send(t, from, "answer")
	c.expect(t, "answer")
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

// Each client has its own limit of datagrams in a second.
func TestLimit(t *testing.T) {
	host := listenAt(t, "127.0.0.1:0")
	p := newTestProxy(t, io.Discard, host.at.String())
	a, b := netip.MustParseAddrPort("198.51.100.1:4000"), netip.MustParseAddrPort("198.51.100.1:4001")
	for range datagramsPerSecond + 5 {
		p.forward(0, a, []byte("x"))
	}
	for range 21 {
		p.forward(0, b, make([]byte, bytesPerSecond/20))
	}
	if got := p.stats.limited.Load(); got != 6 {
		t.Errorf("%d were dropped, want 6", got)
	}
	p.forward(time.Second, a, []byte("x"))
	if got := p.stats.fromClients.Load(); got != datagramsPerSecond+20+1 {
		t.Errorf("%d were forwarded", got)
	}
}

// A host that ends and starts again is reached through the same socket.
func TestHostRestart(t *testing.T) {
	var said bytes.Buffer
	host := listenAt(t, "127.0.0.1:0")
	p := newTestProxy(t, &said, host.at.String())
	at, end := serve(t, p)
	c := listenAt(t, "127.0.0.1:0")
	c.send(t, at, "one")
	first := host.expect(t, "one")
	_ = host.Close()
	for range 50 { // each is answered by a refusal
		c.send(t, at, "lost")
	}
	for began := time.Now(); p.Counts().FromClients < 51 && time.Since(began) < wait; {
		time.Sleep(time.Millisecond)
	}
	host = listenAt(t, host.at.String())
	for n := range 20 { // none is lost to a refusal of those before
		payload := fmt.Sprint("again ", n)
		c.send(t, at, payload)
		if from := host.expect(t, payload); from != first {
			t.Errorf("the host sees the client at %s, before at %s", from, first)
		}
	}
	host.send(t, first, "welcome")
	c.expect(t, "welcome")
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if got := p.Counts(); got.Dropped != 0 || got.FromClients != 71 {
		t.Errorf("got %+v", got)
	}
}

// Refusals and failures are said once, and their end.
func TestSayTrouble(t *testing.T) {
	var said bytes.Buffer
	p := newTestProxy(t, &said, "192.0.2.1:22101")
	for n, second := range []struct {
		refusals, answers int64
		err               error
	}{{0, 5, nil}, {3, 0, nil}, {2, 0, nil}, {0, 0, nil}, {0, 1, nil}, {0, 0, errFull}, {0, 0, errFull}, {0, 1, errFull}, {0, 0, nil}, {0, 1, nil}, {1, 0, nil}} {
		p.stats.refusals.Store(second.refusals)
		p.stats.fromHost.Add(second.answers)
		if second.err != nil {
			p.unsent(second.err)
		}
		p.everySecond(time.Duration(n) * time.Second)
	}
	p.Log.Close()
	const refused = "bcdissect: 192.0.2.1:22101: nothing listens there; clients can join once the host runs\n"
	const again = "bcdissect: 192.0.2.1:22101 answers again\n"
	if want := refused + again + "bcdissect: can't send datagrams: no space left\n" + again + refused; said.String() != want {
		t.Errorf("got %q, want %q", said.String(), want)
	}
}

// A socket that cannot send any more, as after a change of network, is replaced.
func TestRedial(t *testing.T) {
	host, c := listenAt(t, "127.0.0.1:0"), listenAt(t, "127.0.0.1:0")
	p := newTestProxy(t, io.Discard, host.at.String())
	second := time.Second
	p.forward(second, c.at, []byte("one"))
	first := host.expect(t, "one")
	_ = p.clients[c.at].up.Close()
	p.forward(2*second, c.at, []byte("two"))
	p.tidy(2*second + failingFor - 1)
	p.forward(2*second+failingFor, c.at, []byte("three"))
	p.tidy(2*second + failingFor)
	p.forward(3*second+failingFor, c.at, []byte("four"))
	if from := host.expect(t, "four"); from == first {
		t.Error("the socket is the same")
	} else {
		host.send(t, from, "answer")
	}
	c.expect(t, "answer")
	if got := p.stats.unsent.Load(); got != 2 {
		t.Errorf("%d could not be sent, want 2", got)
	}
}

// A host that is silent is asked for again by its name, not too often, and
// followed to another address. The name that is not found changes nothing.
func TestMove(t *testing.T) {
	var said bytes.Buffer
	host, other, c := listenAt(t, "127.0.0.1:0"), listenAt(t, "127.0.0.1:0"), listenAt(t, "127.0.0.1:0")
	p := newTestProxy(t, &said, fmt.Sprint("localhost:", host.at.Port()))
	p.forward(0, c.at, []byte("one"))
	host.expect(t, "one")
	for now := time.Second; now < unanswered; now += time.Second {
		p.forward(now, c.at, []byte("on"))
		host.expect(t, "on")
		p.tidy(now)
	}
	if p.resolving {
		t.Fatal("the name was asked for too early")
	}
	p.tidy(unanswered)
	if !p.resolving {
		t.Fatal("the name was not asked for")
	}
	r := <-p.resolved
	if r.err != nil || !slices.Contains(r.hosts, host.at) {
		t.Fatalf("got %v", r)
	}
	p.moved(r)
	p.moved(resolution{err: fmt.Errorf("no such host")})
	p.forward(unanswered, c.at, []byte("two"))
	first := host.expect(t, "two")
	p.tidy(unanswered + time.Second)
	if p.resolving {
		t.Error("the name was asked for too often")
	}
	p.moved(resolution{hosts: []netip.AddrPort{other.at}})
	p.forward(unanswered+time.Second, c.at, []byte("three"))
	from := other.expect(t, "three")
	host.send(t, first, "late")
	other.send(t, from, "answer")
	c.expect(t, "answer")
	c.expectNothing(t)
	p.Log.Close()
	if want := fmt.Sprintf("has moved to %s\n", other.at); !strings.Contains(said.String(), want) {
		t.Errorf("got %q, want %q", said.String(), want)
	}
}

// A host's address that leads back to the proxy does not fill it.
func TestLoop(t *testing.T) {
	p := newTestProxy(t, io.Discard, "127.0.0.1:22101")
	p.host = unmapped(p.front.LocalAddr().(*net.UDPAddr))
	if err := checkLoop(p.front, p.host); err == nil || !strings.Contains(err.Error(), "this program listens there itself") {
		t.Errorf("got %v", err)
	}
	if err := checkLoop(p.front, netip.AddrPortFrom(p.host.Addr(), p.host.Port()^1)); err != nil {
		t.Errorf("another port: %v", err)
	}
	if err := checkLoop(p.front, netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), p.host.Port())); err != nil {
		t.Errorf("another machine: %v", err)
	}
	at, end := serve(t, p)
	c := listenAt(t, "127.0.0.1:0")
	c.send(t, at, "round")
	for began := time.Now(); p.stats.refused.Load() == 0 && time.Since(began) < wait; {
		time.Sleep(time.Millisecond)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if n := len(p.clients); n != 1 {
		t.Errorf("there are %d clients, want 1", n)
	}
}

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7": "192.0.2.7:22101", "192.0.2.7:5": "192.0.2.7:5", "game.example.org": "game.example.org:22101", "localhost:65535": "localhost:65535",
	} {
		if got, err := ParseTarget(text); err != nil || got.String() != want {
			t.Errorf("%s: got %v, %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "give the address", ":22101": "give the address", "a:0": "ports go from 1 to 65535", "a:65536": "ports go from", "a:b": "ports go from",
		"::1": "the game does not support IPv6", "[2001:db8::1]:22101": "the game does not support IPv6", "0.0.0.0": "not the address of a host",
		"255.255.255.255": "not the address", "224.0.0.1": "not the address",
	} {
		if got, err := ParseTarget(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want %q", text, got, err, want)
		}
	}
}

// Only an address makes the proxy reachable for others.
func TestListen(t *testing.T) {
	for _, address := range []string{"0", ":0", "127.0.0.1:0"} {
		conn, err := Listen(address)
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		if at := unmapped(conn.LocalAddr().(*net.UDPAddr)); !at.Addr().IsLoopback() {
			t.Errorf("%s: got %s", address, at)
		}
		_ = conn.Close()
	}
	conn, err := Listen("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if at := unmapped(conn.LocalAddr().(*net.UDPAddr)); !at.Addr().IsUnspecified() {
		t.Errorf("got %s", at)
	}
}

// added measures a datagram to a host and back, without and with a recording
// proxy in between, by turns, as long as there are more of them. It returns the
// time that the proxy adds to one way, at shares of the sorted round trips.
func added(tb testing.TB, more func() bool, shares ...float64) []time.Duration {
	tb.Helper()
	host := listenAt(tb, "127.0.0.1:0")
	go func() {
		buf := make([]byte, largest)
		for {
			n, from, err := host.ReadFromUDPAddrPort(buf)
			if err != nil {
				return // closed
			}
			_, _ = host.WriteToUDPAddrPort(buf[:n], from) // the client notices
		}
	}()
	p := newTestProxy(tb, io.Discard, host.at.String())
	file, err := capture.CreateWriter(filepath.Join(tb.TempDir(), "proxy.pcapng"), capture.DatagramOptions(capture.WriterOptions{Interface: "proxy"}))
	if err != nil {
		tb.Fatal(err)
	}
	p.Record(file)
	at, end := serve(tb, p)
	payload := strings.Repeat("x", 60)
	var took [2][]time.Duration
	clients := [2]endpoint{listenAt(tb, "127.0.0.1:0"), listenAt(tb, "127.0.0.1:0")}
	for more() {
		time.Sleep(time.Millisecond) // within the limits of a client
		for i, to := range []netip.AddrPort{host.at, at} {
			began := time.Now()
			clients[i].send(tb, to, payload)
			clients[i].expect(tb, payload)
			took[i] = append(took[i], time.Since(began))
		}
	}
	if err := end(); err != nil {
		tb.Fatal(err)
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	var all []time.Duration
	for _, share := range shares {
		n := int(share * float64(len(took[0])-1))
		all = append(all, (took[1][n]-took[0][n])/2)
	}
	return all
}

// BenchmarkForward has a client send a datagram every millisecond.
func BenchmarkForward(b *testing.B) {
	const perMicrosecond = 1e3
	took := added(b, b.Loop, 0.5, 0.99)
	b.ReportMetric(float64(took[0])/perMicrosecond, "added-µs")
	b.ReportMetric(float64(took[1])/perMicrosecond, "added-µs-p99")
}

// A recording that fails, as on a full disk, ends without the game, and makes
// the program fail in the end.
func TestFailedRecording(t *testing.T) {
	var said bytes.Buffer
	host := listenAt(t, "127.0.0.1:0")
	p := newTestProxy(t, &said, host.at.String())
	p.Feed = server.NewFeed()
	p.Record(&full{left: 1})
	at, end := serve(t, p)
	c := listenAt(t, "127.0.0.1:0")
	const sent = 4
	for n := range sent {
		c.send(t, at, fmt.Sprint(n))
		host.send(t, host.expect(t, fmt.Sprint(n)), "answer")
		c.expect(t, "answer")
	}
	for deadline := time.Now().Add(time.Minute); p.Failed() == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) { // recorded by another goroutine
	}
	if err := p.Failed(); !errors.Is(err, errFull) {
		t.Errorf("while the game goes on: %v", err)
	}
	if err := end(); !errors.Is(err, errFull) || cli.StatusOf(err) != cli.ExitFailed {
		t.Errorf("got %v", err)
	}
	p.Feed.End()
	n := 0
	for _, err := p.Feed.Next(); err == nil; _, err = p.Feed.Next() {
		n++
	}
	if n != 2*sent {
		t.Errorf("%d were reported, want %d", n, 2*sent)
	}
	p.Log.Close()
	if strings.Count(said.String(), "recording has ended: no space left\n") != 1 {
		t.Errorf("got %q", said.String())
	}
}

var errFull = errors.New("no space left")

// A full file takes so many packets.
type full struct{ left int }

func (f *full) WritePacket(gopacket.CaptureInfo, []byte) error {
	if f.left--; f.left < 0 {
		return errFull
	}
	return nil
}
func (*full) Flush(capture.Counters) error { return nil }
func (*full) Close() error                 { return nil }
