// Package browsertest opens pages in Chromium. It is a separate module, so that
// the program does not depend on the driver.
package browsertest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/page"
)

// A tab is a page in a browser, with all that it asked for and complained of.
type tab struct {
	t   *testing.T
	ctx context.Context

	file string

	mu       sync.Mutex
	said     []string
	requests []string
}

// browser is the one in which all tests open their tabs.
var browser struct {
	sync.Once
	ctx  context.Context
	stop func()
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if browser.stop != nil {
		browser.stop()
	}
	os.Exit(code)
}

// start starts the browser unless it runs.
func start(t *testing.T) context.Context {
	t.Helper()
	browser.Do(func() {
		path, err := exec.LookPath(cmp.Or(os.Getenv("CHROMIUM"), "chromium"))
		if err != nil {
			browser.err = fmt.Errorf("%w; install Chromium or name it in CHROMIUM", err)
			return
		}
		options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
			chromedp.Flag("blink-settings", "preferredColorScheme=0")) // dark
		alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, end := chromedp.NewContext(alloc)
		browser.ctx, browser.stop = ctx, func() { end(); stop() }
		browser.err = chromedp.Do(ctx)
	})
	if browser.err != nil {
		t.Fatal(browser.err)
	}
	return browser.ctx
}

// open writes a page, opens it in a new tab, and waits until it is ready. The
// test fails if the page has requested anything else, or has logged an error,
// by the end of the test.
func open(t *testing.T, all []*match.Match, hash string, width, height int) *tab {
	t.Helper()
	return openWith(t, all, match.Evenings{Captures: []string{"evening.pcap"}}, hash, width, height)
}

func openWith(t *testing.T, all []*match.Match, o match.Evenings, hash string, width, height int) *tab {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, all, o); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "evening.html")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newTab(t, width, height)
	p.file = file
	url := "file://" + file
	p.load(url+hash, url)
	return p
}

// prologue runs before the scripts of a page. It counts the frames that the page
// has asked for and has yet to draw, and has the page scroll at once: a click goes to the
// place that an element has when the test looks for it.
const prologue = `(() => {
	const ask = requestAnimationFrame;
	window.framesToCome = 0;
	window.requestAnimationFrame = (draw) => { framesToCome++; return ask((now) => { framesToCome--; draw(now); }); };
	addEventListener("DOMContentLoaded", () => { document.documentElement.style.scrollBehavior = "auto"; });
})()`

// newTab opens an empty tab.
func newTab(t *testing.T, width, height int) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(start(t))
	t.Cleanup(end)
	p := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatal(err)
	}
	p.call(chromedp.Call(ctx, network.Enable, network.EnableParams{}))
	p.call(chromedp.Call(ctx, log.Enable, cdp.Empty{}))
	p.call(chromedp.Call(ctx, runtime.Enable, cdp.Empty{}))
	p.call(chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}))
	p.call(chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: int64(width), Height: int64(height), DeviceScaleFactor: 1}))
	if _, err := chromedp.Call(ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: prologue}); err != nil {
		t.Fatal(err)
	}
	return p
}

// load loads a page and waits until it is ready. When the test ends, the page
// must have asked for nothing but what begins with own, and have complained of nothing.
func (p *tab) load(url, own string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url))
	p.until(`"ready" in document.documentElement.dataset`)
	p.keeps(own)
}

// keeps checks, when the test ends, that the page has asked for nothing but what begins
// with own, and has complained of nothing.
func (p *tab) keeps(own string) {
	p.t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, r := range p.requests {
			if !strings.HasPrefix(strings.TrimPrefix(r, "blob:"), own) && r != "data:," {
				p.t.Errorf("the page asks for %s", r)
			}
		}
		if len(p.requests) == 0 {
			p.t.Error("not even the request for the page itself was heard of")
		}
		for _, s := range p.said {
			p.t.Errorf("the console says: %s", s)
		}
	})
}

func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.said = append(p.said, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		p.said = append(p.said, fmt.Sprintf("%+v", e))
	case *log.EventEntryAdded:
		p.said = append(p.said, e.Entry.Text)
	}
}

func (p *tab) call(_ cdp.Empty, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// eval returns the value of an expression in the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// patience is the time after which a test gives up. A busy machine may take many
// times as long as an idle one for each step.
const patience = time.Minute

// until waits for an expression to hold.
func (p *tab) until(expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if eval[bool](p, expression) {
			return
		}
	}
	p.t.Fatalf("in %v there was never %s", patience, expression)
}

