package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/conform/suite"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report/verdicts"
)

// The program's own host passes the suite over UDP. Both tests mostly wait, and begin as early as they can.
func TestConformOverUDP(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	conformOverUDP(t, "stock", "--mode", "strict", "--mission", "Mission2")
}

func TestConformOverUDPPlayable(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	conformOverUDP(t, "playable")
}

func conformOverUDP(t *testing.T, profile string, args ...string) {
	t.Helper()
	const passed = 94 // tried cases that pass at least, not counting cases that find nothing
	checksums := filepath.Join(t.TempDir(), "checksums.txt")
	if err := os.WriteFile(checksums, []byte("F8A0A768 scripts/App.pyc\n"), 0o600); err != nil { // from a stock installation, as in docs/relay.md
		t.Fatal(err)
	}
	h := startHost(t, append(args, "--password", "Kobayashi", "--checksums", checksums)...)
	dir := t.TempDir()
	recording, page, junit := filepath.Join(dir, "run.pcapng"), filepath.Join(dir, "run.html"), filepath.Join(dir, "run.xml")
	var out, errs bytes.Buffer
	code := run([]string{
		"conform", h.at.String(), "--profile", profile, "--password", "Kobayashi", "--timeout", "5s", "-T", "json", "-w", recording, "--html", page, "--junit", junit,
	}, cli.Streams{Out: &out, Err: &errs})
	rep, err := verdicts.Read(&out)
	if err != nil {
		t.Fatalf("status %d, %v: %s", code, err, errs.String())
	}
	for _, c := range rep.Cases {
		if c.Verdict == "FAIL" {
			t.Errorf("%s: %s: %v", c.ID, c.Why, c.Came)
		}
	}
	if code != cli.ExitOK || rep.Counts["PASS"] < passed || rep.Stopped != "" {
		t.Errorf("status %d, %v, stopped %q: %s", code, rep.Counts, rep.Stopped, errs.String())
	}
	for _, name := range []string{page, junit} {
		if info, err := os.Stat(name); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The recording answers the same.
	out.Reset()
	code = run([]string{"conform", "--read", recording, "--profile", profile, "-T", "json"}, cli.Streams{Out: &out, Err: &errs})
	read, err := verdicts.Read(&out)
	if err != nil || code != cli.ExitOK {
		t.Fatalf("--read: status %d, %v: %s", code, err, errs.String())
	}
	verdict := map[string]string{}
	for _, c := range read.Cases {
		verdict[c.ID] = c.Verdict
	}
	for _, c := range rep.Cases {
		compared := strings.HasPrefix(c.ID, "R-") || c.ID == "O-1" || c.ID == "J-11"
		if v, ok := verdict[c.ID]; ok && c.Verdict == "PASS" && compared && v != "PASS" {
			t.Errorf("--read: %s is %s", c.ID, v)
		}
	}
	for _, id := range []string{"R-07", "R-19", "R-2C", "O-1", "J-11"} {
		if verdict[id] != "PASS" {
			t.Errorf("--read: %s is %q", id, verdict[id])
		}
	}
}

// The command that repeats a case has all flags that decide how the host is tried.
func TestConformAgain(t *testing.T) {
	usual := conforming{profile: cli.NewChoice("stock", suite.Profiles()...), clients: usualClients, timeout: usualTimeout, seed: usualSeed}
	if got, want := usual.again("localhost:22101"), "bcdissect conform localhost:22101"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c := conforming{
		profile: cli.NewChoice("openbc", suite.Profiles()...), clients: 4, timeout: 5 * time.Second, pass: "tranya", hashes: "my files.txt",
		master: "127.0.0.1:27900", remote: true, start: starting{command: "make; ./server"}, game: gaming{bots: 8, length: time.Hour, impair: []string{"loss=5%"}}, seed: 7,
	}
	want := `bcdissect conform h:1 --profile openbc --clients 4 --timeout 5s --password ... --checksums "my files.txt" --start "make; ./server" ` +
		`--bots 8 --for 1h0m0s --impair loss=5% --seed 7 --master 127.0.0.1:27900 --yes-remote`
	if got := c.again("h:1"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A host that is none gets a clear verdict within the timeout.
func TestConformBadHosts(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	serve := func(answer func(conn *net.UDPConn, from *net.UDPAddr)) string {
		conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		go func() {
			buf := make([]byte, 2048)
			for {
				_, from, err := conn.ReadFromUDP(buf)
				if err != nil {
					return
				}
				answer(conn, from)
			}
		}()
		return conn.LocalAddr().String()
	}
	other, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	for _, tt := range []struct{ name, host, want string }{
		{"unreachable", "127.0.0.1:1", "nothing listens at 127.0.0.1:1: "},
		{"silent", serve(func(*net.UDPConn, *net.UDPAddr) {}), "does not answer within 300ms"},
		{"another port", serve(func(_ *net.UDPConn, a *net.UDPAddr) {
			_, _ = other.WriteToUDP([]byte(`\hostname\x\final\\queryid\1.1`), a)
		}), "does not answer within 300ms"},
		{"slow", serve(func(c *net.UDPConn, a *net.UDPAddr) {
			time.AfterFunc(time.Second, func() { _, _ = c.WriteToUDP([]byte(`\hostname\x\final\\queryid\1.1`), a) })
		}), "answers after more than 300ms; give a longer --timeout"},
		{"garbage", serve(func(c *net.UDPConn, a *net.UDPAddr) { _, _ = c.WriteToUDP([]byte{9, 9, 9, 9}, a) }), "answers neither a query nor a connect"},
		{"flood", serve(func(c *net.UDPConn, a *net.UDPAddr) {
			for range 20000 {
				_, _ = c.WriteToUDP([]byte("flood"), a)
			}
		}), "no host of the game"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			code := run([]string{"conform", tt.host, "--timeout", "300ms"}, cli.Streams{Out: &out, Err: &errs})
			if code != cli.ExitFailed || !strings.Contains(errs.String(), tt.want) {
				t.Errorf("status %d: %s", code, errs.String())
			}
		})
	}
	t.Run("it closes", func(t *testing.T) {
		t.Parallel()
		h := startHost(t)
		go func() {
			h.says(" left ")
			_ = h.cmd.Process.Kill()
		}()
		var out, errs bytes.Buffer
		code := run([]string{"conform", h.at.String(), "--timeout", "500ms", "--profile", "playable", "-T", "json", "J", "R", "L"}, cli.Streams{Out: &out, Err: &errs})
		var rep verdicts.Report
		if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
			t.Fatal(err, errs.String())
		}
		if code != cli.ExitDiffers || rep.Counts["FAIL"] != 1 || !strings.Contains(rep.Stopped, "the host has not answered since ") {
			t.Errorf("status %d: %v, %s", code, rep.Counts, rep.Stopped)
		}
	})
}
