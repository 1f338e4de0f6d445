package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report/tables"
)

// tableFiles returns the files of tables below a folder.
func tableFiles(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".parquet" {
			all = append(all, path)
		}
		return nil // the folder may be missing
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A run that is killed at a random moment leaves neither incomplete files nor a
// row in the table of captures for an incomplete capture. The next run writes
// the same files as an undisturbed run.
func TestTablesKilled(t *testing.T) {
	fixtures.System(t)
	file := fixtures.Path("captures/networked_battle.pcap")
	whole := t.TempDir()
	begun := time.Now()
	if out, err := exec.Command("bcdissect", "tables", whole, file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(begun)
	want := tableFiles(t, whole)
	if len(want) != 37 {
		t.Fatalf("got %d files", len(want))
	}
	dir := t.TempDir()
	const kills = 10
	for i := range kills {
		cmd := exec.Command("bcdissect", "tables", dir, file, "--replace")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(took * time.Duration(i+1) / (kills + 1))
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the files tell
		complete := false
		for _, name := range tableFiles(t, dir) {
			b, err := os.ReadFile(name)
			rel, _ := filepath.Rel(dir, name)
			same, _ := os.ReadFile(filepath.Join(whole, rel))
			if err != nil || !bytes.Equal(b, same) {
				t.Errorf("killed after %d/%d: %s is not whole: %v", i+1, kills+1, rel, err)
			}
			complete = complete || strings.HasPrefix(rel, tables.Captures+string(filepath.Separator))
		}
		if complete && len(tableFiles(t, dir)) != len(want) {
			t.Errorf("killed after %d/%d: a capture with %d tables of %d is in the table of captures", i+1, kills+1, len(tableFiles(t, dir)), len(want))
		}
	}
	for _, state := range []string{"killed at any time", "killed after the last file was in its place"} {
		if out, err := exec.Command("bcdissect", "tables", dir, file, "--replace").CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", state, err, out)
		}
		if got := tableFiles(t, dir); len(got) != len(want) {
			t.Errorf("%s: got %d files, want %d", state, len(got), len(want))
		}
		left := filepath.Join(dir, ".unfinished")
		if _, err := os.Stat(left); err == nil {
			t.Errorf("%s: unfinished files are left", state)
		}
		if err := os.MkdirAll(filepath.Join(left, "networked_battle.pcap.parquet~1"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// A compaction that is killed at any moment loses nothing: the next run completes it,
// and all captures are there. There are more moments if BCDISSECT_LONG is set.
func TestCompactKilled(t *testing.T) {
	fixtures.System(t)
	whole := t.TempDir()
	args := []string{"tables", ""}
	for _, name := range []string{"stock_client", "forged_small", "restart", "lossy"} {
		args = append(args, fixtures.Path("captures/"+name+".pcap"))
	}
	write := func(dir string) string {
		args[1] = dir
		out, err := exec.Command("bcdissect", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	write(whole)
	apart := len(tableFiles(t, whole))
	kills := 4
	if os.Getenv("BCDISSECT_LONG") != "" {
		kills = 10
	}
	took, joined := time.Duration(0), 0
	for i := range kills + 1 {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bcdissect", "tables", dir, "--compact")
		begun := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i > 0 { // the first one tells how long it takes
			time.Sleep(took * time.Duration(i) / time.Duration(kills+1))
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait() // the files tell
		if i == 0 {
			took, joined = time.Since(begun), len(tableFiles(t, dir))
		}
		if said := write(dir); strings.Count(said, "already there\n") != len(args)-2 {
			t.Errorf("killed after %d/%d: %s", i, kills+1, said)
		}
		all := slices.DeleteFunc(tableFiles(t, dir), func(name string) bool { return strings.Contains(name, ".unfinished") })
		if n := len(all); n != apart && n != joined || joined >= apart/2 {
			t.Errorf("killed after %d/%d: %d files, where there were %d, and %d at the end", i, kills+1, n, apart, joined)
		}
	}
}

// An interrupt ends the program without files that are not whole.
func TestTablesInterrupted(t *testing.T) {
	fixtures.System(t)
	if cli.OnWindows {
		t.Skip("a process cannot send an interrupt there")
	}
	dir := t.TempDir()
	cmd := exec.Command("bcdissect", "tables", dir, "-j", "2", fixtures.Path("captures/battle_mix.pcap.gz"), fixtures.Path("captures/battle_mix-s96.pcap.gz"),
		fixtures.Path("captures/networked_battle.pcap"))
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for { // until it is at work
		if _, err := os.Stat(filepath.Join(dir, ".unfinished")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait() // the status says it
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitAborted || !strings.Contains(said.String(), "interrupted; run the command again to go on") {
		t.Errorf("exit status %d: %s", code, said.String())
	}
	if _, err := os.Stat(filepath.Join(dir, ".unfinished")); err == nil {
		t.Error("unfinished files are left")
	}
}