// rests waits until the page has drawn all that it has to: the moment, and the
// way of the camera to its place.
func (p *tab) rests() {
	p.t.Helper()
	p.until(`framesToCome === 0`)
}

// link follows a link within the page, and waits until what it leads to is drawn.
func (p *tab) link(hash string) {
	p.t.Helper()
	eval[chromedp.Void](p, `new Promise((done) => {
		if (location.hash === "`+hash+`") { done(); return; }
		addEventListener("hashchange", () => done(), { once: true }); // after the page's own listener
		location.hash = "`+hash+`"; })`)
	p.rests()
}

// moment is the moment that the replay shows, as assistive technology reads it.
const moment = `+document.getElementById("time").getAttribute("aria-valuenow")`

// shows waits until the replay shows a moment from low to high, after some step.
func (p *tab) shows(step string, low, high float64) {
	p.t.Helper()
	var got float64
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got = eval[float64](p, moment); got >= low && got <= high {
			return
		}
	}
	p.t.Errorf("%s shows %v, not %v to %v", step, got, low, high)
}

// record has the page keep every moment that the replay shows from now on.
func (p *tab) record() {
	p.t.Helper()
	eval[chromedp.Void](p, `{ let last = `+moment+`; window.moments = [];
		new MutationObserver(() => { if (`+moment+` !== last) moments.push(last = `+moment+`); }).observe(document.getElementById("time"), { attributeFilter: ["aria-valuenow"] }); }`)
}

// playsFrom checks that the recorded moments begin with one, to a second, and go on
// to another.
func (p *tab) playsFrom(from, to float64) {
	p.t.Helper()
	p.until(`document.querySelector(".play").getAttribute("aria-label") === "Pause"`)
	p.until(fmt.Sprintf(`moments.at(-1) >= %v`, to))
	got := eval[[]float64](p, `moments`)
	if got[0] < from || got[0] > from+1 || !slices.IsSorted(got) {
		p.t.Errorf("the replay shows the moments %v, which do not begin with %v", got, from)
	}
}

// ink counts the bright pixels of the replay, which is dark. It reads them from a copy: the
// browser complains about a canvas that is drawn to and read often.
const ink = `(() => { const c = document.querySelector("canvas.space"), copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
	copy.drawImage(c, 0, 0);
	const d = copy.getImageData(0, 0, c.width, c.height).data;
	let n = 0; for (let i = 0; i < d.length; i += 4) if (Math.max(d[i], d[i+1], d[i+2]) > 110) n++; return n; })()`

// TestScores compares the score board with the matches that the page is of.
func TestScores(t *testing.T) {
	for _, name := range []string{"battle_mix.pcap.gz", "networked_battle.pcap", "stock_client.pcap", "two_teams.pcap"} {
		t.Run(name, func(t *testing.T) {
			all := recorded.Matches(t, name)
			p := open(t, all, "", 1440, 900)
			m := all[0]
			type row struct{ Name, Kills, Deaths string }
			got := eval[[]row](p, `[...document.querySelectorAll(".board tr[data-player]")].map((r) => ({Name: r.querySelector("th bdi").textContent,
				Kills: r.querySelector("[data-kills] b").textContent, Deaths: r.querySelector("[data-deaths] b").textContent}))`)
			var want []row
			for i := range m.Players {
				want = append(want, row{m.NameOf(i).String(), strconv.Itoa(m.Players[i].Kills), strconv.Itoa(m.Players[i].Deaths)})
			}
			order := func(a, b row) int { return cmp.Compare(a.Name, b.Name) }
			slices.SortFunc(got, order)
			slices.SortFunc(want, order)
			if !slices.Equal(got, want) {
				t.Errorf("the score board shows %v, not %v", got, want)
			}
			if n := eval[int](p, `document.querySelectorAll(".killtable tbody tr[data-t]").length`); n != len(m.Kills) {
				t.Errorf("%d kills are listed, not %d", n, len(m.Kills))
			}
			if n := eval[int](p, `document.querySelectorAll(".talk li").length`); n != len(m.Chat) {
				t.Errorf("%d lines of chat are listed, not %d", n, len(m.Chat))
			}
			if n := eval[int](p, `document.querySelectorAll(".flight").length`); n != len(m.Lives) {
				t.Errorf("%d ships are listed, not %d", n, len(m.Lives))
			}
		})
	}
}

