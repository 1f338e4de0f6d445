package browsertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A broadcast is a relay with a live page.
type broadcast struct {
	t         *testing.T
	cmd       *exec.Cmd
	host      string // the game's
	page      string // the owner's page
	public    string
	recording string
	fired     *int // shots in the debriefing of the page
}

var address = regexp.MustCompile(`(live page|overlay|old): +(http://\S+)`)

// newBroadcast hosts a game and serves its live page.
func newBroadcast(t *testing.T, args ...string) *broadcast {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &broadcast{t: t, host: l.LocalAddr().String(), recording: filepath.Join(t.TempDir(), "evening.pcapng")}
	_ = l.Close()
	args = append([]string{"relay", "--listen", b.host, "--control", "none", "--web", "--public-delay", "2s", "-w", b.recording}, args...)
	if os.Geteuid() == 0 {
		args = append(args, "-Z", "root")
	}
	b.cmd = exec.Command(binary(), args...)
	said, err := b.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.cmd.Process.Kill() })
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		switch m := address.FindStringSubmatch(lines.Text()); {
		case m != nil && m[1] == "live page":
			b.page = m[2]
		case m != nil && m[1] == "old":
			b.public = m[2]
		}
		if strings.Contains(lines.Text(), "hosting") {
			break
		}
	}
	if b.page == "" || b.public == "" {
		t.Fatal("no addresses were said")
	}
	go func() {
		for lines.Scan() {
		}
	}()
	return b
}

// end ends the game, and returns what session finds in its recording.
func (b *broadcast) end() (kills int, players map[string][2]int) {
	b.t.Helper()
	_ = b.cmd.Process.Signal(os.Interrupt)
	if err := b.cmd.Wait(); err != nil {
		b.t.Fatal(err)
	}
	var found struct {
		Matches []struct {
			Kills   []struct{}
			Fire    []struct{ Shots int }
			Players []struct {
				Name          string
				Kills, Deaths int
			}
		}
	}
	if err := json.Unmarshal(program(b.t, "session", b.recording, "-T", "json"), &found); err != nil {
		b.t.Fatal(err)
	}
	if len(found.Matches) != 1 {
		b.t.Fatalf("the recording has %d matches", len(found.Matches))
	}
	shots := 0
	for _, f := range found.Matches[0].Fire {
		shots += f.Shots
	}
	if shots == 0 || shots != *b.fired {
		b.t.Errorf("the debriefing of the page has %d shots, the recording %d", *b.fired, shots)
	}
	players = map[string][2]int{}
	for _, p := range found.Matches[0].Players {
		players[p.Name] = [2]int{p.Kills, p.Deaths}
	}
	return len(found.Matches[0].Kills), players
}

// deaths is how often each scripted bot dies.
const deaths = 2

