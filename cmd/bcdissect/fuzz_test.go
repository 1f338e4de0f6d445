package main

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
)

// FuzzHex holds that hex digits are read back however they are set out, and
// that anything else is refused or holds as many bytes as it has pairs.
func FuzzHex(f *testing.F) {
	for _, s := range []string{
		"01D73368C3BF76DB", "2C 02 00 00 00 05 00 68 65 6c 6c 6f", "0x01, 0x02 # three\n03", `\x01\x02`, "01:02-03|04", "0", "0x", "0 x1", "#", "1\n2",
		"00000000: 0102", "é", "\xff", "0X0X00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := parseHex(text)
		if err != nil {
			if b != nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %x and %v", b, err)
			}
			return
		}
		digits := 0
		for _, r := range text {
			if hexDigit(r) >= 0 {
				digits++
			}
		}
		if 2*len(b) > digits {
			t.Fatalf("%d digits make %x", digits, b)
		}
		spaced := fmt.Sprintf("% x # %s", b, strings.ReplaceAll(text, "\n", " "))
		prefixed := ""
		for _, c := range b {
			prefixed += fmt.Sprintf("0x%02X,\n", c)
		}
		for _, form := range []string{hex.EncodeToString(b), spaced, prefixed} {
			if again, err := parseHex(form); err != nil || !bytes.Equal(again, b) {
				t.Fatalf("%q: got %x and %v, want %x", form, again, err, b)
			}
		}
	})
}

// FuzzColumns holds that a column is refused with a mark or a reason, or has a
// value wherever the filter of that name says that there is one.
func FuzzColumns(f *testing.F) {
	for _, s := range []string{
		"frame", "text", "Chat.text", "chat.text", "CHAT.text", "START_FIRING.dest", "StateUpdate.position.x", "forward[2]", "error.reason", "frame == 1", "Chat", "src_port", "player_name",
		"fields.target", "notes", "subsystems.entries.condition", "position[", "a.b.c", "ack.seq", "ts", "", "residue", "flag_names", "class_name",
	} {
		f.Add(s)
	}
	b := fixtures.Read(f, "captures/stock_replay.pcap")
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || strings.ContainsAny(name, ",\"\r\n") || strings.HasPrefix(name, "-") {
			return // none, or several columns
		}
		r := runIn(bytes.NewReader(b), "read", "-", "-e", name)
		if r.status != cli.ExitOK {
			if r.status != cli.ExitUsage || r.out != "" || !strings.HasPrefix(r.errors, "bcdissect: ") {
				t.Errorf("status %d, %q, %q", r.status, r.out, r.errors)
			}
			return
		}
		rows, err := csv.NewReader(strings.NewReader(r.out)).ReadAll()
		if err != nil || len(rows) == 0 || rows[0][0] != name {
			t.Fatalf("got %.200q, %v", r.out, err)
		}
		has := runIn(bytes.NewReader(b), "read", "-", "-T", "json", "-Y", name)
		if n := strings.Count(has.out, "\n"); has.status != cli.ExitOK || n != len(rows)-1 {
			t.Errorf("%d rows, and %d records have it, status %d", len(rows)-1, n, has.status)
		}
	})
}

// FuzzProgram runs the whole program over any file: it ends with one of the
// documented statuses and at most a few lines of errors, JSON and CSV are
// well formed, a terminal gets no control characters, the same file gives
// the same output with one processor or several, and memory and processor time are
// bounded.
func FuzzProgram(f *testing.F) {
	for _, name := range []string{
		"stock_replay.pcap", "gamespy.pcap", "restart.pcap", "variants/join_flow-headeronly.pcap", "variants/join_flow-two-interfaces.pcapng",
	} {
		b := fixtures.Read(f, "captures/"+name)
		for how := range uint8(len(commands)) {
			f.Add(b[:min(len(b), 4<<10)], how)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, how uint8) {
		if len(b) > 32<<10 || len(b) > 4 && (b[0] == 0x1f || b[0] == 0x28) {
			return // compressed files may be long, and unpacking is fuzzed in its own package
		}
		args := commands[int(how)%len(commands)]
		var out, errs bytes.Buffer
		code := 0
		began := processorTime()
		spent := fixtures.Allocated(func() {
			code = run(with(args, "--jobs", "1"), cli.Streams{In: bytes.NewReader(b), Out: &out, Err: &errs})
		})
		if most := uint64(96<<20 + len(b)<<12); spent > most {
			t.Errorf("%d bytes were allocated for %d", spent, len(b))
		}
		if spent := processorTime() - began; spent > allowed(len(b)) && !raceDetector {
			t.Errorf("%s: %v of processor time", args, spent)
		}
		switch code {
		case cli.ExitOK, cli.ExitFailed, cli.ExitDamaged:
		case cli.ExitMalformed:
			if args[len(args)-1] != "--strict" {
				t.Errorf("status %d: %s", code, errs.String())
			}
		default:
			t.Errorf("status %d: %s", code, errs.String())
		}
		if (code == cli.ExitOK) != !strings.Contains(errs.String(), "bcdissect: standard input:") && code != cli.ExitMalformed {
			t.Errorf("status %d, and errors %q", code, errs.String())
		}
		if n := strings.Count(errs.String(), "\n"); n > 20 {
			t.Errorf("%d lines of errors", n)
		}
		wellFormed(t, args, out.String())
		plain(t, errs.String())

		again := runIn(bytes.NewReader(b), with(args, "--jobs", "3")...)
		if again != (ran{code, out.String(), errs.String()}) {
			t.Errorf("status %d, %d bytes and %q, then with more processors %d, %d and %q", code, out.Len(), errs.String(), again.status, len(again.out), again.errors)
		}
	})
}

// with returns arguments with more of them.
func with(args []string, more ...string) []string { return slices.Concat(args, more) }

// commands are the command lines of FuzzProgram.
var commands = [][]string{
	{"read", "-", "-T", "json", "--payload"},
	{"read", "-", "-V", "-x", "--verify"},
	{"read", "-"},
	{"stats", "-", "-T", "json", "--strict"},
	{"stats", "-"},
	{"stats", "-", "--network"},
	{"stats", "-", "--network", "-T", "json"},
	{"read", "-", "-e", "frame", "-e", "text", "-e", "StateUpdate.position", "-e", "error.reason", "-e", "player_name"},
}

// wellFormed checks the output of a command.
func wellFormed(t *testing.T, args []string, out string) {
	t.Helper()
	all := strings.Join(args, " ")
	switch {
	case strings.Contains(all, "-T json"):
		for line := range strings.Lines(out) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("not JSON: %q", line)
			}
		}
	case strings.Contains(all, "-e "):
		if _, err := csv.NewReader(strings.NewReader(out)).ReadAll(); err != nil {
			t.Fatalf("not CSV: %v", err)
		}
		return // CSV has unchanged text, since it is for programs
	}
	plain(t, out)
}

// plain checks that text can be shown in a terminal.
func plain(t *testing.T, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && !unicode.IsGraphic(r) || r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			t.Fatalf("%q in %q", r, text[max(0, i-40):min(len(text), i+40)])
		}
	}
}
