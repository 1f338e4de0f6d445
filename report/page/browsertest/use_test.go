package browsertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report/page"
)

// duel is a minute of two ships that are far apart. Ann flies along the x axis
// and is cloaked from 20 to 40 seconds. Ben does not move and is lost at the
// end.
func duel() []*match.Match {
	m := &match.Match{
		End: 60, Map: "Duel", Vantage: match.VantageHost,
		Players: []match.Player{{Name: "Ann", Slot: -1, Kills: 1}, {Name: "Ben", Slot: -1, Deaths: 1}},
		Leaders: []int{0},
		Lives: []match.Life{
			{Player: 0, Ship: "Warbird", End: 60, Killer: match.NoPlayer},
			{Player: 1, Ship: "Galaxy", End: 50, Killer: 0, EndHow: "killed"},
		},
		Kills:  []match.Kill{{T: 50, Frame: 7, Victim: 1, Killer: 0, Weapon: "torpedo", Ship: "Galaxy", With: "Warbird", Life: 1}},
		Chat:   []match.Talk{{T: 10, Frame: 3, Player: 1, Text: "hello"}},
		Events: []match.Event{{T: 10, Frame: 3, Player: 1, Kind: match.EventChat, Text: "Ben: hello"}},
	}
	for k := range 241 {
		at := float64(k) / 4
		m.Lives[0].Track = append(m.Lives[0].Track, match.Sample{
			T: at, At: [3]float32{float32(4 * at), 0, 0}, Forward: [3]float32{1, 0, 0}, Up: [3]float32{0, 0, 1}, Speed: 4, Cloaked: at >= 20 && at < 40,
		})
		if at <= 50 {
			m.Lives[1].Track = append(m.Lives[1].Track, match.Sample{T: at, At: [3]float32{0, 800, 0}, Forward: [3]float32{0, 1, 0}, Up: [3]float32{0, 0, 1}})
		}
	}
	return []*match.Match{m}
}

// colored counts the pixels of a player's colour within some pixels of the
// middle of the replay.
func colored(p *tab, player, reach int) int {
	p.t.Helper()
	return eval[int](p, fmt.Sprintf(`(() => {
		const c = document.querySelector("canvas.space"), d = devicePixelRatio, r = %d * d, x = Math.max(Math.round(c.width / 2 - r), 0), y = Math.max(Math.round(c.height / 2 - r), 0);
		const want = getComputedStyle(document.documentElement).getPropertyValue("--c%d").trim().match(/[0-9a-f]{2}/gi).map((x) => parseInt(x, 16));
		const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
		copy.drawImage(c, 0, 0);
		const px = copy.getImageData(x, y, Math.min(2 * r, c.width - x), Math.min(2 * r, c.height - y)).data;
		let n = 0;
		for (let i = 0; i < px.length; i += 4) if (want.every((w, k) => Math.abs(w - px[i + k]) < 24)) n++;
		return n; })()`, reach, player))
}

// TestFollow has the camera follow a ship: it is in the middle, and stays there
// as it flies. Without that, the middle is between the ships.
func TestFollow(t *testing.T) {
	p := open(t, duel(), "#t=5", 1280, 800)
	p.rests()
	if a, b := colored(p, 0, 40), colored(p, 1, 40); a+b > 20 {
		t.Errorf("%d and %d pixels of ships are in the middle between them", a, b)
	}
	const seat = `.roster button:nth-child(%d)`
	for player, other := range []int{1, 0} {
		p.do(chromedp.Click(chromedp.CSS(fmt.Sprintf(seat, player+1))))
		for _, at := range []float64{5, 15, 45} {
			p.link(fmt.Sprintf("#t=%v", at))
			p.shows("the link", at, at)
			p.rests()
			if a, b := colored(p, player, 40), colored(p, other, 40); a < 60 || b > 20 {
				t.Errorf("at %v s there are %d pixels of the ship that the camera follows in the middle, and %d of the other", at, a, b)
			}
		}
		if got := eval[string](p, `[...document.querySelectorAll(".roster button")].map((e) => e.ariaPressed).join()`); got != []string{"true,false", "false,true"}[player] {
			t.Errorf("the buttons are pressed: %s", got)
		}
	}
	p.do(chromedp.Click(chromedp.CSS(fmt.Sprintf(seat, 2))))
	p.rests()
	if a := colored(p, 1, 40); a > 20 {
		t.Errorf("%d pixels of the ship that the camera followed are still in the middle", a)
	}
}

