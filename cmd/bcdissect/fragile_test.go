package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// fragile is a server for tests: the project's host, with a fault planted as servers have them. It reads the
// direction of a torpedo, and crashes if the message ends before that.
func fragile() {
	conn, err := net.ListenPacket("udp4", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	host := relay.NewHost(relay.Config{Mode: relay.Playable, Public: true, Random: rand.Uint32})
	b := make([]byte, 2048)
	for {
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		n, from, err := conn.ReadFrom(b)
		if err == nil {
			crash(b[:n])
			host.Receive(time.Now(), from.(*net.UDPAddr).AddrPort(), b[:n])
		} else if errors.Is(err, net.ErrClosed) {
			return
		}
		host.Advance(time.Now())
		for to, d, ok := host.Send(); ok; to, d, ok = host.Send() {
			_, _ = conn.WriteTo(d, net.UDPAddrFromAddrPort(to))
		}
	}
}

// crash ends the program if a datagram holds the message.
func crash(d []byte) {
	const direction, after = 7, 10 // offsets
	s, err := transport.Split(cipher.Decrypt(nil, d))
	for err == nil {
		m, ok, e := s.Next()
		if e != nil || !ok {
			return
		}
		if b := m.Body; m.Type == transport.Standard && len(b) >= direction && len(b) < after && b[0] == byte(msg.OpTorpedoFire) {
			fmt.Fprintln(os.Stderr, "fault: torpedo without a direction")
			os.Exit(3)
		}
	}
}
