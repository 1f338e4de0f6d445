// Package filelock lets one program at a time work in a folder.
package filelock

import (
	"os"
	"time"
)

// pause is how long a program waits before it tries again to lock a file.
const pause = 50 * time.Millisecond

// Lock locks a file, which it creates if necessary. If another program has locked it,
// Lock calls waits once and then waits. The file stays when it's unlocked, because a
// program that waits has it open.
func Lock(name string, waits func()) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for n := 0; !tryLock(f); n++ {
		if n == 0 {
			waits()
		}
		time.Sleep(pause)
	}
	return func() { _ = f.Close() }, nil // nothing was written
}
