//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/report/verdicts"
)

// begins starts a program that runs until the test ends.
func begins(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		ends(t, cmd)
	})
}

// conformed returns the verdicts on a host over a line, empty for a good one, by the ids of the cases.
func conformed(t *testing.T, host *exec.Cmd, at netip.AddrPort, line string, flags ...string) map[string]string {
	t.Helper()
	begins(t, host)
	to := at
	if line != "" {
		to = freePort(t)
		begins(t, exec.Command("bcdissect", "proxy", at.String(), "-l", to.String(), "--impair", line, "-T", "none"))
	}
	if !answers(t, to) {
		t.Fatalf("%v does not answer", to)
	}
	var out, errs bytes.Buffer
	begun := time.Now()
	run(append([]string{"conform", to.String(), "--slow", "-T", "json"}, flags...), cli.Streams{Out: &out, Err: &errs})
	took := time.Since(begun)
	rep, err := verdicts.Read(&out)
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	t.Logf("%q: %v in %v, %s", line, rep.Counts, took.Round(time.Second), rep.Stopped)
	if took > 5*time.Minute {
		t.Errorf("%q: the run took %v", line, took)
	}
	by := map[string]string{}
	for _, c := range rep.Cases {
		by[c.ID] = c.Verdict
	}
	return by
}

// Over a round trip of 160 ms that loses 5 % each way, five runs end within five minutes each, and no verdict is the
// opposite of that over loopback: against the own host, and against an OpenBC server if BCDISSECT_OPENBC
// names the program. They take eight minutes, so that only BCDISSECT_LONG has them.
func TestConformOverBadLine(t *testing.T) {
	if os.Getenv("BCDISSECT_LONG") == "" {
		t.Skip("takes eight minutes: set BCDISSECT_LONG; dissect/conform/suite tries the same in simulated time")
	}
	hosts := map[string]func(netip.AddrPort) *exec.Cmd{
		"playable": func(at netip.AddrPort) *exec.Cmd {
			return exec.Command("bcdissect", "relay", "--listen", at.String(), "-T", "none", "--control", "none")
		},
	}
	if server := os.Getenv("BCDISSECT_OPENBC"); server != "" {
		hosts["openbc"] = func(at netip.AddrPort) *exec.Cmd {
			data := filepath.Join(filepath.Dir(filepath.Dir(server)), "data", "vanilla-1.1")
			cmd := exec.Command(server, "-p", fmt.Sprint(at.Port()), "--max", "9", "--no-master", "--no-log-file", "-q", "--data", data)
			cmd.Dir = t.TempDir() // without a manifest it accepts all files
			return cmd
		}
	}
	for profile, host := range hosts {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			at := freePort(t)
			good := conformed(t, host(at), at, "", "--profile", profile)
			for seed := range 5 {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					at := freePort(t)
					for id, verdict := range conformed(t, host(at), at, fmt.Sprintf("loss=5%%,delay=80ms,seed=%d", seed+1), "--profile", profile) {
						if want := good[id]; verdict != want && verdict != "SKIP" && want != "SKIP" && verdict != "NOT SEEN" && want != "NOT SEEN" {
							t.Errorf("%s is %s, over loopback %s", id, verdict, want)
						}
					}
				})
			}
		})
	}
}
