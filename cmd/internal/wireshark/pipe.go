package wireshark

import (
	"os"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// watchPipe calls stop when the reader of a pipe has closed it. Without this,
// the program would notice it only with the next packet. Not all systems
// support this.
func watchPipe(pipe *os.File, stop func()) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	go func() {
		defer cli.Guard()
		waited := false
		err := conn.Read(func(uintptr) bool { // nothing can be read, so this returns only when the reader has closed the pipe
			first := !waited
			waited = true
			return !first
		})
		if err == nil {
			stop()
		}
	}()
}
