package browsertest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/bcdissect/bcdissect/decode/modfile"
	"github.com/bcdissect/bcdissect/dissect/bots"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// hurry is how much faster than the clock the bots of TestHour play.
const hurry = 8

// A rush lets bots play over UDP, with a clock that runs faster than the real
// one. It implements the driver of bots.
type rush struct {
	host     netip.AddrPort
	began    time.Time
	sockets  map[netip.AddrPort]*net.UDPConn
	opened   int
	incoming chan relay.Arrival
}

func newRush(host string) *rush {
	return &rush{host: netip.MustParseAddrPort(host), began: time.Now(), sockets: map[netip.AddrPort]*net.UDPConn{}, incoming: make(chan relay.Arrival, 1<<14)}
}

func (r *rush) Now() time.Time { return r.began.Add(hurry * time.Since(r.began)) }

func (r *rush) Host() netip.AddrPort { return r.host }

// Open uses another address each time, since the host makes an address wait
// before it may connect again.
func (r *rush) Open() (netip.AddrPort, error) {
	r.opened++
	c, err := net.DialUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 1+byte(r.opened/250), byte(2+r.opened%250))}, net.UDPAddrFromAddrPort(r.host))
	if err != nil {
		return netip.AddrPort{}, err
	}
	local := c.LocalAddr().(*net.UDPAddr).AddrPort()
	r.sockets[local] = c
	go func() {
		for {
			b := make([]byte, 2048)
			n, err := c.Read(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				r.incoming <- relay.Arrival{At: r.Now(), From: r.host, To: local, Datagram: b[:n]}
			}
		}
	}()
	return local, nil
}

func (*rush) Listen(netip.AddrPort) error { return errors.New("not here") }

func (r *rush) Close(local netip.AddrPort) {
	_ = r.sockets[local].Close()
	delete(r.sockets, local)
}

func (r *rush) Send(local netip.AddrPort, d []byte) error {
	_, err := r.sockets[local].Write(d)
	return err
}

func (r *rush) Receive(until time.Time) (relay.Arrival, bool) {
	t := time.NewTimer(until.Sub(r.Now()) / hurry)
	defer t.Stop()
	select {
	case a := <-r.incoming:
		return a, true
	case <-t.C:
		return relay.Arrival{}, false
	}
}

func (*rush) Refused() error { return nil }

// A gate passes connections on, until it is cut. Then no connection gets
// through until it is mended.
type gate struct {
	at   string
	mu   sync.Mutex
	cut  bool
	open map[net.Conn]bool
}

func newGate(t *testing.T, to string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	g := &gate{at: l.Addr().String(), open: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go g.pass(c, to)
		}
	}()
	return g
}

func (g *gate) pass(c net.Conn, to string) {
	defer c.Close()
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer far.Close()
	g.mu.Lock()
	if g.cut {
		g.mu.Unlock()
		return
	}
	g.open[c] = true
	g.mu.Unlock()
	go func() { _, _ = io.Copy(far, c) }()
	_, _ = io.Copy(c, far)
	g.mu.Lock()
	delete(g.open, c)
	g.mu.Unlock()
}

func (g *gate) set(cut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut = cut
	for c := range g.open {
		_ = c.Close()
	}
}

// An audience is many viewers, of whom some take nothing. These are dropped
// again and again.
type audience struct {
	bytes, dropped atomic.Int64
	lost           atomic.Int64 // viewers that were dropped though they read
	end            chan struct{}
	all            sync.WaitGroup
}

// watch opens viewers at addresses in turn. Every tenth of them takes nothing.
func watch(n int, addresses ...string) *audience {
	a := &audience{end: make(chan struct{})}
	for i := range n {
		address := addresses[i%len(addresses)]
		a.all.Go(func() {
			if i%10 == 0 {
				a.stick(address)
			} else {
				a.read(address)
			}
		})
	}
	return a
}

func (a *audience) ended() bool {
	select {
	case <-a.end:
		return true
	default:
		return false
	}
}

