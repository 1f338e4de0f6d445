package privilege

import (
	"os"
	"path/filepath"
	"runtime"
	"time"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// Confine takes away from all threads, and for good, what a program that only decodes,
// forwards and writes does not need: capabilities, new privileges, and with Landlock
// (Linux 5.13) the execution of programs, connections by TCP except for DNS, reading
// outside of the system's configuration, and writing outside of the directories of the
// named files. It does as much of it as the system knows.
func Confine(files ...string) error {
	_ = time.Now().Local().String() // the time zone is a file
	if err := ll.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if os.Geteuid() != 0 { // root keeps its rights to read what it was told to
		if err := dropCapabilities(); err != nil {
			return err
		}
	}
	const (
		read   = ll.AccessFSReadFile | ll.AccessFSReadDir
		write  = ll.AccessFSWriteFile | ll.AccessFSTruncate
		create = ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSMakeSock | ll.AccessFSRemoveFile | ll.AccessFSRemoveDir
	)
	rules := []landlock.Rule{
		landlock.PathAccess(ll.AccessFSReadFile, "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/gai.conf").IgnoreIfMissing(),
		landlock.PathAccess(read, "/usr/share", "/proc", "/sys").IgnoreIfMissing(),
		landlock.PathAccess(ll.AccessFSReadFile|write|ll.AccessFSIoctlDev, "/dev/null", "/dev/zero", "/dev/full", "/dev/tty").IgnoreIfMissing(),
		landlock.PathAccess(read|write|ll.AccessFSIoctlDev, "/dev/pts").IgnoreIfMissing(),
		landlock.ConnectTCP(53),
	}
	for _, name := range files {
		if name == "" || name == "-" {
			continue
		}
		if real, err := filepath.EvalSymlinks(name); err == nil {
			name = real
		}
		rules = append(rules, landlock.PathAccess(read|write|create, filepath.Dir(name)).IgnoreIfMissing())
	}
	return landlock.V7.BestEffort().Restrict(rules...)
}

// dropCapabilities drops all capabilities, such as the one for raw sockets that setcap
// gives to a program.
func dropCapabilities() error {
	header, none := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &[2]unix.CapUserData{}
	if unix.Capget(header, &none[0]) == nil && *none == ([2]unix.CapUserData{}) {
		return nil // there are none
	}
	*none = [2]unix.CapUserData{}
	var stay runtime.Pinner // a stack may move
	stay.Pin(header)
	stay.Pin(none)
	defer stay.Unpin()
	at := [2]uintptr{uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(none))} //nolint:gosec // a system call takes them
	if _, _, errno := psx.Syscall3(unix.SYS_CAPSET, at[0], at[1], 0); errno != 0 {
		return os.NewSyscallError("capset", errno)
	}
	return nil
}
