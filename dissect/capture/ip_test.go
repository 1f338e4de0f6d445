package capture

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

func TestIP(t *testing.T) {
	const (
		head4 = "40 11 00 00  0a 00 00 01  0a 00 00 02 "
		addr6 = "fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01  fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02 "
		hiUDP = "03 e8 07 d0  00 0a 00 00  68 69 "
	)
	tests := []struct {
		name  string
		frame string
		want  string // payload "/" full, or a field of Other
	}{
		{"IPv4", "45 00 00 1e 00 00 00 00" + head4 + hiUDP, "hi/2"},
		{"do not fragment", "45 00 00 1e 00 00 40 00" + head4 + hiUDP, "hi/2"},
		{"reserved flag", "45 00 00 1e 00 00 80 00" + head4 + hiUDP, "hi/2"},
		{"options", "47 00 00 26 00 00 00 00" + head4 + "94 04 00 00  01 01 01 00" + hiUDP, "hi/2"},
		{"option of length 2", "46 00 00 22 00 00 00 00" + head4 + "88 02 88 02" + hiUDP, "hi/2"},
		{"odd options", "46 00 00 22 00 00 00 00" + head4 + "94 ff 00 00" + hiUDP, "hi/2"},
		{"length 0 of segmentation offload", "45 00 00 00 00 00 00 00" + head4 + hiUDP, "hi/2"},
		{"length 0, padded", "45 00 00 00 00 00 00 00" + head4 + hiUDP + "00 00 00", "hi/2"},
		{"padded", "45 00 00 1e 00 00 00 00" + head4 + hiUDP + "aa aa aa", "hi/2"},
		{"no payload", "45 00 00 1c 00 00 00 00" + head4 + "03 e8 07 d0 00 08 00 00", "/0"},
		{"UDP shorter than IP", "45 00 00 20 00 00 00 00" + head4 + hiUDP + "aa aa", "hi/2"},
		{"UDP longer than IP", "45 00 00 1e 00 00 00 00" + head4 + "03 e8 07 d0 00 20 00 00 68 69", "hi/24"},
		{"UDP longer than IP, padded", "45 00 00 1e 00 00 00 00" + head4 + "03 e8 07 d0 00 0c 00 00 68 69 aa aa", "hi/4"},
		{"UDP length 0", "45 00 00 1e 00 00 00 00" + head4 + "03 e8 07 d0 00 00 00 00 68 69 aa", "hi/2"},
		{"UDP length 7", "45 00 00 1e 00 00 00 00" + head4 + "03 e8 07 d0 00 07 00 00 68 69", "Malformed"},
		{"IP longer than the frame", "45 00 00 40 00 00 00 00" + head4 + "03 e8 07 d0 00 2c 00 00 68 69", "hi/36"},
		{"IP shorter than UDP's header", "45 00 00 1b 00 00 00 00" + head4 + hiUDP, "Malformed"},
		{"IP shorter than its header", "45 00 00 13 00 00 00 00" + head4 + hiUDP, "Malformed"},
		{"header of 16 bytes", "44 00 00 1e 00 00 00 00" + head4 + hiUDP, "Malformed"},
		{"header beyond the packet", "4f 00 00 1e 00 00 00 00" + head4 + hiUDP, "Malformed"},
		{"header beyond the frame", "4f 00 00 50 00 00 00 00" + head4 + hiUDP, "Malformed"},
		{"TCP", "45 00 00 1e 00 00 00 00" + strings.Replace(head4, "11", "06", 1) + hiUDP, "NotUDP"},
		{"game port of DNS", "45 00 00 1e 00 00 00 00" + head4 + "00 35 00 35 00 0a 00 00 68 69", "hi/2"},

		{"IPv6", "60 00 00 00 00 0a 11 40" + addr6 + hiUDP, "hi/2"},
		{"IPv6, padded", "60 00 00 00 00 0a 11 40" + addr6 + hiUDP + "aa", "hi/2"},
		{"IPv6, length 0", "60 00 00 00 00 00 11 40" + addr6 + hiUDP, "hi/2"},
		{"IPv6, TCP", "60 00 00 00 00 0a 06 40" + addr6 + hiUDP, "NotUDP"},
		{"IPv6, no next header", "60 00 00 00 00 00 3b 40" + addr6, "NotUDP"},
		{"hop-by-hop", "60 00 00 00 00 12 00 40" + addr6 + "11 00 05 02 00 00 01 00" + hiUDP, "hi/2"},
		{"hop-by-hop, padded", "60 00 00 00 00 12 00 40" + addr6 + "11 00 05 02 00 00 01 00" + "03 e8 07 d0 00 00 00 00 68 69" + "aa aa", "hi/2"},
		{"hop-by-hop of Pad1", "60 00 00 00 00 1a 00 40" + addr6 + "11 01" + strings.Repeat("00", 14) + hiUDP, "hi/2"},
		{"routing of an unknown type", "60 00 00 00 00 12 2b 40" + addr6 + "11 00 fd 00 00 00 00 00" + hiUDP, "hi/2"},
		{"all extension headers", "60 00 00 00 00 2a 00 40" + addr6 +
			"3c 00 01 04 00 00 00 00" + "2b 00 01 04 00 00 00 00" + "3c 00 00 00 00 00 00 00" + "11 00 01 04 00 00 00 00" + hiUDP, "hi/2"},
		{"atomic fragment", "60 00 00 00 00 12 2c 40" + addr6 + "11 00 00 00 00 00 00 07" + hiUDP, "hi/2"},
		{"extension header beyond the packet", "60 00 00 00 00 12 00 40" + addr6 + "11 09 05 02 00 00 01 00" + hiUDP, "Malformed"},
		{"extension header beyond the length", "60 00 00 00 00 04 00 40" + addr6 + "11 00 05 02 00 00 01 00" + hiUDP, "Malformed"},
		{"fragment header beyond the packet", "60 00 00 00 00 04 2c 40" + addr6 + "11 00 00 00" + hiUDP, "Malformed"},
		{"ICMPv6 behind an extension header", "60 00 00 00 00 12 00 40" + addr6 + "3a 00 05 02 00 00 01 00" + hiUDP, "NotUDP"},
		{"fragment of TCP", "60 00 00 00 00 12 2c 40" + addr6 + "06 00 00 01 00 00 00 07" + hiUDP, "NotUDP"},
		{"authentication header", "60 00 00 00 00 0a 33 40" + addr6 + hiUDP, "NotUDP"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, stats := mustRead(t, pcapOf(linkRaw, fixtures.Unhex(t, tt.frame)))
			got := ""
			switch {
			case len(all) == 1:
				got = fmt.Sprintf("%s/%d", all[0].Payload, all[0].Full)
			case stats.Other.Malformed == 1:
				got = "Malformed"
			case stats.Other.NotUDP == 1:
				got = "NotUDP"
			}
			if got != tt.want {
				t.Errorf("got %q, want %q: %+v", got, tt.want, stats.Other)
			}
		})
	}
}

