// Package check holds the program's JSON against docs/schema with a validator
// that stays out of the program's go.mod.
package check

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const root = "../../.."

// build returns the path of the program, which it builds once.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "bcdissect-schema")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "bcdissect")
	cmd := exec.Command("go", "build", "-o", program, "./cmd/bcdissect")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if program, err := build(); err == nil {
		_ = os.RemoveAll(filepath.Dir(program))
	}
	os.Exit(code)
}

// compile returns a committed schema.
func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(filepath.Join("..", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run returns the output of the program.
func run(t *testing.T, args ...string) []byte {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	var out, errors bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil && out.Len() == 0 && errors.Len() == 0 {
		t.Fatalf("%v: %v", args, err)
	}
	return out.Bytes()
}

// check holds every line against a schema, and returns their number.
func check(t *testing.T, s *jsonschema.Schema, output []byte) (lines int) {
	t.Helper()
	scan := bufio.NewScanner(bytes.NewReader(output))
	scan.Buffer(nil, 1<<24)
	for ; scan.Scan(); lines++ {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(scan.Bytes()))
		if err == nil {
			err = s.Validate(v)
		}
		if err != nil {
			t.Errorf("%v\n%.2000s", err, scan.Bytes())
			return lines
		}
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// captures returns the captures of the fixtures.
func captures(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(filepath.Join(root, "fixtures/captures"), func(path string, d fs.DirEntry, err error) error {
		if name := filepath.Base(path); err == nil && !d.IsDir() && strings.Contains(name, ".pcap") && !strings.HasSuffix(name, ".json") {
			all = append(all, path)
		}
		return err
	})
	if err != nil || len(all) < 15 {
		t.Fatalf("%d captures, %v", len(all), err)
	}
	return all
}

func TestCaptures(t *testing.T) {
	for _, of := range []struct {
		schema string
		args   []string
		least  int // lines of all captures
	}{
		{"read", []string{"read", "-T", "json", "--payload"}, 60000},
		{"stats", []string{"stats", "-T", "json"}, 30},
		{"stats-network", []string{"stats", "--network", "-T", "json"}, 30},
		{"replay", []string{"replay", "-T", "json"}, 15},
		{"session", []string{"session", "--tracks", "-T", "json"}, 30},
	} {
		t.Run(of.schema, func(t *testing.T) {
			s := compile(t, of.schema)
			lines := 0
			for _, path := range captures(t) {
				lines += check(t, s, run(t, append(of.args, path)...))
			}
			if lines < of.least {
				t.Errorf("only %d lines", lines)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	s := compile(t, "diff")
	path := func(name string) string { return filepath.Join(root, "fixtures", name) }
	for _, two := range [][2]string{
		{"captures/stock_client.pcap", "logs/stock_client.packet_trace.log"},
		{"captures/stock_client.pcap", "captures/networked_battle.pcap"},
		{"captures/join_flow.pcap", "captures/restart.pcap"},
		{"captures/lossy.pcap", "captures/opcode_tour.pcap"},
		{"captures/gamespy.pcap", "captures/forged_small.pcap"},
	} {
		if n := check(t, s, run(t, "diff", "-T", "json", path(two[0]), path(two[1]))); n != 1 {
			t.Errorf("%v: %d lines", two, n)
		}
	}
}

// Messages of the fixtures, alone and cut short at every byte.
func TestMessages(t *testing.T) {
	samples, err := filepath.Glob(filepath.Join(root, "fixtures/messages/*.hex"))
	if err != nil || len(samples) < 80 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	s := compile(t, "decode")
	for _, path := range samples {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var hex strings.Builder
		for line := range strings.Lines(string(b)) {
			line, _, _ = strings.Cut(line, "#")
			hex.WriteString(strings.Join(strings.Fields(line), ""))
		}
		for n := 2; n <= hex.Len(); n += max(2, hex.Len()/4&^1) {
			check(t, s, run(t, "decode", "--as", "payload", "-T", "json", hex.String()[:n]))
		}
		if n := check(t, s, run(t, "decode", "--as", "payload", "-T", "json", hex.String())); n != 1 {
			t.Errorf("%s: %d lines", path, n)
		}
	}
}

// A capture of the published packets of the stock game breaks no rule but that
// its ship updates were given numbers to be put into datagrams.
func TestConform(t *testing.T) {
	for _, name := range []string{"stock_replay.pcap", "join_flow.pcap", "networked_battle.pcap"} {
		if n := check(t, compile(t, "conform"), run(t, "conform", "--read", filepath.Join("../../../fixtures/captures", name), "-T", "json")); n != 1 {
			t.Errorf("%s: %d lines", name, n)
		}
	}
}

func TestOthers(t *testing.T) {
	if n := check(t, compile(t, "conform-list"), run(t, "conform", "--list", "-T", "json")); n < 120 {
		t.Errorf("conform --list wrote %d lines", n)
	}
	for _, command := range []string{"opcodes", "interfaces", "version"} {
		if n := check(t, compile(t, command), run(t, command, "-T", "json")); n == 0 {
			t.Errorf("%s wrote nothing", command)
		}
	}
}

// The schema refuses invalid lines.
func TestRefused(t *testing.T) {
	s := compile(t, "read")
	const good = `{"frame":1,"src":"a:1","dst":"b:2","dir":"c2s","peer":2,"msg":0,"kind":"standard","opcode":44,"name":"Chat","fields":{"sender":2,"text":"x"}}`
	if check(t, s, []byte(good)) != 1 {
		t.Error("a good line is refused")
	}
	for _, change := range [][2]string{
		{`"frame":1`, `"frame":"1"`}, {`"dir":"c2s"`, `"dir":"up"`}, {`"frame":1,`, ``}, {`"peer":2`, `"pear":2`},
		{`"sender":2`, `"sender":true`}, {`"sender":2`, `"target":2`}, {`"text":"x"`, `"text":7`},
	} {
		line := strings.Replace(good, change[0], change[1], 1)
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(v) == nil {
			t.Errorf("not refused: %s", line)
		}
	}
}
