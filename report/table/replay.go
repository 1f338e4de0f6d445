package table

import (
	"fmt"
	"io"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
)

// shownDifferences is the number of differences that a table shows. JSON has up
// to the recorded maximum.
const shownDifferences = 40

// Replay writes the report of a comparison: the clients, a table of all
// opcodes, the differences, the documented and the not compared messages, the
// invariants, and the verdict.
func Replay(w io.Writer, r *result.Report, o Options) error {
	t := replayTables{newPage(o), r}
	t.head()
	t.clients()
	t.line(r.Line)
	t.causes()
	t.findings(r.Findings, r.Unneeded)
	t.classes()
	if o.Verbose {
		t.differences()
	}
	t.lists()
	t.invariants()
	t.verdict()
	return t.flush(w)
}

type replayTables struct {
	page

	r *result.Report
}

// grid writes a table whose first left columns contain text. On a narrow
// terminal, text is folded and the least important columns are dropped.
func (t *replayTables) grid(head []string, rows [][]string, left int) {
	if len(rows) == 0 {
		return
	}
	all := columnsOf(head, rows, left)
	for i, name := range head {
		all[i].drop = replayDrop[name]
		if i < left && name != "verdict" && name != "actual" { // these two are coloured
			all[i].least = 12
		}
	}
	t.printf("\n")
	t.table(all)
}

// replayDrop are the columns that narrow terminals do not show, with the first
// to be dropped as 1. The counts of documented, not required and not compared
// messages are also in separate tables.
var replayDrop = map[string]int{
	"95% ms": 1, "median ms": 2, "not compared": 3, "not required": 4, "documented": 5, "relay": 6, "expected": 7,
}

// dialect returns the name of a dialect. The dialect can be unknown if there is
// no evidence.
func dialect(d decode.Dialect) string {
	if d == decode.Undecided {
		return "unknown, stock assumed"
	}
	return d.String()
}

func (t *replayTables) head() {
	r, g := t.r, &t.r.Game
	against := r.Against.String()
	if r.Against == decode.Undecided {
		against = "its own dialect"
	}
	mission := "unknown"
	if g.Mission != "" {
		mission = report.Escape(g.Mission)
	}
	t.printf("host      %v, dialect %s\n", r.Host, dialect(r.Dialect))
	t.printf("against   %s, mode %s, mission %s, system %d, %d players\n",
		against, g.Mode, mission, g.System, g.Players)
	t.printf("played    %d %s of %s\n", r.Inputs, plural.Form(r.Inputs, "{message|messages}"), plural.Count(len(r.Clients), "client"))
	for _, n := range r.Notes {
		t.printf("%s\n", t.paint("note      "+t.brief(wire.Untrusted(n), briefWidth), yellow))
	}
}

func (t *replayTables) clients() {
	rows := [][]string{}
	for _, c := range t.r.Clients {
		slot, peer, join := "-", "-", "in the capture"
		if c.Slot >= 0 {
			slot = count(int64(c.Slot))
		}
		if c.Peer > 0 {
			peer = count(int64(c.Peer))
		}
		if c.Adopted {
			join = "before the capture"
		}
		rows = append(rows, []string{c.Addr.String(), t.brief(c.Name, linkPlayerWidth), join, peer, slot, count(int64(c.First))})
	}
	t.grid([]string{"client", "player", "joined", "peer", "slot", "frame"}, rows, 3)
}

func (t *replayTables) classes() {
	rows := [][]string{}
	bad := func(n int) string {
		if n == 0 {
			return "0"
		}
		return t.paint(count(int64(n)), red)
	}
	for _, row := range append(append([]*result.Row{}, t.r.Rows...), t.r.Controls...) {
		op, relay := row.Opcode.String(), row.Relay.String()
		if row.Control {
			op, relay = "-", "-"
		}
		n := func(v int) string { return count(int64(v)) }
		rows = append(rows, []string{
			op, row.Name, relay, n(row.Expected), n(row.Emitted), n(row.Matched), bad(row.Missing), bad(row.Extra), bad(row.Differing),
			n(row.Explained), n(row.Excused), n(row.NotComparable),
			inMillis(row.MedianLag, row.Copies > 0), inMillis(row.P95Lag, row.Copies > 0),
		})
	}
	t.grid([]string{
		"opcode", "name", "relay", "expected", "sent", "matched", "missing", "extra", "differs",
		"documented", "not required", "not compared", "median ms", "95% ms",
	}, rows, 3)
}

