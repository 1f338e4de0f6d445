package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report/kaitai"
	"github.com/bcdissect/bcdissect/report/reference"
)

// The description follows from the lines of opcodes -T json, and from nothing else.
func TestKaitaiFromJSON(t *testing.T) {
	lines := runIn(nil, "opcodes", "-T", "json")
	var messages []reference.Entry
	var ships []reference.Ship
	for line := range strings.Lines(lines.out) {
		var of struct{ Layer string }
		var e reference.Entry
		var s reference.Ship
		err := json.Unmarshal([]byte(line), &of)
		switch {
		case of.Layer == "ship" && err == nil:
			err = json.Unmarshal([]byte(line), &s)
			ships = append(ships, s)
		case of.Layer != "kind" && err == nil:
			err = json.Unmarshal([]byte(line), &e)
			messages = append(messages, e)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	description, err := kaitai.New(messages, ships)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(description); err != nil {
		t.Fatal(err)
	}
	if r := runIn(nil, "opcodes", "-T", "kaitai"); r.status != 0 || r.out != want.String() {
		t.Errorf("status %d, %s: the program writes another description than its JSON gives", r.status, r.errors)
	}
}

// unlike are the messages that the parser reads otherwise than this program, by capture and
// frame, with the reason.
var unlike = map[string]string{
	"opcode_tour.pcap.json 177": "the capture is the only evidence of the sender's dialect, and this message came before it",
}

// A parser that Kaitai Struct makes of the description gives the fields of read -T json,
// for every message.
func TestKaitai(t *testing.T) {
	fixtures.System(t)
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the parser runs in Node.js: %v", err)
		}
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	command := func(name string, args ...string) ([]byte, error) {
		c := exec.CommandContext(ctx, name, args...)
		c.Dir = dir
		var errs bytes.Buffer
		c.Stderr = &errs
		out, err := c.Output()
		if err != nil {
			t.Log(errs.String())
		}
		return out, err
	}
	for _, name := range []string{"package.json", "check.mjs"} {
		copied(t, filepath.Join(dir, name), filepath.Join(fixtures.Dir(), "../report/kaitai/parsertest", name))
	}
	if _, err := command("npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"); err != nil {
		t.Skipf("npm cannot install the compiler of Kaitai Struct: %v", err)
	}
	args := []string{"check.mjs", saved(t, dir, "bc_message.ksy", "opcodes", "-T", "kaitai"), saved(t, dir, "lines.json", "opcodes", "-T", "json")}
	all := []string{"forged_small.pcap", "stock_replay.pcap", "opcode_tour.pcap", "opcode_coverage.pcap", "stock_client.pcap"}
	if os.Getenv("BCDISSECT_KAITAI") == "all" {
		all = allCaptures(t)
	}
	for _, name := range all {
		args = append(args, saved(t, dir, strings.TrimSuffix(strings.ReplaceAll(name, "/", "-"), ".gz")+".json", "read", "-T", "json", "--payload", fixtures.Path("captures/"+name)))
	}
	out, err := command("node", args...)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Messages, Equal, Inferred int
		Unequal                   []struct{ File, Text string }
		Opcodes                   map[string]struct{ Messages, Equal int }
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	for _, u := range got.Unequal {
		if unlike[u.File] == "" {
			t.Errorf("%s: %s", u.File, u.Text)
		}
	}
	if got.Messages < 1000 || got.Messages-got.Equal != len(got.Unequal) || len(got.Unequal) > len(unlike) {
		t.Errorf("%d of %d messages are equal", got.Equal, got.Messages)
	}
	known := 0
	for _, s := range msg.Catalog().All() {
		if s.Known() && s.Name != "BootPlayer" { // which no capture has
			if known++; got.Opcodes[s.Name].Messages == 0 {
				t.Errorf("no capture has a %s", s.Name)
			}
		}
	}
	t.Logf("%d of %d messages of %d kinds are equal; the classes of ships in %d were inferred by this program", got.Equal, got.Messages, known, got.Inferred)
}

// allCaptures returns the names of all captures in fixtures that can be read.
func allCaptures(t *testing.T) (all []string) {
	t.Helper()
	root := fixtures.Path("captures")
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(d.Name(), ".pcap") && !strings.HasSuffix(d.Name(), ".json") {
			name, _ := filepath.Rel(root, path)
			all = append(all, filepath.ToSlash(name))
		}
		return err
	}); err != nil || len(all) < 20 {
		t.Fatalf("%d captures: %v", len(all), err)
	}
	return all
}

// saved writes what a command prints to a file. A damaged capture is read as far as it goes.
func saved(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if r := runIn(nil, append(args, "-o", path)...); r.status != 0 && args[0] != "read" {
		t.Fatalf("%v: status %d, %s", args, r.status, r.errors)
	}
	return path
}

// copied copies a file.
func copied(t *testing.T, to, from string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
