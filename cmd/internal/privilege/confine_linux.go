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

// Confine permanently gives up rights of all threads that a program does not
// need if it only decodes, forwards and writes. It drops capabilities and
// prevents new privileges. With Landlock (Linux 5.13) it also prevents the
// execution of programs, TCP connections except for DNS, reading outside the
// system's configuration, and writing outside the folders of the named files.
// It skips what the system does not support.
func Confine(files ...string) error {
	_ = time.Now().Local().String() // reads the file of the time zone
	if err := ll.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if os.Geteuid() != 0 { // root keeps the right to read its files
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

// dropCapabilities drops all capabilities, such as the one for raw sockets that
// setcap can give to a program.
func dropCapabilities() error {
	header, none := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &[2]unix.CapUserData{}
	if unix.Capget(header, &none[0]) == nil && *none == ([2]unix.CapUserData{}) {
		return nil // there are no capabilities
	}
	*none = [2]unix.CapUserData{}
	var stay runtime.Pinner // the stack, and the values on it, may move
	stay.Pin(header)
	stay.Pin(none)
	defer stay.Unpin()
	at := [2]uintptr{uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(none))} //nolint:gosec // a system call takes them
	if _, _, errno := psx.Syscall3(unix.SYS_CAPSET, at[0], at[1], 0); errno != 0 {
		return os.NewSyscallError("capset", errno)
	}
	return nil
}
