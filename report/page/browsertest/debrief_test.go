package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// debriefed is a duel with all that the debriefing shows.
func debriefed() []*match.Match {
	all := duel()
	m, x := all[0], 400.0
	gone := 49.5
	m.Fire = []match.Fire{
		{Player: 0, Weapon: "torpedo", Victim: 1, Shots: 5, Hits: 3, Misses: 1, Unknown: 1, Amount: &x},
		{Player: 0, Weapon: "torpedo", Victim: match.NoPlayer, Shots: 2, Unknown: 2},
		{Player: 1, Weapon: "pulse", Victim: 0, Friendly: true, Shots: 7, Unknown: 7},
	}
	m.Wear = []match.Wear{{Victim: 1, System: "Bridge", Player: 0, Lost: 1.25, Out: 2}}
	m.Damage = []match.Damage{{T: 12, Player: 0, Victim: 1, Life: 1, Amount: &x}, {T: 47, Player: 0, Victim: 1, Life: 1, Amount: &x}}
	m.Kills[0].Fire, m.Kills[0].Falls = m.Fire[:1], []match.Fall{{System: "Bridge", Before: 0.75, After: 0, Gone: &gone}}
	m.Kills[0].At = &[3]float32{0, 800, 0}
	m.Lives[1].Condition = []match.Condition{{T: 0, Hull: 1, Shields: [6]float32{-1, -1, -1, -1, -1, -1}}, {T: 40, Hull: 0.5, Shields: [6]float32{-1, -1, -1, -1, -1, -1}}}
	m.Lives[1].Systems = []match.System{{Name: "Bridge", History: []match.Level{{T: 30, Value: 0.75}, {T: 49.5, Value: 0}}}}
	m.Shots = []match.Shot{{T: 12, Player: 0, Life: 0, Kind: match.Torpedo, Target: 1}}
	return all
}

// sheets returns the tables of the debriefing: the caption, and the cells of each row.
const sheets = `[...document.querySelectorAll("[aria-labelledby=debrief] table")].map((t) => [t.caption.textContent, ...[...t.rows].map((r) => [...r.cells].map((c) => c.textContent.trim()).join("|"))].join("\n")).join("\n\n")`

// TestDebriefing reads the numbers of the debriefing.
func TestDebriefing(t *testing.T) {
	p := open(t, debriefed(), "#t=12", 1280, 800)
	const all = "By weapon\nPlayer|Weapon|Shots|Hits|Misses|Unknown|Damage\nAnn|torpedo|7|3|1|3|400\nBen|pulse|7|0|0|7|–\n\n" +
		"By victim\nPlayer|At|Shots|Hits|Misses|Unknown|Damage\nAnn|Ben|5|3|1|1|400\nBen|Ann friendly|7|0|0|7|–\n\n" +
		"Subsystems\nShip of|Subsystem|Fired last|Lost|Out\nBen|Bridge|Ann|125 %|2 ×"
	if got := eval[string](p, sheets); got != all {
		t.Errorf("all players have\n%s\nnot\n%s", got, all)
	}
	choose := func(id, value string) {
		eval[chromedp.Void](p, fmt.Sprintf(`(() => { const e = document.getElementById(%q); e.value = %q; e.dispatchEvent(new Event("change")); })()`, id, value))
	}
	choose("debrief-player", "1")
	const ben = "By weapon\nWeapon|Shots|Hits|Unknown\npulse|7|0|7\n\nDone\nAt|Shots|Hits|Unknown\nAnn friendly|7|0|7\n\n" +
		"Taken\nFrom|Weapon|Shots|Hits|Misses|Unknown|Damage\nAnn|torpedo|5|3|1|1|400\n\nSubsystems\nSubsystem|Fired last|Lost|Out\nBridge|Ann|125 %|2 ×"
	if got := eval[string](p, sheets); got != ben {
		t.Errorf("Ben has\n%s\nnot\n%s", got, ben)
	}
	eval[chromedp.Void](p, `document.querySelector(".why details").open = true`)
	p.until(`document.querySelectorAll(".why table").length === 2`)
	const why = "Fired at the ship\nBy|With|Shots|Hits|Misses|Unknown|Damage\nAnn|torpedo|5|3|1|1|400\n\nWhat went\nPart|Before|At the loss|Gone\nBridge|75 %|0 %|0:49.5"
	if got := eval[string](p, sheets); !strings.HasSuffix(got, why) {
		t.Errorf("the last seconds are\n%s\nnot\n%s", got, why)
	}

	// The plots tell their values at the moment of the replay: Ann is 48 units from
	// where she began, and Ben is 800 away.
	const plots = `[...document.querySelectorAll(".plot h3")].map((e) => e.textContent.trim()).join("\n")`
	p.until(plots + `.includes("Range of Ann and Ben 801.4 units")`)
	for _, want := range []string{"Speed Ann 4.0 units/s · Ben 0.0 units/s", "Hull Ann – · Ben 100 %", "Damage in 5 s of Ann done 400 · taken 0", "Damage in 5 s of Ben done 0 · taken 400", "Subsystems of Ben"} {
		if got := eval[string](p, plots); !strings.Contains(got, want) {
			t.Errorf("the plots lack %q:\n%s", want, got)
		}
	}
	if got := eval[string](p, plots); strings.Contains(got, "Shields") {
		t.Errorf("there are shields in the plots, though the capture has none:\n%s", got)
	}
	p.link("#t=45")
	p.until(plots + `.includes("Hull Ann – · Ben 50 %")`)
	choose("ship-b", "0")
	p.until(`!` + plots + `.includes("Range")`)
}

