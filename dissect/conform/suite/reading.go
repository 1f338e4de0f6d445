package suite

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Reading tests cases with a capture. It observes some rules, and for others
// it compares the captured hosts with the stock game's. It implements
// report.Sink.
type Reading struct {
	cases   []*Case
	profile Profile
	watch   *Watch
	hosts   *conform.Hosts
	known   map[int]bool             // conversations in which a host has sent something
	of      map[netip.AddrPort][]int // conversations of a client
	clock   clock
	seen    bool // the capture has a host or a client of the game

	OnlyContent bool // omits findings about numbers and acknowledgements
}

// NewReading returns a reading for those cases that can be tested with a
// capture.
func NewReading(cases []*Case, p Profile) *Reading {
	return &Reading{
		cases: cases, profile: p, watch: NewWatch(cases, p), hosts: conform.NewHosts(conform.Config{Against: decode.Stock}), known: map[int]bool{}, of: map[netip.AddrPort][]int{},
	}
}

// Record handles a record, in the order of the capture.
func (g *Reading) Record(r *dissect.Record) error {
	if r.DoubleOf > 0 {
		return nil
	}
	g.seen = g.seen || r.Dir != dissect.DirUnknown && r.Kind == dissect.KindMessage
	g.clock.take(r.Datagram.Number, r.Time)
	if err := g.watch.Record(r); err != nil || !g.tells(r) {
		return err
	}
	return g.hosts.Record(r)
}

// Close implements report.Sink.
func (g *Reading) Close() error { return nil }

// tells reports whether a host must act on a message. It need not act on
// messages of strangers, or outside the window of numbers.
func (g *Reading) tells(r *dissect.Record) bool {
	if r.Dir != dissect.ToHost {
		if r.Kind == dissect.KindMessage && !g.known[r.Conversation] && len(g.known) < mostSides {
			g.known[r.Conversation] = true
			g.of[r.Dst] = append(g.of[r.Dst], r.Conversation)
		}
		return true
	}
	return r.Transport.Type == transport.Connect || g.known[r.Conversation] && !outside(r)
}

// Report returns the results for a capture with a name. If it has no host and
// no client of the game, ok is false.
func (g *Reading) Report(name string, begun, ended time.Time) (rep *Report, ok bool) {
	reports, _ := g.hosts.Reports()
	var addresses []string
	var findings []result.Finding
	var line []measure.Loss
	numbers := int64(0)
	for _, r := range reports {
		addresses, line = append(addresses, r.Host.String()), append(line, r.Line...)
		if !g.OnlyContent {
			findings, numbers = append(findings, r.Findings...), max(numbers, r.Numbers)
		}
	}
	rep = &Report{Host: name + ": " + strings.Join(addresses, ", "), Profile: g.profile, Begun: begun, Took: ended.Sub(begun), Findings: findings, Numbers: numbers, Line: line}
	g.watch.ledger.finish()
	by := map[*Case]Result{}
	for _, res := range compared(g.cases, g.profile, reports, g) {
		by[res.Case] = res
	}
	for _, res := range g.watch.Results(g.profile) { // if a case has both, these come first
		by[res.Case] = res
	}
	for _, c := range g.cases {
		if res, ok := by[c]; ok {
			rep.Results = append(rep.Results, res)
		}
	}
	return rep, g.seen
}

// doubtful reports whether the capture lacks messages that may explain a
// difference: others to the same client, or of a client. If d is nil, it
// reports this for the whole capture.
func (g *Reading) doubtful(d *result.Difference) bool {
	const before, after = 5 * time.Second, 20 * time.Second
	l := &g.watch.ledger
	if l.more || d == nil {
		return l.more || len(l.lost) > 0
	}
	from, till := g.clock.at(d.Frame)
	from, till = from.Add(-before), till.Add(after)
	return slices.ContainsFunc(l.lost, func(o loss) bool {
		return !o.at.Before(from) && !o.at.After(till) && (o.dir == dissect.ToHost || slices.Contains(g.of[d.To], o.conversation))
	})
}

// compared tests cases about copies by comparing captured hosts with the stock
// game's. There is one report for each host.
func compared(cases []*Case, p Profile, reports []*result.Report, g *Reading) (list []Result) {
	for _, c := range cases {
		if c.compare == "" || c.LeftOut != "" || c.Profiles&p == 0 {
			continue
		}
		n := tally{of: g, c: c}
		for _, r := range reports {
			if code, err := strconv.ParseUint(c.compare, 16, 8); err == nil && len(c.compare) == 2 {
				n.opcode(r, decode.Opcode(code))
			} else {
				n.invariant(r, c.compare)
			}
		}
		res := n.result()
		allow(&res, p)
		list = append(list, res)
	}
	return list
}

// undescribed is the rule that the command replay uses if a model of OpenBC
// explains a message and no other rule describes it.
const undescribed = "other"

