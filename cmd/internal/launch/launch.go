// Package launch starts a server by a command of the shell, and ends all processes that the
// command began.
package launch

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

const (
	softly = 3 * time.Second // see Server.soft
	surely = 2 * time.Second // the system may take so long to end processes that it kills
	looks  = 10 * time.Millisecond

	lastWords = 500 * time.Millisecond // what a server wrote before it ended has been read by then

	kept  = 8 << 10 // bytes of a server's output that are remembered
	lines = 8       // lines of it that are shown
)

// A Server is a running command with all processes that it began. Processes that leave its
// process group, as daemons do, are not among them.
type Server struct {
	cmd    *exec.Cmd
	group  group
	output *os.File
	ended  chan struct{} // closed when the shell has ended
	heard  chan struct{} // closed at the end of the output
	soft   time.Duration // the server may take so long to end when it is asked to

	mu   sync.Mutex
	said []byte // the last bytes of the output
}

// Start starts a command by the system's shell: sh, or cmd on Windows. It reads nothing, and its
// output is kept for [Server.Said].
func Start(command string) (*Server, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s := &Server{cmd: shell(command), output: r, ended: make(chan struct{}), heard: make(chan struct{}), soft: softly}
	s.cmd.Stdout, s.cmd.Stderr = w, w
	err = s.cmd.Start()
	_ = w.Close() // the command has its own
	if err == nil {
		if s.group, err = groupOf(s.cmd); err != nil {
			_ = s.cmd.Process.Kill() // err says what went wrong
		}
	}
	if err != nil {
		_ = r.Close() // nothing is in it
		return nil, err
	}
	go func() {
		defer cli.Guard()
		s.listen()
	}()
	go func() {
		defer cli.Guard()
		_ = s.cmd.Wait() // the state tells
		close(s.ended)
	}()
	return s, nil
}

// listen remembers the end of the output.
func (s *Server) listen() {
	defer close(s.heard)
	b := make([]byte, 4<<10)
	for {
		n, err := s.output.Read(b)
		s.mu.Lock()
		s.said = append(s.said, b[:n]...)
		if over := len(s.said) - kept; over > 0 {
			s.said = append(s.said[:0], s.said[over:]...)
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Said returns the last lines that the server wrote.
func (s *Server) Said() (list []string) {
	if _, ended := s.Ended(); ended {
		select {
		case <-s.heard:
		case <-time.After(lastWords):
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range bytes.Lines(s.said) {
		if text := strings.TrimSpace(string(line)); text != "" {
			list = append(list, text)
		}
	}
	return list[max(0, len(list)-lines):]
}

// Ended reports whether all of the server's processes have ended by themselves, and how the
// shell did, such as "exit status 1".
func (s *Server) Ended() (how string, ended bool) {
	select {
	case <-s.ended:
	default:
		return "", false
	}
	if s.group.runs() {
		return "", false
	}
	return s.cmd.ProcessState.String(), true
}

// End asks the server to end, and kills what is left after three seconds.
func (s *Server) End() {
	s.group.ask()
	if !s.within(s.soft) {
		s.Kill()
	}
	_ = s.output.Close() // a daemon may still hold the other end
}

// Kill ends all processes at once.
func (s *Server) Kill() {
	s.group.kill()
	s.within(surely)
}

// within waits until all processes have ended.
func (s *Server) within(most time.Duration) bool {
	for deadline := time.Now().Add(most); ; time.Sleep(looks) {
		if _, ended := s.Ended(); ended {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}