// A packet with another IP version than the link layer announces is not IP.
func TestIPVersion(t *testing.T) {
	for _, frame := range []string{macs + "08 00" + hi6, macs + "86 dd" + hi4 + hi4} {
		_, stats := mustRead(t, pcapOf(linkEthernet, fixtures.Unhex(t, frame)))
		if stats.Other.Malformed != 1 {
			t.Errorf("got %+v, want one malformed", stats)
		}
	}
}

func TestUnmapped(t *testing.T) {
	d := one(t, pcapOf(linkRaw, fixtures.Unhex(t, `60 00 00 00  00 0a 11 40
		00 00 00 00  00 00 00 00  00 00 ff ff  0a 00 00 01
		fd 00 00 00  00 00 00 00  00 00 00 00  00 00 00 02
		03 e8 07 d0  00 0a 00 00  68 69`)))
	if got := d.Src.String(); got != "10.0.0.1:1000" {
		t.Errorf("got %s, want 10.0.0.1:1000", got)
	}
}

// A truncated payload gives a datagram marked as truncated.
func TestSnapLength(t *testing.T) {
	for name, tt := range map[string]struct {
		frame   []byte
		headers int
	}{
		"IPv4": {fixtures.Unhex(t, hi4), 28},
		"IPv6": {fixtures.Unhex(t, hi6), 48},
	} {
		t.Run(name, func(t *testing.T) {
			all, stats := mustRead(t, cuts(linkRaw, tt.frame))
			if len(all) != 2 || stats.Other.Cut != tt.headers {
				t.Fatalf("got %d datagrams and %+v, want 2 and %d cut", len(all), stats.Other, tt.headers)
			}
			for i, d := range all {
				if string(d.Payload) != "hi"[:i] || d.Full != 2 || !d.Truncated() {
					t.Errorf("got %q of %d, want %q of 2", d.Payload, d.Full, "hi"[:i])
				}
			}
		})
	}
}

// A frame larger than IPv4's length field, which the network card would fill
// in.
func TestOffloadBeyond64K(t *testing.T) {
	frame := append(fixtures.Unhex(t, "45 00 00 00 00 00 00 00  40 11 00 00  0a 00 00 01  0a 00 00 02  03 e8 07 d0 00 00 00 00"), make([]byte, 70000)...)
	if d := one(t, pcapOf(linkRaw, frame)); d.Full != 70000 || len(d.Payload) != 70000 {
		t.Errorf("got %d of %d bytes, want 70000", len(d.Payload), d.Full)
	}
}

// The checksum of an IPv4 header tells damage, unless it is left to the network
// card. The header is a common example, with the checksum B861.
func TestHeaderChecksum(t *testing.T) {
	sound := []byte{0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7}
	if checksum(0, sound) != 0xffff {
		t.Error("a sound header counts as damaged")
	}
	for i := range 8 * len(sound) {
		b := slices.Clone(sound)
		b[i/8] ^= 1 << (i % 8)
		if checksum(0, b) == 0xffff {
			t.Errorf("bit %d: damage is not seen", i)
		}
	}
}
