package launch

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

const daemons = true

// detached gives a process no console, and thus no Ctrl-Break.
var detached = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}

var requests = []os.Signal{os.Interrupt}

// lock opens a file that no other process can open meanwhile.
func lock(name string) (unlock func(), err error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(path, windows.GENERIC_WRITE, 0, nil, windows.OPEN_ALWAYS, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, err
	}
	return func() { _ = windows.CloseHandle(h) }, nil
}
