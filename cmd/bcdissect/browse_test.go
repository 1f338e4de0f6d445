package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report/table"
)

func TestBrowseOnTerminal(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is missing")
	}
	exe := program(t)
	captures := filepath.Join(fixtures.Dir(), "captures")
	browse := func(args string) string {
		return fmt.Sprintf("clear; cd '%s'; '%s' browse %s; echo status=$?", captures, exe, args)
	}

	t.Run("80x24", func(t *testing.T) {
		t.Parallel()
		x := newTerminal(t, 80, 24)
		before := x.settings()
		x.keys(browse("stock_client.pcap"), "Enter")
		x.await("bcdissect  stock_client.pcap", "1 of ", "Messages", "Fields of message 0 in frame 1", "? help")
		x.keys("-l", "YChat.txt")
		x.keys("Enter")
		x.await("filter: Chat.txt", "^", "Chat has no field txt")
		x.keys("C-u")
		x.keys("-l", "Cha")
		x.keys("Tab")
		x.await("ChangedTarget  Chat")
		x.keys("Escape")
		x.await("? help")
		x.keys("-l", "YChat")
		x.keys("Enter")
		x.await("filter Chat", "1 of 16 (")
		x.keys("j", "Enter", "G")
		x.await("2 of 16 (", "▸+5..", "marked at")
		x.keys("Escape")
		x.await("▸Messages") // else it is Alt-C
		x.keys("c")
		x.await("copied", "bcdissect decode --dialect stock --as message 3224800E002C")
		x.keys("p")
		x.await("player Cady2")
		x.tmux("resize-window", "-x", "200", "-y", "50")
		x.await("player Cady2", "T times")
		x.tmux("resize-window", "-x", "20", "-y", "5")
		x.until("small view", func(s string) bool { return strings.Count(s, "\n") <= 6 && strings.Contains(s, "Messages") })
		x.tmux("resize-window", "-x", "80", "-y", "24")
		x.await("player Cady2", "? help")
		x.keys("?")
		x.await("follow an object", "q goes back")
		x.keys("q")
		x.await("? help")
		x.keys("q")
		x.restored(before)
	})

	t.Run("several, pressed and as standard input", func(t *testing.T) {
		t.Parallel()
		x := newTerminal(t, 120, 40)
		before := x.settings()
		x.keys(browse("battle_mix.pcap.gz stock_client.pcap -Y 'name == TorpedoFire' --dir c2s"), "Enter")
		x.await("battle_mix.pcap.gz and 1 more", "TorpedoFire", "filter name == TorpedoFire", "messages)")
		x.keys("G")
		x.await("Fields of message 0 in frame ")
		x.keys("q")
		x.restored(before)
		x.keys(browse("- < battle_mix.pcap.gz"), "Enter")
		x.await("standard input", "34,096 messages")
		x.keys("G")
		x.await("34,096 of 34,096")
		x.keys("q")
		x.restored(before)
		x.keys(fmt.Sprintf("clear; cat '%s' | '%s' browse -; echo status=$?", filepath.Join(captures, "battle_mix.pcap.gz"), exe), "Enter")
		x.await("34,096 messages")
		x.keys("G")
		x.await("34,096 of 34,096")
		x.keys("g")
		x.await("1 of 34,096")
		x.keys("C-c")
		x.restored(before)
	})

	t.Run("marks, columns and saving", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		name := filepath.Join(dir, "a.pcap")
		if err := os.WriteFile(name, fixtures.Read(t, "captures/networked_battle.pcap"), 0o600); err != nil {
			t.Fatal(err)
		}
		x := newTerminal(t, 120, 40)
		before := x.settings()
		x.keys(browse(name), "Enter")
		x.await("1 of 6,497 messages", "? help")
		x.keys("-l", "Yname == StateUpdate and speed")
		x.keys("Enter")
		x.await("filter name == StateUpdate")
		x.keys("2", "G", "k", "C")
		x.await("column speed", "6.19780")
		x.keys("=")
		x.await("filter: StateUpdate.speed == 6.197803")
		x.keys("C-u")
		x.await("(up: name == StateUpdate and speed)")
		x.keys("Escape")
		x.await("? help") // else it is Alt-A
		x.keys("a")
		x.await("note:")
		x.keys("-l", "fast?")
		x.keys("Enter")
		x.await("noted", "✓")
		x.keys("M")
		x.await("marked", "1 of 1 (")
		x.keys("w")
		x.keys("-l", filepath.Join(dir, "b.pcap"))
		x.keys("Enter")
		x.await("b.pcap: 1 of ", "frames written")
		x.keys("q")
		x.restored(before)
		x.keys("clear; '"+exe+"' read '"+filepath.Join(dir, "b.pcap")+"' | wc -l; ls '"+dir+"'; echo status=$?", "Enter")
		x.await("a.pcap.marks.json", "b.pcap\n", "status=0")
		x.keys(browse(name), "Enter")
		x.await("1 of 6,497 messages", "? help")
		x.keys("]")
		x.await("note: fast?")
		x.keys("q")
		x.restored(before)
	})

	t.Run("cut", func(t *testing.T) {
		t.Parallel()
		x := newTerminal(t, 100, 24)
		before := x.settings()
		x.keys(browse("variants/join_flow-filecut.pcap"), "Enter")
		x.await("cut short", "Messages")
		x.keys("q")
		x.await("bcdissect: ", "cut short", "status=3")
		x.restored(before)
		x.keys(browse("none.pcap"), "Enter")
		x.await("bcdissect: none.pcap: ", "status=1")
		x.restored(before)
	})

	// However it ends.
	for _, signal := range []string{"TERM", "INT", "HUP"} {
		t.Run(signal, func(t *testing.T) {
			t.Parallel()
			x := newTerminal(t, 80, 24)
			before := x.settings()
			x.keys(browse("stock_client.pcap"), "Enter")
			x.await("? help")
			pid := strings.TrimSpace(x.tmux("display-message", "-p", "#{pane_pid}"))
			if out, err := exec.Command("pkill", "-"+signal, "-P", pid).CombinedOutput(); err != nil {
				t.Fatalf("pkill: %v %s", err, out)
			}
			x.restored(before)
		})
	}
}

