// Not part of the library: package suite runs a numbered list of cases on a
// running host. Scripted clients connect to it and compare its behaviour with
// the stock game's.
//
// A case is one rule. It has an id, the source of the rule, and the profiles of
// hosts that it is for. Either a function plays it with clients that the suite
// opens, or a function watches all traffic of the run or of a capture. The
// suite has neither socket nor clock. A [Driver] carries datagrams over UDP or
// in simulated time.
package suite

import (
	_ "embed"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// A Profile is a kind of host that a case is for.
type Profile uint8

// The profiles.
const (
	Stock    Profile = 1 << iota // the game's host, without the rules about its simulation
	OpenBC                       // the same rules, but documented differences of OpenBC are KNOWN
	Playable                     // a host without simulation that passes ship updates on

	everyHost = Stock | OpenBC | Playable
	likeStock = Stock | OpenBC
)

// Profiles returns the names of the profiles.
func Profiles() []string { return []string{"stock", "openbc", "playable"} }

// ProfileOf returns the profile with a name, or Stock for any other name.
func ProfileOf(name string) Profile { return 1 << max(0, slices.Index(Profiles(), name)) }

// String returns the name of a profile, or of all in a set.
func (p Profile) String() string {
	var list []string
	for i, name := range Profiles() {
		if p&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}

// A Verdict is the result of a case.
type Verdict uint8

// The verdicts.
const (
	Pass    Verdict = iota
	Fail            // the host breaks the rule
	Skip            // the case could not be run, for the reason in Why
	NotSeen         // nothing happened that the rule is about
	Known           // the rule is broken as documented for the profile, or the rule only informs
)

// String returns the verdict as displayed.
func (v Verdict) String() string {
	return [...]string{"PASS", "FAIL", "SKIP", "NOT SEEN", "KNOWN"}[min(v, Known)]
}

// A Grade is the evidence for a rule.
type Grade string

// The grades with a special meaning in this package. cases.txt also has
// "scripts" for the game's scripts, "prose" for documents, and "own rule" for
// rules of this suite.
const (
	OnWire   Grade = "wire" // bytes of real traffic
	FromCode Grade = "code" // the game's executable
)

// A Case is a rule and the way to test it.
type Case struct {
	ID    string
	Group string // query, transport, join, game, update, leave, robustness, simulation, bots, fuzz
	Title string
	Rule  string // one sentence
	// Source names a document and its section.
	Source string
	Grade  Grade

	Profiles     Profile
	Slow         bool   // takes more than 5 s, so it must be requested
	Long         bool   // takes more than a minute, so it must be requested
	Informs      bool   // a failure does not fail the run
	Timing       bool   // a busy machine, or one lost datagram, can spoil it without a sign
	OpenBC       string // documented difference of OpenBC, empty if there is none
	OpenBCSource string // source of that difference
	LeftOut      string // why the case cannot be run, empty if it can
	With         string // flag of conform that it needs, empty if it needs none

	needs   func(*T) error            // returns why the case cannot be run now. It is nil if it always can.
	asks    string                    // a query with which the case begins, empty for none
	players int                       // how many clients of the run must be in the game with a ship
	client  func(*T) (*client, error) // opens a further client, which leaves after the case. It may be nil.
	run     func(*T)
	watch   func() watcher // for cases that are tested by watching traffic
	final   func(*T)       // for cases about the whole run, at its end. It sends nothing.
	compare string         // for captures: the rows of the comparison with a model that test it
}

// pace returns how long the case takes: 0 for quick cases, then slow and long
// ones.
func (c *Case) pace() int {
	switch {
	case c.Long:
		return 2
	case c.Slow:
		return 1
	}
	return 0
}

// Reads reports whether a capture can test the case.
func (c *Case) Reads() bool { return c.watch != nil || c.compare != "" }

// Groups returns the names of the groups in order.
func Groups() []string {
	var list []string
	for _, c := range Cases() {
		list = append(list, c.Group)
	}
	return slices.Compact(list)
}

// Cases returns all cases, including those that cannot be run.
func Cases() []*Case {
	var list []*Case
	for _, group := range []struct {
		name  string
		cases []Case
	}{
		{"query", queryCases()},
		{"transport", transportCases()},
		{"join", joinCases()},
		{"game", gameCases()},
		{"update", updateCases()},
		{"leave", leaveCases()},
		{"robustness", robustnessCases()},
		{"simulation", simulationCases()},
		{"bots", []Case{{ID: "B-1"}, {ID: "B-2"}, {ID: "B-3"}, {ID: "B-4"}}}, // package badline tests them
		{"fuzz", []Case{{ID: "F-1"}}},                                        // Fuzz tests it
	} {
		for i := range group.cases {
			c := &group.cases[i]
			c.Group = group.name
			for line := range strings.Lines(caseLines()[c.ID]) {
				c.say(strings.TrimSpace(line))
			}
			if c.Profiles == 0 {
				c.Profiles = everyHost
			}
			list = append(list, c)
		}
	}
	return list
}

//go:embed cases.txt
var casesText string

// caseLines returns the lines of cases.txt about each case, by id.
var caseLines = sync.OnceValue(func() map[string]string {
	by := map[string]string{}
	for _, text := range strings.Split(casesText, "\n\n")[1:] {
		id, lines, _ := strings.Cut(text, "\n")
		by[id] = lines
	}
	return by
})

// say sets a property of the case from a line of cases.txt.
func (c *Case) say(line string) {
	name, text, _ := strings.Cut(line, ": ")
	switch name {
	case "title":
		c.Title = text
	case "rule":
		c.Rule = text
	case "source":
		c.Source = text
	case "grade":
		c.Grade = Grade(text)
	case "profiles":
		for word := range strings.FieldsSeq(text) {
			c.Profiles |= ProfileOf(word)
		}
	case "slow":
		c.Slow = true
	case "long":
		c.Long = true
	case "informs":
		c.Informs = true
	case "timing":
		c.Timing = true
	case "left out":
		c.LeftOut = text
	case "with":
		c.With = text
	case "openbc":
		c.OpenBC, c.OpenBCSource = text, "bcdissect help conform, An OpenBC server, case by case"
	default:
		panic("suite: " + c.ID + " has a line that is unknown: " + line)
	}
}

// Select returns the cases that the words select: ids such as J-5, the letters
// of ids such as R, and groups. Without words it returns all cases. It also
// returns an unknown word.
func Select(words []string) (list []*Case, unknown string) {
	all := Cases()
	if len(words) == 0 {
		return all, ""
	}
	chosen := map[string]bool{}
	for _, w := range words {
		found := false
		for _, c := range all {
			letters, _, _ := strings.Cut(c.ID, "-")
			if strings.EqualFold(c.ID, w) || strings.EqualFold(letters, w) || strings.EqualFold(c.Group, w) {
				chosen[c.ID], found = true, true
			}
		}
		if !found {
			return nil, w
		}
	}
	return slices.DeleteFunc(all, func(c *Case) bool { return !chosen[c.ID] }), ""
}

// A Result is the verdict on a case.
type Result struct {
	Case     *Case
	Verdict  Verdict
	Why      string // reason, for all verdicts except PASS. It may contain text from the network.
	Expected string // what was expected, for a FAIL
	Came     []string
	Frames   []int // frames of the recording that show it
	First    int   // first and last frame of its last attempt
	Last     int
	Attempts int
	Took     time.Duration
	Accepted bool // a baseline accepts the FAIL
	NoEntry  bool // a SKIP because no client could join: see Report

	doubtful   bool // the network may have spoiled the last attempt
	proven     bool // the network cannot have spoiled it
	documented bool // the rule is broken as documented for OpenBC
}

// breaks changes a result to FAIL.
func (r *Result) breaks(came []string, frames []int, documented bool) {
	r.Verdict, r.Why, r.Expected, r.Came, r.Frames, r.documented = Fail, came[0], r.Case.Rule, came, frames, documented
}

// A Report has the results of a run.
type Report struct {
	Host     string
	Profile  Profile
	Name     wire.Untrusted // name of the game, as sent by the host
	Begun    time.Time
	Took     time.Duration
	Results  []Result
	Findings []result.Finding   // for a capture: faults of its hosts with numbers and acknowledgements
	Line     []measure.Loss     // for a capture: estimated losses of the line
	Numbers  int64              // highest number of messages that these hosts numbered for a client
	Unneeded []*result.Accepted // entries of a baseline that the host does not need
	Frames   []Frame
	Lost     int    // number of frames beyond the limit
	Stopped  string // why not all cases were run, empty if they were
	NoEntry  string // why no client could join, with the remedy. Empty if one could. It may contain text from the network.
	Repeat   string // command that runs a case again, without the case's id

	at netip.AddrPort
}

// Count returns how many results have a verdict.
func (r *Report) Count(v Verdict) (n int) {
	for i := range r.Results {
		if r.Results[i].Verdict == v {
			n++
		}
	}
	return n
}

// Kept returns how many cases could not be run because no client could join.
func (r *Report) Kept() (n int) {
	for i := range r.Results {
		if r.Results[i].NoEntry {
			n++
		}
	}
	return n
}

// Passed reports whether no rule is broken and there is no finding, except for
// what a baseline accepts, in a run that was not interrupted.
func (r *Report) Passed() bool { return r.Failed() == 0 && !r.Interrupted() }

// Failed returns the number of failed cases and findings, except for those that
// a baseline accepts.
func (r *Report) Failed() (n int) {
	for i := range r.Results {
		if res := &r.Results[i]; res.Verdict == Fail && !res.Accepted {
			n++
		}
	}
	for i := range r.Findings {
		if !r.Findings[i].Accepted {
			n++
		}
	}
	return n
}

// An Outcome is the outcome of a case that the caller of [Run] tests.
type Outcome struct {
	ID     string
	Came   string // what broke the rule, empty if nothing did
	More   []string
	Skip   string // why it could not be run
	Frames []int
	Took   time.Duration
}

// Add adds the result of a case that the caller of [Run] tests.
func (r *Report) Add(o Outcome) {
	all := Cases()
	i := slices.IndexFunc(all, func(c *Case) bool { return c.ID == o.ID })
	res := Result{Case: all[i], Attempts: 1, Took: o.Took, Frames: o.Frames}
	switch {
	case o.Skip != "":
		res.Verdict, res.Why, res.Attempts = Skip, o.Skip, 0
	case o.Came != "":
		res.breaks(append([]string{o.Came}, o.More...), o.Frames, false)
	}
	r.Results = append(r.Results, res)
}

// listed returns the baseline's entry for a failed case.
func (r *Result) listed() result.Accepted {
	return result.Accepted{Kind: "case", What: r.Case.ID, Message: r.Case.Title}
}

// Baseline returns a baseline that accepts everything in the report.
func (r *Report) Baseline() *result.Baseline {
	b := result.BaselineOf(nil)
	for i := range r.Results {
		if res := &r.Results[i]; res.Verdict == Fail {
			b.Add(res.listed())
		}
	}
	for i := range r.Findings {
		b.AddFinding(&r.Findings[i])
	}
	return b
}

// Judge marks what a baseline accepts.
func (r *Report) Judge(b *result.Baseline) {
	for i := range r.Results {
		switch res := &r.Results[i]; res.Verdict {
		case Fail:
			res.Accepted = b.Accepts(res.listed())
		case Pass, Known:
			b.Tried(res.listed())
		case Skip, NotSeen:
		}
	}
	for i := range r.Findings {
		r.Findings[i].Accepted = b.AcceptsFinding(&r.Findings[i])
	}
	b.TriedFindings(r.Numbers)
	r.Unneeded = b.Unneeded()
}

// Interrupt records that the user ended the run early.
func (r *Report) Interrupt() { r.Stopped = interrupted }

// Interrupted reports whether the user ended the run before its last case.
func (r *Report) Interrupted() bool { return r.Stopped == interrupted }

// Tried returns how many cases have been run to their end.
func (r *Report) Tried() (n int) {
	for i := range r.Results {
		if res := &r.Results[i]; res.Attempts > 0 && (res.Verdict != Skip || res.Why != interrupted) {
			n++
		}
	}
	return n
}

// Span returns the time that the run took, or that the capture spans.
func (r *Report) Span() string {
	to := 100 * time.Millisecond
	if r.Took < time.Second {
		to = time.Millisecond
	}
	text := r.Took.Round(to).String()
	if r.Repeat == "" {
		text += " of traffic"
	}
	return text
}

// Again returns the command that runs a case again, or "" if there is none.
func (r *Report) Again(c *Case) string {
	switch {
	case r.Repeat == "":
		return ""
	case c.Slow && c.run != nil:
		return r.Repeat + " " + c.ID + " --slow"
	case c.Long:
		return r.Repeat + " " + c.ID + " --long"
	}
	return r.Repeat + " " + c.ID
}

// Comments returns a comment for each frame that belongs to a case: its id, title
// and verdict.
func (r *Report) Comments() map[int]string {
	comments := map[int]string{}
	for i := range r.Results {
		res := &r.Results[i]
		comment := func(f int, more string) {
			before := strings.TrimPrefix(comments[f]+"; ", "; ")
			comments[f] = fmt.Sprintf("%s%s %s: %s%s", before, res.Case.ID, res.Case.Title, res.Verdict, more)
		}
		if res.Case.run == nil {
			for _, f := range res.Frames {
				comment(f, "")
			}
			continue
		}
		for f := res.First; f <= res.Last; f++ {
			more := ""
			if slices.Contains(res.Frames, f) {
				more = ", shown by this frame"
			}
			comment(f, more)
		}
	}
	return comments
}