// TestCloak checks that a cloaked ship is drawn faintly and labelled as
// cloaked.
func TestCloak(t *testing.T) {
	p := open(t, duel(), "#t=15", 1280, 800)
	p.do(chromedp.Click(chromedp.CSS(`.roster button`)))
	pixels := map[string]int{}
	for _, at := range []string{"15", "30", "45"} {
		p.link("#t=" + at)
		p.until(`document.querySelector(".roster .what").textContent === ` + map[bool]string{false: `"Warbird"`, true: `"Warbird, cloaked"`}[at == "30"])
		p.rests()
		pixels[at] = colored(p, 0, 40)
	}
	if pixels["15"] < 60 || pixels["45"] < 60 || pixels["30"] > pixels["15"]/4 {
		t.Errorf("a ship that is cloaked at 30 s only has %v bright pixels", pixels)
	}
}

// TestKeyboard uses the page without a mouse. Whatever has the focus shows it.
func TestKeyboard(t *testing.T) {
	p := open(t, duel(), "#t=30", 1280, 800)
	const label = `document.querySelector(".play").ariaLabel`
	const top = `document.querySelectorAll(".camera button")[1].ariaPressed`
	p.do(chromedp.KeyEvent(kb.Tab))
	if got := eval[string](p, `(() => { const e = document.activeElement, r = e.getBoundingClientRect(); return r.top >= 0 && r.left >= 0 ? e.textContent : "hidden"; })()`); got != "Skip to the replay" {
		t.Errorf("the first stop is %q", got)
	}
	p.do(chromedp.KeyEvent(kb.Enter))
	if got := eval[string](p, `document.activeElement.id`); got != "time" {
		t.Errorf("the link to the replay moves the focus to %q", got)
	}
	for _, step := range []struct {
		key string
		at  float64
	}{{kb.ArrowRight, 31}, {kb.ArrowLeft, 30}, {kb.PageUp, 40}, {kb.PageDown, 30}, {kb.Home, 0}, {"]", 48}, {kb.End, 60}, {"[", 48}} {
		p.do(chromedp.KeyEvent(step.key))
		p.shows(fmt.Sprintf("the key %q", step.key), step.at-0.06, step.at+0.06)
	}
	p.do(chromedp.KeyEvent(" "))
	p.until(label + ` === "Pause"`)
	p.until(`document.querySelector("[role=status]").textContent === "0:50.0: Ann destroys Ben’s Galaxy with torpedo"`) // for screen readers
	p.do(chromedp.KeyEvent(" "))
	p.until(label + ` === "Play"`)
	p.do(chromedp.KeyEvent("t"))
	p.until(top + ` === "true"`)
	p.do(chromedp.KeyEvent("t"))
	p.until(top + ` === "false"`)
	p.do(chromedp.KeyEvent("f"))
	p.until(`document.querySelector(".roster button").ariaPressed === "true"`)

	// The arrows turn the view while it has the focus, and the time stays.
	p.do(chromedp.Focus(chromedp.CSS("canvas.space")))
	p.rests()
	before := eval[string](p, `document.querySelector("canvas.space").toDataURL()`)
	at := eval[float64](p, `+document.getElementById("time").ariaValueNow`)
	p.do(chromedp.KeyEvent(kb.ArrowLeft))
	p.rests()
	if eval[string](p, `document.querySelector("canvas.space").toDataURL()`) == before {
		t.Error("an arrow does not turn the view")
	}
	p.shows("an arrow that turns the view", at, at)

	// Each stop has a name and shows that it has the focus, to the last.
	stops := p.stops()
	for _, name := range []string{"Play", "Time", "Kills", "3-D", "Chat", "Go to 0:50.0", "1 event", "0:50.0 Ann destroys Ben’s Galaxy with torpedo"} {
		if !strings.Contains(stops, "|"+name+"|") {
			t.Errorf("the keyboard does not reach %q", name)
		}
	}
}