// read reads all that comes.
func (a *audience) read(address string) {
	r, err := http.NewRequest(http.MethodGet, address, http.NoBody)
	if err != nil {
		panic(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		a.lost.Add(1)
		return
	}
	go func() { <-a.end; _ = answer.Body.Close() }()
	n, _ := io.Copy(countTo{&a.bytes}, answer.Body)
	if !a.ended() || n == 0 {
		a.lost.Add(1)
	}
}

// countTo counts bytes.
type countTo struct{ n *atomic.Int64 }

func (c countTo) Write(p []byte) (int, error) { c.n.Add(int64(len(p))); return len(p), nil }

// stick asks with a small window and reads nothing. When the server has given
// the viewer up, it asks again.
func (a *audience) stick(address string) {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	for !a.ended() {
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			return
		}
		_ = c.(*net.TCPConn).SetReadBuffer(4096)
		_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", u.Path, u.Host)
		for gone := false; !gone && !a.ended(); { // what is sent to a closed connection is answered with a reset
			time.Sleep(time.Second)
			if _, err := c.Write([]byte("\r\n")); err != nil {
				gone = true
				a.dropped.Add(1)
			}
		}
		_ = c.Close()
	}
}

// stop ends all viewers.
func (a *audience) stop() {
	close(a.end)
	a.all.Wait()
}

