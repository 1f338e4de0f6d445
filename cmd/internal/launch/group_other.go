//go:build unix && !linux

package launch

import (
	"os"
	"os/exec"
	"syscall"
)

// A group is a process group, identified by the ID of its first process. A
// process that leaves it, as daemons do, is not found again: these systems have
// no counterpart of Linux's subreaper.
type group struct{ id int }

// Supervise does nothing: only Linux has a supervisor.
func Supervise() (status int, ok bool) { return 0, false }

// begin starts a command, whose shell leads a process group. Ctrl-C on the
// terminal does not interrupt it.
func begin(command string, output *os.File) (*exec.Cmd, group, error) {
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, group{}, err
	}
	return cmd, group{cmd.Process.Pid}, nil
}

// how describes how the shell ended.
func (group) how(shell *os.ProcessState) string { return shell.String() }

// runs reports whether the group still has a process.
func (g group) runs() bool { return syscall.Kill(-g.id, 0) == nil }

// If a signal cannot be sent, the group has already ended.
func (g group) ask() bool { return syscall.Kill(-g.id, syscall.SIGTERM) == nil }
func (g group) kill()     { _ = syscall.Kill(-g.id, syscall.SIGKILL) }
