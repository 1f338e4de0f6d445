package server

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// next returns the size of the next datagram that waits to be read, 0 if there is none.
func next(t *testing.T, conn *net.UDPConn) (size int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) { size, failed = unix.IoctlGetInt(int(fd), unix.SIOCINQ) })
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return size
}

// Every datagram that was sent was read, or is counted as one that found no
// room.
func TestSocketCountsDrops(t *testing.T) {
	conn, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	var noRoom atomic.Int64
	socket := NewSocket(conn, &noRoom)
	from, err := net.Dial("udp4", conn.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	const sent = 2000
	send := func() {
		t.Helper()
		if _, err := from.Write(make([]byte, 500)); err != nil {
			t.Fatal(err)
		}
	}
	for range sent {
		send()
	}
	read := 0
	var b [largest]byte
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for ; next(t, conn) > 0; read++ {
		if _, _, err := socket.Receive(b[:]); err != nil {
			t.Fatal(err)
		}
	}
	send() // the system tells of those before it
	if _, _, err := socket.Receive(b[:]); err != nil {
		t.Fatal(err)
	}
	if got := noRoom.Load(); got == 0 || read+int(got) != sent {
		t.Errorf("%d were read and %d found no room, want %d in all", read, got, sent)
	}
}
