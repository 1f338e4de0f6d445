package suite

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// Captures of an OpenBC server: its documented differences are KNOWN, others are FAIL, and a
// difference that another case is about doesn't count.
//
//   - In opcode_tour, the server drops a StartWarp (10), which therefore cannot be read.
//   - In join_flow, the server announces the players who are there in frame 84.
//   - In no_identity, it announces them in frame 58, and tells of a leave with a PlayerAnnounce (17) in frame 76.
//   - In stock_client, it ends with a disconnect that has the id of its receiver, in frame 344.
//   - In trouble/arrival, it passes on twice the lines that the network repeated. T-6 is about that.
func TestDocumentedInCaptures(t *testing.T) {
	for _, tt := range []struct {
		capture, id string
		profile     Profile
		want        Verdict
		frame       int
	}{
		{"opcode_tour.pcap", "R-10", OpenBC, NotSeen, 0},
		{"opcode_tour.pcap", "R-10", Stock, NotSeen, 0},
		{"opcode_tour.pcap", "R-07", OpenBC, Pass, 0},
		{"join_flow.pcap", "J-11", OpenBC, Known, 0},
		{"join_flow.pcap", "J-11", Stock, Fail, 0},
		{"no_identity.pcap", "J-11", OpenBC, Known, 0},
		{"stock_client.pcap", "L-6", OpenBC, Fail, 344},
		{"stock_client.pcap", "L-3", OpenBC, Known, 334},
		{"stock_client.pcap", "L-3", Stock, Fail, 334},
		{"stock_client.pcap", "R-08", Stock, Pass, 0},
		{"battle_mix.pcap.gz", "U-11", OpenBC, Known, 0},
		{"trouble/arrival.pcap", "R-2C", OpenBC, Pass, 0},
	} {
		cases, _ := Select([]string{tt.id})
		g := NewReading(cases, tt.profile)
		recorded.Records(t, tt.capture, dissect.Config{}, func(r *dissect.Record) { _ = g.Record(r) }) // which never fails
		rep, _ := g.Report(tt.capture, began, began)
		if len(rep.Results) != 1 {
			t.Fatalf("%s: %d results", tt.capture, len(rep.Results))
		}
		res := &rep.Results[0]
		if res.Verdict != tt.want || tt.frame > 0 && !slices.Contains(res.Frames, tt.frame) {
			t.Errorf("%s, %v: %s is %v, frames %v; want %v, %d: %s %v", tt.capture, tt.profile, tt.id, res.Verdict, res.Frames, tt.want, tt.frame, res.Why, res.Came)
		}
	}
}

// The table of docs/conform.md calls those cases KNOWN that have a documented difference, and
// the specs that have a deviation say nothing else than the cases about their messages.
func TestDocumentTable(t *testing.T) {
	text, err := os.ReadFile("../../../docs/conform.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "### An OpenBC server, case by case")
	table, _, _ = strings.Cut(table, "\n## ")
	id := regexp.MustCompile(`\b([A-Z])-([0-9A-F]+)( to [A-Z]-([0-9]+))?`)
	known := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.Contains(cells[3], "for information") {
			continue
		}
		for _, m := range id.FindAllStringSubmatch(cells[1], -1) {
			from, _ := strconv.Atoi(m[2])
			till, _ := strconv.Atoi(m[4])
			known[m[1]+"-"+m[2]] = strings.Contains(cells[2], "KNOWN") || strings.Contains(cells[3], "KNOWN")
			for n := from + 1; n <= till; n++ {
				known[fmt.Sprintf("%s-%d", m[1], n)] = strings.Contains(cells[2], "KNOWN")
			}
		}
	}
	for _, c := range Cases() {
		said, listed := known[c.ID]
		switch {
		case c.OpenBC != "" && c.run != nil && !listed:
			t.Errorf("%s: a documented difference, and not in the table", c.ID)
		case said && c.OpenBC == "":
			t.Errorf("%s: KNOWN in the table, and no documented difference", c.ID)
		}
	}
	for i := range samples {
		spec, c := msg.Catalog().Lookup(samples[i].op), samples[i].toCase()
		if d := spec.Deviation(decode.OpenBC); d == nil && strings.Contains(caseLines()[c.ID], "openbc: ") {
			t.Errorf("%s: a documented difference, and none in the spec of %s", c.ID, spec.Name)
		}
	}
}

// Every text of cases.txt is about a case.
func TestTextsHaveCases(t *testing.T) {
	ids := map[string]bool{}
	for _, c := range Cases() {
		ids[c.ID] = true
	}
	for id := range caseLines() {
		if !ids[id] {
			t.Errorf("%s is not a case", id)
		}
	}
}

// Every source is the command that prints a document, and a section of it.
func TestSources(t *testing.T) {
	for _, c := range Cases() {
		for _, source := range []string{c.Source, c.OpenBCSource} {
			if source == "" && c.OpenBC == "" {
				continue
			}
			name, sections, _ := strings.Cut(source, ", ")
			topic, isHelp := strings.CutPrefix(name, "bcdissect help ")
			if !isHelp {
				t.Errorf("%s: %s is no command that prints its source", c.ID, name)
				continue
			}
			text, err := os.ReadFile("../../../docs/" + topic + ".md")
			if err != nil {
				t.Fatalf("%s: %v", c.ID, err)
			}
			for section := range strings.SplitSeq(strings.ReplaceAll(sections, "Weapons and damage", "Weapons"), " and ") {
				if !regexp.MustCompile(`(?m)^#+ ` + regexp.QuoteMeta(section) + `\b`).Match(text) {
					t.Errorf("%s: %s has no section %q", c.ID, name, section)
				}
			}
		}
		for _, text := range []string{c.Title, c.Rule, c.OpenBC} {
			if bare := regexp.MustCompile(`(^|[^.,0-9(A-Za-z] |and |no |by |of )(0[0-9A-F]|1[CDE]|2[ACD])( |$)`).FindString(text); bare != "" {
				t.Errorf("%s: %q has an opcode without a name: %q", c.ID, text, bare)
			}
		}
	}
}