// stops returns the names of all that Tab reaches, between bars, from the first part of
// the page on. A stop needs a name, and shows that it has the focus.
func (p *tab) stops() string {
	p.t.Helper()
	type stop struct {
		Name    string
		Outline float64
		End     bool
	}
	all := "|"
	p.do(chromedp.KeyEvent(kb.Tab)) // from now on the page shows the focus
	eval[chromedp.Void](p, `document.querySelector("a[href], button, input, select, summary, [tabindex]").focus()`)
	for range 200 {
		s := eval[stop](p, `(() => { const e = document.activeElement, s = getComputedStyle(e);
			return { Name: (e.ariaLabel || e.labels?.[0]?.textContent || e.textContent).trim(), Outline: s.outlineStyle === "none" ? 0 : parseFloat(s.outlineWidth), End: e === document.body }; })()`)
		if s.End {
			return all
		}
		if s.Name == "" || s.Outline < 2 {
			p.t.Errorf("the stop %q has an outline of %v pixels", s.Name, s.Outline)
		}
		all += s.Name + "|"
		p.do(chromedp.KeyEvent(kb.Tab))
	}
	return all
}

// structure lists what screen readers miss: names, headings, and headers of tables.
const structure = `(() => {
	const out = [], say = (e, text) => out.push(text + ": " + e.outerHTML.slice(0, 120));
	for (const t of document.querySelectorAll("table")) {
		if (!t.caption?.textContent) say(t, "no caption");
		const n = t.tHead.rows[0].cells.length;
		for (const c of t.tHead.rows[0].cells) if (c.scope !== "col" || !c.textContent) say(c, "no header of a column");
		for (const body of t.tBodies) for (const r of body.rows) {
			const cells = [...r.cells].reduce((sum, c) => sum + c.colSpan, 0);
			if (cells !== n) say(r, cells + " cells instead of " + n);
			[...r.cells].forEach((c, i) => { if (Math.abs(c.getBoundingClientRect().left - t.tHead.rows[0].cells[i]?.getBoundingClientRect().left) > 1) say(c, "not below its header"); });
			if ([...r.cells].filter((c) => /^row(group)?$/.test(c.scope)).length !== 1) say(r, "not one header of the row");
		}
	}
	for (const e of document.querySelectorAll("button, select, summary, [tabindex], [role=img], [role=slider]"))
		if (!(e.ariaLabel || e.textContent).trim()) say(e, "no name");
	for (const e of document.querySelectorAll("section")) if (!e.ariaLabel && !document.getElementById(e.getAttribute("aria-labelledby"))?.textContent) say(e, "no name");
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	if (new Set(ids).size !== ids.length) out.push("an id twice");
	if (document.querySelectorAll("h1").length !== 1 || document.querySelectorAll("main").length !== 1) out.push("not one h1 and main");
	let level = 0;
	for (const e of document.querySelectorAll("h1, h2, h3")) { const n = +e.tagName[1]; if (n > level + 1) say(e, "a level of headings is left out"); level = n; }
	if (document.documentElement.lang !== "en") out.push("no language");
	return out; })()`

// TestStructure has the roles, names and headings that screen readers use.
func TestStructure(t *testing.T) {
	all := append(recorded.Matches(t, "battle_mix.pcap.gz"), recorded.Matches(t, "stock_client.pcap")...)
	for _, hash := range []string{"#m=1", "#m=2"} {
		p := openWith(t, all, match.Evenings{Captures: []string{"one.pcap", "two.pcap"}, League: match.League(all)}, hash, 1280, 800)
		eval[chromedp.Void](p, `document.querySelector("[aria-labelledby=events] details").open = true`)
		p.until(`document.querySelectorAll("[aria-labelledby=events] table").length === 1`)
		faults := append(eval[[]string](p, structure), eval[[]string](p, `(() => {
			const out = [];
			if (document.querySelectorAll(".board [aria-sort=ascending], .board [aria-sort=descending]").length !== 1) out.push("not one order");
			const bar = document.getElementById("time");
			for (const a of ["valuemin", "valuemax", "valuenow", "valuetext"]) if (!bar.hasAttribute("aria-" + a)) out.push("the time bar has no " + a);
			return out; })()`)...)
		for _, f := range faults {
			t.Errorf("%s: %s", hash, f)
		}
		if n := eval[int](p, `document.querySelectorAll("#league tbody tr, [aria-labelledby=league] tbody tr").length`); n != len(match.League(all)) {
			t.Errorf("the league table has %d players, not %d", n, len(match.League(all)))
		}
	}
}

