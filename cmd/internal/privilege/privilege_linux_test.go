package privilege

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// helper names the directory in which a test, run as another process, tries what it
// still can.
const helper = "BCDISSECT_TEST_CONFINED"

// A confined program writes its outputs and nothing else, reads no file of the user,
// starts no program and connects nowhere.
func TestConfine(t *testing.T) {
	if dir := os.Getenv(helper); dir != "" {
		confined(t, dir)
		return
	}
	if v, err := ll.LandlockGetABIVersion(); err != nil || v < 1 {
		t.Skipf("this system has no Landlock: %v", err)
	}
	dir := t.TempDir()
	for _, name := range []string{"out", "other"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "other", "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestConfine$", "-test.v")
	cmd.Env = append(os.Environ(), helper+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestConfine") {
		t.Errorf("%v: %s", err, out)
	}
}

func confined(t *testing.T, dir string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, other := filepath.Join(dir, "out"), filepath.Join(dir, "other")
	if err := Confine("", "-", filepath.Join(out, "report")); err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil || !strings.Contains(string(status), "NoNewPrivs:\t1") {
		t.Errorf("new privileges: %s, %v", status, err)
	}
	for name, allowed := range map[string]error{
		"write a report":     os.WriteFile(filepath.Join(out, "report"), []byte("x"), 0o600),
		"write the next":     os.WriteFile(filepath.Join(out, "next"), nil, 0o600),
		"rename it":          os.Rename(filepath.Join(out, "next"), filepath.Join(out, "report")),
		"remove it":          os.Remove(filepath.Join(out, "report")),
		"write to /dev/null": os.WriteFile(os.DevNull, []byte("x"), 0),
		"list /proc/self":    list("/proc/self"),
	} {
		if allowed != nil {
			t.Errorf("cannot %s: %v", name, allowed)
		}
	}
	_, read := os.ReadFile(filepath.Join(other, "secret"))
	for name, refused := range map[string]error{
		"read a secret":        read,
		"list a folder":        list(other),
		"write elsewhere":      os.WriteFile(filepath.Join(other, "x"), nil, 0o600),
		"change what is there": os.WriteFile(filepath.Join(other, "secret"), nil, 0o600),
		"remove elsewhere":     os.Remove(filepath.Join(other, "secret")),
		"start a program":      exec.Command("/bin/true").Run(),
	} {
		if !errors.Is(refused, fs.ErrPermission) {
			t.Errorf("can %s: %v", name, refused)
		}
	}
	if v, _ := ll.LandlockGetABIVersion(); v >= 4 {
		if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
			_ = c.Close()
			t.Error("can connect by TCP")
		}
	}
	if c, err := net.Dial("udp", "127.0.0.1:22101"); err != nil {
		t.Errorf("cannot send datagrams: %v", err)
	} else {
		_ = c.Close()
	}
}

func list(dir string) error {
	_, err := os.ReadDir(dir)
	return err
}

// Who the program becomes depends on who runs it and what is said.
func TestChoose(t *testing.T) {
	if os.Geteuid() != 0 {
		if _, err := Choose("no-such-user"); err == nil || !strings.Contains(err.Error(), "only root") {
			t.Errorf("a user becomes another: %v", err)
		}
		if u, err := Choose(""); err != nil || u.Name != "" {
			t.Errorf("a user becomes %+v, %v", u, err)
		}
		return
	}
	for _, tt := range []struct{ flag, sudo, want, fails string }{
		{"", "", Nobody, ""},
		{"", "0", "", ""},
		{"root", "", "", ""},
		{"0", "1", "", ""},
		{"no-such-user", "", "", "-Z no-such-user: no such user"},
		{"", "4294967294", "", "SUDO_UID 4294967294: no such user; name one with -Z"},
	} {
		t.Setenv("SUDO_UID", tt.sudo)
		u, err := Choose(tt.flag)
		switch {
		case tt.fails != "":
			if err == nil || err.Error() != tt.fails {
				t.Errorf("-Z %q, SUDO_UID %q: %v", tt.flag, tt.sudo, err)
			}
		case err != nil || u.Name != tt.want || u.Name != "" && (u.uid == 0 || u.gid == 0):
			t.Errorf("-Z %q, SUDO_UID %q: %+v, %v", tt.flag, tt.sudo, u, err)
		}
	}
}
