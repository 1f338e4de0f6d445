//go:build unix

package control

import (
	"net"
	"syscall"
)

// listenPrivately creates a socket that no other user can connect to, even
// before its mode is set.
func listenPrivately(path string) (net.Listener, error) {
	const others = 0o177
	defer syscall.Umask(syscall.Umask(others))
	return net.Listen("unix", path)
}
