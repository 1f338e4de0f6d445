package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/fixtures"
)

// stats is a part of the output of stats -T json.
type stats struct {
	Datagrams struct {
		Game    int `json:"game"`
		GameSpy int `json:"gamespy"`
	} `json:"datagrams"`
	Messages struct {
		Total int `json:"total"`
	} `json:"messages"`
	Payload int `json:"payload_bytes"`
}

func counted(t *testing.T, file string) (v stats) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run([]string{"stats", "-T", "json", file}, cli.Streams{Out: &out, Err: &errs}); code != cli.ExitOK {
		t.Fatalf("stats %s: exit status %d: %s", file, code, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// sendAgain sends the datagrams of a capture between its host and its clients.
// Each client has its own socket.
func sendAgain(t *testing.T, host *net.UDPConn, at netip.AddrPort) (sent int) {
	t.Helper()
	src, err := capture.Open(filepath.Join(fixtures.Dir(), "captures", "networked_battle.pcap"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	const hostPort = 29900 // in the capture
	clients := map[netip.AddrPort]*net.UDPConn{}
	client := func(was netip.AddrPort) *net.UDPConn {
		if clients[was] == nil {
			c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			clients[was] = c
		}
		return clients[was]
	}
	for {
		d, err := src.Next()
		if errors.Is(err, io.EOF) {
			return sent
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case d.Dst.Port() == hostPort:
			_, err = client(d.Src).WriteToUDPAddrPort(d.Payload, at)
		case d.Src.Port() == hostPort:
			_, err = host.WriteToUDPAddrPort(d.Payload, client(d.Dst).LocalAddr().(*net.UDPAddr).AddrPort())
		default:
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if sent++; sent%20 == 0 {
			time.Sleep(time.Millisecond) // the receivers' buffers do not matter, the ring's does
		}
	}
}