func (t *replayTables) differences() {
	r := t.r
	rows := [][]string{}
	for i := range r.Differences {
		if i == shownDifferences {
			break
		}
		d := &r.Differences[i]
		what := d.Opcode.String()
		if typ, control := d.Control(); control {
			what = typ.Kind()
		}
		rows = append(rows, []string{d.Kind, what, d.Name, d.To.String(), t.brief(wire.Untrusted(d.Detail), briefWidth), count(int64(d.Frame))})
	}
	if len(rows) == 0 {
		return
	}
	t.grid([]string{"difference", "opcode", "name", "to", "why", "frame"}, rows, 5)
	if more := r.Found - len(rows); more > 0 {
		t.printf(" and %d more\n", more)
	}
	t.fields()
}

func (t *replayTables) causes() {
	rows := [][]string{}
	for _, c := range t.r.Causes {
		sure := "certain"
		if !c.Certain {
			if sure = "by rate"; c.Chance < 0 {
				sure = fmt.Sprintf("1 : 10^%.0f by loss", -c.Chance)
			}
		}
		if c.Accepted > 0 {
			sure += fmt.Sprintf(", %d accepted", c.Accepted)
		}
		rows = append(rows, []string{rowNames(c.Rows), c.What, sure, count(int64(c.Count)), count(int64(c.Of)), count(int64(c.Players)), count(int64(c.First))})
	}
	t.grid([]string{"cause", "what the host does", "sure", "times", "of", "players", "from frame"}, rows, 3)
}

// line writes the estimated loss on the connection to each client.
func (p *page) line(list []measure.Loss) {
	all := columnsOf([]string{"line", "loss", "at most", "numbers missing", "transmissions unanswered", "after the last answer"}, nil, 1)
	for i := range list {
		l := &list[i]
		who := l.Client.String()
		if l.Player != "" {
			who = p.brief(l.Player, linkPlayerWidth)
		}
		part := func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
		addRow(all, report.Way(l.Dir, who, p.o.ASCII), part(l.Part), part(l.Most), fmt.Sprintf("%d of %d", l.Missing, l.Numbers), fmt.Sprintf("%d of %d", l.Unanswered, l.Sent), count(l.Open))
	}
	if len(list) > 0 {
		p.printf("\n")
		p.table(all)
	}
}

// findings writes the mistakes of a host other than in the contents of
// messages. It also writes entries of the baseline that the host does not need.
func (p *page) findings(list []result.Finding, unneeded []*result.Accepted) {
	const column = 10
	for i := range list {
		f := &list[i]
		p.printf("\n")
		head, look := "finding", red
		if f.Accepted {
			head, look = "accepted", yellow
		}
		head = p.paint(head, look) + strings.Repeat(" ", column-len(head))
		p.folded(head, column, fmt.Sprintf("%s (%s, from frame %d)", p.brief(wire.Untrusted(f.Text), briefWidth), plural.Count(f.Count, "time"), f.Frame))
	}
	for i, a := range unneeded {
		if i == 0 {
			p.printf("\nThe baseline lists what the host no longer does:\n")
		}
		p.folded("  ", 2, p.brief(wire.Untrusted(a.String()), briefWidth))
	}
}

// shownFields is the number of differences shown with their fields, unless the
// user wants all.
const shownFields = 3

