package verdicts

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

const hostile = "\x1b[2J</pre><script>alert(1)</script>\x00\u202e\uFFFE # ok\nnot ok 9 \"&"

// results is a report with every verdict, and with hostile text from the
// network.
func results(t *testing.T) *suite.Report {
	t.Helper()
	cases, unknown := suite.Select([]string{"Q-1", "T-2", "T-13", "J-14", "R-07"})
	if unknown != "" || len(cases) != 5 {
		t.Fatalf("cases %v, unknown %q", cases, unknown)
	}
	return &suite.Report{
		Host: "127.0.0.1:22101", Name: hostile, Profile: suite.Stock, Begun: time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC), Took: 61500 * time.Millisecond,
		Repeat: "bcdissect conform localhost:22101",
		Results: []suite.Result{
			{Case: cases[0], Verdict: suite.Pass, Attempts: 1, First: 1, Last: 2, Took: 1234567 * time.Nanosecond},
			{Case: cases[1], Verdict: suite.Known, Why: "documented", Attempts: 1},
			{Case: cases[2], Verdict: suite.Skip, Why: "takes long"},
			{Case: cases[3], Verdict: suite.NotSeen, Why: "nothing"},
			{Case: cases[4], Verdict: suite.Fail, Why: hostile, Expected: "one copy", Came: []string{hostile, "two"}, Frames: []int{7}, First: 5, Last: 9, Attempts: 2, Took: time.Hour},
		},
	}
}

// The elements and attributes that the schema of Surefire's reports allows, in
// order. A + marks required ones.
var surefire = map[string]struct {
	attributes []string
	children   []string
}{
	"testsuite":  {[]string{"name+", "time", "tests+", "errors+", "skipped+", "failures+", "group"}, []string{"properties", "testcase"}},
	"properties": {nil, []string{"property"}},
	"property":   {[]string{"name+", "value+"}, nil},
	"testcase":   {[]string{"name+", "classname", "group", "time+"}, []string{"failure", "skipped", "error", "system-out", "system-err"}},
	"failure":    {[]string{"message", "type+"}, nil},
	"skipped":    {[]string{"message"}, nil},
	"system-out": {nil, nil},
}

var surefireTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]{0,3})?$`)

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, results(t)); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if unicode.IsControl(r) && r != '\n' || r == 0xFFFE {
			t.Errorf("the file has %U", r)
		}
	}
	d := xml.NewDecoder(&b)
	var open []string
	last := map[string]int{} // place of the last child, by depth and element
	names, counts := []string{}, map[string]int{}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			name := e.Name.Local
			rule, ok := surefire[name]
			if !ok {
				t.Fatalf("element %s", name)
			}
			counts[name]++
			if len(open) > 0 {
				parent := open[len(open)-1]
				at := slices.Index(surefire[parent].children, name)
				if at < 0 || at < last[fmt.Sprint(open)] {
					t.Errorf("%s in %s, or at the wrong place", name, parent)
				}
				last[fmt.Sprint(open)] = at
			} else if name != "testsuite" {
				t.Errorf("the root is %s", name)
			}
			open = append(open, name)
			last[fmt.Sprint(open)] = 0
			given := map[string]string{}
			for _, a := range e.Attr {
				given[a.Name.Local] = a.Value
				if !slices.Contains(rule.attributes, a.Name.Local) && !slices.Contains(rule.attributes, a.Name.Local+"+") {
					t.Errorf("attribute %s of %s", a.Name.Local, name)
				}
			}
			for _, a := range rule.attributes {
				if need, ok := strings.CutSuffix(a, "+"); ok {
					if _, there := given[need]; !there {
						t.Errorf("%s without %s", name, need)
					}
				}
			}
			if v, ok := given["time"]; ok && !surefireTime.MatchString(v) {
				t.Errorf("time %q", v)
			}
			if name == "testcase" {
				names = append(names, given["name"]+" "+given["classname"])
			}
			if name == "testsuite" && (given["tests"] != "5" || given["failures"] != "1" || given["skipped"] != "3" || given["errors"] != "0") {
				t.Errorf("counts %v", given)
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
	want := []string{
		"Q-1 status query conform.query", "T-2 connect acknowledged conform.transport", "T-13 retransmission times conform.transport",
		"J-14 damage volumes conform.join", "R-07 StartFiring (07) forwarded conform.game",
	}
	if !slices.Equal(names, want) || counts["failure"] != 1 || counts["skipped"] != 3 {
		t.Errorf("cases %q, %v", names, counts)
	}
}

// Where other programs are at hand that read the reports, they understand them: one
// validates JUnit against Surefire's own schema, one counts the results of TAP.
func TestOtherReaders(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, report func(io.Writer, *suite.Report) error) string {
		t.Helper()
		var b bytes.Buffer
		if err := report(&b, results(t)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	t.Run("xmllint", func(t *testing.T) {
		file := write("junit.xml", JUnit)
		if out := run(t, "xmllint", "--noout", "--schema", "testdata/surefire-test-report.xsd", file); !strings.Contains(out, "validates") {
			t.Error(out)
		}
	})
	t.Run("prove", func(t *testing.T) {
		out := run(t, "prove", "-v", "-e", "cat", write("run.tap", TAP))
		if !strings.Contains(out, "Tests: 5 Failed: 1)") || !strings.Contains(out, "Failed test:  5") || strings.Contains(out, "Parse errors") {
			t.Error(out)
		}
	})
}

// run runs a program and returns its output, whatever its status. Without the program
// the test is skipped.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(err)
	}
	out, _ := exec.Command(path, args...).CombinedOutput() // a failed case is a failed test
	return string(out)
}

func TestTAP(t *testing.T) {
	var b bytes.Buffer
	if err := TAP(&b, results(t)); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^(ok|not ok) (\d+) - [A-Z]-\w+ [^#]*(| # (SKIP|TODO) .*)$`)
	n := 0
	for i, text := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		switch {
		case i == 0 && text == "TAP version 13", i == 1 && text == "1..5", strings.HasPrefix(text, "  "):
		default:
			m := line.FindStringSubmatch(text)
			if n++; m == nil || m[2] != strconv.Itoa(n) {
				t.Errorf("line %q", text)
			}
		}
		for _, r := range text {
			if !unicode.IsGraphic(r) {
				t.Errorf("line %d has %U", i+1, r)
			}
		}
	}
	if n != 5 {
		t.Errorf("%d results", n)
	}
	for _, want := range []string{
		"ok 1 - Q-1 status query\n", "not ok 2 - T-2 connect acknowledged # TODO documented\n", "ok 3 - T-13 retransmission times # SKIP takes long\n",
		"ok 4 - J-14 damage volumes # SKIP not seen: nothing\n", "not ok 5 - R-07 StartFiring (07) forwarded\n  ---\n",
		"  expected: \"one copy\"\n", "    - \"two\"\n  frames: \"5 to 9\"\n  repeat: \"bcdissect conform localhost:22101 R-07\"\n  ...\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// Each column of the frames of a case has its head above it.
func TestPageFrames(t *testing.T) {
	r := results(t)
	host, client := netip.MustParseAddrPort("127.0.0.1:0"), netip.MustParseAddrPort("127.0.0.2:1111") // a report that no run made has port 0
	r.Frames = []suite.Frame{
		{Number: 1, At: r.Begun, From: client, To: host, Datagram: []byte(`\status\`)},
		{Number: 2, At: r.Begun.Add(1500 * time.Millisecond), From: host, To: client, Datagram: []byte(`\gamename\bcommander\final\\queryid\1.1`)},
	}
	var b bytes.Buffer
	if err := Page(&b, r); err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(b.String(), "<dt>Frames 1 to 2</dt><dd><pre><b>")
	lines := strings.Split(list, "\n")
	if len(lines) < 4 {
		t.Fatalf("no list of frames in %s", b.String())
	}
	heads, reply := []rune(strings.TrimSuffix(lines[0], "</b>")), []rune(lines[2])
	for head, want := range map[string]string{"message": "gamespy reply", "contents": "gamename", "direction": "host"} {
		at := strings.Index(string(heads), head)
		if at < 0 || !strings.HasPrefix(string(reply[min(at, len(reply)):]), want) {
			t.Errorf("%s is not above %s:\n%s\n%s", head, want, string(heads), string(reply))
		}
	}
	for head, want := range map[string]string{"frame": "2", "time (s)": "1.500"} { // at the right
		end := strings.Index(string(heads), head) + len(head)
		if end < len(head) || !strings.HasSuffix(string(reply[:min(end, len(reply))]), " "+want) {
			t.Errorf("%s is not above %s:\n%s\n%s", head, want, string(heads), string(reply))
		}
	}
}

// Readers of TAP take an interrupted run, in which nothing failed, for a failed one.
func TestInterrupted(t *testing.T) {
	r := results(t)
	r.Results, r.Stopped = r.Results[:3], "interrupted"
	var b, text bytes.Buffer
	if err := errors.Join(TAP(&b, r), JSON(&text, r)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(b.String(), "\nBail out! interrupted\n") || !strings.Contains(text.String(), `"passed":false,"stopped":"interrupted"`) {
		t.Errorf("%s\n%s", b.String(), text.String())
	}
	file := filepath.Join(t.TempDir(), "run.tap")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run(t, "prove", "-e", "cat", file); !strings.Contains(out, "Further testing stopped:  interrupted") {
		t.Error(out)
	}
}

// loads finds resources and scripts that a browser would load or run.
var loads = regexp.MustCompile(`(?i)(src|href|action|data)\s*=|@import|url\(|<script|<link|<iframe|<img|https?:`)

func TestPages(t *testing.T) {
	r := results(t)
	var page, matrix, text bytes.Buffer
	if err := Page(&page, r); err != nil {
		t.Fatal(err)
	}
	if err := JSON(&text, r); err != nil {
		t.Fatal(err)
	}
	read, err := Read(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if read.Passed || read.Counts["FAIL"] != 1 || len(read.Cases) != 5 || read.Cases[4].Repeat != "bcdissect conform localhost:22101 R-07" || read.Seconds != 61.5 {
		t.Errorf("read %+v", read)
	}
	other := *read
	other.Cases = read.Cases[:1]
	other.Cases[0].Verdict = `"><script>`
	if err := Matrix(&matrix, []string{"a", hostile}, []*Report{read, &other}); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]string{"page": page.String(), "matrix": matrix.String()} {
		if found := loads.FindString(b); found != "" {
			t.Errorf("%s: %q", name, found)
		}
		if !strings.Contains(b, `content="default-src &#39;none&#39;`) && !strings.Contains(b, `content="default-src 'none'`) {
			t.Errorf("%s: no policy", name)
		}
		if strings.ContainsAny(b, "\x00\x1b\u202e") {
			t.Errorf("%s: control characters", name)
		}
		if !strings.Contains(b, "R-07") || !strings.Contains(b, "FAIL") {
			t.Errorf("%s: the failure is missing", name)
		}
	}
	for name, b := range map[string]string{"page": page.String(), "matrix": matrix.String()} {
		if n := strings.Count(b, "&lt;script&gt;"); n < 2 {
			t.Errorf("%s: hostile text is there %d times", name, n)
		}
		d := xml.NewDecoder(strings.NewReader(b[strings.Index(b, "<body>"):strings.Index(b, "</html>")]))
		d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
		depth := 0
		for {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch e := tok.(type) {
			case xml.StartElement:
				depth++
				for _, a := range e.Attr {
					if !slices.Contains([]string{"class", "id", "open", "tabindex"}, a.Name.Local) {
						t.Errorf("%s: attribute %s of %s", name, a.Name.Local, e.Name.Local)
					}
				}
			case xml.EndElement:
				depth--
			}
		}
		if depth != 0 {
			t.Errorf("%s: %d elements are not closed", name, depth)
		}
	}
	if !strings.Contains(page.String(), "one copy") || !strings.Contains(page.String(), "bcdissect conform localhost:22101 R-07") {
		t.Error("the page does not tell of the failure")
	}
	for _, bad := range []string{
		"", "{}", "[1]", `{"profile":"stock","cases":[]}`, "\x00", text.String() + text.String(), text.String()[:200],
		`{"profile":"stock","cases":[{"id":"ZZ-1","verdict":"PASS"}]}`, `{"profile":"stock","cases":[{"id":"Q-1"}]}`, `{"profile":"stock","cases":[{"id":5}]}`,
	} {
		if _, err := Read(strings.NewReader(bad)); err == nil || !strings.HasPrefix(err.Error(), "not a report of ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// The page of several servers has the reason of each verdict, counts those that pass, and says
// which entries it cannot show.
func TestMatrix(t *testing.T) {
	one := &Report{Host: "a:1", Profile: "stock", Cases: []Case{{ID: "Q-1", Verdict: "PASS"}, {ID: "Q-2", Verdict: "FAIL", Why: "all keys came"}}}
	two := &Report{Host: "b:2", Profile: "openbc", Cases: []Case{
		{ID: "Q-2", Verdict: "KNOWN", Why: hostile}, {ID: "ZZ-1", Verdict: "PASS"}, {ID: "Q-3"}, {ID: "T-13", Verdict: "SKIP", Why: "takes long"},
	}}
	var b bytes.Buffer
	if err := Matrix(&b, []string{"one", "two"}, []*Report{one, two}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		"<td>1 of 2</td><td>0 of 1</td>", `<td><span class="v PASS">PASS</span></td><td>–</td>`,
		`<td><details><summary><span class="v FAIL">FAIL</span></summary><small>all keys came</small></details></td>`,
		"<p>2 entries of the reports are not in the page", "&lt;script&gt;alert(1)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
	if n := strings.Count(page, "<tr><td><b>"); n != 3 {
		t.Errorf("%d rows, want Q-1, Q-2 and T-13", n)
	}
	b.Reset()
	one.Cases = append(one.Cases, Case{ID: "Q-3"})
	if err := Matrix(&b, []string{"one"}, []*Report{one}); err != nil || !strings.Contains(b.String(), "<p>1 entry of the reports is not in the page: it has") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// Counts agree with their nouns.
func TestCounts(t *testing.T) {
	for n, want := range map[int]string{0: "0 cases", 1: "1 case, 1 PASS", 2: "2 cases, 2 PASS"} {
		if got := (pageData{Report: &suite.Report{Results: make([]suite.Result, n)}}).Counts(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The list has every case once, with a rule, a source and a grade.
func TestList(t *testing.T) {
	var b bytes.Buffer
	if err := List(&b, suite.Cases()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != len(suite.Cases()) || n < 130 {
		t.Errorf("%d lines", n)
	}
	ids := map[string]bool{}
	for _, c := range suite.Cases() {
		if ids[c.ID] || c.Rule == "" || !strings.HasSuffix(c.Rule, ".") || c.Title == "" || c.Source == "" || c.Grade == "" || c.Profiles == 0 {
			t.Errorf("%s: %+v", c.ID, c)
		}
		ids[c.ID] = true
	}
}

// TestFindings: every form has the findings of a capture and what the line loses, and
// none passes with a finding.
func TestFindings(t *testing.T) {
	r := results(t)
	r.Results = r.Results[:1]
	r.Findings = []result.Finding{{Kind: "ignored-acks", Frame: 40, Count: 9, Text: hostile}}
	r.Line = []measure.Loss{{Player: hostile, Dir: dissect.FromHost, Part: 0.04, Most: 0.07, Numbers: 50, Missing: 2, Sent: 48}}
	for _, tt := range []struct {
		write func(io.Writer, *suite.Report) error
		want  []string
	}{
		{JSON, []string{`"passed":false`, `"findings":[{"kind":"ignored-acks","frame":40,`, `"loss":0.04,"loss_most":0.07,`}},
		{JUnit, []string{`tests="2" errors="0" skipped="0" failures="1"`, `<testcase name="ignored-acks" classname="conform.findings" time="0.000">`, "frame     40", `value="loss 4.0 %, at most 7.0 % (`}},
		{TAP, []string{"1..2\n", "not ok 2 - ignored-acks \\\\x1b[2J", "\n# line host → ", ": estimated loss 4.0 %, at most 7.0 % (2 of 50 "}},
		{Page, []string{"<p>Finding: ", "&lt;script&gt;", ": estimated loss 4.0 %, at most 7.0 % (2 of 50 "}},
	} {
		var b bytes.Buffer
		if err := tt.write(&b, r); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q is not in %s", want, b.String())
			}
		}
		if strings.ContainsAny(b.String(), "\x1b\x00") {
			t.Error("a control character is in it")
		}
	}
}
