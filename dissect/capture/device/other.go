//go:build !linux && !windows && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package device

import (
	"fmt"
	"runtime"
)

func candidates() ([]Interface, error) { return netInterfaces() }

func permitted() error { return unavailable() }

func unavailable() error {
	return fmt.Errorf("%w on %s: capture with tcpdump or dumpcap and pipe it into \"bcdissect read -\"", ErrUnavailable, runtime.GOOS)
}
