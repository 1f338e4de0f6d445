package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/fixtures"
)

// shifted writes a copy of a capture with another time, other addresses, and
// other names of the players, which are Bot0, Bot1 and so on. The capture is a
// little-endian pcap file with Ethernet and IPv4. The IP checksums become wrong,
// but they are not checked.
func shifted(tb testing.TB, capture []byte, name string, n int) {
	tb.Helper()
	out := bytes.Clone(capture)
	const header, head = 24, 16
	letter := byte('a' + n%20)
	var clear, again []byte
	for at := header; at+head < len(out); {
		binary.LittleEndian.PutUint32(out[at:], binary.LittleEndian.Uint32(out[at:])+uint32(n)*3600)
		frame := out[at+head : at+head+int(binary.LittleEndian.Uint32(out[at+8:]))]
		for _, a := range [2]int{26, 30} { // source and destination
			frame[a+1], frame[a+2] = byte(n), byte(n>>8)
		}
		frame[40], frame[41] = 0, 0 // the checksum of UDP, which has the addresses
		if payload := frame[42:]; len(payload) > 1 && payload[0] != '\\' {
			clear = cipher.Decrypt(clear[:0], payload)
			clear = bytes.ReplaceAll(clear, []byte("Bot"), []byte{'B', letter, 't'})
			clear = bytes.ReplaceAll(clear, []byte("B\x00o\x00t"), []byte{'B', 0, letter, 0, 't'})
			again = cipher.Encrypt(again[:0], clear)
			copy(payload, again)
		}
		at += head + len(frame)
	}
	if err := os.WriteFile(name, out, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// sites compares two folders with diff, without the names of posted matches.
func sites(t *testing.T, a, b string) {
	t.Helper()
	if out, err := exec.Command("diff", "-rq", a, b).CombinedOutput(); err != nil {
		t.Errorf("the sites differ: %v: %s", err, out)
	}
}

// runLeague runs the program with a separate cache.
func runLeague(cache string, args ...string) *exec.Cmd {
	cmd := exec.Command("bcdissect", append([]string{"league"}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache)
	return cmd
}

// TestLeagueKilled kills a run at a random moment, and starts two runs at the
// same time. After the next run the site equals the site of an undisturbed run.
func TestLeagueKilled(t *testing.T) {
	fixtures.System(t)
	dir, whole := t.TempDir(), t.TempDir()
	capture := fixtures.Read(t, "captures/networked_battle.pcap")
	for i := range 5 {
		shifted(t, capture, filepath.Join(dir, fmt.Sprintf("e%d.pcap", i)), i)
	}
	begun := time.Now()
	if out, err := runLeague(t.TempDir(), dir, "-o", whole).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(begun)
	site, cache := filepath.Join(t.TempDir(), "site"), t.TempDir()
	const kills = 12
	for i := range kills {
		cmd := runLeague(cache, dir, "-o", site)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(took * time.Duration(i+1) / (kills + 1))
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the files tell
		if i%3 == 2 {
			if out, err := runLeague(cache, dir, "-o", site).CombinedOutput(); err != nil {
				t.Fatalf("after a kill: %v: %s", err, out)
			}
			sites(t, whole, site)
			_ = os.RemoveAll(site)
		}
		if i%4 == 3 {
			_ = os.RemoveAll(cache)
		}
	}
	both := filepath.Join(t.TempDir(), "both")
	fresh := t.TempDir()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if out, err := runLeague(fresh, dir, "-o", both).CombinedOutput(); err != nil {
				t.Errorf("at once: %v: %s", err, out)
			}
		})
	}
	all.Wait()
	sites(t, whole, both)
}

// TestLeagueWatch follows a folder: a recording that comes is in the site soon, and an
// interrupt ends the command.
func TestLeagueWatch(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	dir := t.TempDir()
	add := func(name string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, fixtures.Read(t, "captures/"+name), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-time.Minute) // as if it had not grown for a while
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	add("networked_battle.pcap")
	cmd := runLeague(t.TempDir(), dir, "--watch")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	matches := func(n int) {
		t.Helper()
		want := fmt.Sprintf("<h1>Matches <small>%d</small>", n)
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if b, _ := os.ReadFile(filepath.Join(dir, "site", "matches.html")); strings.Contains(string(b), want) {
				return
			}
		}
		t.Errorf("there were never %d matches: %s", n, said.String())
	}
	matches(1)
	add("two_teams.pcap")
	matches(2)
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said.String())
	}
}
