// The web page has no such table: without it, the suite and the bots stay out of the page.

//go:build !js

package table

import (
	"io"
	"strconv"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/bots"
	"github.com/bcdissect/bcdissect/report"
)

// Bots writes how the game felt for bots: a table about joins, one about chat
// and one about ship updates, with a row for each bot and one for all.
func Bots(w io.Writer, r *bots.Report, o Options) error {
	p := newPage(o)
	players := append(append([]bots.Player{}, r.Players...), r.All)
	p.printf("%s played on %s for %.1f s, seed %d\n", plural.Count(len(r.Players), "bot"), r.Host, r.Seconds, r.Seed)
	bad := func(n int) string {
		if n == 0 {
			return "0"
		}
		return p.paint(strconv.Itoa(n), red)
	}
	for _, t := range []struct {
		head  []string
		cells func(b *bots.Player) []string
	}{
		{[]string{"joins", "dialect", "joined", "failed", "left", "removed", "median ms", "95% ms", "longest ms", "why not"}, func(b *bots.Player) []string {
			return append([]string{b.Dialect, strconv.Itoa(b.Joins), bad(b.JoinsFailed), strconv.Itoa(b.Leaves), bad(b.PutOut)}, append(millis(&b.JoinTime), report.Escape(b.Reason))...)
		}},
		{[]string{"chat", "sent", "seen", "missing", "median ms", "95% ms", "longest ms"}, func(b *bots.Player) []string {
			return append([]string{strconv.Itoa(b.Lines), strconv.Itoa(b.LinesSeen), bad(b.LinesMissing)}, millis(&b.ChatTime)...)
		}},
		{[]string{"ship updates", "sent", "seen", "missing", "share", "host's own", "gap median ms", "95% ms", "longest ms", "resent"}, func(b *bots.Player) []string {
			share := "-"
			if v, ok := b.Share(); ok {
				share = percent(v)
			}
			return append(append([]string{strconv.Itoa(b.Updates), strconv.Itoa(b.UpdatesSeen), bad(b.UpdatesMissing), share, strconv.Itoa(b.HostUpdates)}, millis(&b.Gap)...), strconv.Itoa(b.Resent))
		}},
	} {
		all := columnsOf(t.head, nil, 1)
		for i, head := range t.head {
			all[i].text, all[i].drop = i == 0 || head == "dialect" || head == "why not", botsDrop[head]
		}
		for i := range players {
			addRow(all, append([]string{report.Escape(players[i].Name)}, t.cells(&players[i])...)...)
		}
		p.printf("\n")
		p.table(all)
	}
	for i, m := range r.Missing {
		if i == 0 {
			p.printf("\n")
		}
		if i == mostMissing {
			p.printf("and %s more that did not come\n", plural.Count(r.All.LinesMissing-i, "line"))
			break
		}
		p.printf("%s never saw line %d of %s, said after %.1f s: %s\n", report.Escape(m.Player), m.Line, report.Escape(m.From), m.Seconds, report.Escape(m.Text))
		if m.AuthorLeft {
			p.printf("  %s left before the host acknowledged it\n", report.Escape(m.From))
		}
	}
	if r.Stopped {
		p.printf("\ninterrupted: the bots left early\n")
	}
	return p.flush(w)
}

// mostMissing is how many missing lines of chat are listed.
const mostMissing = 10

// botsDrop are the columns that narrow terminals do not show, with the first to
// be dropped as 1.
var botsDrop = map[string]int{"why not": 1, "resent": 2, "host's own": 3, "dialect": 4, "sent": 5, "left": 6}

// millis returns the median, the 95th percentile and the maximum in
// milliseconds.
func millis(t *bots.Times) []string {
	if t.N == 0 {
		return []string{"-", "-", "-"}
	}
	ms := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	return []string{ms(t.Median), ms(t.P95), ms(t.Max)}
}
