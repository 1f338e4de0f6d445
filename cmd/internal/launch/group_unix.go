//go:build unix

package launch

import (
	"os/exec"
	"syscall"
)

// A group is a process group, known by the id of its first process.
type group struct{ id int }

// shell returns a command that leads a process group. Ctrl-C on the terminal doesn't reach it.
func shell(command string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func groupOf(cmd *exec.Cmd) (group, error) { return group{cmd.Process.Pid}, nil }

// runs reports whether a process of the group is left.
func (g group) runs() bool { return syscall.Kill(-g.id, 0) == nil }

// A failed signal says that the group has ended already.
func (g group) ask()  { _ = syscall.Kill(-g.id, syscall.SIGTERM) }
func (g group) kill() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }
