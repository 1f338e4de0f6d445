package table

import (
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
 R-07   FAIL      07 forwarded

FAIL R-07: 07 forwarded
  rule      07 goes unchanged and reliably to every other client in the game, in order, and not to its sender. (TRANSPORT 11.1, 11.2, wire)
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
	if err := Conform(&b, r, Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\x1b[3") {
		t.Error("no colours")
	}
	b.Reset()
	if err := Cases(&b, suite.Cases()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return !unicode.IsGraphic(r) }) {
			t.Errorf("line %q", line)
		}
	}
	if n := strings.Count(b.String(), "[not tried: "); n != 20 {
		t.Errorf("%d cases are not tried, want 19 that need a simulation and one that needs a master server", n)
	}
}
