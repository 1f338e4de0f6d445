//go:build unix

package launch

import (
	"os/exec"
	"syscall"
)

// A group is a process group, identified by the ID of its first process.
type group struct{ id int }

// shell returns a command that leads a process group. Ctrl-C on the terminal
// does not interrupt it.
func shell(command string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func groupOf(cmd *exec.Cmd) (group, error) { return group{cmd.Process.Pid}, nil }

// runs reports whether the group still has a process.
func (g group) runs() bool { return syscall.Kill(-g.id, 0) == nil }

// If a signal cannot be sent, the group has already ended.
func (g group) ask()  { _ = syscall.Kill(-g.id, syscall.SIGTERM) }
func (g group) kill() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }
