package suite

import (
	"fmt"
	"strconv"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/conform"
)

// Compared answers cases about copies with the comparison of captured hosts and
// the stock game's: one report for each host.
func Compared(cases []*Case, p Profile, reports []*conform.Report) (list []Result) {
	for _, c := range cases {
		if c.compare == "" || c.LeftOut != "" || c.Profiles&p == 0 {
			continue
		}
		res := Result{Case: c, Attempts: 1}
		n := tally{}
		for _, r := range reports {
			if code, err := strconv.ParseUint(c.compare, 16, 8); err == nil && len(c.compare) == 2 {
				n.opcode(r, decode.Opcode(code))
			} else {
				n.invariant(r, c.compare)
			}
		}
		switch {
		case n.broken > 0:
			res.Verdict, res.Expected, res.Came = Fail, c.Rule, n.came
			res.Frames = n.frames
			if len(res.Came) == 0 {
				res.Came = []string{fmt.Sprintf("%d of %d messages are missing or differ", n.broken, n.seen)}
			}
			res.Why = res.Came[0]
		case n.documented > 0:
			res.Verdict, res.Why = Known, fmt.Sprintf("%d messages deviate as documented", n.documented)
			if p != OpenBC {
				res.Verdict, res.Expected, res.Came = Fail, c.Rule, []string{res.Why}
			}
		case n.seen == 0:
			res.Verdict, res.Why = NotSeen, "the capture has no such message that a model of the host answers for; replay says why"
		}
		allow(&res, p)
		list = append(list, res)
	}
	return list
}

// A tally counts the messages that a case is about.
type tally struct {
	seen, broken, documented int
	came                     []string
	frames                   []int
}

// opcode adds the messages of an opcode that the host was to pass on.
func (n *tally) opcode(r *conform.Report, op decode.Opcode) {
	for _, row := range r.Rows {
		if row.Opcode != op {
			continue
		}
		n.seen += row.Matched + row.Missing + row.Differing + row.Explained
		n.broken += row.Missing + row.Differing
		n.documented += row.Explained
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		if _, control := d.Control(); control || d.Opcode != op || d.Kind == "extra" || len(n.came) >= mostCame {
			continue
		}
		n.came = append(n.came, fmt.Sprintf("frame %d: %s at %v: %s", d.Frame, d.Kind, d.To, d.Detail))
		n.frames = append(n.frames, d.Frame)
	}
}

// invariant adds the checks of a rule that every stock host keeps.
func (n *tally) invariant(r *conform.Report, name string) {
	for i := range r.Invariants {
		v := &r.Invariants[i]
		if v.Name != name {
			continue
		}
		n.seen += v.Checked
		n.broken += v.Failed - v.Known
		n.documented += v.Known
		if v.Failed > 0 {
			n.came = append(n.came, fmt.Sprintf("frame %d: %d of %d", v.First, v.Failed, v.Checked))
			n.frames = append(n.frames, v.First)
		}
	}
}
