//go:build !linux

package privilege

// Confine does nothing, since the system has no Landlock.
func Confine(...string) error { return nil }
