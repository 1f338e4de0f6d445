// Command windows runs tests as Windows programs under wine on Linux. "make
// windows" runs it. Its arguments are the arguments of "go test". An argument
// -- begins the arguments of another "go test". The following flags come first.
// With -home it double-clicks the program on a desktop, and records and opens
// matches on its page, with -drops it drops files on the program and closes its window. With -engine it tests the engine for Wireshark as a DLL,
// and with -installer it tests the installer.
//
// Wine 8, the newest version in Debian 12, lacks three functions that Go 1.26
// uses. A small DLL in a temporary wine prefix adds the first. For the other
// two, the tests are built with two changed files of the standard library,
// which treat wine's error as "not supported". On a busy machine wine now and
// then fails to start a program. A third changed file tries that again once.
//
// The file left-out.txt lists the tests that cannot pass under wine, with
// reasons.
package main

import (
	"cmp"
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
	"sync"
	"syscall"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/fixtures/screen"
)

// wineEnv is the environment variable with the path of the wine loader. It is
// set for the programs that "go test" starts through this program.
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
	defer func() { err = errors.Join(err, removeAll(dir)) }()
	prefix := filepath.Join(dir, "prefix")
	env := append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0", "WINEPREFIX="+prefix, "WINEDEBUG=-all",
		"USER=player",    // the user's name in Windows
		"LC_ALL=C.UTF-8", // the encoding of file names and arguments here
		"WINEDLLOVERRIDES=mscoree,mshtml,winemenubuilder.exe=") // otherwise wine offers to download .NET and a browser, and changes the user's menus
	overlay, err := overlay(dir)
	if err != nil {
		return err
	}
	var tags []string
	if slices.ContainsFunc(args, func(arg string) bool { return arg == "-home" || arg == "-drops" || arg == "-installer" }) {
		tags = []string{"-tags", "web"} // includes the page
		end, err := newScreen(&env, dir)
		if err != nil {
			return err
		}
		defer end()
	}
	if err := quiet(env, wine, "wineboot", "--init"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, quiet(env, wine, "wineboot", "--kill")) }()
	if err := ownFolders(prefix); err != nil {
		return err
	}
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
	if err := try(env, wine, overlay, program, tags...); err != nil {
		return err
	}
	trials := map[string]func() error{
		"-home":      func() error { return tryHome(env, program) },
		"-drops":     func() error { return tryDrops(env, program) },
		"-engine":    func() error { return tryEngine(env, wine, dir) },
		"-installer": func() error { return tryInstaller(env, wine, dir, program) },
	}
	first := slices.IndexFunc(args, func(arg string) bool { return trials[arg] == nil })
	if first < 0 {
		first = len(args)
	}
	defer prepare(env, overlay, parts(args[first:]))()
	for _, trial := range args[:first] {
		if err := trials[trial](); err != nil {
			return err
		}
	}
	if first == len(args) {
		return nil
	}
	return tests(append(env, wineEnv+"="+wine), overlay, parts(args[first:]))
}

// prepare compiles the tests while the trials before them wait for windows, and yields
// the processors to them. The end of compiling is awaited before the temporary folder is removed.
func prepare(env []string, overlay string, parts [][]string) (wait func()) {
	var all sync.WaitGroup
	all.Go(func() {
		defer cli.Guard()
		for _, part := range parts {
			cmd := exec.Command("nice", append([]string{"-n", "19", "go", "test", "-count=1", "-vet=off", "-overlay", overlay, "-exec", "true"}, part...)...)
			cmd.Env = env
			_ = cmd.Run() // the tests report what cannot be compiled
		}
	})
	return all.Wait
}

// parts returns the arguments of each "go test". They are separated by --.
func parts(args []string) (all [][]string) {
	for len(args) > 0 {
		end := slices.Index(args, "--")
		if end < 0 {
			end = len(args)
		}
		all = append(all, args[:end])
		args = args[min(end+1, len(args)):]
	}
	return all
}

