package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/bots"
	"github.com/bcdissect/bcdissect/dissect/impair"
	"github.com/bcdissect/bcdissect/fixtures"
)

// Bots play on a host behind an impaired line. The log of the line, the recording and the bots'
// report agree with each other, and the host passed on what it got.
func TestBotsOnBadLine(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the program cannot be interrupted from outside on Windows")
	}
	dir := t.TempDir()
	file, log := filepath.Join(dir, "bad.pcapng"), filepath.Join(dir, "truth.jsonl")
	host := startHost(t)
	proxy := startProxy(t, host.at, "-T", "none", "-w", file, "--impair", "loss=5%,delay=20ms,jitter=10ms,reorder=2%,duplicate=2%,seed=7", "--impair-log", log)
	var out, errs bytes.Buffer
	if code := run([]string{"bots", proxy.at.String(), "-n", "4", "--seed", "7", "--for", "8s", "--dialect", "mixed", "-T", "json"}, cli.Streams{Out: &out, Err: &errs}); code != cli.ExitOK {
		t.Fatalf("exit status %d: %s", code, errs.String())
	}
	proxy.stop(t)
	host.stop(t)

	var felt bots.Report
	if err := json.Unmarshal(out.Bytes(), &felt); err != nil {
		t.Fatal(err)
	}
	if a := felt.All; a.Joins < 4 || a.PutOut > 0 || a.UpdatesSeen < 100 || a.LinesSeen == 0 || a.ChatTime.Median < 30 || a.Resent == 0 {
		t.Errorf("the bots felt %+v", a)
	}

	sums, copies, fates, clients := map[string]int{}, map[string]int{}, map[impair.Fate]int{}, map[string]bool{}
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e impair.Report
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		sums[e.Dir]++
		copies[e.Dir] += e.Copies
		fates[e.Fate]++
		clients[e.Client] = true
	}
	if fates[impair.Lost] == 0 || fates[impair.Passed] < 100 || len(clients) < 4 {
		t.Errorf("the log has %v of %d clients", fates, len(clients))
	}
	got := map[string]int{}
	for key, payloads := range recordedBy(t, file, host.at) {
		dir := "s2c"
		if strings.HasPrefix(key, "from ") {
			dir = "c2s"
		}
		got[dir] += len(payloads)
	}
	// The tap is at the host: it sees what arrives there, and what the host sends.
	if got["c2s"] != copies["c2s"] || got["s2c"] != sums["s2c"] {
		t.Errorf("recorded %v; by the log %d arrived at the host, and it sent %d", got, copies["c2s"], sums["s2c"])
	}
}
