//go:build !unix

package control

import "net"

// listenPrivately creates a socket. The permissions of its folder protect it.
func listenPrivately(path string) (net.Listener, error) { return net.Listen("unix", path) }