// describes reports whether a rule describes what OpenBC does with one of the
// given messages. Other rules are about cases that are not tested by
// comparison, so following them does not break these cases.
func describes(rule string, rows []*result.Row) bool {
	return slices.ContainsFunc(rows, func(row *result.Row) bool {
		spec := catalog().Lookup(row.Opcode)
		if spec == nil {
			return false
		}
		d, h := spec.Deviation(decode.OpenBC), spec.Habit(decode.OpenBC)
		return d != nil && d.Rule.Name == rule || h != nil && h.Rule.Name == rule
	})
}

// A tally counts the messages that a case is about.
type tally struct {
	of *Reading
	c  *Case

	matched, broken int
	documented      int // broken in the way that is documented for OpenBC's servers
	guarded         int // changed or refused by a rule that protects players
	doubtful        int // breaks that messages missing in the capture may explain
	unlisted        int // breaks beyond those that a report lists
	came            []string
	rules           []string // the documented rules
	frames          []int
}

// result returns the verdict.
func (n *tally) result() Result {
	res := Result{Case: n.c, Attempts: 1}
	switch {
	case n.broken > 0:
		res.breaks(n.came, n.frames, false)
	case n.documented > 0:
		res.breaks(n.rules, nil, true)
	case n.doubtful > 0:
		res.Verdict, res.Frames = Skip, n.frames
		res.Why = fmt.Sprintf("%s; but missing messages, or documented behaviour of OpenBC, may explain it", n.came[0])
	case n.unlisted > 0:
		res.Verdict, res.Why = Skip, "the capture has more differences than the comparison lists; replay counts them"
	case n.guarded > 0:
		res.Verdict, res.Why = Known, n.rules[0]
	case n.matched == 0:
		res.Verdict, res.Why = NotSeen, "the capture has no message that can be compared for this rule; replay gives the reasons"
	}
	return res
}

// opcode adds the messages of an opcode that the host must pass on.
func (n *tally) opcode(r *result.Report, op decode.Opcode) {
	for _, row := range r.Rows {
		if row.Opcode != op {
			continue
		}
		n.matched += row.Matched
		n.explained(r, row)
		if row.Missing+row.Differing > 0 && r.Found > len(r.Differences) {
			n.unlisted++
		}
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		if _, control := d.Control(); control || d.Opcode != op || d.Kind == "extra" {
			continue
		}
		n.differs(d.Frame, n.of.doubtful(d), fmt.Sprintf("frame %d: %s at %v: %s", d.Frame, d.Kind, d.To, d.Detail))
	}
}

// differs adds a difference. Proven differences are shown first.
func (n *tally) differs(frame int, doubtful bool, text string) {
	if doubtful {
		if n.doubtful++; n.broken > 0 {
			return
		}
	} else if n.broken++; n.broken == 1 {
		n.came, n.frames = nil, nil
	}
	if len(n.came) < mostCame {
		n.came = append(n.came, text)
		n.frames = append(n.frames, frame)
	}
}

// explained adds the messages of some rows that documented rules explain. For a
// host that is not an OpenBC server, they are guards of the relay. For an
// OpenBC server, such a rule is a documented way to break the case only if
// cases.txt has one.
func (n *tally) explained(r *result.Report, rows ...*result.Row) {
	for _, d := range r.Deviations {
		count := 0
		for _, row := range rows {
			count += d.Of(row)
		}
		text := fmt.Sprintf("from frame %d: %s", d.First, r.Explain(d.Rule))
		switch {
		case count == 0:
		case r.Dialect != decode.OpenBC:
			n.guarded += count
			n.rules = append(n.rules, text)
		case d.Rule.Name == undescribed:
			n.differs(d.First, true, text)
		case !describes(d.Rule.Name, rows):
		case n.c.OpenBC == "":
			n.differs(d.First, false, text)
		default:
			n.documented += count
			n.rules = append(n.rules, text)
		}
	}
}

// rowsOf returns the rows of the messages that an invariant checks.
func rowsOf(r *result.Report, invariant string) (rows []*result.Row) {
	ops := map[string][]decode.Opcode{
		"announcements": {msg.OpPlayerAnnounce}, "creation-copies": {msg.OpObjectCreate, msg.OpObjectCreateTeam},
	}[invariant]
	for _, row := range r.Rows {
		if slices.Contains(ops, row.Opcode) {
			rows = append(rows, row)
		}
	}
	return rows
}

// invariant adds the checks of a rule that every stock host follows.
func (n *tally) invariant(r *result.Report, name string) {
	for i := range r.Invariants {
		v := &r.Invariants[i]
		if v.Name != name {
			continue
		}
		n.matched += v.Checked - v.Failed
		if v.Known > 0 || r.Dialect == decode.OpenBC && name == "announcements" { // surplus messages are not part of the invariant
			n.explained(r, rowsOf(r, name)...)
		}
		if broken := v.Failed - v.Known; broken > 0 {
			n.differs(v.First, n.of.doubtful(nil), fmt.Sprintf("frame %d: %d of %d", v.First, broken, v.Checked))
		}
	}
}