// contrast lists the texts that have less contrast with their background than
// WCAG's level AA asks for.
const contrast = `(() => {
	const lum = (c) => { const [r, g, b] = c.map((x) => { x /= 255; return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const one = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const parse = (text) => { one.clearRect(0, 0, 1, 1); one.fillStyle = text; one.fillRect(0, 0, 1, 1); const d = one.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
	const over = (top, under) => top.slice(0, 3).map((x, k) => x * top[3] + under[k] * (1 - top[3]));
	const out = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
		if (!text || e.closest("script, style, noscript, svg, .hidden, .skip") || !e.getClientRects().length) continue;
		const chain = [];
		let fade = 1;
		for (let a = e; a; a = a.parentElement) { chain.unshift(a); fade *= +getComputedStyle(a).opacity; }
		let under = [0, 0, 0];
		for (const a of chain) under = over(parse(getComputedStyle(a).backgroundColor), under);
		const s = getComputedStyle(e), ink = parse(s.color);
		ink[3] *= fade;
		const a = lum(over(ink, under)), b = lum(under), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		const size = parseFloat(s.fontSize), large = size >= 24 || size >= 18.66 && +s.fontWeight >= 700;
		if (ratio < (large ? 3 : 4.5)) out.add(ratio.toFixed(2) + " " + text.slice(0, 30) + " in " + e.className + " of " + e.parentElement.className);
	}
	return [...out]; })()`

// TestContrast reads the colours of all text, dark and light, at a time when
// some ships are gone, and with eight players in all colours.
func TestContrast(t *testing.T) {
	two := duel()[0]
	for i := range 6 {
		two.Players = append(two.Players, match.Player{Name: wire.Untrusted(fmt.Sprintf("Player %d", i)), Slot: -1})
		l := two.Lives[0]
		l.Player, l.End = i+2, 30
		two.Lives = append(two.Lives, l)
	}
	for _, all := range [][]*match.Match{recorded.Matches(t, "battle_mix.pcap.gz"), recorded.Matches(t, "opcode_tour.pcap"), {two}} {
		p := open(t, all, "#t=52", 1280, 800)
		eval[chromedp.Void](p, `document.querySelector("[aria-labelledby=events] details").open = true`)
		for _, theme := range []string{"dark", "light"} {
			if got := eval[string](p, `document.documentElement.dataset.theme`); got != theme {
				t.Errorf("the page is %s, not %s", got, theme)
			}
			for _, s := range eval[[]string](p, contrast) {
				t.Errorf("%s: %s", theme, s)
			}
			p.do(chromedp.Click(chromedp.CSS(`.bars button`)))
		}
	}
}

// prefers sets preferences of the person in front of the browser.
func (p *tab) prefers(media string, features ...string) {
	p.t.Helper()
	params := emulation.SetEmulatedMediaParams{Media: media}
	for _, f := range features {
		name, value, _ := strings.Cut(f, "=")
		params.Features = append(params.Features, &emulation.MediaFeature{Name: name, Value: value})
	}
	p.call(chromedp.Call(p.ctx, emulation.SetEmulatedMedia, params))
}

// TestPreferences has people who prefer light pages, or little motion: the
// camera then takes its place at once.
func TestPreferences(t *testing.T) {
	p := open(t, duel(), "#t=5", 1280, 800)
	p.prefers("", "prefers-color-scheme=light")
	p.until(`document.documentElement.dataset.theme === "light"`)
	p.prefers("", "prefers-color-scheme=dark")
	p.until(`document.documentElement.dataset.theme === "dark"`)

	// The pictures that the camera shows until it rests.
	const pictures = `new Promise((done) => {
		const c = document.querySelector("canvas.space"), seen = new Set();
		document.querySelector(".roster button").click();
		let n = 0;
		const step = () => { seen.add(c.toDataURL()); if (n++ < 30) requestAnimationFrame(step); else done(seen.size); };
		requestAnimationFrame(step); })`
	p.rests()
	if n := eval[int](p, pictures); n < 5 {
		t.Errorf("the camera moves to the ship in %d pictures", n)
	}
	p.prefers("", "prefers-reduced-motion=reduce")
	p.until(`matchMedia("(prefers-reduced-motion: reduce)").matches`)
	p.do(chromedp.Click(chromedp.CSS(".roster button")))
	p.rests()
	if n := eval[int](p, pictures); n > 2 { // with the one before
		t.Errorf("the camera moves to the ship in %d pictures for somebody who prefers little motion", n)
	}
	if a := colored(p, 0, 40); a < 60 {
		t.Errorf("%d pixels of the ship are in the middle", a)
	}
}

