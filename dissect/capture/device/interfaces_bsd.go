//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package device

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

func permitted() error {
	fd, err := openBPF()
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func candidates() ([]Interface, error) {
	all, err := netInterfaces()
	for i := range all {
		if all[i].Loopback {
			all[i].Description = "loopback"
		}
		if !all[i].Up {
			all[i].Problem = down(all[i].Name)
		}
	}
	return all, err
}

// openBPF opens a free capture device. On systems with /dev/bpf, that opens any
// free one.
func openBPF() (int, error) {
	const most = 256
	busy := false
	for n := -1; n < most; n++ {
		name := "/dev/bpf"
		if n >= 0 {
			name = fmt.Sprintf("/dev/bpf%d", n)
		}
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return fd, nil
		case errors.Is(err, os.ErrPermission):
			return -1, forbidden()
		case errors.Is(err, unix.EBUSY):
			busy = true
		case n >= 0 && errors.Is(err, os.ErrNotExist):
			if busy {
				return -1, fmt.Errorf("%w: other programs use all of /dev/bpf*; end one of them", ErrUnavailable)
			}
			return -1, fmt.Errorf("%w: this system has no /dev/bpf", ErrUnavailable)
		case n >= 0:
			return -1, fmt.Errorf("%w: %s: %w", ErrUnavailable, name, err)
		}
	}
	return -1, fmt.Errorf("%w: other programs use all of /dev/bpf*; end one of them", ErrUnavailable)
}

// forbidden returns the error for lack of permission, with its remedy.
func forbidden() error {
	if runtime.GOOS == "darwin" {
		return fmt.Errorf("%w: use sudo, or install ChmodBPF, which comes with Wireshark, and join the group access_bpf", ErrPermission)
	}
	return fmt.Errorf("%w: run as root, or let your group read /dev/bpf*", ErrPermission)
}

// down returns the remedy for an interface that is down.
func down(name string) string {
	return fmt.Sprintf("it is down: sudo ifconfig %s up", name)
}

// gone returns an error if an interface is missing or down.
func gone(name string) error {
	all, err := net.Interfaces()
	if err != nil {
		return nil //nolint:nilerr // assume that it is there
	}
	for _, i := range all {
		if i.Name != name {
			continue
		}
		if i.Flags&net.FlagUp == 0 {
			return fmt.Errorf("%s: %w", name, ErrDown)
		}
		return nil
	}
	return fmt.Errorf("%s: %w and is no longer there", name, ErrDown)
}