// TestSort turns the order of the score board round.
func TestSort(t *testing.T) {
	p := open(t, recorded.Matches(t, "battle_mix.pcap.gz"), "", 1440, 900)
	const names = `[...document.querySelectorAll(".board tr[data-player]")].map((r) => r.dataset.player).join()`
	const click = `document.querySelector(".board th button").click()` // Player
	// Team 1 leads and comes first, whatever the order within the teams.
	for _, want := range []string{"Bot0,Bot2,Bot1,Bot3", "Bot2,Bot0,Bot3,Bot1"} {
		eval[chromedp.Void](p, click)
		if got := eval[string](p, names); got != want {
			t.Errorf("the players are %s, not %s", got, want)
		}
	}
}

// TestMoments goes to moments by a link, a kill, a line of chat, the keyboard and
// another link. The loss is frame 11454 at 72.59 s, the first line of chat is at 11.5 s.
func TestMoments(t *testing.T) {
	all := recorded.Matches(t, "battle_mix.pcap.gz")
	p := open(t, all, "#t=30.5", 1440, 900)
	p.shows("#t=30.5", 30.5, 30.5)
	p.rests()
	if theme := eval[string](p, `document.documentElement.dataset.theme`); theme != "dark" {
		t.Errorf("the page is %s for somebody who prefers it dark", theme)
	}
	if n := eval[int](p, ink); n < 300 {
		t.Errorf("the replay draws %d bright pixels", n)
	}
	p.record()
	p.do(chromedp.Click(chromedp.CSS(".killtable .time")))
	p.playsFrom(70.5, 72.6) // from two seconds before the kill
	p.do(chromedp.Click(chromedp.CSS(".play")))
	p.do(chromedp.Click(chromedp.CSS(".talk .time")))
	said := all[0].Chat[0].T
	p.shows("a click on the first line of chat", said-0.06, said+0.06)
	p.do(chromedp.Focus(chromedp.CSS("#time")), chromedp.KeyEvent(kb.End))
	end := all[0].End
	p.shows("the key End", end-0.06, end+0.06)
	p.do(chromedp.KeyEvent(kb.ArrowLeft))
	p.shows("the arrow to the left", end-1.06, end-0.94)
	p.link("#t=42")
	p.shows("#t=42", 42, 42)
	p.until(`[...document.querySelectorAll(".roster button:not(.gone) .name")].map((e) => e.textContent).join() === "Bot0,Bot1,Bot2,Bot3"`)
}

// TestHidden has a replay without a size for a while.
func TestHidden(t *testing.T) {
	p := open(t, recorded.Matches(t, "battle_mix.pcap.gz"), "#t=30", 1440, 900)
	eval[chromedp.Void](p, `document.getElementById("match").style.display = "none"`)
	p.until(`document.querySelector("canvas.space").width === 0`)
	p.link("#t=31")
	eval[chromedp.Void](p, `document.getElementById("match").style.display = ""`)
	p.until(`document.querySelector("canvas.space").width > 0`)
	p.rests()
	if n := eval[int](p, ink); n < 300 {
		t.Errorf("the replay that appears again draws %d bright pixels", n)
	}
	p.shows("#t=31", 31, 31)
}

// TestSelector changes between two matches, also by a link.
func TestSelector(t *testing.T) {
	all := append(recorded.Matches(t, "battle_mix.pcap.gz"), recorded.Matches(t, "stock_client.pcap")...)
	p := open(t, all, "#m=2&t=8", 1440, 900)
	p.shows("#m=2&t=8", 8, 8)
	const first = `document.querySelector(".board tr[data-player]").dataset.player`
	if got := eval[string](p, first); got != "Kirk" && got != "Cady2" {
		t.Errorf("the second match is of %s", got)
	}
	eval[chromedp.Void](p, `(() => { const s = document.getElementById("pick"); s.value = "0"; s.dispatchEvent(new Event("change")); })()`)
	if got := eval[string](p, first); got != "Bot0" {
		t.Errorf("the first match is of %s", got)
	}
	type row struct{ Map, Length, Kills, Result string }
	rows := eval[[]row](p, `[...document.querySelectorAll(".evenings tbody tr")].map((r) => [...r.cells].map((c) => c.textContent)).map((c) => ({ Map: c[2], Length: c[3], Kills: c[5], Result: c[6] }))`)
	if want := []row{{"Multi3", "1:24", "0", "Draw: the teams were equal"}, {"Multi1", "0:11", "0", "Unknown: no player scored"}}; !slices.Equal(rows, want) {
		t.Errorf("the matches are %v, not %v", rows, want)
	}
	p.do(chromedp.Click(chromedp.CSS(".evenings tr:nth-child(2) button")))
	if got := eval[string](p, first); got != "Kirk" && got != "Cady2" {
		t.Errorf("the match after a click on the second is of %s", got)
	}
	if got := eval[string](p, `document.getElementById("pick").value`); got != "1" {
		t.Errorf("the list of matches shows %s", got)
	}
}

