// Command windows runs tests as Windows programs under wine, on Linux. "make
// windows" calls it. Its arguments are those of "go test", and -- begins the
// arguments of a further "go test". With -engine before them, it first tries the
// engine for Wireshark as a DLL, and with -installer after that the installer. With
// -home as the first of all, it double-clicks the program on a desktop, and records and
// opens matches on its page.
//
// Wine 8, the newest in Debian 12, lacks three functions that Go 1.26 uses. A small
// DLL in a temporary wine prefix adds the first. For the other two, the tests are
// built with two changed files of the standard library: they take the error of
// wine for "not supported".
//
// The file left-out.txt lists the tests that cannot pass under wine, with reasons.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// wineEnv holds the wine loader for the programs that "go test" starts by the
// program itself.
const wineEnv = "BCDISSECT_WINE"

func main() {
	log.SetFlags(0)
	log.SetPrefix("windows: ")
	if wine := os.Getenv(wineEnv); wine != "" {
		log.Fatal(runTest(wine, os.Args[1:]))
	}
	wine, err := exec.LookPath("wine")
	if err != nil {
		log.Print("no tests: wine (Debian's package is wine) is not installed")
		return
	}
	// Ctrl-C ends "go test", and then the temporary folder is removed.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	if err := run(wine, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// run runs tests in a temporary wine prefix.
func run(wine string, args []string) (err error) {
	began := time.Now()
	dir, err := os.MkdirTemp("", "bcdissect-wine-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	prefix := filepath.Join(dir, "prefix")
	env := append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0", "WINEPREFIX="+prefix, "WINEDEBUG=-all",
		"WINEDLLOVERRIDES=mscoree,mshtml=") // or wine offers to download .NET and a browser
	overlay, err := overlay(dir)
	if err != nil {
		return err
	}
	if err := quiet(env, wine, "wineboot", "--init"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, quiet(env, wine, "wineboot", "--kill")) }()
	dll := filepath.Join(prefix, "drive_c", "windows", "system32", "bcryptprimitives.dll")
	if err := os.WriteFile(dll, forwarder("bcryptprimitives.dll", "ProcessPrng", "advapi32.SystemFunction036"), 0o644); err != nil {
		return err
	}
	stop, err := keepRunning(env, wine)
	if err != nil {
		return err
	}
	defer stop()
	log.Printf("wine is ready after %.0f s", time.Since(began).Seconds())
	program := filepath.Join(dir, "bcdissect.exe")
	if err := try(env, wine, overlay, program); err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "-home" {
		args = args[1:]
		if err := tryHome(prefix, env, overlay, filepath.Join(dir, "home.exe")); err != nil {
			return err
		}
	}
	if len(args) > 0 && args[0] == "-engine" {
		args = args[1:]
		if err := tryEngine(env, wine, dir); err != nil {
			return err
		}
	}
	if len(args) > 0 && args[0] == "-installer" {
		args = args[1:]
		if err := tryInstaller(env, wine, dir, program); err != nil {
			return err
		}
	}
	env = append(env, wineEnv+"="+wine)
	r := newResults(os.Stdout)
	for len(args) > 0 {
		end := slices.Index(args, "--")
		if end < 0 {
			end = len(args)
		}
		err = errors.Join(err, test(env, overlay, args[:end], r))
		args = args[min(end+1, len(args)):]
	}
	r.summary()
	return err
}

// try builds the program for Windows and shows that it runs.
func try(env []string, wine, overlay, program string) error {
	if err := quiet(env, "go", "build", "-overlay", overlay, "-ldflags=-w", "-o", program, "./cmd/bcdissect"); err != nil {
		return err
	}
	cmd := exec.Command(wine, program, "version")
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("bcdissect.exe version: %w", err)
	}
	return nil
}

