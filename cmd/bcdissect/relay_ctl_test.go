package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/control"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
)

// ctl runs relay ctl.
func ctl(host *hostProcess, args ...string) ran {
	return runIn(strings.NewReader(""), append([]string{"relay", "ctl", "-l", strconv.Itoa(int(host.at.Port()))}, args...)...)
}

// until plays until something is so, or for ten seconds.
func (c *udpClient) until(is func() bool) bool {
	for begun := time.Now(); !is(); {
		if time.Since(begun) > patience {
			return false
		}
		c.play(time.Now().Add(20*time.Millisecond), func(time.Time, int) {})
	}
	return true
}

func (c *udpClient) isGone() bool { return c.Phase == relaytest.Gone }

// Players are listed, spoken to, put out and banned while the game goes on.
func TestRelayControl(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program cannot be interrupted from outside on Windows")
	}
	t.Parallel()
	bans := filepath.Join(t.TempDir(), "bans.txt")
	if err := os.WriteFile(bans, []byte("10.9.9.9"), 0o600); err != nil {
		t.Fatal(err)
	}
	host := startHost(t, "--bans", bans, "--name", "Ctl")
	a, b := join(t, host.at, 1), join(t, host.at, 2)

	r := ctl(host, "players", "-T", "json")
	var players []control.Player
	for d := json.NewDecoder(strings.NewReader(r.out)); d.More(); {
		var p control.Player
		if err := d.Decode(&p); err != nil {
			t.Fatalf("%v: %q, %q", err, r.out, r.errors)
		}
		players = append(players, p)
	}
	if len(players) != 2 || players[0].Name != "Player 1" || players[1].Name != "Player 2" || players[1].Slot != 1 ||
		players[0].Phase != "playing" || players[1].Address != b.conn.LocalAddr().String() {
		t.Fatalf("got %+v; %s", players, r.errors)
	}
	if r := ctl(host, "players"); !regexp.MustCompile(`(?m)^\d+ +0 +Player 1 +127\.0\.0\.1:\d+ +playing `).MatchString(r.out) {
		t.Errorf("got %q, %q", r.out, r.errors)
	}
	if r := ctl(host, "status"); !strings.Contains(r.out, `"Ctl", Multiplayer.Episode.Mission1.Mission1, playable`) || !strings.Contains(r.out, "2 of 8, 2 in the game") || !strings.HasSuffix(r.out, "\nrecording  no\n") {
		t.Errorf("got %q, %q", r.out, r.errors)
	}

	heard := false
	b.Deliver = func(_ time.Time, m *arq.Message) {
		heard = heard || strings.Contains(string(m.Body), "five more minutes")
	}
	if r := ctl(host, "say", "five more", "minutes"); r.out != "said to 2 players: five more minutes\n" {
		t.Errorf("got %q, %q", r.out, r.errors)
	}
	if !b.until(func() bool { return heard }) {
		t.Error("a player has not heard it")
	}

	heard = false
	b.Deliver = func(_ time.Time, m *arq.Message) {
		heard = heard || bytes.Equal(m.Body, []byte{byte(msg.OpRestartGame)})
	}
	if r := ctl(host, "restart"); r.out != "the match began anew for 2 players\n" {
		t.Errorf("got %q, %q", r.out, r.errors)
	}
	if !b.until(func() bool { return heard }) {
		t.Error("a player was not told of the restart")
	}

	const kicked, banned = 4, 5
	if r := ctl(host, "kick", "player 1"); r.status != cli.ExitOK || r.out != fmt.Sprintf("\"Player 1\" (id %d) was removed\n", players[0].ID) {
		t.Errorf("got %q, %q", r.out, r.errors)
	}
	if !a.until(a.isGone) || a.Reason != kicked {
		t.Errorf("phase %d, reason %d; want reason %d", a.Phase, a.Reason, kicked)
	}
	if r := ctl(host, "kick", "Player 1"); r.status != cli.ExitFailed || !strings.Contains(r.errors, `no player is called "Player 1"`) {
		t.Errorf("status %d, %q, %q", r.status, r.out, r.errors)
	}
	if r := ctl(host, "ban", strconv.Itoa(int(players[1].ID))); r.status != cli.ExitOK || r.out != "127.0.0.1 is banned, 1 removed\n" {
		t.Errorf("got %q, %q", r.out, r.errors)
	}
	if !b.until(b.isGone) || b.Reason != banned {
		t.Errorf("phase %d, reason %d; want reason %d", b.Phase, b.Reason, banned)
	}
	if text, err := os.ReadFile(bans); err != nil || string(text) != "10.9.9.9\n127.0.0.1 # Player 2\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if c := join(t, host.at, 3); c.Reason != banned {
		t.Errorf("phase %d, reason %d; want reason %d", c.Phase, c.Reason, banned)
	}
	for _, args := range [][]string{{"kick"}, {"say"}, {"fire"}, {"kick", "a", "b"}} {
		if r := ctl(host, args...); r.status != cli.ExitUsage || r.out != "" {
			t.Errorf("%v: status %d, %q", args, r.status, r.errors)
		}
	}
	host.stop(t)
	if r := ctl(host, "status"); r.status != cli.ExitFailed || !strings.Contains(r.errors, "no host answers") {
		t.Errorf("status %d, %q", r.status, r.errors)
	}
}