// TestHostile has markup, quotes, control characters, marks of the writing
// direction and long words wherever text comes from the network. They appear as
// text, the same as in the other reports, and neither run nor widen the page of a
// phone.
func TestHostile(t *testing.T) {
	for _, evil := range []string{
		"</script><img src=x onerror=document.title='run'><b>\"'&lt;\u202e\u0007" + strings.Repeat("W", 300),
		"\u202e\u2066\u200f\u061c\u2028\x00\x1b]0;run\x07\t\r\n" + strings.Repeat("\u202d", 100),
		"${document.title='run'}`\"};document.title='run'//<!--<script>" + strings.Repeat("a b ", 80),
		"__proto__", "constructor", "]]>\\u003cscript>", "漢字" + strings.Repeat("\u0301", 200), "\xff\xfe" + strings.Repeat("é", 150),
	} {
		all := recorded.Matches(t, "battle_mix.pcap.gz")
		m := all[0]
		for i := range m.Players {
			m.Players[i].Name, m.Players[i].Names, m.Players[i].LeftHow = wire.Untrusted(strconv.Itoa(i)+evil), []wire.Untrusted{wire.Untrusted(evil), wire.Untrusted(evil)}, evil
		}
		m.Map, m.Mission, m.Name, m.EndedBy, m.Chat[0].Text, m.Kills[0].Weapon, m.Kills[0].Ship = evil, wire.Untrusted(evil), wire.Untrusted(evil), evil, wire.Untrusted(evil), evil, evil
		for i := range m.Lives {
			m.Lives[i].Ship, m.Lives[i].Name, m.Lives[i].Systems = evil, wire.Untrusted(evil), []match.System{{Name: evil, History: []match.Level{{T: 9}}}}
		}
		for i := range m.Lines {
			m.Lines[i].Verdict = evil
		}
		for i := range m.Events {
			m.Events[i].Text = wire.Untrusted(evil)
		}
		m.Unusual = []match.Finding{{Kind: "jump", Text: wire.Untrusted(evil), Player: 0, Value: math.Inf(1)}}
		p := openWith(t, all, match.Evenings{Captures: []string{evil, evil}, League: match.League(all)}, "#t=72.8", 390, 844)
		eval[chromedp.Void](p, `document.querySelector("[aria-labelledby=events] details").open = true`)
		for selector, want := range map[string]string{
			".board tr[data-player] th bdi": report.Escape("0" + evil), "h1 bdi": report.Escape(evil), ".talk li bdi:last-child": report.Escape(evil),
			"details tbody bdi": report.Escape(evil), ".linerow p": report.Escape(evil),
		} {
			p.until(`document.querySelector(` + strconv.Quote(selector) + `) !== null`)
			if got := eval[string](p, `document.querySelector(`+strconv.Quote(selector)+`).textContent`); got != want {
				t.Errorf("%s shows %q, not %q", selector, got, want)
			}
		}
		if n := eval[int](p, `document.querySelectorAll("img, iframe, object, embed, bdi *, [onerror]").length`); n != 0 {
			t.Errorf("%q: %d elements come from text", evil, n)
		}
		if raw := eval[bool](p, `/[\u0000-\u0008\u000b-\u001f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufffd]/.test(document.getElementById("page").innerHTML + document.title)`); raw {
			t.Errorf("%q: a control character, or a mark of the writing direction, is in the page", evil)
		}
		if title := eval[string](p, `document.title`); !strings.HasPrefix(title, report.Escape(evil)[:6]) {
			t.Errorf("the title is %q", title)
		}
		p.fits()
	}
}

