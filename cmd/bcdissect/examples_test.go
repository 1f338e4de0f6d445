package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
)

// notRun matches the examples that the test cannot run, with the reason.
var notRun = []struct {
	command *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`^(bcdissect (live|relay|proxy|bots|query|home|web|browse)|dumpcap)\b`), "needs a network, a terminal or a browser"},
	{regexp.MustCompile(`^bcdissect demo (web|browse)`), "needs a terminal or a browser"},
	{regexp.MustCompile(`^bcdissect conform .*localhost`), "needs a running host"},
	{regexp.MustCompile(`^bcdissect replay .*--to `), "needs a running host"},
	{regexp.MustCompile(`^bcdissect wireshark`), "needs Wireshark"},
	{regexp.MustCompile(`^bcdissect league .*--watch`), "runs until Ctrl-C"},
	{regexp.MustCompile(`^duckdb`), "needs DuckDB"},
	{regexp.MustCompile(`HOST|FILE|game\.pcapng`), "has a name to fill in"},
}

// exampleFiles are the files in the examples, and the fixtures that stand for them.
var exampleFiles = map[string][]string{
	"captures/stock_client.pcap":         {"battle.pcap", "evening.pcap", "game.pcap", "host.pcap", "client.pcap", "a.pcap", "b.pcap", "stock.pcapng", "openbc.pcapng", "evenings/evening.pcap"},
	"captures/battle_mix.pcap.gz":        {"day1.pcap.gz", "day2.pcap.gz"},
	"captures/battle_mix-s96.pcap.gz":    {"monday.pcap.gz"},
	"logs/stock_client.packet_trace.log": {"packet_trace.log"},
}

// exampleTexts are further files in the examples.
var exampleTexts = map[string]string{
	"message.hex":     "2C020000000500 68656C6C6F\n",
	"datagram.ndjson": `{"peer":2,"msg":0,"kind":"standard","type":50,"opcode":44,"name":"Chat","fields":{"sender":3,"text":"hi"}}` + "\n",
	"config.toml":     "[filters]\nkills = 'ScoreChange'\n[columns]\nships = ['object_name']\n",
}

// A comment above each example in the help of a command says what it is for, and
// the command runs as printed.
func TestExamples(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the examples are for a shell of Unix")
	}
	dir := t.TempDir()
	exampleFolder(t, dir)
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		purpose := ""
		for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "|\n", "| ")) {
			text := strings.TrimSpace(line)
			if strings.HasPrefix(text, "# ") || text == "" {
				purpose = text
				continue
			}
			if command, after, columns := strings.Cut(text, "  "); columns && !strings.Contains(command, "|") { // the purpose is in the same line
				text, purpose = command, after
			}
			if purpose == "" && !strings.HasPrefix(text, "duckdb") {
				t.Errorf("%s: %q has no purpose", cmd.CommandPath(), text)
			}
			runExample(t, dir, text)
			purpose = ""
		}
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	for _, name := range []string{"a", "b"} { // reports for conform --matrix
		runExample(t, dir, "bcdissect conform --read evening.pcap -T json >"+name+".json")
	}
	visit(newRoot(cli.Streams{}))
}

// exampleFolder makes a folder with the program and the files of the examples.
func exampleFolder(t *testing.T, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := t.TempDir()
	if err := os.Symlink(self, filepath.Join(program, "bcdissect")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", program+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("BCDISSECT_CONFIG", filepath.Join(dir, "config.toml"))
	write := func(name string, b []byte) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for from, names := range exampleFiles {
		b, err := os.ReadFile(filepath.Join(fixtures.Dir(), from))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			write(name, b)
		}
	}
	for name, words := range exampleTexts {
		write(name, []byte(words))
	}
}

// runExample runs a command line of help in a folder. Programs that are not installed
// are cut off at the end of a pipeline.
func runExample(t *testing.T, dir, line string) {
	t.Helper()
	for _, n := range notRun {
		if n.command.MatchString(line) {
			return
		}
	}
	for _, tool := range []string{"jq", "less"} {
		if _, err := exec.LookPath(tool); err != nil {
			line, _, _ = strings.Cut(line, "| "+tool)
		}
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if status := cmd.ProcessState.ExitCode(); status != cli.ExitOK && status != cli.ExitDiffers || strings.Contains(string(out), "--help' lists") {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
}