// fields shows the expected and actual fields of the first differences. It
// shows only fields that differ, unless the user wants all.
func (t *replayTables) fields() {
	for i := range t.r.Differences {
		d := &t.r.Differences[i]
		if i == shownDifferences || i == shownFields && !t.o.Verbose {
			return
		}
		rows := [][]string{}
		for k := range d.Fields {
			f := &d.Fields[k]
			switch {
			case d.Kind != "differs" || !f.Same():
			case !t.o.Verbose:
				continue
			}
			look := faint
			if !f.Same() && d.Kind == "differs" {
				look = red
			}
			rows = append(rows, []string{f.Path, t.value(f.Expected), t.paint(t.value(f.Actual), look)})
		}
		if len(rows) > 0 {
			t.printf("\n%s %s to %v, frame %d\n", d.Kind, d.Name, d.To, d.Frame)
			t.grid([]string{"field", "expected", "actual"}, rows, 3)
		}
	}
}

// value returns the value of a field, which is text from the network.
func (t *replayTables) value(s string) string {
	if s == "" {
		return "-"
	}
	return t.brief(wire.Untrusted(s), briefWidth)
}

// briefWidth is the length to which text is cut that may contain text from the
// network. JSON has longer text.
const briefWidth = 320

func (t *replayTables) lists() {
	r := t.r
	rows := [][]string{}
	for _, d := range r.Deviations {
		rows = append(rows, []string{count(int64(d.Count)), count(int64(d.First)), r.Explain(d.Rule)})
	}
	t.grid([]string{"messages", "from frame", "documented behaviour of this dialect"}, rows, 3)
	rows = nil
	for _, e := range r.Ledger {
		if e.Status == "fixed" {
			rows = append(rows, []string{count(int64(e.Fixed)), count(int64(e.First)), r.Explain(e.Rule)})
		}
	}
	t.grid([]string{"messages", "from frame", "documented behaviour that this host does not have: it does as the stock host does"}, rows, 3)
	for _, l := range []struct {
		head string
		list []*result.Count
	}{{"not required", r.Excused}, {"not compared", r.Apart}} {
		rows := [][]string{}
		for _, c := range l.list {
			rows = append(rows, []string{count(int64(c.Count)), count(int64(c.First)), rowNames(c.Rows), c.Why})
		}
		t.grid([]string{"messages", "from frame", l.head, "why"}, rows, 4)
	}
}

// rowNames returns the names of the messages in list, or of the first few if
// there are many.
func rowNames(list []*result.Row) string {
	const most = 3
	var b strings.Builder
	for i, row := range list {
		if i == most {
			fmt.Fprintf(&b, " and %d others", len(list)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(row.Name)
	}
	return b.String()
}

func (t *replayTables) invariants() {
	rows := [][]string{}
	for i := range t.r.Invariants {
		v := &t.r.Invariants[i]
		look := green
		failed := count(int64(v.Failed))
		switch {
		case v.Failed > 0:
			if look = red; v.Known == v.Failed {
				look = yellow
			}
			failed += fmt.Sprintf(" from frame %d on", v.First)
			if v.Known > 0 {
				failed += fmt.Sprintf(", %d documented", v.Known)
			}
		case v.Checked == 0:
			look = faint
		}
		rows = append(rows, []string{v.Text, t.paint(v.Verdict(), look), failed, count(int64(v.Checked))})
	}
	t.grid([]string{"rule for every stock host", "verdict", "failed", "checked"}, rows, 3)
}

func (t *replayTables) verdict() {
	r := t.r
	differences, findings := r.Left()
	switch {
	case r.Compared() == 0:
		t.printf("\n%s\n", t.paint("nothing could be compared", yellow))
	case differences > 0 || findings > 0:
		text := string(appendCount(nil, differences, "difference"))
		if findings > 0 {
			text += " and " + plural.Count(findings, "finding")
		}
		if differences < r.Found || findings < len(r.Findings) {
			text += " beyond the baseline"
		}
		t.printf("\n%s\n", t.paint(text, red))
	case !r.Conforms():
		t.printf("\n%s\n", t.paint(fmt.Sprintf("only documented differences of %s hosts", r.Dialect), yellow))
	case r.Found+len(r.Findings) > 0:
		t.printf("\n%s\n", t.paint("conforms, apart from what the baseline accepts", green))
	case len(r.Deviations) > 0:
		t.printf("\n%s\n", t.paint(fmt.Sprintf("conforms to %s hosts", r.Dialect), green))
	default:
		t.printf("\n%s\n", t.paint("conforms", green))
	}
}