// script writes steps for eight bots, by name.
func script(t *testing.T) string {
	t.Helper()
	text := "[bots]\n"
	for i := 1; i <= 8; i++ {
		text += fmt.Sprintf("Pilot%d = [\"join\", \"fly %dms\", \"chat I am number %d\", \"fire\", \"fly 400ms\"%s, \"fly 1s\", \"leave\"]\n", i, 600+50*i, i,
			strings.Repeat(`, "die", "wait 700ms", "fly 900ms"`, deaths))
	}
	name := filepath.Join(t.TempDir(), "eight.toml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The numbers of a page and of an overlay.
const (
	pageNumbers = `Object.fromEntries([...document.querySelectorAll(".board tbody tr")].map((r) => [r.dataset.player, [+r.querySelector("[data-kills]").dataset.kills, +r.querySelector("[data-deaths]").dataset.deaths]]))`
	pageKills   = `document.querySelectorAll(".killtable tbody tr[data-t]").length`
	overNumbers = `Object.fromEntries([...document.querySelectorAll("#score .row:not(.head)")].map((r) => [r.children[0].textContent, [+r.children[1].textContent, +r.children[2].textContent]]))`
)

// TestLive has eight bots play, with the page, the overlay and the public page open.
// Every kill appears while they play. The numbers agree with the script and with the
// recording.
func TestLive(t *testing.T) {
	b := newBroadcast(t)
	live := newTab(t, 1440, 900)
	live.do(chromedp.Navigate(b.page))
	over := newTab(t, 1920, 1080)
	over.do(chromedp.Navigate(b.page + "overlay"))
	public := newTab(t, 1440, 900)
	public.do(chromedp.Navigate(b.public))
	for _, p := range []*tab{live, public} {
		p.until(`document.documentElement.dataset.live === "yes"`)
	}
	over.until(`document.documentElement.dataset.ready === "yes"`)
	told := filepath.Join(t.TempDir(), "bots.json")
	bots := exec.Command(binary(), "bots", b.host, "--dialect", "openbc", "--script", script(t), "-T", "json", "-o", told, "--for", "60s")
	if err := bots.Start(); err != nil {
		t.Fatal(err)
	}
	live.load(b.page, b.page)
	const want = 8 * deaths
	live.until(fmt.Sprintf(`%s >= 4 && %s < %d`, pageKills, pageKills, want)) // while they play
	if got := eval[string](live, `document.querySelector(".live").getAttribute("aria-pressed")`); got != "true" {
		t.Errorf("the page doesn't show the present: %s", got)
	}
	// A match that has just begun is shorter than what the page lags behind.
	const short = `(() => { const m = app.m, end = m.end; m.end = m.begin + 0.3; app.t = m.end; app.play(false); const stays = live.following; m.end = end; catchUp(); return stays; })()`
	if !eval[bool](live, short) {
		t.Error("the page leaves the present at the beginning of a match")
	}
	// A match may end before the page has shown the next one that it knows of.
	const next = `(() => { const forget = forgetFlights; forgetFlights = () => {};
		live.matches.push({ ...app.m }); live.flights.push(newFlights()); live.changed = true; play(true); app.t = app.m.end; frame(performance.now());
		const goes = live.following && app.index === 1; live.matches.pop(); live.flights.length = 1; live.changed = true; catchUp();
		forgetFlights = forget; return goes && live.following && app.index === 0; })()`
	if !eval[bool](live, next) {
		t.Error("the page stays at the end of a match when the next one begins")
	}
	over.until(`document.querySelectorAll("#kills .line").length > 0 && document.querySelectorAll("#chat .line").length > 0`)
	// The past can be watched while the present goes on.
	eval[chromedp.Void](live, `document.querySelector(".killtable .time").click()`)
	live.until(`document.querySelector(".live").getAttribute("aria-pressed") === "false"`)
	known := eval[int](live, pageKills)
	past := eval[float64](live, `app.t`)
	live.until(fmt.Sprintf(`%s > %d`, pageKills, known))
	if now := eval[float64](live, `app.t`); now < past || now > past+20 {
		t.Errorf("the past went on from %v to %v", past, now)
	}
	eval[chromedp.Void](live, `document.querySelector(".live").click()`)
	live.until(`document.querySelector(".live").getAttribute("aria-pressed") === "true" && app.m.end - app.t < 3`)
	over.overlay()
	if err := bots.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*tab{live, public} {
		p.until(fmt.Sprintf(`%s >= %d && app.m.players.every((p) => p.left !== undefined)`, pageKills, want))
	}
	if got := eval[int](public, `document.querySelectorAll(".talk li").length`); got != 0 {
		t.Errorf("the public page has %d lines of chat", got)
	}
	if got := eval[int](live, `document.querySelectorAll(".talk li").length`); got != 8 {
		t.Errorf("the owner's page has %d lines of chat", got)
	}
	numbers := map[string]map[string][2]int{
		"page": eval[map[string][2]int](live, pageNumbers), "public page": eval[map[string][2]int](public, pageNumbers), "overlay": eval[map[string][2]int](over, overNumbers),
	}
	if got := eval[string](live, `document.querySelector(".transport select").value`); got != "1" {
		t.Errorf("the page says that it plays at speed %s", got)
	}
	live.until(`document.querySelector("[aria-labelledby=plots] .plot") !== null && document.querySelector("[aria-labelledby=map] canvas") !== null`)
	const fired = `(live.turn = 0, live.news = true, new Promise((done) => setTimeout(() => done([...document.querySelectorAll("[aria-labelledby=debrief] table")].filter((t) => t.caption.textContent === "By weapon").flatMap((t) => [...t.tBodies[0].rows]).reduce((n, r) => n + +r.cells[2].textContent, 0)), 3000)))`
	shots := eval[int](live, fired)
	live.usable()
	b.fired = &shots
	kills, players := b.end()
	if kills != want || len(players) != 8 {
		t.Errorf("the recording has %d kills and %d players", kills, len(players))
	}
	for name, got := range players {
		if got[1] != deaths {
			t.Errorf("%s died %d times in the recording", name, got[1])
		}
	}
	for where, got := range numbers {
		if !maps.Equal(got, players) {
			t.Errorf("the %s has %v, the recording %v", where, got, players)
		}
	}
	for name, n := range lost(t, told) {
		if got := players[name][1]; got != n {
			t.Errorf("the bots say that %s died %d times, the recording %d times", name, n, got)
		}
	}
	live.until(`document.querySelector(".bars .lost").textContent !== ""`) // the server is gone
}

// lost returns how often each bot died, as the bots report it.
func lost(t *testing.T, file string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Players []struct {
			Name   string
			Deaths int
		}
	}
	if err := json.Unmarshal(text, &told); err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for _, p := range told.Players {
		all[p.Name] = p.Deaths
	}
	if len(all) != 8 {
		t.Errorf("the bots report of %d players", len(all))
	}
	return all
}

// usable uses a live page without a mouse and as screen readers do, and reads the colours
// of its text, on a desktop and on a phone.
func (p *tab) usable() {
	p.t.Helper()
	pressed := func() string { return eval[string](p, `document.querySelector(".live").getAttribute("aria-pressed")`) }
	p.do(chromedp.KeyEvent(kb.Home)) // whatever has the focus
	eval[chromedp.Void](p, `document.getElementById("time").focus()`)
	p.do(chromedp.KeyEvent(kb.Home))
	p.until(`document.querySelector(".live").getAttribute("aria-pressed") === "false"`)
	p.do(chromedp.KeyEvent("l"))
	p.until(`document.querySelector(".live").getAttribute("aria-pressed") === "true"`)
	eval[chromedp.Void](p, `document.getElementById("time").focus()`)
	p.do(chromedp.KeyEvent(kb.Home))
	p.until(`document.querySelector(".live").getAttribute("aria-pressed") === "false"`)
	eval[chromedp.Void](p, `document.querySelector(".live").focus()`)
	p.do(chromedp.KeyEvent(kb.Enter))
	if got := pressed(); got != "true" {
		p.t.Errorf("the key Enter on the button leaves it %s", got)
	}
	eval[chromedp.Void](p, `document.querySelector("[aria-labelledby=events] details").open = true`)
	p.until(`document.querySelectorAll("[aria-labelledby=events] table").length === 1`)
	if stops := p.stops(); !strings.Contains(stops, "|Live|") || !strings.Contains(stops, "|Time|") {
		p.t.Errorf("the keyboard does not reach the button or the time bar: %s", stops)
	}
	for _, s := range eval[[]string](p, structure) {
		p.t.Error(s)
	}
	if got := eval[string](p, `document.querySelector(".bars .lost").getAttribute("role")`); got != "status" {
		p.t.Errorf("screen readers do not hear of a lost connection: role %q", got)
	}
	p.readable("the live page")
	p.size(390, 844)
	p.until(`innerWidth === 390`)
	p.fits()
	p.readable("the live page on a phone")
}

// overlay checks an overlay of 1920 by 1080 pixels: all is inside the picture and large enough, and
// the text has contrast with its plate over a bright and over a dark picture.
func (p *tab) overlay() {
	p.t.Helper()
	const faults = `(() => {
		const out = [];
		for (const e of document.querySelectorAll("section, section *")) {
			if (!e.getClientRects().length) continue;
			const r = e.getBoundingClientRect();
			if (r.left < 0 || r.top < 0 || r.right > 1920 || r.bottom > 1080) out.push("outside: " + e.outerHTML.slice(0, 80));
			if (e.textContent && parseFloat(getComputedStyle(e).fontSize) < 19) out.push("small: " + e.outerHTML.slice(0, 80));
		}
		for (const e of document.querySelectorAll("section")) if (!e.ariaLabel) out.push("no name: " + e.id);
		return out; })()`
	if got := eval[string](p, `getComputedStyle(document.documentElement).backgroundColor + getComputedStyle(document.body).backgroundColor`); got != "rgba(0, 0, 0, 0)rgba(0, 0, 0, 0)" {
		p.t.Errorf("the overlay is not transparent: %s", got)
	}
	for _, s := range eval[[]string](p, faults) {
		p.t.Errorf("the overlay: %s", s)
	}
	// Players without names are called as on the page, but not by their addresses.
	if got := eval[string](p, `[{ name: "Ann", id: 2 }, { id: 100, slot: 3 }, { slot: 0, address: "192.0.2.7:22101" }, { address: "192.0.2.7:22101" }].map(called).join()`); got != "Ann,player 100,slot 0,player #4" {
		p.t.Errorf("the overlay calls players %s", got)
	}
	// Players who are there come first, then those who left with a score. Refused players do not appear.
	const people = `score({ events: [{ kind: "refused", player: 4 }], players: [{ name: "Gone", kills: 9, deaths: 1, joined: 0, left: 5 }, { name: "Here", kills: 0, deaths: 3, joined: 1 },
		{ name: "Best", kills: 2, deaths: 0, joined: 1 }, { name: "Idle", kills: 0, deaths: 0, joined: 1, left: 2 }, { name: "Refused", kills: 0, deaths: 0 }, { name: "Early", kills: 0, deaths: 0 }] })
		.slice(1).map((r) => r.children[0].textContent + (r.classList.contains("away") ? " away" : "")).join()`
	if got := eval[string](p, people); got != "Best,Early,Here,Gone away" {
		p.t.Errorf("the overlay has the players %s", got)
	}
	// The picture stays while a connection that was lost begins anew.
	const again = `(() => { const n = document.querySelectorAll("#score .row").length, was = shows; ready = false; shows = { index: -1, m: null }; draw();
		const stays = n > 1 && document.querySelectorAll("#score .row").length === n; shows = was; ready = true; return stays; })()`
	if !eval[bool](p, again) {
		p.t.Error("the overlay is empty while it connects again")
	}
	for _, picture := range []string{"#fff", "#000", "#7f7f7f"} {
		eval[chromedp.Void](p, fmt.Sprintf(`document.body.style.background = %q`, picture))
		for _, s := range eval[[]string](p, contrast) {
			p.t.Errorf("the overlay over %s: %s", picture, s)
		}
	}
	eval[chromedp.Void](p, `document.body.style.background = ""`)
}
