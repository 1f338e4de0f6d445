package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures"
)

// A terminal is a real one, which tmux draws.
type terminal struct {
	t      *testing.T
	socket string
}

// newTerminal starts a shell on a terminal of that size.
func newTerminal(t *testing.T, width, height int) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is missing")
	}
	// The name of a socket has a maximum length, which a test's folder can
	// exceed.
	dir, err := os.MkdirTemp("", "bcd") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t, filepath.Join(dir, "s")}
	t.Cleanup(func() {
		_ = x.command("kill-server").Run() // it may have ended
		_ = os.RemoveAll(dir)
	})
	x.tmux("-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "env", "PS1=ready> ", "LC_ALL=C.UTF-8", "sh")
	x.await("ready>")
	return x
}

func (x *terminal) command(args ...string) *exec.Cmd {
	c := exec.Command("tmux", append([]string{"-u", "-S", x.socket}, args...)...)
	c.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=", "TMUX=")
	return c
}

func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	out, err := x.command(args...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (x *terminal) keys(keys ...string) {
	x.t.Helper()
	x.tmux(append([]string{"send-keys"}, keys...)...)
}

func (x *terminal) screen() string {
	x.t.Helper()
	return x.tmux("capture-pane", "-p")
}

// await waits until all the texts are on the screen.
func (x *terminal) await(texts ...string) string {
	x.t.Helper()
	return x.until(strings.Join(texts, ", "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

func (x *terminal) until(what string, f func(string) bool) string {
	x.t.Helper()
	var screen string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(30 * time.Millisecond) {
		if screen = x.screen(); f(screen) {
			return screen
		}
	}
	x.t.Fatalf("no %s on the screen:\n%s", what, screen)
	return ""
}

// restored waits for the shell, and checks that the terminal was restored.
func (x *terminal) restored(before string) {
	x.t.Helper()
	x.await("status=")
	state := x.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_cursor_flag}")
	if state != "0 1 0 0\n" {
		x.t.Errorf("alternate screen, cursor, mouse, keypad: %s", state)
	}
	x.keys("clear; stty -g", "Enter")
	x.until("settings of the terminal as they were\n"+before, func(s string) bool { return s == before })
}

func (x *terminal) settings() string {
	x.t.Helper()
	x.keys("clear; stty -g", "Enter")
	return x.until("settings of the terminal", func(s string) bool {
		return strings.Contains(s, ":") && strings.Count(s, "ready>") == 1
	})
}

// program returns the path of the program, which is built once for all tests.
func program(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// builtIn is the folder of the program that build has made. TestMain removes it.
var builtIn string

// build builds the program. Every user may run it: some tests give up rights.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "bcdissect")
	if err != nil {
		return "", err
	}
	builtIn = dir
	path := filepath.Join(dir, "bcdissect")
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, os.Chmod(dir, 0o755) //nolint:gosec // see above
})

func TestDashboardOnTerminal(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is missing")
	}
	exe := program(t)
	capture := filepath.Join(fixtures.Dir(), "captures", "battle_mix.pcap.gz")
	watch := func(speed string) string {
		return fmt.Sprintf("clear; '%s' read --dashboard --speed %s '%s'; echo status=$?", exe, speed, capture)
	}

	t.Run("80x24", func(t *testing.T) {
		t.Parallel()
		x := newTerminal(t, 80, 24)
		before := x.settings()
		x.keys(watch("20"), "Enter")
		x.await("bcdissect  battle_mix.pcap.gz", "speed 20", "Players 4", "Bot3", "StateUpdate", "Events and chat", "? help")

		x.keys("Space")
		one := x.await("PAUSED")
		time.Sleep(300 * time.Millisecond) // it would have moved by 6 seconds
		if two := x.screen(); one != two {
			t.Errorf("the pause is none:\n%s\n%s", one, two)
		}
		x.keys("Space")
		x.await("speed 20")

		x.keys("?")
		x.await("any key goes back", "this help")
		x.keys("x")
		x.await("Events and chat", "▾slot")
		x.keys("s")
		x.await("▾Players 4")

		x.keys("/")
		x.await("filter:")
		x.keys("-l", "nonsense ==")
		x.keys("Enter")
		x.await("filter: nonsense ==", "expected a value")
		x.keys("C-u")
		x.keys("-l", "name == StateUpdate")
		x.keys("Enter")
		x.await("filter name == StateUpdate")

		x.await("end of capture") // it stays
		x.tmux("resize-window", "-x", "130", "-y", "40")
		x.await("silence")
		x.tmux("resize-window", "-x", "20", "-y", "5")
		x.until("small view", func(s string) bool { return strings.Count(s, "\n") <= 6 && strings.Contains(s, "Players") })
		x.tmux("resize-window", "-x", "80", "-y", "24")
		x.await("Events and chat")
		x.keys("q")
		x.restored(before)
	})

	t.Run("200x50", func(t *testing.T) {
		t.Parallel()
		x := newTerminal(t, 200, 50)
		before := x.settings()
		x.keys(watch("100"), "Enter")
		x.await("end of capture", "13,272 packets", "33,914 messages", "address", "127.0.0.13:39240", "Bot1 leaves", "Bot1 cloaks")
		x.keys("C-c")
		x.restored(before)
	})

	t.Run("seek", func(t *testing.T) {
		t.Parallel()
		x := newTerminal(t, 100, 30)
		before := x.settings()
		x.keys(watch("1"), "Enter")
		x.await("speed 1", "Players 4")
		x.keys("t")
		x.await("go to time:")
		x.keys("-l", "1:03")
		x.keys("Enter")
		x.await(" 00:01:0", "speed 1", "Bot3 leaves")
		x.keys("<")
		x.until("a minute back", func(s string) bool { return strings.Contains(s, " 00:00:0") && !strings.Contains(s, "Bot3 leaves") })
		x.keys("-l", "t9:00")
		x.keys("Enter")
		x.await("end of capture", "13,272 packets", "33,914 messages")
		x.keys("Left")
		x.await("speed 1", " 00:01:1", "Bot3 leaves")
		x.keys("/")
		x.keys("-l", "opcodee == 1")
		x.keys("Enter")
		x.await("there is no field, message or key opcodee; did you mean opcode?")
		x.keys("Escape")
		x.until("no question", func(s string) bool { return strings.Contains(s, "? help") }) // else it is Alt-Q
		x.keys("q")
		x.restored(before)
	})

	// However it ends.
	for _, signal := range []string{"TERM", "INT", "HUP"} {
		t.Run(signal, func(t *testing.T) {
			t.Parallel()
			x := newTerminal(t, 80, 24)
			before := x.settings()
			x.keys(watch("1"), "Enter")
			x.await("speed 1", "Players 4")
			pid := strings.TrimSpace(x.tmux("display-message", "-p", "#{pane_pid}"))
			if out, err := exec.Command("pkill", "-"+signal, "-P", pid).CombinedOutput(); err != nil {
				t.Fatalf("pkill: %v %s", err, out)
			}
			x.restored(before)
		})
	}

	t.Run("stdin", func(t *testing.T) {
		t.Parallel()
		x := newTerminal(t, 80, 24)
		before := x.settings()
		x.keys(fmt.Sprintf("clear; '%s' read --dashboard - <'%s'; echo status=$?", exe, capture), "Enter")
		x.await("end of capture", "13,272 packets")
		x.keys("Left")
		x.await("only a recording that is read with --speed")
		x.keys("q")
		x.restored(before)
		x.keys(fmt.Sprintf("clear; '%s' read --dashboard --speed 1 - <'%s'; echo status=$?", exe, capture), "Enter")
		x.await("speed 1", "Players 4")
		x.keys("Left")
		x.await("cannot be read again")
		x.keys("q")
		x.restored(before)
	})

	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		x := newTerminal(t, 80, 24)
		before := x.settings()
		x.keys(fmt.Sprintf("clear; '%s' read --dashboard none.pcap; echo status=$?", exe), "Enter")
		x.await("bcdissect: none.pcap: ", "status=1")
		x.restored(before)
	})
}

func TestDashboardNeedsTerminal(t *testing.T) {
	capture := filepath.Join(fixtures.Dir(), "captures", "join_flow.pcap")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--dashboard"}, "--dashboard: standard output is not a terminal"},
		{[]string{"--speed", "2"}, "--speed: no effect with -T table; it is for --dashboard"},
		{[]string{"--dashboard", "--speed", "-1"}, "--speed -1: give a positive number"},
		{[]string{"--dashboard", "--speed", "NaN"}, "give a positive number"},
		{[]string{"--dashboard", "-T", "json"}, "--format: no effect on the dashboard; it is for -T table"},
	} {
		var out, errs bytes.Buffer
		code := run(append([]string{"read", capture}, test.args...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != cli.ExitUsage || !strings.Contains(errs.String(), test.want) || out.Len() > 0 {
			t.Errorf("%q: status %d, %q, %q", test.args, code, errs.String(), out.String())
		}
	}
}
