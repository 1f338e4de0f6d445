package launch

import (
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A group is a job: the processes that the shell has started, and their child
// processes. They end when the last handle is closed, and thus also when this
// program is killed.
type group struct {
	job windows.Handle
	id  uint32 // ID of the console's process group
}

// shell returns a command that leads a process group. Ctrl-C on the console
// does not interrupt it.
func shell(command string) *exec.Cmd {
	cmd := exec.Command("cmd")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /D /S /C "` + command + `"`, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	return cmd
}

func groupOf(cmd *exec.Cmd) (g group, err error) {
	g.id = uint32(cmd.Process.Pid)
	if g.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return g, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE}}
	if _, err = windows.SetInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return g, err
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, g.id)
	if err != nil {
		return g, err
	}
	defer func() { _ = windows.CloseHandle(process) }() // cannot fail, since the handle is valid
	return g, windows.AssignProcessToJobObject(g.job, process)
}

// runs reports whether the job still has a process. The shell waits for the
// programs that it starts, but they can start others that run longer.
func (g group) runs() bool {
	var info struct {
		TotalUserTime, TotalKernelTime, ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime int64
		TotalPageFaultCount, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses     uint32
	}
	const accounting = 1 // JobObjectBasicAccountingInformation
	err := windows.QueryInformationJobObject(g.job, accounting, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.ActiveProcesses > 0
}

// If a call fails, the processes have already ended or have no console.
func (g group) ask()  { _ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, g.id) }
func (g group) kill() { _ = windows.TerminateJobObject(g.job, 1) }
