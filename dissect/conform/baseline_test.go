package conform_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect/conform/result"
)

// written writes a baseline and reads it again.
func written(t *testing.T, b *result.Baseline) *result.Baseline {
	t.Helper()
	var out bytes.Buffer
	if err := b.Write(&out); err != nil {
		t.Fatal(err)
	}
	again, err := result.ReadBaseline(&out)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// A baseline of one recording fits another one of the same server, and no other server.
// f1x never passes StartFiring and StopFiring on; f2x tells wrong scores. The server
// of st_chat_genuine ignores acknowledgements from number 256 on;
// networked_battle has fewer.
func TestBaseline(t *testing.T) {
	judged := func(name string) []*result.Report { return readTape(t, name).judged(t) }
	firing, scores, chat := judged("field/f1x.host.pcap.gz"), judged("field/f2x.host.pcap.gz"), judged("reliability/st_chat_genuine.pcap.gz")

	b := written(t, result.BaselineOf(firing))
	if b.Judge(firing); !firing[0].Conforms() || firing[0].Found == 0 || len(firing[0].Unneeded) > 0 {
		t.Errorf("the same recording: %d differences, %d of them accepted, unneeded %v", firing[0].Found, firing[0].Causes[0].Accepted, firing[0].Unneeded)
	}
	if n, _ := firing[0].Left(); n != 0 {
		t.Errorf("%d differences are left", n)
	}
	b = written(t, b)
	if b.Judge(scores); scores[0].Conforms() || len(scores[0].Unneeded) != 2 || scores[0].Unneeded[0].Message != "StartFiring" {
		t.Errorf("another server: conforms %v, unneeded %v", scores[0].Conforms(), scores[0].Unneeded)
	}

	b = written(t, result.BaselineOf(chat))
	if b.Judge(chat); !chat[0].Conforms() || len(chat[0].Findings) == 0 {
		t.Errorf("findings: %d, conforms %v", len(chat[0].Findings), chat[0].Conforms())
	}
	low := judged("networked_battle.pcap")
	if b = written(t, b); low[0].Numbers > 256 {
		t.Errorf("%d numbers", low[0].Numbers)
	} else if b.Judge(low); len(low[0].Unneeded) > 0 {
		t.Errorf("no number is high enough to tell, and %v is not needed", low[0].Unneeded)
	}
}

// More often than listed is more, whatever the length of the recording.
func TestBaselineShares(t *testing.T) {
	of := func(count, of int) result.Accepted {
		return result.Accepted{Kind: "missing", What: "passed on", Message: "Chat", Count: count, Of: of}
	}
	var b result.Baseline
	b.Add(of(10, 1000))
	for _, tt := range []struct {
		a    result.Accepted
		want bool
	}{
		{of(10, 1000), true},
		{of(10, 20), true},
		{of(100, 10_000), true},
		{of(200, 10_000), true},
		{of(300, 10_000), false},
		{of(11, 20), false},
		{result.Accepted{Kind: "extra", What: "passed on", Message: "Chat", Count: 1, Of: 1000}, false},
	} {
		if got := b.Accepts(tt.a); got != tt.want {
			t.Errorf("%v: %v", &tt.a, got)
		}
	}
}

func TestBaselineErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "not a baseline; --write-baseline writes one",
		"[]":                               "not a baseline; --write-baseline writes one",
		`{"baseline":1,"accept":[]}`:       "not a baseline; --write-baseline writes one",
		`{"baseline":2,"accepted":[]}`:     "baseline 2: this program reads baseline 1; write it again with --write-baseline",
		`{"baseline":1,"accepted":[null]}`: "not a baseline: an entry is null",
		`{"baseline":1}` + strings.Repeat(" ", 16<<20): "not a baseline: longer than 16777216 bytes",
	} {
		if _, err := result.ReadBaseline(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}
