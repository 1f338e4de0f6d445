package capture

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"

	"github.com/bcdissect/bcdissect/fixtures"
)

// keptPackets is a PacketWriter that stores packets.
type keptPackets struct{ packets [][]byte }

func (k *keptPackets) WritePacket(_ gopacket.CaptureInfo, data []byte) error {
	k.packets = append(k.packets, bytes.Clone(data))
	return nil
}

func (*keptPackets) Flush(Counters) error { return nil }

// A packet worked out by hand from RFC 791, 768 and 1071.
func TestDatagramWriterBytes(t *testing.T) {
	var k keptPackets
	d := NewDatagramWriter(&k)
	if err := d.Write(start, netip.MustParseAddrPort("10.0.0.1:1000"), netip.MustParseAddrPort("10.0.0.2:2000"), []byte("abc")); err != nil {
		t.Fatal(err)
	}
	want := fixtures.Unhex(t, `
		45 00 001f 0001 4000 40 11 26cb 0a000001 0a000002 # ^(4500 + 1f + 1 + 4000 + 4011 + a00 + 1 + a00 + 2)
		03e8 07d0 000b 1bbb 616263                        # ^(a00 + 1 + a00 + 2 + 11 + b + 3e8 + 7d0 + b + 6162 + 6300)`)
	if len(k.packets) != 1 || !bytes.Equal(k.packets[0], want) {
		t.Errorf("got  % x\nwant % x", k.packets, want)
	}
}

// This program and tshark read the written datagrams unchanged.
func TestDatagramWriter(t *testing.T) {
	name := filepath.Join(t.TempDir(), "relay.pcapng")
	w, err := CreateWriter(name, DatagramOptions(WriterOptions{Application: "bcdissect 1.2", Start: start}))
	if err != nil {
		t.Fatal(err)
	}
	d := NewDatagramWriter(w)
	host, client := netip.MustParseAddrPort("192.0.2.1:22101"), netip.MustParseAddrPort("[::ffff:198.51.100.7]:4000")
	payloads := [][]byte{[]byte(`\status\`), {0x01}, {}, bytes.Repeat([]byte{0xFF}, 512), make([]byte, 65507)}
	for i, p := range payloads {
		src, dst := client, host
		if i%2 == 1 {
			src, dst = dst, src
		}
		if err := d.Write(start.Add(time.Duration(i)*time.Microsecond), src, dst, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Write(start, netip.MustParseAddrPort("[::1]:1"), host, nil); err == nil {
		t.Error("a packet of IPv6 was written")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := Open(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for i, want := range payloads {
		got, err := src.Next()
		if err != nil {
			t.Fatal(err)
		}
		from, to := client, host
		if i%2 == 1 {
			from, to = to, from
		}
		if !bytes.Equal(got.Payload, want) || got.Src.Port() != from.Port() || got.Src.Addr() != from.Addr().Unmap() ||
			got.Dst.Addr() != to.Addr().Unmap() || !got.Time.Equal(start.Add(time.Duration(i)*time.Microsecond)) {
			t.Errorf("datagram %d: got %v to %v at %v, %d bytes", i, got.Src, got.Dst, got.Time, len(got.Payload))
		}
	}
	if _, err := src.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the end", err)
	}

	fixtures.System(t) // the rest needs Wireshark
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	out, err := exec.Command(tshark, "-r", name, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
		"-T", "fields", "-e", "ip.checksum.status", "-e", "udp.checksum.status", "-e", "udp.length").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := "1\t1\t16\n1\t1\t9\n1\t1\t8\n1\t1\t520\n1\t1\t65515\n"
	if got := strings.ReplaceAll(string(out), "Good", "1"); got != want {
		t.Errorf("tshark: got %q, want %q", got, want)
	}
}

func TestDatagramWriterDoesNotAllocate(t *testing.T) {
	w, err := NewWriter("x", io.Discard, options())
	if err != nil {
		t.Fatal(err)
	}
	d := NewDatagramWriter(w)
	src, dst := netip.MustParseAddrPort("10.0.0.1:1000"), netip.MustParseAddrPort("10.0.0.2:2000")
	payload := make([]byte, 100)
	if got := testing.AllocsPerRun(1000, func() {
		if err := d.Write(start, src, dst, payload); err != nil {
			t.Fatal(err)
		}
	}); got > 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}
