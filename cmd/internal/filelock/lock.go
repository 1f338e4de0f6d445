// Package filelock lets only one program at a time work in a folder.
package filelock

import (
	"os"
	"time"

	"github.com/bcdissect/bcdissect/dissect/capture/private"
)

// pause is the time between two attempts to lock a file.
const pause = 50 * time.Millisecond

// Lock locks a file and creates it if necessary. If another program has locked
// it, Lock calls waits once and then waits. Unlocking does not remove the file,
// since another program may be waiting for it.
func Lock(name string, waits func()) (unlock func(), err error) {
	f, err := private.Open(name, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	for n := 0; !tryLock(f); n++ {
		if n == 0 {
			waits()
		}
		time.Sleep(pause)
	}
	return func() { _ = f.Close() }, nil // nothing was written to it
}
