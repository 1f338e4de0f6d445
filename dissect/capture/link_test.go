package capture

import (
	"fmt"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// The datagram of most tests, written by hand: "hi" from port 1000 to 2000.
const (
	hi4 = `45 00 00 1e  12 34 00 00  40 11 00 00  0a 00 00 01  0a 00 00 02 # 10.0.0.1 > 10.0.0.2
	       03 e8 07 d0  00 0a 00 00  68 69
	`
	hi6 = `60 00 00 00  00 0a 11 40
	       fd 00 00 00  00 00 00 00  00 00 00 00  00 00 00 01
	       fd 00 00 00  00 00 00 00  00 00 00 00  00 00 00 02
	       03 e8 07 d0  00 0a 00 00  68 69
	`
	macs = "02 00 00 00 00 02  02 00 00 00 00 01 "
)

func TestLinks(t *testing.T) {
	const v4, v6 = "10.0.0.1:1000 > 10.0.0.2:2000", "[fd00::1]:1000 > [fd00::2]:2000"
	tests := []struct {
		name  string
		link  uint32
		frame string
		want  string
	}{
		{"ethernet", 1, macs + "08 00" + hi4, v4},
		{"ethernet, IPv6", 1, macs + "86 dd" + hi6, v6},
		{"ethernet, padded", 1, macs + "08 00" + hi4 + "00 00 00 00 00 00 00 00 00 00 00 00 00 00", v4},
		{"ethernet, link type with checksum bits", 0x2400_0001, macs + "08 00" + hi4 + "de ad be ef", v4},
		{"VLAN", 1, macs + "81 00 00 05 08 00" + hi4, v4},
		{"VLAN, IPv6, padded", 1, macs + "81 00 e0 05 86 dd" + hi6 + "00 00 00", v6},
		{"QinQ", 1, macs + "88 a8 00 07 81 00 00 05 08 00" + hi4, v4},
		{"QinQ, old", 1, macs + "91 00 00 07 81 00 00 05 08 00" + hi4, v4},
		{"three tags", 1, macs + "88 a8 00 07 81 00 00 05 81 00 00 06 08 00" + hi4, v4},
		{"PPPoE", 1, macs + "88 64  11 00 00 2a 00 20  00 21" + hi4 + "00 00 00 00", v4},
		{"PPPoE, IPv6, below a tag", 1, macs + "81 00 00 05 88 64  11 00 00 2a 00 34  00 57" + hi6, v6},
		{"PPPoE, short protocol", 1, macs + "88 64  11 00 00 2a 00 1f  21" + hi4, v4},
		{"MPLS", 1, macs + "88 47  00 01 00 40  00 02 01 40" + hi4, v4},
		{"MPLS, IPv6", 1, macs + "88 47  00 02 01 40" + hi6, v6},
		{"SLL", 113, "00 00 00 01 00 06 02 00 00 00 00 01 00 00 08 00" + hi4, v4},
		{"SLL, address longer than the frame", 113, "00 00 00 01 ff ff 02 00 00 00 00 01 00 00 08 00" + hi4, v4},
		{"SLL, tagged", 113, "00 04 00 01 00 06 02 00 00 00 00 01 00 00 81 00  00 05 86 dd" + hi6, v6},
		{"SLL2", 276, "08 00 00 00 00 00 00 02 00 01 00 06 02 00 00 00 00 01 00 00" + hi4, v4},
		{"SLL2, IPv6", 276, "86 dd 00 00 00 00 00 02 00 01 00 06 02 00 00 00 00 01 00 00" + hi6, v6},
		{"raw", 101, hi4, v4},
		{"raw, IPv6", 101, hi6, v6},
		{"raw, numbered 12", 12, hi4, v4},
		{"raw, numbered 14", 14, hi6, v6},
		{"IPv4", 228, hi4, v4},
		{"IPv6", 229, hi6, v6},
		{"null, little-endian", 0, "02 00 00 00" + hi4, v4},
		{"null, big-endian", 0, "00 00 00 02" + hi4, v4},
		{"null, IPv6 of BSD", 0, "18 00 00 00" + hi6, v6},
		{"null, IPv6 of FreeBSD", 0, "1c 00 00 00" + hi6, v6},
		{"null, IPv6 of macOS", 0, "1e 00 00 00" + hi6, v6},
		{"null, IPv6 of macOS, big-endian", 0, "00 00 00 1e" + hi6, v6},
		{"null, IPv6 of Linux", 0, "0a 00 00 00" + hi6, v6},
		{"null, IPv6 of Windows", 0, "17 00 00 00" + hi6, v6},
		{"loop", 108, "00 00 00 02" + hi4, v4},
		{"loop, IPv6", 108, "00 00 00 18" + hi6, v6},
		{"PPP", 9, "00 21" + hi4, v4},
		{"PPP, address and control", 9, "ff 03 00 57" + hi6, v6},
		{"PPP, short protocol", 9, "21" + hi4, v4},
		{"PPP-HDLC", 50, "ff 03 00 21" + hi4, v4},
		{"PPP-HDLC of Cisco", 50, "0f 00 08 00" + hi4, v4},
		{"PPPoE as link type", 51, "11 00 00 2a 00 20  00 21" + hi4, v4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			frame := fixtures.Unhex(t, tt.frame)
			d := one(t, pcapOf(tt.link, frame))
			if got := fmt.Sprintf("%v > %v", d.Src, d.Dst); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if string(d.Payload) != "hi" || d.Full != 2 || d.Truncated() {
				t.Errorf("got %q of %d bytes, want hi", d.Payload, d.Full)
			}

			// The snap length may leave any prefix.
			_, stats := mustRead(t, cuts(tt.link, frame))
			if stats.Other.Malformed != 0 || stats.Frames != len(frame) {
				t.Errorf("got %+v of a frame cut everywhere", stats)
			}
			if got := stats.Other.Cut + stats.Datagrams; got != len(frame) {
				t.Errorf("got %d frames cut or good, want all %d", got, len(frame))
			}
		})
	}
}

