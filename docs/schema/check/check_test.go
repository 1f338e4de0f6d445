// Package check holds the program's JSON against docs/schema with a validator
// that stays out of the program's go.mod.
package check

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
	return checkMost(t, s, output, math.MaxInt)
}

// alike finds what lines of the same form have in common.
var alike = regexp.MustCompile(`"(?:kind|name|status|dialect)":"[^"]*"`)

// checkMost holds at most so many lines of each form against a schema, and returns the
// number of all lines.
func checkMost(t *testing.T, s *jsonschema.Schema, output []byte, most int) (lines int) {
	t.Helper()
	forms := map[string]int{}
	scan := bufio.NewScanner(bytes.NewReader(output))
	scan.Buffer(nil, 1<<24)
	for ; scan.Scan(); lines++ {
		if most < math.MaxInt {
			form := string(bytes.Join(alike.FindAll(scan.Bytes(), 4), nil))
			if forms[form]++; forms[form] > most {
				continue
			}
		}
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

// again matches captures that are as long as all others, and like battle_mix.pcap.gz or
// battle_large-1.pcap.zst.
var again = regexp.MustCompile(`battle_mix\.pcapng|battle_mix-s96|battle_large-2`)

// All captures, in every form. Of the messages of a capture, the first hundred of each
// form are held against the schema, or all if BCDISSECT_LONG is set. Only the
// long form reads captures that are like another one.
func TestCaptures(t *testing.T) {
	t.Parallel()
	most := 100
	if os.Getenv("BCDISSECT_LONG") != "" {
		most = math.MaxInt
	}
	for _, of := range []struct {
		schema string
		args   []string
		least  int64 // lines of all captures
	}{
		{"read", []string{"read", "-T", "json", "--payload"}, 60000},
		{"stats", []string{"stats", "-T", "json"}, 30},
		{"stats-network", []string{"stats", "--network", "-T", "json"}, 30},
		{"replay", []string{"replay", "-T", "json"}, 15},
		{"session", []string{"session", "--tracks", "-T", "json"}, 30},
	} {
		t.Run(of.schema, func(t *testing.T) {
			t.Parallel()
			s := compile(t, of.schema)
			var lines atomic.Int64
			t.Run("all", func(t *testing.T) { // ends with the last of the captures
				for _, path := range captures(t) {
					t.Run(filepath.Base(path), func(t *testing.T) {
						if most < math.MaxInt && again.MatchString(path) {
							t.Skip("its messages have the forms of another one's: set BCDISSECT_LONG")
						}
						t.Parallel()
						lines.Add(int64(checkMost(t, s, run(t, append(slices.Clone(of.args), path)...), most)))
					})
				}
			})
			if n := lines.Load(); n < of.least {
				t.Errorf("only %d lines", n)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
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

// Messages of the fixtures, one at a time: whole, and cut short at two bytes, or at four if
// BCDISSECT_LONG is set.
func TestMessages(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Glob(filepath.Join(root, "fixtures/messages/*.hex"))
	if err != nil || len(samples) < 80 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	s, cuts := compile(t, "decode"), 2
	if os.Getenv("BCDISSECT_LONG") != "" {
		cuts = 4
	}
	for _, path := range samples {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var hex strings.Builder
			for line := range strings.Lines(string(b)) {
				line, _, _ = strings.Cut(line, "#")
				hex.WriteString(strings.Join(strings.Fields(line), ""))
			}
			for n := 2; n <= hex.Len(); n += max(2, hex.Len()/cuts&^1) {
				check(t, s, run(t, "decode", "--as", "payload", "-T", "json", hex.String()[:n]))
			}
			if n := check(t, s, run(t, "decode", "--as", "payload", "-T", "json", hex.String())); n != 1 {
				t.Errorf("%d lines", n)
			}
		})
	}
}

// A capture of the published packets of the stock game breaks no rule but that
// its ship updates were given numbers to be put into datagrams.
func TestConform(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stock_replay.pcap", "join_flow.pcap", "networked_battle.pcap"} {
		if n := check(t, compile(t, "conform"), run(t, "conform", "--read", filepath.Join("../../../fixtures/captures", name), "-T", "json")); n != 1 {
			t.Errorf("%s: %d lines", name, n)
		}
	}
}

func TestOthers(t *testing.T) {
	t.Parallel()
	if n := check(t, compile(t, "conform-list"), run(t, "conform", "--list", "-T", "json")); n < 120 {
		t.Errorf("conform --list wrote %d lines", n)
	}
	for _, command := range []string{"opcodes", "interfaces", "version"} {
		if n := check(t, compile(t, command), run(t, command, "-T", "json")); n == 0 {
			t.Errorf("%s wrote nothing", command)
		}
	}
}

// page matches the addresses of a live page, the owner's before the spectators'.
var page = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/[A-Z2-7]+/`)

// game matches the address of a host.
var game = regexp.MustCompile(` on (127\.0\.0\.1:[0-9]+) `)

// live plays a match of bots on a host with a live page. At the end it asks the page,
// for the owner and for spectators.
func live(t *testing.T) (documents, streams [][]byte) {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(program, "relay", "--listen", "127.0.0.1:0", "--control", "none", "--web", "--public-delay", "1s")
	said, err := host.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = host.Process.Kill()
		_ = host.Wait() // its status does not matter
	}()
	var address string
	var pages []string
	for scan := bufio.NewScanner(said); address == "" && scan.Scan(); {
		if at := page.FindString(scan.Text()); at != "" && !slices.Contains(pages, at) {
			pages = append(pages, at)
		}
		if m := game.FindStringSubmatch(scan.Text()); m != nil {
			address = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	if len(pages) != 2 {
		t.Fatalf("the pages are %q", pages)
	}
	run(t, "bots", address, "--seed", "7", "--for", "6s", "--no-progress")
	for _, page := range pages {
		documents = append(documents, fetch(t, page, "application/json", `"Bot2"`))
		streams = append(streams, fetch(t, page, "text/event-stream", "event: ready\n"))
	}
	return documents, streams
}

// fetch asks a live page until its answer has a text, which spectators get after the
// delay. A stream does not end by itself: it is read for a second after the text came.
func fetch(t *testing.T, page, accept, text string) (got []byte) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute && !bytes.Contains(got, []byte(text)); time.Sleep(20 * time.Millisecond) {
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, page+"api/live", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		found := false
		for b := make([]byte, 64<<10); err == nil; {
			var n int
			n, err = answer.Body.Read(b)
			got = append(got, b[:n]...)
			if !found && bytes.Contains(got, []byte(text)) {
				found = true
				time.AfterFunc(time.Second, end)
			}
		}
		_ = answer.Body.Close()
		end()
	}
	return got
}

// What api/live answers, and each of its events, is as its schema says, for the owner
// and for spectators.
func TestLive(t *testing.T) {
	t.Parallel()
	s := compile(t, "api-live")
	documents, streams := live(t)
	for _, d := range documents {
		if check(t, s, d) != 1 || !bytes.Contains(d, []byte(`"Bot2"`)) {
			t.Errorf("the answer is %.300s", d)
		}
		for _, change := range [][2]string{{`"first":`, `"last":`}, {`"lives":[`, `"life":[`}, {`"name":"Bot2"`, `"name":2`}} {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(bytes.Replace(d, []byte(change[0]), []byte(change[1]), 1)))
			if err != nil {
				t.Fatal(err)
			}
			if s.Validate(v) == nil {
				t.Errorf("%s instead of %s is not refused", change[1], change[0])
			}
		}
	}
	for _, text := range streams {
		var events []string
		var data bytes.Buffer
		for line := range bytes.Lines(text) {
			if name, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
				events = append(events, string(bytes.TrimSpace(name)))
			} else if of, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				data.Write(of)
			}
		}
		if n := check(t, s, data.Bytes()); n != len(events) || n < 3 || events[0] != "begin" || events[1] != "match" || !slices.Contains(events, "ready") {
			t.Errorf("%d events are valid of %q", n, events)
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
		{`"frame":1`, `"frame":"1"`},
		{`"dir":"c2s"`, `"dir":"up"`},
		{`"frame":1,`, ``},
		{`"peer":2`, `"pear":2`},
		{`"sender":2`, `"sender":true`},
		{`"sender":2`, `"target":2`},
		{`"text":"x"`, `"text":7`},
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