// TestDebriefingByKeyboard uses the debriefing without a mouse and as screen readers do, and
// reads the colours of its text.
func TestDebriefingByKeyboard(t *testing.T) {
	p := open(t, debriefed(), "#t=12", 1280, 800)
	focus := func(selector string, keys ...string) {
		p.do(chromedp.Focus(chromedp.CSS(selector)))
		for _, k := range keys {
			p.do(chromedp.KeyEvent(k))
		}
	}
	stops := p.stops()
	for _, name := range []string{
		"Player of the debriefing", "0:50.0 Ann destroys Ben’s Galaxy with torpedo", "First ship of the plots", "Second ship of the plots",
		"Ships on the map", "Positions", "Shots", "Losses", "Result card (PNG)", "Copy address",
	} {
		if !strings.Contains(stops, "|"+name+"|") {
			t.Errorf("the keyboard does not reach %q: %s", name, stops)
		}
	}
	focus("#debrief-player", "B")
	p.until(`document.querySelector("[aria-labelledby=debrief] caption").closest("table").tBodies[0].rows[0].cells[0].textContent === "pulse"`)
	focus(".why summary", kb.Enter)
	p.until(`document.querySelectorAll(".why table").length === 2`)
	focus(".why td button", kb.Enter)
	p.shows("what went first", 47.4, 47.6)
	focus("#ship-b", "A")
	p.until(`![...document.querySelectorAll(".plot h3")].some((e) => e.textContent.includes("Range"))`)
	focus(".map .mark", kb.Enter)
	p.shows("a cross on the map", 47.9, 48.1)
	focus(".toggles button:last-child", " ")
	p.until(`document.querySelectorAll(".map .mark").length === 0 && document.activeElement.ariaPressed === "false"`)
	for _, s := range eval[[]string](p, structure) {
		t.Error(s)
	}
	// A plot is a picture whose name has its numbers.
	const named = `[...document.querySelectorAll(".plot [role=img]")].map((e) => e.ariaLabel).join("\n")`
	for _, want := range []string{"Speed: Ann 4.0 units/s to 4.0 units/s", "Damage of Ann: done 800, taken 0"} {
		if got := eval[string](p, named); !strings.Contains(got, want) {
			t.Errorf("no picture is called %q:\n%s", want, got)
		}
	}
	p.readable("the debriefing")
	p.size(390, 844)
	p.until(`innerWidth === 390`)
	p.fits()
}

// TestShared makes the card and follows an address with a ship.
func TestShared(t *testing.T) {
	p := open(t, debriefed(), "#t=12&ship=2", 1280, 800)
	const pressed = `[...document.querySelectorAll(".roster button")].map((e) => e.ariaPressed).join()`
	p.until(pressed + ` === "false,true"`)
	eval[chromedp.Void](p, `document.querySelectorAll(".roster button")[0].click()`)
	p.until(`location.hash === "#t=12.0&ship=1"`)
	eval[chromedp.Void](p, `document.querySelectorAll(".roster button")[0].click()`)
	p.until(`location.hash === "#t=12.0"`)
	p.link("#t=12&ship=99")
	if got := eval[string](p, pressed); got != "false,false" {
		t.Errorf("an address with a ship that there is not follows %s", got)
	}
	eval[chromedp.Void](p, `(() => {
		const make = URL.createObjectURL;
		URL.createObjectURL = (blob) => { createImageBitmap(blob).then((b) => { window.size = blob.type + " " + b.width + " " + b.height; }); return make(blob); };
		HTMLAnchorElement.prototype.click = function () { window.saved = this.download; }; })()`)
	eval[chromedp.Void](p, `document.querySelector(".share button").click()`)
	p.until(`window.size === "image/png 1200 630"`)
	if got := eval[string](p, `window.saved`); !strings.HasPrefix(got, "Duel-") || !strings.HasSuffix(got, ".png") {
		t.Errorf("the card is called %s", got)
	}

	// The map has a cross for the loss, which moves the replay.
	const marks = `document.querySelectorAll(".map .mark")`
	p.until(marks + `.length === 1`)
	eval[chromedp.Void](p, marks+`[0].click()`)
	p.until(`+document.getElementById("time").ariaValueNow >= 48`)
	eval[chromedp.Void](p, `[...document.querySelectorAll(".toggles button")].at(-1).click()`)
	p.until(marks + `.length === 0`)
}
