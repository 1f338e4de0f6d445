//go:build unix

package control

import (
	"net"
	"syscall"
)

// listenPrivately makes a socket that nobody else can connect to, not even
// before its mode is set.
func listenPrivately(path string) (net.Listener, error) {
	const others = 0o177
	defer syscall.Umask(syscall.Umask(others))
	return net.Listen("unix", path)
}