// removeAll removes the folder of wine. It tries again, since wine's services
// may still write files while they end.
func removeAll(dir string) (err error) {
	for range 100 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// tests runs "go test" for each part of the arguments.
func tests(env []string, overlay string, parts [][]string) (err error) {
	r := newResults(os.Stdout)
	for _, part := range parts {
		err = errors.Join(err, test(env, overlay, part, r))
	}
	r.summary()
	return err
}

// try builds the program for Windows and checks that it runs.
func try(env []string, wine, overlay, program string, tags ...string) error {
	args := append([]string{"build", "-overlay", overlay, "-ldflags=-w", "-o", program}, tags...)
	if err := quiet(env, "go", append(args, "./cmd/bcdissect")...); err != nil {
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

// ownFolders replaces links in the prefix by folders. Wine links Documents and
// Desktop to the folders of the user who runs the tests.
func ownFolders(prefix string) error {
	links, err := filepath.Glob(filepath.Join(prefix, "drive_c", "users", "*", "*"))
	for _, name := range links {
		if info, e := os.Lstat(name); e != nil || info.Mode()&os.ModeSymlink == 0 {
			err = errors.Join(err, e)
			continue
		}
		err = errors.Join(err, os.Remove(name), os.Mkdir(name, 0o700))
	}
	return err
}

// newScreen starts a screen for all Windows programs. With the first program,
// wine connects to the screen, and later programs cannot change it.
func newScreen(env *[]string, dir string) (end func(), err error) {
	if missing := missing("Xvfb"); missing != "" {
		return func() {}, nil // onDesktop reports it
	}
	folder := filepath.Join(dir, "screen")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	s, err := screen.New(folder, 1024, 768)
	if err != nil {
		return nil, err
	}
	*env = append(*env, "DISPLAY="+s.Display, "BCDISSECT_SCREEN="+folder)
	return s.Close, nil
}

// missing returns the first of the programs that is not installed.
func missing(programs ...string) string {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return program
		}
	}
	return ""
}

// tryHome runs the test that opens the program by a double click.
func tryHome(env []string, program string) error {
	return onDesktop(append(env[:len(env):len(env)], "BCDISSECT_EXE="+program), "TestWindowsHome", "home opens, records and shows a match")
}

// tryDrops runs the tests that drop files on the program, and that close its window.
func tryDrops(env []string, program string) error {
	return onDesktop(append(env[:len(env):len(env)], "BCDISSECT_EXE="+program), "TestWindows(Drops|Closed)", "the program opens what is dropped on it, and its window may be closed")
}

// onDesktop runs a test that double-clicks in wine's Explorer and opens pages in
// Chromium.
func onDesktop(env []string, test, what string) error {
	if missing := missing("Xvfb", "xdotool", cmp.Or(os.Getenv("CHROMIUM"), "chromium")); missing != "" {
		log.Printf("not tried: %s: %s is not installed", what, missing)
		return nil
	}
	began := time.Now()
	native := append(env[:len(env):len(env)], "GOOS=", "GOARCH=")
	if err := quiet(native, "go", "test", "-C", "report/page/browsertest", "-count=1", "-run", "^"+test+"$", "."); err != nil {
		return err
	}
	log.Printf("%s after %.0f s", what, time.Since(began).Seconds())
	return nil
}

// keepRunning starts a Windows program that waits until stop is called. Without
// it, wine's services would end after one test and start again with the next.
// They would inherit the output of that test, and "go test" would wait for
// them.
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
		_ = in.Close() // ends the program
		_ = cmd.Wait() // the exit status is that of the last command in it
	}, nil
}

// quiet runs a program and shows its output only if it fails.
func quiet(env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = env
	cmd.WaitDelay = time.Second // wine's desktop may start with the program, and goes on with its output
	if out, err := cmd.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
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
	// "make vet" vets the same files for Windows.
	cmd := exec.Command("go", append([]string{"test", "-json", "-vet=off", "-timeout", "60m", "-overlay", overlay, "-exec", self}, args...)...)
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
		_, _ = io.Copy(io.Discard, out) // lets the program end
	}
	if err := errors.Join(cmd.Wait(), readErr); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}

// runTest replaces this program by wine with the tests of one package, except
// the skipped ones. "go test" calls it in the folder of the package.
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

// An edit is a replacement of text in a file of the standard library.
type edit struct{ file, old, replacement string }

// create is the line of the standard library that starts a program. It fails with
// ERROR_INTERNAL_ERROR (1359) if wine's process ends with status 0 before the program
// begins. No fault of the program has this effect.
const create = "\t\terr = CreateProcess(argv0p, argvp, sys.ProcessAttributes, sys.ThreadAttributes, willInheritHandles, flags, &envBlock[0], dirp, &si.StartupInfo, pi)\n"

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
	{"syscall/exec_windows.go", create, create + "\t\tif err == Errno(1359) {\n" + create + "\t\t}\n"},
}

// overlay writes the edited files to a folder, and returns the name of the file
// for "go test -overlay".
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

// apply returns the edited text of the file.
func (e edit) apply(text string) (string, error) {
	if n := strings.Count(text, e.old); n != 1 {
		return "", fmt.Errorf("%s: has this text %d times, not once; adapt the edit to this version of Go: %q", e.file, n, e.old)
	}
	return strings.Replace(text, e.old, e.replacement, 1), nil
}
