package main

import (
	"bytes"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report/verdicts"
)

// A server that conform starts is tried once it answers, and is gone afterwards, so that its port is free again. One that
// stops in the run fails X-7, and one that never answers has the status by which git bisect run skips a commit.
func TestConformStartsOnWindows(t *testing.T) {
	fixtures.System(t)
	at := freePort(t).String()
	const relay = "bcdissect relay --control none -T none --listen "
	for _, tt := range []struct {
		name, command string
		status        int
		verdict       string // the verdict on case X-7
	}{
		{"sound", relay + at, cli.ExitOK, "PASS"},
		{"the shell ends", `start "" /b ` + relay + at, cli.ExitOK, "PASS"},
		{"it stops", relay + at + " -a packets:30", cli.ExitDiffers, "FAIL"},
		{"it never answers", "echo no map& exit 7", cli.ExitSkip, ""},
	} {
		var out, errs bytes.Buffer
		code := run([]string{
			"conform", at, "--start", tt.command, "--profile", "playable", "--timeout", "1s", "-T", "json", "J-1", "L-1", "T-5", "X-7",
		}, cli.Streams{Out: &out, Err: &errs})
		if code != tt.status {
			t.Errorf("%s: status %d: %s", tt.name, code, errs.String())
		}
		if tt.verdict == "" {
			continue
		}
		rep, err := verdicts.Read(&out)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for _, c := range rep.Cases {
			if c.ID == "X-7" && c.Verdict != tt.verdict || c.ID == "J-1" && code == cli.ExitOK && c.Verdict != "PASS" {
				t.Errorf("%s: %s is %s: %s %v", tt.name, c.ID, c.Verdict, c.Why, c.Came)
			}
		}
	}
}
