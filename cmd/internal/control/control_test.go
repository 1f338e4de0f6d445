package control

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serving returns the path of a socket that answers with the request's argument.
func serving(t *testing.T) string {
	t.Helper()
	path := filepath.Join(shortDir(t), "new", "1.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	go l.Serve(func(r Request) Answer { return Answer{Text: r.Command + " " + r.Argument} })
	t.Cleanup(func() {
		l.Close()
		if _, err := os.Lstat(path); err == nil {
			t.Error("the socket is still there")
		}
	})
	return path
}

// shortDir returns a folder with a path short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bc") //nolint:usetesting // paths of t.TempDir are too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestAsk(t *testing.T) {
	path := serving(t)
	for range 2 * clients {
		if a, err := Ask(path, Request{"kick", "Ann"}); err != nil || a.Text != "kick Ann" {
			t.Fatalf("got %+v and %v", a, err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v and %v, want %v", name, info.Mode(), err, want)
		}
	}
}

// The answer to a malformed request is an error. A request that is too long
// ends the connection. In both cases others are still answered.
func TestServeBounds(t *testing.T) {
	path := serving(t)
	for _, tt := range []struct{ sent, want string }{
		{"kick\n", "a request is a line of JSON"},
		{"\n", "a request is a line of JSON"},
		{strings.Repeat("x", 2*maxRequest) + "\n", "a request has at most 4096 bytes"},
	} {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := c.Write([]byte(tt.sent)); err != nil {
			t.Fatal(err)
		}
		if got, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(got, tt.want) {
			t.Errorf("%.20q: got %q and %v, want %q", tt.sent, got, err, tt.want)
		}
		_ = c.Close()
	}
	if a, err := Ask(path, Request{"status", ""}); err != nil || a.Text != "status " {
		t.Errorf("got %+v and %v", a, err)
	}
}

// A socket that a host has not removed is replaced. A socket in use and an
// ordinary file are not.
func TestListenAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("sockets are not left behind as elsewhere")
	}
	path := serving(t)
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("got %v", err)
	}
	if a, err := Ask(path, Request{"status", ""}); err != nil || a.Text != "status " {
		t.Errorf("got %+v and %v", a, err)
	}

	dir := shortDir(t)
	left := filepath.Join(dir, "left.sock")
	old, err := net.Listen("unix", left)
	if err != nil {
		t.Fatal(err)
	}
	old.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = old.Close()
	l, err := Listen(left)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()

	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(file); err == nil {
		t.Error("a file was replaced")
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "precious" {
		t.Errorf("got %q and %v", b, err)
	}
	if _, err := Listen(filepath.Join(dir, strings.Repeat("x", longPath))); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("got %v", err)
	}
}

func TestPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("sockets are elsewhere")
	}
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/1000")
	if got, err := Path(22101); err != nil || got != "/run/user/1000/bcdissect/22101.sock" {
		t.Errorf("got %q and %v", got, err)
	}
}

// Clients that connect and send nothing do not prevent requests of others.
func TestSilentClients(t *testing.T) {
	path := serving(t)
	for range 200 {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if a, err := Ask(path, Request{"status", ""}); err != nil || a.Text != "status " { // it waits for two clients at most
		t.Errorf("got %+v and %v", a, err)
	}
}

// A system without Unix sockets is told from a socket in use, also where a file is.
func TestNoSockets(t *testing.T) {
	path := filepath.Join(shortDir(t), "1.sock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := listen(path, func(string) (net.Listener, error) {
		return nil, &net.OpError{Op: "listen", Net: "unix", Err: os.NewSyscallError("socket", syscall.EAFNOSUPPORT)}
	})
	if err == nil || !strings.HasPrefix(err.Error(), "this system has no Unix sockets") {
		t.Errorf("got %v", err)
	}
}
