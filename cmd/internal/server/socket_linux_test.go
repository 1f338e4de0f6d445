package server

import (
	"net"
	"sync/atomic"
	"testing"
	"time"
)

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
	for {
		if err := conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := socket.Receive(b[:]); err != nil {
			break
		}
		read++
	}
	send() // the system tells of those before it
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := socket.Receive(b[:]); err != nil {
		t.Fatal(err)
	}
	if got := noRoom.Load(); got == 0 || read+int(got) != sent {
		t.Errorf("%d were read and %d found no room, want %d in all", read, got, sent)
	}
}