// TestPrint prints a page: light, with all events, and as before afterwards.
func TestPrint(t *testing.T) {
	p := open(t, duel(), "#t=5", 1280, 800)
	p.prefers("print")
	eval[chromedp.Void](p, `dispatchEvent(new Event("beforeprint"))`)
	p.until(`document.querySelectorAll("details tbody tr").length === 1`)
	if got := eval[string](p, `document.documentElement.dataset.theme + getComputedStyle(document.body).backgroundColor`); got != "lightrgb(255, 255, 255)" {
		t.Errorf("the page prints as %s", got)
	}
	if n := eval[int](p, `[...document.querySelectorAll(".transport, .camera, .skip, .bars button")].filter((e) => e.getClientRects().length).length`); n > 0 {
		t.Errorf("%d controls are printed", n)
	}
	if !eval[bool](p, `document.querySelector("canvas.space").getClientRects().length > 0`) {
		t.Error("the replay is not printed")
	}
	for _, s := range eval[[]string](p, contrast) {
		t.Errorf("printed: %s", s)
	}
	eval[chromedp.Void](p, `dispatchEvent(new Event("afterprint"))`)
	p.prefers("")
	if got := eval[string](p, `document.documentElement.dataset.theme`); got != "dark" {
		t.Errorf("after printing the page is %s", got)
	}
}

// TestReload loads a page again that was replaced while it is shown, as live
// --session does: it has the new events, at the same moment.
func TestReload(t *testing.T) {
	all := duel()
	p := open(t, all, "#t=5", 1280, 800)
	// The page is about to write the moment into its address, and must not overwrite the link.
	eval[chromedp.Void](p, `document.querySelector(".talk .time").click(); location.hash = "#t=12.5"; for (const end = performance.now() + 400; performance.now() < end;);`)
	p.shows("#t=12.5", 12.5, 12.5)
	all[0].Chat = append(all[0].Chat, match.Talk{T: 59, Frame: 9, Player: 0, Text: "gg"})
	all[0].End = 75
	var b bytes.Buffer
	if err := page.Write(&b, all, match.Evenings{Captures: []string{"evening.pcap"}}); err != nil {
		t.Fatal(err)
	}
	next := filepath.Join(filepath.Dir(p.file), "next.html")
	if err := os.WriteFile(next, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, p.file); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Reload())
	p.until(`"ready" in document.documentElement.dataset`)
	p.until(`document.querySelectorAll(".talk li").length === 2`)
	p.shows("the page after it was loaded again", 12.5, 12.5)
	p.do(chromedp.Focus(chromedp.CSS("#time")), chromedp.KeyEvent(kb.End))
	p.shows("the new end", 75, 75)
}

// fits reports the parts of the page that are wider than the screen.
func (p *tab) fits() {
	p.t.Helper()
	for _, e := range eval[[]string](p, `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("#page *")]
		.filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .roster, .talk, svg")).slice(-5).map((e) => e.outerHTML.slice(0, 150)).concat("nothing else")`) {
		p.t.Errorf("wider than the screen: %s", e)
	}
}

// TestEmpty has captures without ships, without kills, and without a match.
func TestEmpty(t *testing.T) {
	for _, c := range []struct {
		all  []*match.Match
		want string
	}{
		{nil, "The capture holds no match."},
		{recorded.Matches(t, "join_flow.pcap"), "The capture shows no ship in flight."},
		{recorded.Matches(t, "networked_battle.pcap"), "No ship was lost."},
		{[]*match.Match{{}}, "Nobody flew a ship."},
	} {
		p := open(t, c.all, "", 390, 844)
		if got := eval[string](p, `document.body.innerText`); !strings.Contains(got, c.want) {
			t.Errorf("%q is missing from %q", c.want, got)
		}
		p.fits()
	}
}