// tryHome builds the program with its page for Windows, and runs the test that opens it
// as players do.
func tryHome(prefix string, env []string, overlay, program string) error {
	for _, tool := range []string{"Xvfb", "xdotool", "chromium"} {
		if _, err := exec.LookPath(tool); err != nil {
			log.Printf("home is not tried: %s is not installed", tool)
			return nil //nolint:nilerr // a check that lacks its tool is skipped
		}
	}
	if err := quiet(env, "go", "build", "-tags", "web", "-overlay", overlay, "-ldflags=-w", "-o", program, "./cmd/bcdissect"); err != nil {
		return err
	}
	began := time.Now()
	native := append(os.Environ(), "WINEPREFIX="+prefix, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=", "BCDISSECT_EXE="+program)
	if err := quiet(native, "go", "test", "-C", "report/page/browsertest", "-count=1", "-run", "^TestWindowsHome$", "."); err != nil {
		return err
	}
	log.Printf("home opens, records and shows a match after %.0f s", time.Since(began).Seconds())
	return nil
}

// keepRunning starts a Windows program that waits until stop is called. Without
// it, the services of wine would end after one test and start with the next one.
// They would inherit the output of that test, and "go test" would wait for them.
func keepRunning(env []string, wine string) (stop func(), err error) {
	cmd := exec.Command(wine, "cmd")
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = in.Close() // ends it
		_ = cmd.Wait() // its status is that of its last command
	}, nil
}

// quiet runs a program and shows its output only if it fails.
func quiet(env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// test builds tests for Windows, runs them and shows the results.
func test(env []string, overlay string, args []string, r *results) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command("go", append([]string{"test", "-json", "-timeout", "60m", "-overlay", overlay, "-exec", self}, args...)...)
	cmd.Env = env
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := r.read(out)
	if readErr != nil {
		_, _ = io.Copy(io.Discard, out) // lets it end
	}
	if err := errors.Join(cmd.Wait(), readErr); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}

// runTest replaces this program by wine with the tests of one package, without
// those that are left out. "go test" calls it in the folder of the package.
func runTest(wine string, args []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	args = append([]string{wine}, args...)
	if names := leftOutOf(filepath.ToSlash(dir)); len(names) > 0 {
		args = append(args, "-test.skip="+pattern(names))
	}
	return syscall.Exec(wine, args, os.Environ())
}

// An edit replaces a text in a file of the standard library.
type edit struct{ file, old, replacement string }

var edits = []edit{
	{
		"net/fd_windows.go",
		"windows.SIO_UDP_NETRESET, (*byte)(unsafe.Pointer(&flag)), size, nil, 0, &ret, nil, 0)\n\t\tif err != nil {",
		"windows.SIO_UDP_NETRESET, (*byte)(unsafe.Pointer(&flag)), size, nil, 0, &ret, nil, 0)\n\t\tif err != nil && err != syscall.Errno(10045) { // WSAEOPNOTSUPP",
	},
	{
		"internal/syscall/windows/at_windows.go",
		"\tcase STATUS_INVALID_INFO_CLASS, //",
		"\tcase NTStatus(0xC0000002), // STATUS_NOT_IMPLEMENTED\n\t\tSTATUS_INVALID_INFO_CLASS, //",
	},
}

// overlay writes the edited files to a folder, and returns the name of the file
// that "go test -overlay" takes.
func overlay(dir string) (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, e := range edits {
		original := filepath.Join(strings.TrimSpace(string(root)), "src", filepath.FromSlash(e.file))
		b, err := os.ReadFile(original)
		if err != nil {
			return "", err
		}
		text, err := e.apply(string(b))
		if err != nil {
			return "", err
		}
		edited := filepath.Join(dir, filepath.Base(original))
		if err := os.WriteFile(edited, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[original] = edited
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o644)
}

// apply returns the changed text of the file.
func (e edit) apply(text string) (string, error) {
	if n := strings.Count(text, e.old); n != 1 {
		return "", fmt.Errorf("%s: has this text %d times, not once; adapt the edit to this version of Go: %q", e.file, n, e.old)
	}
	return strings.Replace(text, e.old, e.replacement, 1), nil
}
