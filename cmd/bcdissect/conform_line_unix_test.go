//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
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

// served starts a host, and a proxy with a bad line before it if one is given. It returns the address to try.
func served(t *testing.T, host func(netip.AddrPort) *exec.Cmd, line string) netip.AddrPort {
	t.Helper()
	at := freePort(t)
	begins(t, host(at))
	if line != "" {
		to := freePort(t)
		begins(t, exec.Command("bcdissect", "proxy", at.String(), "-l", to.String(), "--impair", line, "-T", "none"))
		at = to
	}
	if !answers(t, at) {
		t.Fatalf("%v does not answer", at)
	}
	return at
}

// conformed returns the verdicts on a host, by the ids of the cases.
func conformed(t *testing.T, at netip.AddrPort, profile string) map[string]string {
	t.Helper()
	var out, errs bytes.Buffer
	begun := time.Now()
	run([]string{"conform", at.String(), "--slow", "-T", "json", "--profile", profile}, cli.Streams{Out: &out, Err: &errs})
	took := time.Since(begun)
	rep, err := verdicts.Read(&out)
	if err != nil {
		t.Errorf("%v: %s", err, errs.String())
		return nil
	}
	t.Logf("%s: %v in %v, %s", profile, rep.Counts, took.Round(time.Second), rep.Stopped)
	if took > 5*time.Minute {
		t.Errorf("the run took %v", took)
	}
	by := map[string]string{}
	for _, c := range rep.Cases {
		by[c.ID] = c.Verdict
	}
	return by
}

// Over a round trip of 160 ms that loses 5 % each way, five runs end within five minutes each, and no verdict is the
// opposite of that over loopback: against the own host, and against an OpenBC server if BCDISSECT_OPENBC
// names the program. They take ten minutes, so that only BCDISSECT_LONG has them.
func TestConformOverBadLine(t *testing.T) {
	if os.Getenv("BCDISSECT_LONG") == "" {
		t.Skip("takes ten minutes: set BCDISSECT_LONG; dissect/conform/suite tries the same in simulated time")
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
			good := conformed(t, served(t, host, ""), profile)
			var runs sync.WaitGroup
			for seed := range 5 {
				at := served(t, host, fmt.Sprintf("loss=5%%,delay=80ms,seed=%d", seed+1))
				runs.Go(func() { // most of the time they wait
					for id, verdict := range conformed(t, at, profile) {
						want := good[id]
						if judged := func(v string) bool { return v == "PASS" || v == "FAIL" || v == "KNOWN" }; judged(verdict) && judged(want) && verdict != want {
							t.Errorf("seed %d: %s is %s, over loopback %s", seed+1, id, verdict, want)
						}
					}
				})
			}
			runs.Wait()
		})
	}
}
