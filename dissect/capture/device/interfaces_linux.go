package device

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// anyName stands for all interfaces.
const anyName = "any"

// sysNet is the kernel's directory of interfaces.
const sysNet = "/sys/class/net"

func permitted() error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return refused(err)
	}
	return unix.Close(fd)
}

func candidates() ([]Interface, error) {
	all, err := netInterfaces()
	for i := range all {
		all[i].Description = describe(&all[i])
		if !all[i].Up {
			all[i].Problem = fmt.Sprintf("it is down: sudo ip link set %s up", all[i].Name)
		}
	}
	return append(all, Interface{Name: anyName, Description: "all interfaces at once", Up: true, Running: true}), err
}

// describe returns a description of an interface.
func describe(i *Interface) string {
	has := func(what string) bool {
		_, err := os.Stat(filepath.Join(sysNet, i.Name, what))
		return err == nil
	}
	switch {
	case i.Loopback:
		return "loopback"
	case has("wireless"), has("phy80211"):
		return "Wi-Fi"
	case has("bridge"):
		return "bridge"
	case has("tun_flags"):
		return "tunnel"
	case has("device"):
		return "network card"
	}
	return "virtual"
}

// refused returns the error for a packet socket that cannot be opened.
func refused(err error) error {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w: run as root, or allow it once: sudo setcap cap_net_raw+ep %s", ErrPermission, program())
	case errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.EPROTONOSUPPORT):
		return fmt.Errorf("%w: this kernel has no packet sockets", ErrUnavailable)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// program returns the path of this program, quoted for a shell.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return "bcdissect"
	}
	if strings.ContainsAny(path, " \t'\"\\$&;()<>|*?`!#~[]{}") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
