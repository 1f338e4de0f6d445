//go:build !linux && !windows && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !(libpcap && cgo)

package device

func openDriver(*Options) (string, driver, error) { return "", nil, unavailable() }
