package browsertest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
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

	mu    sync.Mutex
	now   time.Time // time in the game
	asked time.Time // when time last went on
	heard time.Time // when the host last sent anything
}

func newRush(host string) *rush {
	now := time.Now()
	return &rush{host: netip.MustParseAddrPort(host), began: now, now: now, asked: now, heard: now, sockets: map[netip.AddrPort]*net.UDPConn{}, incoming: make(chan relay.Arrival, 1<<14)}
}

func (r *rush) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// ticks has time go on. It is slower where a busy machine lets the bots or the host wait
// for a processor: bots would send all that they are late with at once, more than the host
// takes of a player, and they take for lost what is late by two seconds, a quarter of a
// second at this speed.
func (r *rush) ticks() {
	const wait = 50 * time.Millisecond
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	step := min(now.Sub(r.asked), wait)
	if now.Sub(r.heard) < wait {
		step *= hurry
	}
	r.now, r.asked = r.now.Add(step), now
}

// hears takes a datagram of the host.
func (r *rush) hears(local netip.AddrPort, d []byte) {
	r.mu.Lock()
	a := relay.Arrival{At: r.now, From: r.host, To: local, Datagram: d}
	r.heard = time.Now()
	r.mu.Unlock()
	r.incoming <- a
}

func (r *rush) Host() netip.AddrPort { return r.host }

