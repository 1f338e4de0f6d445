package launch

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if status, ok := Supervise(); ok {
		os.Exit(status)
	}
	if name, ok := strings.CutPrefix(os.Args[len(os.Args)-1], "serve="); ok {
		serve(name)
	}
	os.Exit(m.Run())
}

// serve is a server that keeps a file open for as long as it runs. If asked to stop, it writes that.
// Its name is the file's, followed by how it deviates from that.
func serve(name string) {
	name, how, _ := strings.Cut(name, ",")
	if how == "daemon" { // its own child does the work
		cmd := exec.Command(os.Args[0], "serve="+name)
		cmd.SysProcAttr = detached
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, requests...)
	unlock, err := lock(name)
	if err != nil {
		panic(err)
	}
	defer unlock()
	fmt.Println("serves")
	if err := os.WriteFile(name+".serves", nil, 0o600); err != nil {
		panic(err)
	}
	for range asked {
		if how != "stubborn" {
			_ = os.WriteFile(name+".asked", nil, 0o600)
			unlock()
			os.Exit(0)
		}
	}
}

// exists waits until a file exists.
func exists(name string) bool {
	for range 6000 {
		if _, err := os.Stat(name); err == nil {
			return true
		}
		time.Sleep(looks)
	}
	return false
}

// However a command starts its processes, and whatever they do when asked to stop, none is left. All are
// asked before they are killed.
func TestEnd(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, command, how string
		killed             bool
	}{
		{"one process", "exec %s", "", false},
		{"a child of the shell", "%s; echo", "", false},
		{"the shell ends first", "%s &", "", false},
		{"it ignores the request", "exec %s", ",stubborn", true},
		{"it leaves the group", "exec %s", ",daemon", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			command := tt.command
			killed := tt.killed
			if runtime.GOOS == "windows" {
				command = map[string]string{"exec %s": "%s", "%s; echo": "%s & echo.", "%s &": `start "" /b %s`}[command]
				killed = killed || tt.how == ",daemon" // Ctrl-Break is for a console
			}
			if tt.how == ",daemon" && !daemons {
				t.Skip("this system cannot find daemons")
			}
			name := filepath.Join(t.TempDir(), "serves")
			s, err := Start(fmt.Sprintf(command, fmt.Sprintf(`"%s" "serve=%s"`, self, name+tt.how)))
			if err != nil {
				t.Fatal(err)
			}
			s.soft = time.Minute
			if killed {
				s.soft = 200 * time.Millisecond
			}
			if !exists(name + ".serves") {
				t.Fatalf("it does not serve: %q", s.Said())
			}
			if how, ended := s.Ended(); ended {
				t.Errorf("it ended by itself: %s", how)
			}
			if unlock, err := lock(name); err == nil {
				unlock()
				t.Error("nothing holds the lock")
			}
			if !s.End() {
				t.Error("it cannot be ended")
			}
			if unlock, err := lock(name); err != nil {
				t.Errorf("a process goes on: %v", err)
			} else {
				unlock()
			}
			if !s.asked && runtime.GOOS == "windows" {
				t.Log("there is no console, so that nobody can be asked")
				killed = true
			}
			if _, err := os.Stat(name + ".asked"); (err == nil) == killed {
				t.Errorf("asked: %v", err)
			}
		})
	}
}

// What ends by itself says how, and its last lines are kept.
func TestEnded(t *testing.T) {
	t.Parallel()
	command := `for n in 1 2 3 4 5 6 7 8 9; do echo line $n; done; echo no map >&2; exit 3`
	if runtime.GOOS == "windows" {
		command = `(for %n in (1 2 3 4 5 6 7 8 9) do @echo line %n) & echo no map>&2& exit 3`
	}
	s, err := Start(command)
	if err != nil {
		t.Fatal(err)
	}
	if !s.within(time.Minute) {
		t.Fatal("it goes on")
	}
	how, ended := s.Ended()
	want := []string{"line 3", "line 4", "line 5", "line 6", "line 7", "line 8", "line 9", "no map"}
	if said := s.Said(); how != "exit status 3" || !ended || !slices.Equal(said, want) {
		t.Errorf("%q, %v, said %q", how, ended, said)
	}
	s.End()
}