// Metrics are in Prometheus' format, with labels that players cannot choose.
func TestRelayMetrics(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program cannot be interrupted from outside on Windows")
	}
	t.Parallel()
	host := startHost(t, "--metrics", "0", "--control", "none")
	if !host.says("/metrics") {
		t.Fatalf("it said %s", host)
	}
	at := regexp.MustCompile(`http://127\.0\.0\.1:\d+/metrics`).FindString(host.String())
	c := join(t, host.at, 1)
	scrape := func() (string, http.Header) {
		t.Helper()
		r, err := http.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%d, %v", r.StatusCode, err)
		}
		return string(b), r.Header
	}
	var text string
	if !c.until(func() bool {
		text, _ = scrape()
		return strings.Contains(text, "bcdissect_players{phase=\"playing\"} 1\n")
	}) {
		t.Fatalf("nobody plays: %s", text)
	}
	text, header := scrape()
	if got := header.Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("got %q", got)
	}
	kinds := map[string]string{}
	values := map[string]float64{}
	sample := regexp.MustCompile(`^(bcdissect_[a-z_]+)(\{[a-z]+="[^"\\]*"\})? (\S+)$`)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			if kinds[name] != "" || kind == "counter" != strings.HasSuffix(name, "_total") {
				t.Errorf("%s", line)
			}
			kinds[name] = kind
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || kinds[m[1]] == "" {
			t.Errorf("%q is no sample", line)
			continue
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if _, twice := values[m[1]+m[2]]; err != nil || twice {
			t.Errorf("%q: %v", line, err)
		}
		values[m[1]+m[2]] = v
	}
	for name, least := range map[string]float64{
		`bcdissect_player_limit`: 8, `bcdissect_datagrams_total{direction="in"}`: 5, `bcdissect_messages_total{class="answer"}`: 6,
		`bcdissect_round_trip_seconds{slot="0"}`: 1e-6, `bcdissect_memory_bytes`: 1 << 20, `bcdissect_events_total{kind="ready"}`: 1,
	} {
		if values[name] < least {
			t.Errorf("%s is %v, want at least %v", name, values[name], least)
		}
	}
	if v, ok := values[`bcdissect_drops_total{reason="stranger"}`]; !ok || v != 0 {
		t.Errorf("got %v drops of strangers, %v", v, ok)
	}
	if len(values) > 150 || values["bcdissect_memory_bytes"] > 64<<20 {
		t.Errorf("%d samples, %v bytes", len(values), values["bcdissect_memory_bytes"])
	}
	if promtool, err := exec.LookPath("promtool"); err == nil {
		check := exec.Command(promtool, "check", "metrics")
		check.Stdin = strings.NewReader(text)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("promtool: %v: %s", err, out)
		}
	}
	if r, err := http.Get(strings.TrimSuffix(at, "metrics")); err != nil || r.StatusCode != http.StatusNotFound {
		t.Errorf("got %v, %v", r, err)
	}
	host.stop(t)
}
