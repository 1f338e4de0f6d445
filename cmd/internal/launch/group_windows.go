package launch

import (
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A group is a job: the processes that the shell began, and those that they began. They end
// with the last handle, so also when this program is killed.
type group struct {
	job windows.Handle
	id  uint32 // of the console's process group
}

// shell returns a command that leads a process group. Ctrl-C on the console doesn't reach it.
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
	defer func() { _ = windows.CloseHandle(process) }() // it was valid
	return g, windows.AssignProcessToJobObject(g.job, process)
}

// runs reports whether a process of the job is left. The shell waits for the programs that it
// starts; of those that outlive it, the job decides.
func (g group) runs() bool {
	var info struct {
		TotalUserTime, TotalKernelTime, ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime int64
		TotalPageFaultCount, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses     uint32
	}
	const accounting = 1 // JobObjectBasicAccountingInformation
	err := windows.QueryInformationJobObject(g.job, accounting, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.ActiveProcesses > 0
}

// A failed call says that the processes have ended already, or have no console.
func (g group) ask()  { _ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, g.id) }
func (g group) kill() { _ = windows.TerminateJobObject(g.job, 1) }
