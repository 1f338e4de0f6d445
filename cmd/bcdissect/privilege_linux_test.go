package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	users "os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bcdissect/bcdissect/fixtures"
)

// TestPrivileges runs the commands that use the network as root of a new
// namespace. Once they serve, no thread is root or can become root, and
// recordings belong to the user that they changed to.
func TestPrivileges(t *testing.T) {
	fixtures.System(t)
	if os.Getuid() != 0 {
		t.Skip("only root can make a namespace with more than one user")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("ip is missing; it is in the package iproute2")
	}
	if _, err := users.Lookup("nobody"); err != nil {
		t.Skip("this system has no user nobody")
	}
	nobody, err := users.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	relay := []string{"relay", "--listen", "0.0.0.0:22101"}
	for _, tt := range []struct {
		name, sudo, uid string
		args            []string
		said            string // when it serves
	}{
		{"relay", "", nobody.Uid, relay, "hosting"},
		{"relay for who ran sudo", "1", "1", relay, "hosting"},
		{"relay by name", "", "2", append([]string{"-Z", "bin"}, relay...), "hosting"},
		{"relay as root", "", "0", append([]string{"-Z", "root"}, relay...), "hosting"},
		{"proxy", "", nobody.Uid, []string{"proxy", "127.0.0.1:5000"}, "127.0.0.1"},
		{"live", "", nobody.Uid, []string{"live", "-i", "lo"}, "capturing on lo"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(publicDir(t), "x.pcapng")
			cmd, said := inNamespace(t, tt.sudo, tt.said, append(tt.args, "-w", file)...)
			checkThreads(t, cmd.Process.Pid, tt.uid)
			if info, err := os.Stat(file); err != nil || strconv.Itoa(int(info.Sys().(*syscall.Stat_t).Uid)) != tt.uid || info.Mode().Perm() != 0o600 {
				t.Errorf("the recording: %v, %v", info, err)
			}
			if given := strings.Contains(said.String(), "gave up root, running as "); given != (tt.uid != "0") {
				t.Errorf("it said %s", said)
			}
		})
	}
	t.Run("no right to write", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "x.pcapng")
		_, said := inNamespace(t, "", "with -Z", append(relay, "-w", file)...)
		if want := "permission denied; root was given up for the user nobody: choose a directory that this user can write to, or another user with -Z"; !strings.Contains(said.String(), want) {
			t.Errorf("it said %s, want %s", said, want)
		}
	})
}

// TestPrivilegesOnTerminal runs the commands that show live traffic on the whole
// terminal. They give up the same rights as without it.
func TestPrivilegesOnTerminal(t *testing.T) {
	fixtures.System(t)
	t.Parallel()
	nobody, err := users.Lookup("nobody")
	if err != nil {
		t.Skip("this system has no user nobody")
	}
	cable(t)
	exe := program(t)
	for args, shown := range map[string]string{ // on the thread of the test, which has the cable
		"live -i v0 --dashboard":                                "Players 0",
		"live -i v0 --browse":                                   "no traffic of the game so far",
		"proxy 127.0.0.1:5000 --listen 127.0.0.1:0 --dashboard": "Players 0",
	} {
		x := newTerminal(t, 100, 30)
		before := x.settings()
		x.keys(fmt.Sprintf("clear; SUDO_UID= '%s' %s; echo status=$?", exe, args), "Enter")
		x.await(shown)
		checkThreads(t, x.running(), nobody.Uid)
		x.keys("q")
		x.await("gave up root, running as nobody", "status=0")
		x.restored(before)
	}
}

// running returns the process that the shell of a terminal waits for.
func (x *terminal) running() (pid int) {
	x.t.Helper()
	shell := strings.TrimSpace(x.tmux("display-message", "-p", "#{pane_pid}"))
	out, err := exec.Command("pgrep", "-P", shell).Output()
	if err == nil {
		pid, err = strconv.Atoi(strings.TrimSpace(string(out)))
	}
	if err != nil {
		x.t.Fatalf("pgrep: %v %s", err, out)
	}
	return pid
}

// TestOwnFolders has a running host read its list of bans again. The second time the
// list is at the same place, but in another folder: the rights of the user allow
// that, and Landlock does not.
func TestOwnFolders(t *testing.T) {
	fixtures.System(t)
	if !hasLandlock() {
		t.Skip("this system has no Landlock")
	}
	folder := filepath.Join(t.TempDir(), "lists")
	list := filepath.Join(folder, "bans")
	write := func() {
		t.Helper()
		if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(list, []byte("192.0.2.1\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write()
	cmd := exec.Command("bcdissect", "relay", "--listen", "127.0.0.1:0", "--control", "none", "-Z", strconv.Itoa(os.Getuid()), "--bans", list)
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(errs)
	expect := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("it said %q, want %q", lines.Text(), want)
		}
	}
	expect("hosting")
	threads(t, cmd.Process.Pid) // it is confined
	again := func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	again()
	expect("1 ban read from " + list)
	if err := os.Rename(folder, folder+".old"); err != nil {
		t.Fatal(err)
	}
	write()
	again()
	expect("the bans stay as they were: " + list + ": permission denied")
}

func hasLandlock() bool {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno == 0 && v >= 1
}

// publicDir makes a directory that every user can write.
func publicDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for at := dir; len(at) > len(os.TempDir()); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// inNamespace starts the program as root of a namespace of users and of networks, and
// waits for what it says.
func inNamespace(t *testing.T, sudo, until string, args ...string) (*exec.Cmd, *spoken) {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", `ip link set lo up && exec bcdissect "$@"`, "sh"}, args...)...)
	same := []syscall.SysProcIDMap{{Size: 1 << 16}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET, UidMappings: same, GidMappings: same, GidMappingsEnableSetgroups: true,
		Pdeathsig: syscall.SIGKILL,
	}
	cmd.Env = append(os.Environ(), "SUDO_UID="+sudo)
	said := &spoken{until: until, said: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Skipf("no namespace can be made here: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	select {
	case <-said.said:
	case <-time.After(patience):
		t.Fatalf("it said only %s", said)
	}
	return cmd, said
}

// checkThreads checks that no thread of a program has more rights than a user needs.
func checkThreads(t *testing.T, pid int, uid string) {
	t.Helper()
	want := fmt.Sprintf("Uid: %[1]s %[1]s %[1]s %[1]s, NoNewPrivs: 1", uid)
	if uid != "0" {
		want += ", CapPrm: 0000000000000000, CapEff: 0000000000000000"
	}
	for _, s := range threads(t, pid) {
		if !strings.HasPrefix(s, want) {
			t.Errorf("a thread has %s, want %s", s, want)
		}
	}
}

// threads waits until a program has given up its rights, and returns the rights of each
// of its threads.
func threads(t *testing.T, pid int) (all []string) {
	t.Helper()
	for try := 0; ; try++ {
		all = nil
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil || len(files) == 0 {
			t.Fatal("it has ended: ", err)
		}
		ready := true
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				continue // the thread has ended
			}
			fields := map[string]string{}
			for line := range strings.Lines(string(b)) {
				key, value, _ := strings.Cut(line, ":")
				fields[key] = strings.Join(strings.Fields(value), " ")
			}
			ready = ready && fields["NoNewPrivs"] == "1"
			all = append(all, fmt.Sprintf("Uid: %s, NoNewPrivs: %s, CapPrm: %s, CapEff: %s", fields["Uid"], fields["NoNewPrivs"], fields["CapPrm"], fields["CapEff"]))
		}
		if ready || try == 3000 {
			return all
		}
		time.Sleep(20 * time.Millisecond)
	}
}