// resident returns the memory of a process that is in use, its program file
// included, in MB, and the processor time that it has used.
func resident(t *testing.T, pid int) (mb float64, used time.Duration) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(status)) {
		if f := strings.Fields(l); f[0] == "VmRSS:" {
			n, _ := strconv.Atoi(f[1])
			mb = float64(n) / 1024
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
	for _, field := range f[11:13] { // utime and stime, in hundredths of a second
		n, _ := strconv.Atoi(field)
		used += time.Duration(n) * 10 * time.Millisecond
	}
	return mb, used
}

// heap returns how much memory the objects of the page's scripts take, in MB.
func (p *tab) heap() float64 {
	p.t.Helper()
	p.call(chromedp.Call(p.ctx, heapprofiler.CollectGarbage, cdp.Empty{}))
	u, err := chromedp.Call(p.ctx, runtime.GetHeapUsage, cdp.Empty{})
	if err != nil {
		p.t.Fatal(err)
	}
	return u.UsedSize / (1 << 20)
}

// fighters stay for the whole match.
const fighters = `[bots]
Pilot = ["join", "fly 1s", "fire", "fly 2s", "hit", "fly 3s", "fire", "fly 2s", "chat one more", "fly 4s", "fire", "fly 5s", "hit", "fly 6s", "die", "wait 5s", "fly 1s", "repeat"]
`

// TestHour has eight bots play for an hour at eight times the speed of the
// clock. In the middle all leave and come back, so that another match begins. There are
// 200 viewers, of whom 20 take nothing, and a page whose connection is lost and comes
// back. (Players who come and go are in the memory test of livepage: here the host
// would remember each of them for eight times as long.)
func TestHour(t *testing.T) {
	if os.Getenv("BCDISSECT_LONG") == "" {
		t.Skip("takes eight minutes: set BCDISSECT_LONG")
	}
	length := time.Hour
	if text := os.Getenv("BCDISSECT_HOUR"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	b := newBroadcast(t)
	u, err := url.Parse(b.page)
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, u.Host)
	live := newTab(t, 1440, 900)
	live.do(chromedp.Navigate("http://" + g.at + u.Path))
	live.until(`document.documentElement.dataset.live === "yes"`)
	eval[chromedp.Void](live, `live.most = 20000`) // at eight times the speed there are as many points in eight minutes as the page keeps in an hour

	// A part of the match without viewers, then all viewers come.
	stay, err := bots.ReadScripts(modfile.File{Name: "fighters", Data: []byte(fighters)})
	if err != nil {
		t.Fatal(err)
	}
	d := newRush(b.host)
	var reports []*bots.Report
	play := func(length time.Duration, scripts []bots.Script) chan error {
		ended := make(chan error, 1)
		go func() {
			r, err := bots.Run(d, bots.Options{Bots: 8, Seed: 7, For: length, Dialect: "openbc", Scripts: scripts})
			if err == nil {
				reports = append(reports, r)
			}
			ended <- err
		}()
		return ended
	}
	pid := b.cmd.Process.Pid
	var a *audience
	began := time.Now()
	most, heaps, rates := 0.0, []float64{}, []float64{}
	var sampled time.Duration
	at := began
	sample := func() {
		mb, used := resident(t, pid)
		most = max(most, mb)
		now := time.Now()
		rates = append(rates, float64(used-sampled)/float64(now.Sub(at)))
		sampled, at = used, now
		heaps = append(heaps, live.heap())
		t.Logf("%v of play: server %.1f MB, %.0f %% of a processor; page %.1f MB, %d points", d.Now().Sub(d.began).Round(time.Second), mb, rates[len(rates)-1]*100, heaps[len(heaps)-1], eval[int](live, `live.flights.reduce((n, f) => n + f.points, 0)`))
	}
	follow := func(ended chan error, steps ...func()) {
		for {
			wait := time.After(length / hurry / 24)
			select {
			case err := <-ended:
				if err != nil {
					t.Fatal(err)
				}
				if len(steps) > 0 {
					t.Fatalf("%d steps are left", len(steps))
				}
				return
			case <-wait:
				sample()
				if len(steps) > 0 {
					steps[0]()
					steps = steps[1:]
				}
			}
		}
	}
	nothing := func() {}
	follow(play(length/2, stay), nothing, nothing, func() {
		a = watch(200, b.page+"api/page", b.public+"api/page", b.public+"api/live", b.public+"api/live", b.public+"api/page")
	}, nothing, nothing, func() {
		g.set(true)
		live.until(`document.querySelector(".bars .lost").textContent !== ""`)
	}, func() {
		g.set(false)
		live.until(`document.querySelector(".bars .lost").textContent === ""`)
	})
	before := len(heaps)
	follow(play(length/2, stay), nothing, func() {
		live.until(`live.matches.length === 2 && app.index === 1`)
	})
	if n := a.lost.Load(); n != 0 {
		t.Errorf("%d viewers were dropped though they read", n)
	}
	if a.dropped.Load() < 20 {
		t.Errorf("%d viewers who take nothing were dropped, not all 20", a.dropped.Load())
	}
	a.stop()
	if limit := 60 + 2*length.Hours(); most > limit {
		t.Errorf("the server took %.1f MB, more than %.0f", most, limit)
	}
	if early, late := heaps[before/2], heaps[len(heaps)-1]; late > 1.5*early+2 {
		t.Errorf("the page grew from %.1f MB to %.1f MB", early, late)
	}
	half := func(list []float64) float64 { // the average of samples without viewers, or with them
		sum := 0.0
		for _, x := range list {
			sum += x
		}
		return sum / float64(len(list))
	}
	t.Logf("server at most %.1f MB; %.1f %% of a processor without viewers, %.1f %% with 200 in the same match; they got %d MB; %d stuck viewers were dropped", most, 100*half(rates[1:3]), 100*half(rates[4:before]), a.bytes.Load()>>20, a.dropped.Load())

	// The game did not wait, and the page knows every death.
	deaths := 0
	for _, r := range reports {
		all := &r.All
		deaths += all.Deaths
		t.Logf("%d joins, %d deaths, %d shots; gap %.0f ms, %d of %d updates missing", all.Joins, all.Deaths, all.Shots, all.Gap.P95, all.UpdatesMissing, all.UpdatesSeen)
		if all.PutOut > 0 || all.LinesMissing > 0 {
			t.Errorf("%d bots lost the game (%s), %d lines of chat are missing", all.PutOut, all.Reason, all.LinesMissing)
		}
	}
	live.until(fmt.Sprintf(`live.matches.reduce((n, m) => n + m.kills.length, 0) === %d`, deaths))
	_ = b.cmd.Process.Signal(os.Interrupt)
	if err := b.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
