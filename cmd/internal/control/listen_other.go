//go:build !unix

package control

import "net"

// listenPrivately makes a socket, which the rights of its folder protect.
func listenPrivately(path string) (net.Listener, error) { return net.Listen("unix", path) }
