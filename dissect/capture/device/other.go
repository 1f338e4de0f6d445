//go:build !linux && !windows && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package device

import (
	"fmt"
	"runtime"
)

func interfaces() ([]Interface, error) {
	all, err := netInterfaces()
	if err != nil {
		return nil, err
	}
	return all, unavailable()
}

func candidates() ([]Interface, error) { return netInterfaces() }

func unavailable() error {
	return fmt.Errorf("%w on %s: capture with tcpdump or dumpcap and pipe it into \"bcdissect read -\"", ErrUnavailable, runtime.GOOS)
}
