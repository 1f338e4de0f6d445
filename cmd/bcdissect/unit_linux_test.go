package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// The program hosts a game with the command line of the systemd unit.
func TestUnit(t *testing.T) {
	b, err := os.ReadFile("packaging/bcdissect-relay.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := string(b)
	_, rest, ok := strings.Cut(unit, "\nExecStart=/usr/bin/bcdissect ")
	line, _, whole := strings.Cut(rest, "\n")
	if !ok || !whole {
		t.Fatal("the unit does not start the program")
	}
	state, err := os.MkdirTemp("", "bc") //nolint:usetesting // paths of t.TempDir are too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(state)
	bans := filepath.Join(state, "bcdissect", "bans.txt")
	if err := os.Mkdir(filepath.Dir(bans), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bans, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := freePort(t)
	args := strings.Fields(strings.NewReplacer("%%", "%", "%S", state, "%t", state, "$OPTIONS", "--listen "+at.String()).Replace(line))
	cmd := exec.Command("bcdissect", args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	if !answers(t, at) {
		t.Fatal("the host does not answer")
	}
	if r := runIn(nil, "relay", "ctl", "--control", filepath.Join(state, "bcdissect", "relay.sock"), "status"); r.status != cli.ExitOK {
		t.Errorf("status %d: %s", r.status, r.errors)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if status := ends(t, cmd); status != cli.ExitOK {
		t.Errorf("status %d", status)
	}
	if files, err := filepath.Glob(filepath.Join(state, "bcdissect", "20[0-9][0-9]*-*_00001_*.pcapng")); err != nil || len(files) != 1 {
		t.Errorf("it recorded %v, %v", files, err)
	}

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	program, err := exec.LookPath("bcdissect")
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(state, "bcdissect-relay.service")
	if err := os.WriteFile(here, []byte(strings.ReplaceAll(unit, "/usr/bin/bcdissect", program)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", here).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v: %s", err, out)
	}
	if out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold=20", here).CombinedOutput(); err != nil { // 20 of at most 100
		t.Errorf("systemd-analyze security: %v: %s", err, out)
	}
}
