package wireshark

import (
	"os"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// watchPipe calls stop when nobody reads a pipe any more, which would otherwise
// be noticed with the next packet only. Not all systems tell.
func watchPipe(pipe *os.File, stop func()) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	go func() {
		defer cli.Guard()
		waited := false
		err := conn.Read(func(uintptr) bool { // nothing can be read but that the reader is gone
			first := !waited
			waited = true
			return !first
		})
		if err == nil {
			stop()
		}
	}()
}