// long is half an hour of eight ships that turn and fire all the time.
func long() []*match.Match {
	m := &match.Match{End: 33 * 60, Map: "Long"}
	for i := range 8 {
		m.Players = append(m.Players, match.Player{Name: wire.Untrusted("player " + strconv.Itoa(i))})
		l := match.Life{Player: i, Ship: "Galaxy", End: m.End}
		for k := range 33 * 60 * 4 {
			at := float64(k) / 4
			a := at/7 + float64(i)
			l.Track = append(l.Track, match.Sample{
				T: at, At: [3]float32{float32(80 * math.Sin(a)), float32(60 * math.Cos(a*1.3)), float32(20 * math.Sin(a/3))},
				Forward: [3]float32{float32(math.Cos(a)), float32(-math.Sin(a)), 0}, Up: [3]float32{0, 0, 1}, Speed: 5,
			})
			if k%40 == 0 {
				l.Condition = append(l.Condition, match.Condition{T: at, Hull: float32(0.5 + math.Sin(at)/2), Shields: [6]float32{1, 1, 1, 1, 1, 0.5}})
			}
		}
		m.Lives = append(m.Lives, l)
	}
	for k := range 12_000 {
		m.Shots = append(m.Shots, match.Shot{T: float64(k) / 6, Life: k % 8, Target: (k + 3) % 8, Kind: match.ShotKind(k % 3)})
	}
	return []*match.Match{m}
}

// busy returns the processor time that the page's thread has used so far, in
// milliseconds. Other work on the machine does not count.
func (p *tab) busy() float64 {
	p.t.Helper()
	all, err := chromedp.Call(p.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, m := range all.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value * 1000
		}
	}
	p.t.Fatal("the browser does not measure tasks")
	return 0
}

// TestDrag opens half an hour of eight ships, plays it, and drags the time bar across it. The
// budgets are 1.5 seconds until the page is ready and 20 ms a frame. Processor time has to
// keep them, twice over where other work may slow the processors down; the clock only where
// the machine has nothing else to do: it is logged.
func TestDrag(t *testing.T) {
	p := open(t, long(), "", 1440, 900)
	if info, err := os.Stat(p.file); err != nil || info.Size() > 1_500_000 {
		t.Errorf("the page has %d bytes, more than 1.5 MB; %v", info.Size(), err)
	}
	ready := p.busy()
	t.Logf("ready after %.0f ms of processor time, %v ms by the clock", ready, eval[float64](p, `+document.documentElement.dataset.ready`))
	if ready > 2*1500 {
		t.Errorf("the page is ready after %.0f ms of processor time, more than twice 1500", ready)
	}
	const frames = 120
	const drag = `new Promise((done) => {
		const bar = document.getElementById("time"), r = bar.getBoundingClientRect(), times = [];
		const send = (type, share) => bar.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1, clientX: r.left + r.width * share, clientY: r.top + 20 }));
		bar.setPointerCapture = () => {};
		send("pointerdown", 0.1);
		let last = 0, n = 0;
		const step = (now) => {
			times.push(now - last);
			last = now;
			if (n++ < 120) { send("pointermove", 0.1 + 0.006 * n); requestAnimationFrame(step); return; }
			send("pointerup", 0.82);
			times.sort((a, b) => a - b);
			done(times[times.length >> 1]);
		};
		requestAnimationFrame(step);
	})`
	const play = `new Promise((done) => {
		document.querySelector(".play").click();
		let n = 0, times = [], last = 0;
		const step = (now) => { times.push(now - last); last = now; if (n++ < 120) requestAnimationFrame(step); else { document.querySelector(".play").click(); times.sort((a, b) => a - b); done(times[times.length >> 1]); } };
		requestAnimationFrame(step);
	})`
	for name, script := range map[string]string{"dragged": drag, "played": play} {
		before := p.busy()
		clock := eval[float64](p, script)
		frame := (p.busy() - before) / frames
		t.Logf("%s: %.1f ms of processor time a frame, %.1f ms by the clock", name, frame, clock)
		if frame > 2*20 {
			t.Errorf("a frame takes %.1f ms of processor time while the replay is %s, more than twice 20", frame, name)
		}
	}
	eval[chromedp.Void](p, drag)
	p.shows("the drag", 0.82*33*60-10, 0.82*33*60+10)
}
