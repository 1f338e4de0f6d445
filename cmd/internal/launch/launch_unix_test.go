//go:build unix

package launch

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gone reports whether a process has ended, or is about to.
func gone(t *testing.T, pid string) bool {
	t.Helper()
	id, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if syscall.Kill(id, 0) != nil {
			return true
		}
		time.Sleep(looks)
	}
	return false
}

// saying waits until a server has written a word, and returns what follows it.
func saying(t *testing.T, s *Server, word string) string {
	t.Helper()
	for range 500 {
		for _, line := range s.Said() {
			if rest, ok := strings.CutPrefix(line, word); ok {
				return rest
			}
		}
		time.Sleep(looks)
	}
	t.Fatalf("said %q", s.Said())
	return ""
}

// However a command starts its processes, and whatever they do with signals, none is left.
func TestEnd(t *testing.T) {
	for name, command := range map[string]string{
		"one process":            "echo pid $$; exec sleep 1000",
		"a child":                "sleep 1000 & echo pid $!; wait",
		"the shell ends first":   "sleep 1000 & echo pid $!",
		"it ignores the request": `trap "" TERM; sleep 1000 & echo pid $!; wait; wait`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Start(command)
			if err != nil {
				t.Fatal(err)
			}
			s.soft = 200 * time.Millisecond
			pid := saying(t, s, "pid ")
			if how, ended := s.Ended(); ended {
				t.Errorf("it ended by itself: %s", how)
			}
			s.End()
			if !gone(t, pid) {
				t.Errorf("process %s goes on", pid)
			}
		})
	}
}

// What ends by itself says how, and its last lines are kept.
func TestEnded(t *testing.T) {
	s, err := Start(`for n in 1 2 3 4 5 6 7 8 9; do echo line $n; done; echo no map >&2; exit 3`)
	if err != nil {
		t.Fatal(err)
	}
	if !s.within(5 * time.Second) {
		t.Fatal("it goes on")
	}
	how, ended := s.Ended()
	saying(t, s, "no map")
	want := []string{"line 3", "line 4", "line 5", "line 6", "line 7", "line 8", "line 9", "no map"}
	if said := s.Said(); how != "exit status 3" || !ended || !slices.Equal(said, want) {
		t.Errorf("%q, %v, said %q", how, ended, said)
	}
	s.End()
}
