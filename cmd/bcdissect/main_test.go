package main

import (
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bcdissect/bcdissect/fixtures"
)

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){"bcdissect": main, "panics": panics, "fragile": fragile, "weighs": weighs})
}

type tests struct{ *testing.M }

// Run runs the tests. Programs started by them must receive SIGHUP even under
// nohup: they inherit ignored signals, but not caught ones. Hosts make their
// control sockets in a folder with a short path. Commands that run in the process of the
// tests don't limit its memory: below such a limit, garbage would be collected all the time.
// GOGC of make test is not for the programs. Root stays root, who owns the temporary
// folders; TestPrivileges is about giving it up.
func (t tests) Run() int {
	debug.SetMemoryLimit(math.MaxInt64 - 1)
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	dir, err := os.MkdirTemp("", "bc")
	if err == nil {
		err = errors.Join(os.Setenv("XDG_RUNTIME_DIR", dir), os.Setenv("SUDO_UID", "0"), os.Unsetenv("GOGC"))
	}
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	defer func() { _ = os.RemoveAll(builtIn) }()
	return t.M.Run()
}

// freePort returns a loopback address with a closed port. The system gives that port
// to no socket that asks for any, so that it stays free.
func freePort(t *testing.T) netip.AddrPort {
	t.Helper()
	for range 1000 {
		at := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 23000 + rand.IntN(9000)} // systems begin above
		if c, err := net.ListenUDP("udp4", at); err == nil {
			_ = c.Close()
			return at.AddrPort()
		}
	}
	t.Fatal("no port is free")
	return netip.AddrPort{}
}

// TestScripts runs the program as users do. $CAPTURES and $LOGS are the folders of the
// captures and logs among the fixtures. $NO_FILE and $NO_FOLDER are the system's
// errors for a file that is not there, and for one whose folder is not.
func TestScripts(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, noFile := os.Open(missing)
	_, noFolder := os.Create(filepath.Join(missing, "x"))
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("CAPTURES", filepath.Join(fixtures.Dir(), "captures"))
			e.Setenv("VECTORS", filepath.Join(fixtures.Dir(), "..", "docs", "vectors"))
			e.Setenv("LOGS", filepath.Join(fixtures.Dir(), "logs"))
			e.Setenv("NO_FILE", errors.Unwrap(noFile).Error())
			e.Setenv("NO_FOLDER", errors.Unwrap(noFolder).Error())
			e.Setenv("XDG_RUNTIME_DIR", os.Getenv("XDG_RUNTIME_DIR"))
			e.Setenv("APPDATA", filepath.Join(e.WorkDir, "appdata")) // a Windows variable
			e.Setenv("LOCALAPPDATA", os.Getenv("XDG_RUNTIME_DIR"))
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Setenv("SUDO_UID", "0")
			for _, name := range []string{"NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "TERM", "LC_ALL", "LC_CTYPE", "LANG"} {
				e.Setenv(name, "")
			}
			return nil
		},
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"status": wantStatus},
		UpdateScripts: os.Getenv("UPDATE_GOLDEN") != "",
	})
}

// wantStatus is the command "status N COMMAND ...", which fails unless the
// command ends with that exit status.
func wantStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND ...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