func TestBrowseRefuses(t *testing.T) {
	capture := filepath.Join(fixtures.Dir(), "captures", "join_flow.pcap")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{capture}, "browse: standard output is not a terminal that can be drawn on; use bcdissect read"},
		{[]string{capture, "-T", "json"}, "-T: no such flag of browse"},
		{nil, "FILE"},
	} {
		var out, errs bytes.Buffer
		code := run(append([]string{"browse"}, test.args...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != cli.ExitUsage || !strings.Contains(errs.String(), test.want) || out.Len() > 0 {
			t.Errorf("%q: status %d, %q, %q", test.args, code, errs.String(), out.String())
		}
	}
}

// The copied command decodes the fields that the capture shows, except for
// names that only the capture contains.
func TestDecodeCommand(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell that splits commands")
	}
	for _, name := range []string{"stock_replay.pcap", "stock_client.pcap", "opcode_tour.pcap", "gamespy.pcap", "forged_small.pcap"} {
		var f cli.Common
		teller := table.NewTeller()
		decoded := 0
		kinds := map[string]bool{}
		recorded.Records(t, name, dissect.Config{}, func(r *dissect.Record) {
			kind := fmt.Sprint(r.Kind, r.Transport.Type, len(r.Pieces) > 0)
			if op, ok := r.Opcode(); ok {
				kind += fmt.Sprint(op, r.Layout)
			}
			if kinds[kind] || r.Status == dissect.StatusDuplicate || r.Status == dissect.StatusPending || r.Kind == dissect.KindEvicted {
				return
			}
			kinds[kind] = true
			command := decodeCommand(r, &f)
			args, err := shellWords(command)
			if err != nil || args[0] != "bcdissect" {
				t.Fatalf("%s: %v", command, err)
			}
			var out, errs bytes.Buffer
			if code := run(args[1:], cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != cli.ExitOK {
				t.Fatalf("%s: status %d, %s", command, code, errs.String())
			}
			decoded++
			branches, _ := teller.Tree(r)
			for _, p := range branches {
				// Values in brackets, positions after a delta and the names of
				// objects come from earlier messages.
				value, _, _ := strings.Cut(p.Value, " (")
				if p.Off == p.End || p.Name == "transport" || strings.ContainsAny(value, `"\`) {
					continue
				}
				if !strings.Contains(out.String(), value) || !strings.Contains(out.String(), p.Name) {
					t.Errorf("%s frame %d: %s %s is not in the output of %s:\n%s", name, r.Datagram.Number, p.Name, p.Value, command, out.String())
				}
			}
		})
		if decoded < 2 {
			t.Errorf("%s: %d commands", name, decoded)
		}
	}
}

// shellWords splits a command as a shell does.
func shellWords(command string) ([]string, error) {
	out, err := exec.Command("sh", "-c", "printf '%s\\n' "+command).Output()
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), err
}
