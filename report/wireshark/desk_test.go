package wireshark

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// engineFile is the name of the engine's file in the folder of the plugin.
const engineFile = "bcdissect-engine.so"

// shared is the folder of the program and the engine, which are built once for all
// tests.
var shared string

// built builds them. engine is the error of the compiler, of which C may be missing.
var built = sync.OnceValues(func() (engine, err error) {
	if shared, err = os.MkdirTemp("", "bcdissect-built-*"); err != nil {
		return nil, err
	}
	if err := os.Chmod(shared, 0o755); err != nil { //nolint:gosec // another user loads the engine
		return nil, err
	}
	build := func(args ...string) error {
		cmd := exec.Command("go", append([]string{"build"}, args...)...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := build("-o", filepath.Join(shared, "bcdissect"), "../../cmd/bcdissect"); err != nil {
		return nil, err
	}
	return build("-buildmode=c-shared", "-ldflags=-s -w", "-o", filepath.Join(shared, engineFile), "../../cmd/engine"), nil
})

// TestMain removes what was built.
func TestMain(m *testing.M) {
	status := m.Run()
	if shared != "" {
		_ = os.RemoveAll(shared)
	}
	os.Exit(status)
}

// A desk is a place to run bcdissect and tshark.
type desk struct {
	dir     string
	program string // bcdissect
	plugin  string
}

// nobody is the id of the user that replaces root to run tshark. As root, tshark
// silently ignores Lua files.
const nobody = "65534"

// newEngineDesk returns a desk whose plugin finds the engine in its folder.
func newEngineDesk(tb testing.TB) *desk {
	tb.Helper()
	d := newDesk(tb)
	engine, _ := built()
	switch _, missing := exec.LookPath("gcc"); {
	case engine == nil:
	case missing != nil:
		tb.Skip("the engine needs a C compiler, and gcc is not installed")
	default:
		tb.Fatal(engine)
	}
	if err := os.Symlink(filepath.Join(shared, engineFile), filepath.Join(d.dir, engineFile)); err != nil {
		tb.Fatal(err)
	}
	return d
}

// newDesk returns a desk whose plugin has no engine.
func newDesk(tb testing.TB) *desk {
	tb.Helper()
	fixtures.System(tb)
	if _, err := exec.LookPath("tshark"); err != nil {
		tb.Skip("tshark is not installed")
	}
	dir, err := os.MkdirTemp("", "bcdissect-wireshark-*") //nolint:usetesting // another user can enter it
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // another user writes here
		tb.Fatal(err)
	}
	if _, err := built(); err != nil {
		tb.Fatal(err)
	}
	d := &desk{dir: dir, program: filepath.Join(shared, "bcdissect"), plugin: filepath.Join(dir, "bc.lua")}
	var lua bytes.Buffer
	if err := Plugin(&lua, "test", ""); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(d.plugin, lua.Bytes(), 0o644); err != nil {
		tb.Fatal(err)
	}
	return d
}

// command returns a command of tshark for an ordinary user, with the plugin or
// without.
func (d *desk) command(plugin bool, args ...string) *exec.Cmd {
	if plugin {
		args = append([]string{"-X", "lua_script:" + d.plugin}, args...)
	}
	name := "tshark"
	if os.Getuid() == 0 {
		args = append([]string{"--reuid=" + nobody, "--regid=" + nobody, "--clear-groups", name}, args...)
		name = "setpriv"
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "HOME="+d.dir, "XDG_CONFIG_HOME="+d.dir, "TZ=UTC")
	return cmd
}

// passed returns an error if tshark failed. A capture that is cut short is not
// a failure.
func passed(err error, said string) error {
	if err != nil && !strings.Contains(said, "cut short") || strings.Contains(said, "Lua") {
		return errors.Join(err, errors.New(said))
	}
	return nil
}

// tshark runs tshark.
func (d *desk) tshark(tb testing.TB, plugin bool, args ...string) string {
	tb.Helper()
	var said bytes.Buffer
	cmd := d.command(plugin, args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err := passed(err, said.String()); err != nil {
		tb.Fatalf("%v: %v", cmd.Args, err)
	}
	return string(out)
}

// run runs bcdissect.
func (d *desk) run(tb testing.TB, args ...string) []byte {
	tb.Helper()
	var said bytes.Buffer
	cmd := exec.Command(d.program, args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !strings.Contains(said.String(), "cut short") {
		tb.Fatalf("%v: %v %v: %s", cmd.Args, err, exit, said.String())
	}
	return out
}

// annotated returns the name of the annotated copy of captures.
func (d *desk) annotated(tb testing.TB, args ...string) string {
	tb.Helper()
	file, err := os.CreateTemp(d.dir, "*.pcapng")
	if err != nil {
		tb.Fatal(err)
	}
	_ = file.Close()
	d.run(tb, append(append([]string{"read"}, args...), "-w", file.Name(), "--annotate", "--force", "--no-progress")...)
	if err := os.Chmod(file.Name(), 0o644); err != nil { //nolint:gosec // another user reads it
		tb.Fatal(err)
	}
	return file.Name()
}
