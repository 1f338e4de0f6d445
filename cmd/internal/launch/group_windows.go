package launch

import (
	"os"
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

// Supervise does nothing: only Linux has a supervisor.
func Supervise() (status int, ok bool) { return 0, false }

// begin starts a command. Ctrl-C on the console does not interrupt it. The
// command is suspended until it is in the job, so that it starts no process
// outside.
func begin(command string, output *os.File) (cmd *exec.Cmd, g group, err error) {
	cmd = exec.Command("cmd")
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CmdLine: `cmd /D /S /C "` + command + `"`, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED,
	}
	if err := cmd.Start(); err != nil {
		return nil, g, err
	}
	g.id = uint32(cmd.Process.Pid)
	if err = g.enclose(); err == nil {
		err = resume(g.id)
	}
	if err != nil {
		_ = cmd.Process.Kill() // err is returned
		_ = cmd.Wait()         // it was killed
	}
	return cmd, g, err
}

// enclose puts the shell into a new job.
func (g *group) enclose() (err error) {
	if g.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE}}
	if _, err = windows.SetInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return err
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, g.id)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(process) }() // cannot fail, since the handle is valid
	return windows.AssignProcessToJobObject(g.job, process)
}

// resume resumes a process that was created suspended, and thus has one thread.
func resume(process uint32) error {
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(all) }() // cannot fail, since the handle is valid
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(all, &entry); err == nil; err = windows.Thread32Next(all, &entry) {
		if entry.OwnerProcessID != process {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		defer func() { _ = windows.CloseHandle(thread) }() // cannot fail, since the handle is valid
		_, err = windows.ResumeThread(thread)
		return err
	}
	return err
}

// how describes how the shell ended.
func (group) how(shell *os.ProcessState) string { return shell.String() }

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

// ask asks the processes to end. It reports false without a console, such as in
// a service.
func (g group) ask() bool {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, g.id) == nil
}

// If the job cannot be terminated, its processes have already ended.
func (g group) kill() { _ = windows.TerminateJobObject(g.job, 1) }