// cuts returns a capture with every prefix of a frame.
func cuts(link uint32, frame []byte) []byte {
	b := pcapStart(little, pcapMicro, 65535, link)
	for n := range frame {
		b = pcapAppend(b, little, 0, 0, frame[:n], len(frame))
	}
	return b
}

func TestOtherFrames(t *testing.T) {
	tests := []struct {
		name  string
		link  uint32
		frame string
		want  Other
	}{
		{"ARP", 1, macs + "08 06 00 01 08 00 06 04 00 01", Other{NotIP: 1}},
		{"802.3", 1, macs + "00 08 42 42 03 00 00 00 00 00", Other{NotIP: 1}},
		{"tag on ARP", 1, macs + "81 00 00 05 08 06 00 01", Other{NotIP: 1}},
		{"tag missing", 1, macs + "81 00 00 05 81", Other{Malformed: 1}},
		{"ethernet of 13 bytes", 1, macs + "08", Other{Malformed: 1}},
		{"empty", 1, "", Other{Malformed: 1}},
		{"PPPoE discovery payload", 51, "11 09 00 00 00 00", Other{NotIP: 1}},
		{"PPPoE shorter than IP", 51, "11 00 00 2a 00 04 00 21" + hi4, Other{Malformed: 1}},
		{"PPPoE without payload", 51, "11 00 00 2a 00 00 00 21" + hi4, Other{Malformed: 1}},
		{"PPP link control", 9, "ff 03 c0 21 01 01 00 04", Other{NotIP: 1}},
		{"PPP, half a protocol", 9, "00", Other{Malformed: 1}},
		{"Cisco keepalive", 50, "8f 00 80 35 00 00", Other{NotIP: 1}},
		{"MPLS without bottom", 1, macs + "88 47  00 01 00 40", Other{Malformed: 1}},
		{"MPLS on something else", 1, macs + "88 47  00 01 01 40 00 00 00 00", Other{NotIP: 1}},
		{"null, other family", 0, "07 00 00 00" + hi4, Other{NotIP: 1}},
		{"null, no family", 0, "12 34 56 78" + hi4, Other{Malformed: 1}},
		{"raw, neither version", 101, "50 00 00 00", Other{NotIP: 1}},
		{"IEEE 802.11", 105, "80 00 00 00", Other{UnknownLink: 1, Links: []LinkCount{{105, 1}}}},
		{"link type above 8 bits", 257, hi4, Other{UnknownLink: 1, Links: []LinkCount{{257, 1}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, stats := mustRead(t, pcapOf(tt.link, fixtures.Unhex(t, tt.frame)))
			if got := stats.Other; len(all) != 0 || fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("got %d datagrams and %+v, want none and %+v", len(all), got, tt.want)
			}
		})
	}
}

func TestManyUnknownLinks(t *testing.T) {
	b := section(little)
	for i := range uint16(40) {
		b = append(b, iface(little, 1000-i, 0)...)
	}
	for i := range uint32(40) {
		b = append(b, enhanced(little, i, 0, nil, 0)...)
	}
	b = append(b, enhanced(little, 3, 0, nil, 0)...)
	_, stats := mustRead(t, b)
	if got := stats.Other; got.UnknownLink != 41 || len(got.Links) != 16 || got.Links[12] != (LinkCount{997, 2}) {
		t.Errorf("got %+v, want 41 frames and 16 link types, 997 twice", got)
	}
}