// Open uses another address each time, since the host makes an address wait
// before it may connect again.
func (r *rush) Open() (netip.AddrPort, error) {
	r.opened++
	c, err := net.DialUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 1+byte(r.opened/250), byte(2+r.opened%250))}, net.UDPAddrFromAddrPort(r.host))
	if err != nil {
		return netip.AddrPort{}, err
	}
	_ = c.SetReadBuffer(4 << 20) // on a busy machine all of a second can wait here; the system may limit the size
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
				r.hears(local, b[:n])
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
	r.ticks()
	defer r.ticks()
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
		for gone := false; !gone && !a.ended(); { // writing to a connection that the server closed leads to a reset
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

// heap returns how much memory the objects of the page's scripts take, in MB. What the page
// has just received is not garbage yet, so it is the least of several times.
func (p *tab) heap() float64 {
	p.t.Helper()
	least := math.Inf(1)
	for range 3 {
		p.call(chromedp.Call(p.ctx, heapprofiler.CollectGarbage, cdp.Empty{}))
		u, err := chromedp.Call(p.ctx, runtime.GetHeapUsage, cdp.Empty{})
		if err != nil {
			p.t.Fatal(err)
		}
		least = min(least, u.UsedSize/(1<<20))
	}
	return least
}

// fighters stay for the whole match.
const fighters = `[bots]
Pilot = ["join", "fly 1s", "fire", "fly 2s", "hit", "fly 3s", "fire", "fly 2s", "chat one more", "fly 4s", "fire", "fly 5s", "hit", "fly 6s", "die", "wait 5s", "fly 1s", "repeat"]
`

// TestHour has eight bots play for an hour at eight times the speed of the clock: bots that
// stay, and bots that come and go all the time, each of whom the host remembers for eight
// times as long. Towards the end the host restarts the match. There are 200 viewers, of
// whom 20 take nothing, and a page whose connection is lost and comes back.
func TestHour(t *testing.T) {
	if os.Getenv("BCDISSECT_LONG") == "" {
		t.Skip("takes 16 minutes: set BCDISSECT_LONG")
	}
	length := time.Hour
	if text := os.Getenv("BCDISSECT_HOUR"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	stay, err := bots.ReadScripts(modfile.File{Name: "fighters", Data: []byte(fighters)})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("stay", func(t *testing.T) { playHour(t, length, stay) })
	t.Run("come and go", func(t *testing.T) { playHour(t, length, nil) })
}

// An hour is what TestHour measures.
type hour struct {
	t           *testing.T
	pid         int
	live        *tab
	most        float64   // MB that the server took
	heaps       []float64 // MB that the page took
	present     []float64 // players who are there
	rates       []float64 // processor time of the server as a share
	used        time.Duration
	at          time.Time
	playedUntil func() time.Duration
}

// sample measures the server and the page.
func (h *hour) sample() {
	mb, used := resident(h.t, h.pid)
	h.most = max(h.most, mb)
	now := time.Now()
	h.rates = append(h.rates, float64(used-h.used)/float64(now.Sub(h.at)))
	h.used, h.at = used, now
	h.heaps = append(h.heaps, h.live.heap())
	h.present = append(h.present, eval[float64](h.live, present))
	h.t.Logf("%v of play: server %.1f MB, %.0f %% of a processor; page %.1f MB, %d points", h.playedUntil().Round(time.Second), mb, h.rates[len(h.rates)-1]*100, h.heaps[len(h.heaps)-1], eval[int](h.live, `live.flights.reduce((n, f) => n + (f ? f.points : 0), 0)`))
}

// follow takes a step at each 48th of the length, until the game has ended.
func (h *hour) follow(length time.Duration, ended chan error, steps ...func()) {
	h.t.Helper()
	for {
		wait := time.After(length / hurry / 48)
		select {
		case err := <-ended:
			if err != nil {
				h.t.Fatal(err)
			}
			if len(steps) > 0 {
				h.t.Fatalf("%d steps are left", len(steps))
			}
			return
		case <-wait:
			h.sample()
			if len(steps) > 0 {
				steps[0]()
				steps = steps[1:]
			}
		}
	}
}

// What the page and the overlay show of the match that is played.
const (
	firstMatch = `(() => { const m = live.matches[0]; return [m.players.reduce((n, p) => n + p.deaths, 0), m.kills.length, m.over]; })()`
	anew       = `live.matches.length === 2 && app.index === 1 && app.m.begin > live.matches[0].over - 1 && app.t >= app.m.begin`
	pageDeaths = `[...document.querySelectorAll(".board tbody [data-deaths]")].reduce((n, e) => n + +e.dataset.deaths, 0)`
	present    = `(live.matches.at(-1)?.players ?? []).filter((p) => p.left === undefined).length`
	away       = `[...document.querySelectorAll("#score .row:not(.head)")].map((r) => r.classList.contains("away") ? "a" : "p").join("")`
	overDeaths = `[...document.querySelectorAll("#score .row:not(.head)")].reduce((n, r) => n + +r.children[2].textContent, 0)`
)

// restarts checks what page and overlay show after the host has restarted the match.
// The old match stays.
func (h *hour) restarts(over *tab, restart func()) {
	h.t.Helper()
	deaths := eval[int](h.live, pageDeaths)
	if known := eval[int](over, overDeaths); deaths == 0 || known == 0 {
		h.t.Fatalf("before the restart the page shows %d deaths, the overlay %d", deaths, known)
	}
	// The overlay has those who are there, and then those who have left.
	h.t.Logf("%s of the page's players are there; the rows of the overlay: %s", eval[string](h.live, present+`+" of "+live.matches.at(-1).players.length`), eval[string](over, away))
	over.until(fmt.Sprintf(`/^p+a*$/.test(%s)`, away))
	restart()
	h.live.until(anew)
	h.live.until(pageDeaths + ` === live.matches[1].kills.length && live.matches[1].kills.length < live.matches[0].kills.length / 2 && ` + pageKills + ` === live.matches[1].kills.length`)
	over.until(fmt.Sprintf(`%s < %d`, overDeaths, max(deaths/2, 1)))
	if got := eval[string](h.live, `(() => { const b = document.querySelector("#time"); return [+b.ariaValueMin < app.m.begin - 1, +b.ariaValueMax > app.m.end + 1, document.querySelectorAll(".killtable tbody tr[data-t]").length > live.matches[0].kills.length / 2].join(); })()`); got != "false,false,false" {
		h.t.Errorf("the time bar and the kills do not begin anew: %s", got)
	}
	old := eval[[]float64](h.live, firstMatch)
	if int(old[0]) < deaths || old[0] != old[1] {
		h.t.Errorf("the old match has %v deaths and %v kills; the page showed %d", old[0], old[1], deaths)
	}
	eval[chromedp.Void](h.live, `(live.following = false, app.choose(0))`)
	h.live.until(fmt.Sprintf(`app.index === 0 && %s === %v && live.flights[0].points > 0`, pageDeaths, old[0]))
	h.live.do(chromedp.KeyEvent("l"))
	h.live.until(anew)
	// The list of matches has the length of the one that is played.
	h.live.until(`(() => { const seconds = (text) => text.split(":").reduce((n, x) => 60 * n + +x, 0), pick = document.getElementById("pick"), row = document.querySelector("[aria-labelledby=matches] tbody tr:last-child");
		const long = seconds(row.cells[3].textContent); return long > 10 && long > app.m.end - app.m.begin - 100 && pick.value === "1" && seconds(pick.selectedOptions[0].textContent.split(", ").at(-1)) === long; })()`)
}

func playHour(t *testing.T, length time.Duration, scripts []bots.Script) {
	control := filepath.Join(t.TempDir(), "relay.sock")
	b := newBroadcast(t, "--control", control)
	u, err := url.Parse(b.page)
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, u.Host)
	live := newTab(t, 1440, 900)
	live.do(chromedp.Navigate("http://" + g.at + u.Path))
	live.until(`document.documentElement.dataset.live === "yes"`)
	eval[chromedp.Void](live, `live.most = 20000`) // at eight times the speed there are as many points in eight minutes as the page keeps in an hour
	over := newTab(t, 1920, 1080)
	over.do(chromedp.Navigate(b.page + "overlay"))

	// A part of the match without viewers, then all viewers come.
	d := newRush(b.host)
	ended := make(chan error, 1)
	var r *bots.Report
	go func() {
		var err error
		r, err = bots.Run(d, bots.Options{Bots: 8, Seed: 7, For: length, Dialect: "openbc", Scripts: scripts})
		ended <- err
	}()
	now := time.Now()
	h := &hour{t: t, pid: b.cmd.Process.Pid, at: now, live: live, playedUntil: func() time.Duration { return d.Now().Sub(d.began) }}
	var a *audience
	before := 0
	nothing := func() {}
	steps := []func(){nothing, nothing, func() {
		a = watch(200, b.page+"api/page", b.public+"api/page", b.public+"api/live", b.public+"api/live", b.public+"api/page")
	}, nothing, nothing, func() {
		g.set(true)
		live.until(`document.querySelector(".bars .lost").textContent !== ""`)
	}, func() {
		g.set(false)
		live.until(`document.querySelector(".bars .lost").textContent === ""`)
	}}
	for range 48*2/3 - len(steps) { // most of the hour is one match
		steps = append(steps, nothing)
	}
	h.follow(length, ended, append(steps, func() {
		before = len(h.heaps)
		h.restarts(over, func() { program(t, "relay", "ctl", "--control", control, "restart") })
	})...)
	if n := a.lost.Load(); n != 0 {
		t.Errorf("%d viewers were dropped though they read", n)
	}
	if a.dropped.Load() < 20 {
		t.Errorf("%d viewers who take nothing were dropped, not all 20", a.dropped.Load())
	}
	a.stop()
	if limit := 60 + 2*length.Hours(); h.most > limit {
		t.Errorf("the server took %.1f MB, more than %.0f", h.most, limit)
	}
	if early, late := h.heaps[before/2], h.heaps[len(h.heaps)-1]; late > 1.5*early+2 {
		t.Errorf("the page grew from %.1f MB to %.1f MB", early, late)
	}
	mean := func(list []float64) (sum float64) {
		for _, x := range list {
			sum += x / float64(len(list))
		}
		return sum
	}
	t.Logf("server at most %.1f MB; %.1f %% of a processor without viewers, %.1f %% with 200 in the same match; they got %d MB; %d stuck viewers were dropped", h.most, 100*mean(h.rates[1:3]), 100*mean(h.rates[4:before]), a.bytes.Load()>>20, a.dropped.Load())

	// The game did not wait, and the page knows every death.
	speed := float64(d.Now().Sub(d.began)) / float64(time.Since(d.began))
	if speed < hurry/2 {
		t.Errorf("the machine is too busy: the bots played at %.1f times the speed", speed)
	}
	all := &r.All
	t.Logf("%d joins, %d deaths, %d shots at %.1f times the speed; gap %.0f ms, at most %.0f, %d of %d updates missing", all.Joins, all.Deaths, all.Shots, speed, all.Gap.P95, all.Gap.Max, all.UpdatesMissing, all.UpdatesSeen)
	// The copies that the server owes: one for each of the others who are there.
	if others := mean(h.present) - 1; others < 3 || others > 7.5 || float64(all.UpdatesSeen) < 0.8*others*float64(all.Updates) {
		t.Errorf("%.1f others got only %d copies of %d updates", others, all.UpdatesSeen, all.Updates)
	} else {
		t.Logf("%.1f others got %d copies of %d updates", others, all.UpdatesSeen, all.Updates)
	}
	if all.PutOut > 0 || all.LinesMissing > 0 || all.UpdatesMissing > 0 {
		t.Errorf("%d bots lost the game (%s), %d lines of chat and %d updates are missing", all.PutOut, all.Reason, all.LinesMissing, all.UpdatesMissing)
	}
	// A bot may lose a ship of the old match before it hears of the restart.
	live.until(fmt.Sprintf(`[0, 1].includes(%d - live.matches.reduce((n, m) => n + m.kills.length, 0))`, all.Deaths))
	_ = b.cmd.Process.Signal(os.Interrupt)
	if err := b.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
