package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// On Linux a second process of this program runs the shell: the supervisor. It
// is a subreaper, which means that it becomes the parent of each descendant
// whose own parent ends. So even daemons stay among its descendants. The
// supervisor ends after the last of them.
//
// Its standard input tells it what to do: a byte to ask its descendants to stop,
// and the end of the input to kill them. So they also end if this program is
// killed.

// supervising is the argument that makes this program a supervisor. It looks
// like no command, since users don't need it. The shell command comes next.
const supervising = "(supervises)"

// report is the file descriptor on which a supervisor writes how the shell ended.
const report = 3

// A group is the descendants of a supervisor.
type group struct {
	orders io.WriteCloser
	report *os.File
}

// begin starts a command. Ctrl-C on the terminal does not interrupt it.
func begin(command string, output *os.File) (cmd *exec.Cmd, g group, err error) {
	cmd = exec.Command("/proc/self/exe") // the file may have been replaced
	cmd.Args = []string{"bcdissect", supervising, command}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if g.orders, err = cmd.StdinPipe(); err != nil {
		return nil, g, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, g, err
	}
	cmd.ExtraFiles, g.report = []*os.File{w}, r
	err = cmd.Start()
	_ = w.Close() // the supervisor has its own descriptor
	if err != nil {
		_ = r.Close() // it has no data
	}
	return cmd, g, err
}

// how describes how the shell ended. The supervisor has ended.
func (g group) how(supervisor *os.ProcessState) string {
	text, err := io.ReadAll(g.report)
	_ = g.report.Close() // it was only read
	if err != nil || len(text) == 0 {
		return supervisor.String() // a signal from elsewhere killed the supervisor
	}
	return string(text)
}

// runs reports whether processes outlive the supervisor, which none does.
func (g group) runs() bool { return false }

// ask asks all processes to end. If that is impossible, the supervisor has
// already ended.
func (g group) ask() bool {
	_, err := g.orders.Write([]byte{'\n'})
	return err == nil
}

// If the orders are closed, the supervisor has already ended.
func (g group) kill() { _ = g.orders.Close() }

// Supervise supervises a command if this process was started for that, and
// returns its exit status. Otherwise it does nothing, and ok is false. Programs
// that call [Start] call it first.
func Supervise() (status int, ok bool) {
	if len(os.Args) != 3 || os.Args[1] != supervising {
		return 0, false
	}
	if err := supervise(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return cli.ExitFailed, true
	}
	return cli.ExitOK, true
}

// supervise runs a shell command until all its processes have ended.
func supervise(command string) error {
	unix.CloseOnExec(report)
	// A signal for this process is not for the server. If it were ignored, the
	// server would ignore it too.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	shell, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", command}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{null.Fd(), os.Stdout.Fd(), os.Stderr.Fd()}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return err
	}
	_ = null.Close() // the shell has its own descriptor
	go func() {
		defer cli.Guard()
		obey(os.Stdin)
	}()
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, 0, nil); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ECHILD): // there are no more
			return nil
		case err != nil:
			return err
		case pid == shell:
			// If no program reads it, this program has ended.
			_, _ = syscall.Write(report, []byte(described(status)))
		}
	}
}

// described describes how a process ended, as [os.ProcessState] does.
func described(status syscall.WaitStatus) string {
	if !status.Signaled() {
		return fmt.Sprintf("exit status %d", status.ExitStatus())
	}
	text := "signal: " + status.Signal().String()
	if status.CoreDump() {
		text += " (core dumped)"
	}
	return text
}

// obey carries out the orders for a supervisor, until it ends.
func obey(orders io.Reader) {
	one := make([]byte, 1)
	for {
		_, err := orders.Read(one)
		for _, p := range descendants(os.Getpid()) {
			if err != nil {
				_ = syscall.Kill(p, syscall.SIGKILL) // it may have ended
			} else {
				_ = syscall.Kill(p, syscall.SIGTERM)
			}
		}
		if err != nil {
			time.Sleep(looks) // until none has a child that was not there before
		}
	}
}

// descendants returns the descendants of a process, parents first.
func descendants(of int) (all []int) {
	children := map[int][]int{}
	names, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, name := range names {
		text, err := os.ReadFile(name)
		_, rest, ok := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" ")) // the name of its program may contain anything
		if err != nil || !ok {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		var state byte
		var parent int
		if _, err := fmt.Sscanf(string(rest), "%c %d", &state, &parent); err == nil && state != 'Z' {
			children[parent] = append(children[parent], pid)
		}
	}
	for list := children[of]; len(list) > 0; list = list[1:] {
		all = append(all, list[0])
		list = append(list, children[list[0]]...)
	}
	return all
}
