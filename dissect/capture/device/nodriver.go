//go:build !linux && !windows && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !(libpcap && cgo)

package device

const defaultBuffer = 0

type noDriver struct{ driver }

func newDriver(*Interface) driver { return noDriver{} }

func (noDriver) open(*Options) error { return unavailable() }

func (noDriver) close() error { return nil }
