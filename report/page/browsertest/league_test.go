package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/league"
	"github.com/bcdissect/bcdissect/dissect/match"
	leaguesite "github.com/bcdissect/bcdissect/report/league"
)

// seasonOf has the program make the site of a league of captures, and returns its folder.
func seasonOf(t *testing.T, captures ...string) string {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	for _, name := range captures {
		b, err := os.ReadFile(fixture(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program(t, "league", dir)
	return filepath.Join(dir, "site")
}

// size changes the size of the window.
func (p *tab) size(width, height int64) {
	p.t.Helper()
	p.call(chromedp.Call(p.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1}))
}

// readable checks the contrast of all text, dark and light.
func (p *tab) readable(where string) {
	p.t.Helper()
	for _, theme := range []string{"dark", "light"} {
		if got := eval[string](p, `document.documentElement.dataset.theme`); got != theme {
			p.t.Errorf("%s is %s, not %s", where, got, theme)
		}
		for _, s := range eval[[]string](p, contrast) {
			p.t.Errorf("%s, %s: %s", where, theme, s)
		}
		eval[chromedp.Void](p, `document.querySelector(".bars button[aria-label='Light or dark']").click()`)
	}
}

// TestLeague opens each kind of page of a league from the disk: on a desktop and on a
// phone, dark and light, and without a mouse.
func TestLeague(t *testing.T) {
	dir := seasonOf(t, "battle_mix.pcap.gz", "field/c21.host.pcap.gz", "field/f1x.host.pcap.gz")
	names := []string{"index.html", "matches.html", "players.html", "ships.html", "rivalries.html", "records.html", "seasons.html"}
	for _, folder := range []string{leaguesite.Players, leaguesite.Matches} {
		found, err := filepath.Glob(filepath.Join(dir, folder, "*.html"))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s has %d pages, %v", folder, len(found), err)
		}
		names = append(names, folder+"/"+filepath.Base(found[0]))
	}
	own := "file://" + dir + "/"
	p := newTab(t, 1280, 800)
	p.keeps(own)
	for _, name := range names {
		p.size(1280, 800)
		p.do(chromedp.Navigate(own + name))
		p.until(`"ready" in document.documentElement.dataset`)
		if got := eval[string](p, `document.querySelector("meta[http-equiv=Content-Security-Policy]").content`); !strings.HasPrefix(got, "default-src 'none'") || strings.Contains(got, "unsafe") {
			t.Errorf("%s has the policy %q", name, got)
		}
		for _, f := range eval[[]string](p, structure) {
			t.Errorf("%s: %s", name, f)
		}
		eval[chromedp.Void](p, `document.querySelectorAll("#content > details, td details").forEach((d) => { d.open = true; })`)
		p.readable(name)
		p.size(390, 844)
		p.fits()
	}

	// A match has its replay, which a link to a moment moves.
	p.size(1280, 800)
	if got := eval[int](p, `document.querySelectorAll("canvas.space").length`); got != 1 {
		t.Errorf("the page of a match has %d replays", got)
	}
	p.do(chromedp.Navigate(own + "records.html"))
	p.until(`"ready" in document.documentElement.dataset`)
	const to = `document.querySelector("td a[href*='#t=']")`
	at := eval[float64](p, `+`+to+`.href.split("#t=")[1]`)
	p.do(chromedp.Navigate(eval[string](p, to+`.href`)))
	p.until(`"ready" in document.documentElement.dataset`)
	at = max(at, eval[float64](p, `+document.getElementById("time").ariaValueMin`)) // a replay begins with the first ship
	p.shows("a record", at-0.1, at+0.1)

	for name, want := range map[string][]string{
		"index.html": {"Skip to the content", "Light or dark", "Table", "Matches", "Player", "Points", "Bot0", "all 3", "All of this as JSON"},
		"ships.html": {"Class", "Win rate", "1 match"},
	} {
		p.do(chromedp.Navigate(own + name))
		p.until(`"ready" in document.documentElement.dataset`)
		stops := p.stops()
		for _, w := range want {
			if !strings.Contains(stops, "|"+w+"|") {
				t.Errorf("%s: Tab reaches %s, but not %q", name, stops, w)
			}
		}
	}
}

// TestLeagueThousand lists 1,000 matches. They are there within a second, which only the
// long form of the test asks for.
func TestLeagueThousand(t *testing.T) {
	const n = 1000
	var all []league.Kept
	for i := range n {
		m := duel()[0]
		m.Origin = time.Date(2026, 3, 1, 20, 10*i, 0, 0, time.UTC)
		for k := range m.Players {
			m.Players[k].Name += wire.Untrusted(fmt.Sprint(" ", i%25))
		}
		m.Result = match.Result{Value: match.Won, Winners: []int{0}, Winner: 0, Team: -1, Rests: match.ByKills}
		all = append(all, league.Keep(match.Merge([]match.Recording{{Files: []string{fmt.Sprintf("%d.pcap", i)}, Matches: []*match.Match{m}}})[0]))
	}
	dir := t.TempDir()
	err := leaguesite.Write(league.Build(all, league.Default(), nil), leaguesite.Options{}, func(name string, data []byte) error {
		if !slices.Contains([]string{"index.html", "matches.html", "style.css", "league.js"}, name) {
			return nil
		}
		return os.WriteFile(filepath.Join(dir, name), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	own := "file://" + dir + "/"
	p := newTab(t, 1280, 800)
	p.load(own+"matches.html", own)
	const shown = `[...document.querySelectorAll("table.list tbody tr")].filter((r) => !r.hidden).length`
	if got := eval[int](p, shown); got != n {
		t.Errorf("%d matches are listed", got)
	}
	busy, clock := p.busy(), eval[float64](p, `+document.documentElement.dataset.ready`)
	t.Logf("%d matches after %.0f ms of processor time, %.0f ms by the clock", n, busy, clock)
	if os.Getenv("BCDISSECT_LONG") != "" && (busy > 2*1000 || clock > 4*1000) {
		t.Errorf("%d matches took %.0f ms of processor time, %.0f ms by the clock", n, busy, clock)
	}
	// The search shows the matches of a player, and the order of the column
	// stays complete.
	eval[chromedp.Void](p, `(() => { const s = document.querySelector("input[type=search]"); s.value = "Ann 7 "; s.dispatchEvent(new Event("input")); })()`)
	if got := eval[int](p, shown); got != n/25 {
		t.Errorf("the search keeps %d matches, not %d", got, n/25)
	}
	eval[chromedp.Void](p, `(() => { const s = document.querySelector("input[type=search]"); s.value = ""; s.dispatchEvent(new Event("input")); document.querySelector("table.list th button").click(); })()`)
	if got := eval[bool](p, `(() => { const all = [...document.querySelectorAll("table.list tbody th")].map((e) => +e.dataset.v); return all.length === 1000 && all.every((v, i) => i === 0 || all[i - 1] <= v); })()`); !got {
		t.Error("a click on Begin does not put the first match first")
	}
	p.do(chromedp.Navigate(own + "index.html"))
	p.until(`"ready" in document.documentElement.dataset`)
	if got := eval[string](p, `document.querySelector("h1 ~ .meta, .hero .meta").textContent`); !strings.HasPrefix(got, "1000 matches") {
		t.Errorf("the first page says %q", got)
	}
}
