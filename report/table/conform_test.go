package table

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/bcdissect/bcdissect/dissect/conform/suite"
)

func TestConform(t *testing.T) {
	cases, _ := suite.Select([]string{"Q-1", "T-13", "R-07"})
	r := &suite.Report{
		Host: "127.0.0.1:22101", Name: "\x1b[2JFriday", Profile: suite.Stock, Took: 61530 * time.Millisecond, Repeat: "bcdissect conform localhost:22101",
		Results: []suite.Result{
			{Case: cases[0], Verdict: suite.Pass},
			{Case: cases[1], Verdict: suite.Skip, Why: "takes long; --slow runs it"},
			{Case: cases[2], Verdict: suite.Fail, Why: "one copy", Expected: "one copy", Came: []string{"frame 7: 07 \x1b[31m", "two"}, First: 5, Last: 9},
		},
	}
	var b strings.Builder
	if err := Conform(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	const want = `host      127.0.0.1:22101 "\x1b[2JFriday"
profile   stock

query
 Q-1    PASS      status query

transport
 T-13   SKIP      retransmission times  takes long; --slow runs it

game
 R-07   FAIL      StartFiring (07) forwarded

FAIL R-07: StartFiring (07) forwarded
  rule      StartFiring (07) goes unchanged and reliably to every other client in the game, in order, and not to its sender. (bcdissect help protocol, Copies, wire)
  expected  one copy
  came      frame 7: 07 \x1b[31m
            two
  frames    5 to 9 of the recording
  repeat    bcdissect conform localhost:22101 R-07

3 cases in 1m1.5s: 1 PASS, 1 FAIL, 1 SKIP
`
	if got := b.String(); got != want {
		t.Errorf("got %s", got)
	}
	b.Reset()
	captured := *r
	captured.Repeat, captured.Took = "", 84210*time.Millisecond
	if err := Conform(&b, &captured, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  frames    5 to 9 of the capture\n", "3 cases in 1m24.2s of traffic: "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("a capture: no %q in %s", want, b.String())
		}
	}
	b.Reset()
	if err := Conform(&b, r, Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\x1b[3") {
		t.Error("no colours")
	}
}

// A long reason is shown once, and its case named where it holds again.
func TestConformReasons(t *testing.T) {
	cases, _ := suite.Select([]string{"Q-5", "T-6", "T-7", "T-13", "T-17"})
	const long, short = "no client could join: the host went no further than request 1", "takes long; --slow runs it"
	r := &suite.Report{Results: []suite.Result{
		{Case: cases[0], Verdict: suite.Skip, Why: long},
		{Case: cases[1], Verdict: suite.Skip, Why: long},
		{Case: cases[2], Verdict: suite.Known, Why: long},
		{Case: cases[3], Verdict: suite.Skip, Why: short},
		{Case: cases[4], Verdict: suite.Skip, Why: short},
	}}
	var b strings.Builder
	if err := Conform(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{long: 1, "  as Q-5\n": 2, short: 2} {
		if got := strings.Count(b.String(), text); got != want {
			t.Errorf("%q %d times, want %d: %s", text, got, want, b.String())
		}
	}
}

// That no client can join is said once, in place of the cases that need one.
func TestConformNoEntry(t *testing.T) {
	cases, _ := suite.Select([]string{"Q-1", "T-6", "T-7"})
	r := &suite.Report{Host: "127.0.0.1:22101", Profile: suite.Stock, Repeat: "bcdissect conform", NoEntry: "the host wants other files", Results: []suite.Result{
		{Case: cases[0], Verdict: suite.Pass},
		{Case: cases[1], Verdict: suite.Skip, Why: "nobody could join", NoEntry: true},
		{Case: cases[2], Verdict: suite.Skip, Why: "nobody could join", NoEntry: true},
	}}
	var b strings.Builder
	if err := Conform(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	const want = `host      127.0.0.1:22101
profile   stock
attention 2 cases need a client in the game, and none could join: the host wants other files

query
 Q-1    PASS      status query

3 cases in 0s: 1 PASS, 2 SKIP
`
	if got := b.String(); got != want {
		t.Errorf("got %s", got)
	}
}

// Lists and reports are no wider than the terminal, whatever its width, and hold
// the same text.
func TestConformFits(t *testing.T) {
	cases := suite.Cases()
	r := &suite.Report{
		Host: "127.0.0.1:22101", Profile: suite.Stock, Repeat: "bcdissect conform localhost:22101",
		NoEntry: strings.Repeat("it wants other files ", 9), Stopped: strings.Repeat("no time left ", 9),
	}
	for i, c := range cases {
		res := suite.Result{Case: c, Verdict: suite.Verdict(i % 5), Why: strings.Repeat("a long reason ", 12), First: 1, Last: 2}
		if res.Verdict == suite.Fail {
			res.Expected, res.Came = strings.Repeat("something else ", 20), []string{strings.Repeat("0123456789ABCDEF", 30)}
		}
		r.Results = append(r.Results, res)
	}
	plain := func(s string) string { return strings.Join(strings.Fields(s), "") }
	var wide strings.Builder
	if err := Conform(&wide, r, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{60, 80, 120, 200} {
		var list, rep strings.Builder
		if err := errors.Join(Cases(&list, cases, Options{Width: width}), Conform(&rep, r, Options{Width: width})); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{list.String(), rep.String()} {
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsGraphic(r) }) {
					t.Errorf("line %q", line)
				}
				if n := new(widths).of([]byte(line)); n > width {
					t.Errorf("%d columns: a line of %d: %q", width, n, line)
				}
			}
		}
		if plain(rep.String()) != plain(wide.String()) {
			t.Errorf("%d columns: not the same text", width)
		}
		for _, c := range cases {
			if !strings.Contains(list.String(), c.ID+" ") {
				t.Errorf("%d columns: no %s", width, c.ID)
			}
		}
	}
	var list strings.Builder
	if err := Cases(&list, cases, Options{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(list.String(), "not tried: "); n != 18 {
		t.Errorf("%d cases are not tried, want 18 that need a simulation", n)
	}
	if n := strings.Count(list.String(), "from captures alone"); n != 16 {
		t.Errorf("captures alone answer %d cases, want U-3 to U-10, U-12, D-1 to D-3, D-7, D-9, D-10 and L-7", n)
	}
	for _, c := range cases {
		if !strings.Contains(list.String(), c.Rule) || !strings.Contains(list.String(), c.Source) {
			t.Errorf("%s is not listed with rule and source", c.ID)
		}
	}
}
