//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/fixtures"
)

// TestLeagueSeason makes the site of a season of 50 matches, or 1,000 in the
// long form. Then one more comes on each of three evenings. The test kills a run of the
// second one. Each time, the site equals a site that a run without a cache made. A
// run without a new recording writes nothing. The test prints the processor time.
func TestLeagueSeason(t *testing.T) {
	fixtures.System(t)
	n := 50
	if os.Getenv("BCDISSECT_LONG") != "" {
		n = 1000
	}
	capture := fixtures.Read(t, "captures/networked_battle.pcap")
	dir, out, cache := t.TempDir(), filepath.Join(t.TempDir(), "site"), t.TempDir()
	add := func(i int) string {
		name := filepath.Join(dir, fmt.Sprintf("e%04d.pcap", i))
		shifted(t, capture, name, i)
		return name
	}
	for i := range n {
		add(i)
	}
	run := func(step, want string) (took time.Duration) {
		t.Helper()
		cmd := runLeague(cache, dir, "-o", out)
		said, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(said), want) {
			t.Fatalf("%s: %v, %q, not %q", step, err, said, want)
		}
		took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		t.Logf("%s: %v of processor time", step, took)
		return took
	}
	like := func(step string) {
		t.Helper()
		fresh := filepath.Join(t.TempDir(), "fresh")
		if said, err := runLeague(t.TempDir(), dir, "-o", fresh).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", step, err, said)
		}
		sites(t, fresh, out)
	}
	run("all", fmt.Sprintf("%d matches, %d players; %d recordings read, 0 known", n, 60, n))
	before := writtenAt(t, out)
	run("nothing new", fmt.Sprintf("0 recordings read, %d known", n))
	if after := writtenAt(t, out); !maps.Equal(before, after) {
		t.Error("a run without a new recording writes files")
	}

	name := add(n)
	run("one more", fmt.Sprintf("1 recording read, %d known", n))
	changed := 0
	for file, when := range writtenAt(t, out) {
		if strings.HasPrefix(file, "match") && before[file] != when && before[file] != (time.Time{}) {
			changed++
		}
	}
	if changed > 1 {
		t.Errorf("one match more changes the pages of %d others", changed)
	}
	like("one more")

	add(n + 1)
	cmd := runLeague(cache, dir, "-o", out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Duration(n) * 100 * time.Microsecond)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // the files tell
	add(n + 2)
	run("two more, after a kill", fmt.Sprintf("%d matches", n+3))
	like("after a kill")

	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	run("one less", fmt.Sprintf("0 recordings read, %d known", n+2))
	like("one less")

	cmd = runLeague(t.TempDir(), dir, "-o", filepath.Join(t.TempDir(), "site"))
	cmd.Args[0] = "weighs"
	cmd.Path, cmd.Err = exec.LookPath(cmd.Args[0])
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	} else if peak, err := strconv.Atoi(string(said[bytes.LastIndexByte(said, ' ')+1:])); err != nil || peak > 150<<20 {
		t.Errorf("all anew takes %s bytes of memory", said)
	}
}

// writtenAt returns the time at which each file of a folder was written.
func writtenAt(t *testing.T, dir string) map[string]time.Time {
	t.Helper()
	all := map[string]time.Time{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if rel, e := filepath.Rel(dir, path); err == nil && e == nil {
			all[filepath.ToSlash(rel)] = info.ModTime()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFolderLinks has links that another user could have put where tables and league
// write, in a directory that all users can write to. Nothing is written where the links lead.
func TestFolderLinks(t *testing.T) {
	for _, c := range []struct {
		link, out string
		refused   int // by tables, by league, or by both
	}{
		{"link", "link", 2},
		{"link", "link/deep/er", 2},
		{".lock", ".", 2},
		{"matches", ".", 1},     // a table
		{"match", ".", 1},       // the pages of a site
		{".unfinished", ".", 0}, // both remove it, since they remove what a killed run has left there
	} {
		for _, leads := range []string{"target", "target/absent"} {
			dir := t.TempDir()
			shared, evening, target := filepath.Join(dir, "shared"), filepath.Join(dir, "evening"), filepath.Join(dir, "target")
			name := filepath.Join(evening, "a.pcap")
			if err := errors.Join(os.Mkdir(shared, 0o700), os.Mkdir(evening, 0o700), os.Mkdir(target, 0o700), os.Chmod(shared, 0o777|os.ModeSticky),
				os.WriteFile(name, fixtures.Read(t, "captures/stock_client.pcap"), 0o600), os.Symlink(filepath.Join(dir, leads), filepath.Join(shared, c.link))); err != nil {
				t.Fatal(err)
			}
			out, refused := filepath.Join(shared, c.out), 0
			for _, cmd := range []*exec.Cmd{exec.Command("bcdissect", "tables", out, name), runLeague(t.TempDir(), evening, "-o", out)} {
				said, err := cmd.CombinedOutput()
				if err != nil && strings.Contains(string(said), "is a symbolic link in a directory that other users can write") {
					refused++
				} else if err != nil {
					t.Errorf("%q: %v, %s", cmd.Args, err, said)
				}
			}
			if refused != c.refused {
				t.Errorf("%s to %s: %d refuse it, want %d", c.link, leads, refused, c.refused)
			}
			if all, err := os.ReadDir(target); err != nil || len(all) > 0 {
				t.Errorf("%s to %s: there is %v, %v", c.link, leads, all, err)
			}
		}
	}
}
