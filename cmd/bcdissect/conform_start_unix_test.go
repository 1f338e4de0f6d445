//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report/verdicts"
)

// left reports whether a process goes on whose id a command has written to a file.
func left(t *testing.T, name string) bool {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for range 6000 { // one that has ended may be there until its parent asks for its status
		if syscall.Kill(pid, 0) != nil {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
	return true
}

// A server that conform starts is tried once it answers, and nothing of it is left behind,
// also if it ends in the run, or if the command starts more than the server.
func TestConformStarts(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	for _, tt := range []struct {
		name, command string // %s is the address
		timeout       string // a host that is there may be slow
		status        int
		verdicts      map[string]string
	}{
		{"sound", "sleep 1000 & echo $! >%[2]s; exec bcdissect relay --listen %[1]s --control none -T none", "10s", cli.ExitOK, map[string]string{"J-1": "PASS", "X-7": "PASS"}},
		{"the shell ends", "bcdissect relay --listen %[1]s --control none -T none & echo $! >%[2]s", "10s", cli.ExitOK, map[string]string{"J-1": "PASS", "X-7": "PASS"}},
		{"it crashes", "bcdissect relay --listen %[1]s --control none -T none 2>%[2]s.said & echo $! >%[2]s; until grep -q named %[2]s.said; do sleep 0.05; done; kill -9 $!", "500ms", cli.ExitDiffers, map[string]string{"X-7": "FAIL"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at, pid := freePort(t), filepath.Join(t.TempDir(), "pid")
			var out, errs bytes.Buffer
			code := run([]string{
				"conform", at.String(), "--start", fmt.Sprintf(tt.command, at, pid), "--profile", "playable", "--timeout", tt.timeout, "-T", "json", "J-1", "L-1", "X-6", "X-7",
			}, cli.Streams{Out: &out, Err: &errs})
			rep, err := verdicts.Read(&out)
			if err != nil || code != tt.status {
				t.Fatalf("status %d, %v, %+v: %s", code, err, rep, errs.String())
			}
			for _, c := range rep.Cases {
				if want, ok := tt.verdicts[c.ID]; ok && c.Verdict != want {
					t.Errorf("%s is %s: %s", c.ID, c.Verdict, c.Why)
				}
			}
			if left(t, pid) {
				t.Error("a process goes on")
			}
		})
	}
}

// A game on a bad line is a part of the run, and its log has what became of each datagram.
func TestConformBots(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	at, dir := freePort(t), t.TempDir()
	log, recording := filepath.Join(dir, "line.jsonl"), filepath.Join(dir, "run.pcapng")
	var out, errs bytes.Buffer
	code := run([]string{
		"conform", at.String(), "bots", "--start", "exec bcdissect relay --listen " + at.String() + " --control none -T none", "--profile", "playable",
		"--bots", "4", "--for", "4s", "--impair", "loss=10%,delay=10ms", "--impair-log", log, "-T", "json", "-w", recording,
	}, cli.Streams{Out: &out, Err: &errs})
	rep, err := verdicts.Read(&out)
	if err != nil || code != cli.ExitOK || rep.Counts["PASS"] != 4 || len(rep.Cases) != 4 {
		t.Fatalf("status %d, %v, %v: %s", code, err, rep, errs.String())
	}
	text, err := os.ReadFile(log)
	lost := bytes.Count(text, []byte(`"fate":"lost"`))
	if want := fmt.Sprintf("the game sent %s, of which the line lost ", plural.Count(bytes.Count(text, []byte("\n")), "datagram")); err != nil || lost < 10 || !strings.Contains(errs.String(), want) {
		t.Errorf("%v: %d lost: %s", err, lost, errs.String())
	}
	if info, err := os.Stat(recording); err != nil || info.Size() < 10_000 {
		t.Errorf("the recording: %v %v", info, err)
	}
}

// A server that ends at one message is stopped. The input shrinks to one datagram, which is kept, and
// stops it again. That takes seconds, but minutes on a busy machine.
func TestConformFuzz(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	at, keep := freePort(t), filepath.Join(t.TempDir(), "kept.txt")
	args := []string{"conform", at.String(), "fuzz", "--start", "exec fragile " + at.String(), "--profile", "playable", "--fuzz", "10m", "--seed", "7", "-T", "json"}
	for _, more := range [][]string{{"--keep", keep}, {"--again", keep, "--keep", os.DevNull}} {
		var out, errs bytes.Buffer
		code := run(append(args, more...), cli.Streams{Out: &out, Err: &errs})
		rep, err := verdicts.Read(&out)
		if err != nil || code != cli.ExitDiffers || len(rep.Cases) != 1 || rep.Cases[0].ID != "F-1" || rep.Cases[0].Verdict != "FAIL" {
			t.Fatalf("status %d, %v: %v: %s", code, err, rep, errs.String())
		}
		text, err := os.ReadFile(keep)
		if err != nil || bytes.Count(text, []byte("\n")) != 1 || !bytes.HasSuffix(text, []byte("  # TorpedoFire\n")) {
			t.Errorf("kept %q, %v", text, err)
		}
		if !strings.Contains(errs.String(), "bcdissect: the server: fault: torpedo without a direction\n") {
			t.Error(errs.String())
		}
		t.Log(rep.Cases[0].Came)
	}
}

// A run in which nothing could be tried doesn't say that the server is good.
func TestConformUndecided(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	at := freePort(t)
	var out, errs bytes.Buffer
	code := run([]string{
		"conform", at.String(), "J-5", "--start", "exec bcdissect relay --listen " + at.String() + " --control none -T none --password Kobayashi", "--timeout", "10s",
	}, cli.Streams{Out: &out, Err: &errs})
	if code != cli.ExitSkip || !strings.Contains(errs.String(), "the host wants a password: give it with --password") {
		t.Errorf("status %d: %s", code, errs.String())
	}
}

// A server that can't be tried has the status by which git bisect run skips a commit.
func TestConformNeverStarts(t *testing.T) {
	t.Parallel()
	busy, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = busy.Close() })
	for _, tt := range []struct{ name, host, within, command, want string }{
		{"it ends", freePort(t).String(), "1m", "echo no map; exit 7", "bcdissect: the server: no map\nbcdissect: --start: the server ended before it answered (exit status 7)\n"},
		{"it is silent", freePort(t).String(), "1s", "exec sleep 1000", "within 1s\n"},
		{"another program answers", busy.LocalAddr().String(), "1s", "exec sleep 1000", "is in use (address already in use); end the program that has it, or give another port\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			code := run([]string{"conform", tt.host, "--start", tt.command, "--start-within", tt.within, "--timeout", "500ms"}, cli.Streams{Out: &out, Err: &errs})
			if code != cli.ExitSkip || !strings.HasSuffix(errs.String(), tt.want) || out.Len() > 0 {
				t.Errorf("status %d: %s%s", code, errs.String(), out.String())
			}
		})
	}
}
