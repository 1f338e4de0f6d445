// Package launch starts a server with a shell command, and ends all processes
// that the command has started.
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
	softly = 3 * time.Second  // the default of Server.soft
	surely = 10 * time.Second // time that a busy system may take to end killed processes
	looks  = 10 * time.Millisecond

	lastWords = 500 * time.Millisecond // time to read the last output of a server that has ended

	kept  = 8 << 10 // bytes of a server's output that are kept
	lines = 8       // lines of it that are shown
)

// A Server is a running command and all processes that it has started, even
// daemons. On systems other than Linux and Windows, processes that leave its
// process group are not included.
type Server struct {
	cmd    *exec.Cmd
	group  group
	output *os.File
	ended  chan struct{} // closed when the shell has ended, on Linux when all processes have
	how    string        // how the shell ended, once ended is closed
	closed chan struct{} // closed at the end of the output
	asked  bool          // the server could be asked to end
	soft   time.Duration // time that the server may take to end when it is asked to

	mu   sync.Mutex
	said []byte // last bytes of the output
}

// Start starts a command with the system's shell, which is sh, or cmd on
// Windows. The command has no input. Its last output is kept for [Server.Said].
func Start(command string) (*Server, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s := &Server{output: r, ended: make(chan struct{}), closed: make(chan struct{}), soft: softly}
	s.cmd, s.group, err = begin(command, w)
	_ = w.Close() // the command has its own handle
	if err != nil {
		_ = r.Close() // it has no data
		return nil, err
	}
	go func() {
		defer cli.Guard()
		s.listen()
	}()
	go func() {
		defer cli.Guard()
		_ = s.cmd.Wait() // the process state has the result
		s.how = s.group.how(s.cmd.ProcessState)
		close(s.ended)
	}()
	return s, nil
}

// listen keeps the last part of the output.
func (s *Server) listen() {
	defer close(s.closed)
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

// Said returns the last lines of the server's output.
func (s *Server) Said() (list []string) {
	if _, ended := s.Ended(); ended {
		select {
		case <-s.closed:
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

// Ended reports whether all processes of the server have ended. It also returns
// how the shell ended, such as "exit status 1".
func (s *Server) Ended() (how string, ended bool) {
	select {
	case <-s.ended:
	default:
		return "", false
	}
	if s.group.runs() {
		return "", false
	}
	return s.how, true
}

// End asks the server to end. After three seconds, or if no process can be
// asked, it kills the remaining processes. It returns false if some cannot be
// killed, such as those of another user.
func (s *Server) End() bool {
	s.asked = s.group.ask()
	ended := s.asked && s.within(s.soft) || s.Kill()
	_ = s.output.Close() // a process may still have the other end open
	return ended
}

// Kill kills all processes. It returns false if some cannot be killed.
func (s *Server) Kill() bool {
	s.group.kill()
	if s.within(surely) {
		return true
	}
	_ = s.cmd.Process.Kill() // it may have ended
	return false
}

// within waits until all processes have ended. It returns false after the time
// most.
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
