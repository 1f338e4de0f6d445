package server

import (
	"net"
	"testing"
	"time"
)

// Every datagram that was sent was read, or is counted as one that found no
// room.
func TestSocketCountsDrops(t *testing.T) {
	s := newTestServer(t)
	if err := s.conn.SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	socket := NewSocket(s.conn, &s.noRoom)
	from, err := net.Dial("udp4", s.conn.LocalAddr().String())
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
		if err := s.conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := socket.Read(b[:]); err != nil {
			break
		}
		read++
	}
	send() // the system tells of those before it
	if err := s.conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := socket.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	if got := s.noRoom.Load(); got == 0 || read+int(got) != sent {
		t.Errorf("%d were read and %d found no room, want %d in all", read, got, sent)
	}
}
