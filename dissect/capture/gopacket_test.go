package capture

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/ip4defrag"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/bcdissect/bcdissect/fixtures"
)

// These tests show why parts of gopacket v1.1.19 are not used, for
// docs/decisions/0002-own-capture-readers.md. One that fails after an update of
// gopacket tells that code of ours may go.

// untilFault reads a capture by pcapgo until an error or a panic.
func untilFault(capture []byte) (packets int, fault string) {
	defer func() {
		if r := recover(); r != nil {
			fault = fmt.Sprint("panic: ", r)
		}
	}()
	src, _, err := pcapgoFrom(capture)
	for err == nil {
		if _, _, err = src.ReadPacketData(); err == nil {
			packets++
		}
	}
	return packets, err.Error()
}

// section0 is a section of version 1.0, the only one that pcapgo reads.
func section0() []byte {
	b := section(little)
	b[14] = 0
	return b
}

// pcapgo cannot read these files as we can.
func TestPcapgoFaults(t *testing.T) {
	packet := udp4([]byte("hi"))
	old := pcapStart(little, pcapMicro, 65535, linkRaw)
	old[6] = 3
	snap := func(n uint32) []byte {
		return pcapAppend(pcapStart(little, pcapMicro, n, linkRaw), little, 0, 0, packet, len(packet))
	}
	ng := join(section0(), iface(little, linkRaw, 0), enhanced(little, 0, 0, packet, len(packet)))
	cut := join(ng, enhanced(little, 0, 0, packet, len(packet)))
	none := enhanced(little, 7, 0, packet, len(packet))
	for _, tt := range []struct {
		name    string
		capture []byte
		packets int // by pcapgo
		err     string
		ours    int
	}{
		{"pcapng: a resolution of 10^-64 s", join(section0(), iface(little, linkRaw, 0, option(little, 9, 64)), enhanced(little, 0, 1, packet, 30)), 0, "panic: runtime error: integer divide by zero", 1},
		{"pcapng: a resolution of 2^-64 s", join(section0(), iface(little, linkRaw, 0, option(little, 9, 0x80|64)), enhanced(little, 0, 1, packet, 30)), 0, "panic: runtime error: integer divide by zero", 1},
		{"pcapng: minor version 2", join(section(little), iface(little, linkRaw, 0), enhanced(little, 0, 1, packet, 30)), 0, "Unknown pcapng Version in Section Header", 1},
		{"pcapng: an end inside a block, which is no error", cut[:len(cut)-20], 1, "EOF", 1},
		{"pcapng: a packet of an interface that is not described", join(ng, none, enhanced(little, 0, 0, packet, 30)), 1, "Interface id 7 not present", 2},
		{"pcap: snap length 0", snap(0), 0, "capture length exceeds snap length", 1},
		{"pcap: a packet longer than the snap length", snap(20), 0, "capture length exceeds snap length", 1},
		{"pcap: version 2.3", pcapAppend(old, little, 0, 0, packet, len(packet)), 0, "Unknown minor version", 1},
		{"pcap: the modified form", append(pcapStart(little, pcapModified, 65535, linkRaw), join(make([]byte, 8), []byte{30, 0, 0, 0, 30, 0, 0, 0}, make([]byte, 8), packet)...), 0, "Unknown magic", 1},
		{"pcap: a length on the network below that of the record", pcapAppend(pcapStart(little, pcapMicro, 65535, linkRaw), little, 0, 0, packet, 0), 0, "capture length exceeds original packet length", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, _, err := read(t, tt.capture)
			if cutShort := strings.Contains(tt.name, "an end inside"); len(all) != tt.ours || errors.Is(err, ErrCut) != cutShort {
				t.Errorf("we got %d datagrams and %v, want %d", len(all), err, tt.ours)
			}
			packets, said := untilFault(tt.capture)
			if packets != tt.packets || !strings.Contains(said, tt.err) {
				t.Errorf("pcapgo got %d packets and %q, want %d and %q", packets, said, tt.packets, tt.err)
			}
		})
	}
}

// A packet that claims to be long makes pcapgo allocate so much.
func TestPcapgoAllocates(t *testing.T) {
	const claim = 1 << 28
	b := enhanced(little, 0, 0, nil, 0)
	little.PutUint32(b[20:], claim)
	little.PutUint32(b[24:], claim)
	b = join(section0(), iface(little, linkRaw, 0), b)
	if n := fixtures.Allocated(func() { _, _ = untilFault(b) }); n < claim {
		t.Errorf("pcapgo allocates %d bytes", n)
	}
	if n := fixtures.Allocated(func() { _, _, _ = read(t, b) }); n > 8<<20 {
		t.Errorf("we allocate %d bytes", n)
	}
}

// pcapgo does not return comments of packets, and takes microseconds for
// nanoseconds. Its writer has only 8 bits of the link type.
func TestPcapgoLoses(t *testing.T) {
	packet := udp4([]byte("hi"))
	src, _, err := pcapgoFrom(join(section0(), iface(little, linkRaw, 0), enhanced(little, 0, 0, packet, 30, option(little, ngComment, 'c'))))
	if err != nil {
		t.Fatal(err)
	}
	if _, ci, err := src.ReadPacketData(); err != nil || len(ci.AncillaryData) != 1 {
		t.Errorf("got %+v and %v, want only the link type", ci.AncillaryData, err)
	}
	r, err := pcapgo.NewReader(bytes.NewReader(pcapOf(linkRaw, packet)))
	if err != nil || r.Resolution() != gopacket.TimestampResolutionNanosecond {
		t.Errorf("got %v and %v", r.Resolution(), err)
	}
	var out bytes.Buffer
	sll2 := uint16(linkSLL2)
	w, err := pcapgo.NewNgWriter(&out, layers.LinkType(sll2))
	if err != nil || w.Flush() != nil {
		t.Fatal(err)
	}
	s, err := NewReader("test", &out)
	if err != nil {
		t.Fatal(err)
	}
	if f := s.open[0]; errors.Is(f.lookAhead(), ErrDamaged) || f.frames.(*pcapngReader).links[0].kind != 20 {
		t.Errorf("got %v", err)
	}
}

// What gopacket's layers make of headers that are damaged or rare.
func TestLayersFaults(t *testing.T) {
	panics := func(f func()) (panicked bool) {
		defer func() { panicked = recover() != nil }()
		f()
		return false
	}
	feedback := gopacket.NilDecodeFeedback
	if sll := fixtures.Unhex(t, "00 00 00 01 ff ff 02 00 00 00 00 01 00 00 08 00"+hi4); !panics(func() { _ = new(layers.LinuxSLL).DecodeFromBytes(sll, feedback) }) {
		t.Error("SLL: a long address does not panic")
	}

	long := make([]byte, 0x10000+40)
	copy(long, fixtures.Unhex(t, hi4))
	clear(long[2:4]) // the network card fills the length in
	var ip4 layers.IPv4
	if err := ip4.DecodeFromBytes(long, feedback); err != nil || int(ip4.Length) == len(long) {
		t.Errorf("IPv4: a packet of %d bytes has %d, and %v", len(long), ip4.Length, err)
	}
	if err := ip4.DecodeFromBytes(fixtures.Unhex(t, "65"+hi4[2:]), feedback); err != nil {
		t.Errorf("IPv4: version 6: %v", err)
	}
	odd := fixtures.Unhex(t, "46 00 00 22 00 00 00 00 40 11 00 00 0a 00 00 01 0a 00 00 02 88 02 88 02 03 e8 07 d0 00 0a 00 00 68 69")
	if err := ip4.DecodeFromBytes(odd, feedback); err == nil {
		t.Error("IPv4: an option without content is accepted")
	}

	var ip6 layers.IPv6
	padded := fixtures.Unhex(t, "60 00 00 00 00 12 00 40"+strings.Repeat("fd", 32)+"11 00 05 02 00 00 01 00"+"03 e8 07 d0 00 0a 00 00 68 69"+"aa aa")
	if err := ip6.DecodeFromBytes(padded, feedback); err != nil || len(ip6.Payload) != 12 {
		t.Errorf("IPv6: hop-by-hop, padded: %d bytes and %v", len(ip6.Payload), err)
	}
	if n := testing.AllocsPerRun(10, func() { _ = ip6.DecodeFromBytes(padded, feedback) }); n == 0 {
		t.Error("IPv6: hop-by-hop options do not allocate")
	}

	room := join(fixtures.Unhex(t, "11 00 00 2a 00 20 00 21"), udp4([]byte("hi"))) // the frame ends after the PPPoE header
	p := gopacket.NewPacket(room[:8], layers.EthernetTypePPPoESession, gopacket.DecodeOptions{NoCopy: true})
	if p.Layer(layers.LayerTypeUDP) == nil {
		t.Errorf("PPPoE: nothing behind the end is read: %v", p)
	}
	for name, first := range map[string]gopacket.Decoder{"PPP": layers.LinkTypePPP, "MPLS": layers.EthernetTypeMPLSUnicast, "PPPoE": layers.EthernetTypePPPoESession} {
		if !panics(func() { gopacket.NewPacket([]byte{0}, first, gopacket.DecodeOptions{SkipDecodeRecovery: true}) }) {
			t.Errorf("%s: a frame of one byte does not panic", name)
		}
	}
}

// gopacket goes by the port: a game on port 53 is DNS.
func TestLayersGuess(t *testing.T) {
	b := udp4([]byte("not DNS"))
	big.PutUint16(b[22:], 53)
	p := gopacket.NewPacket(b, layers.LinkTypeRaw, gopacket.Default)
	if p.ErrorLayer() == nil {
		t.Errorf("got %v", p)
	}
	if d := one(t, pcapOf(linkRaw, b)); string(d.Payload) != "not DNS" {
		t.Errorf("got %q", d.Payload)
	}
}

// gopacket's defragmenter never completes a datagram whose fragments overlap, and
// keeps as many unfinished ones as come.
func TestDefragmenterFaults(t *testing.T) {
	whole := udp(numbers(40))
	parts := [][]byte{piece4(7, 0, true, whole[:24]), piece4(7, 16, true, whole[16:32]), piece4(7, 32, false, whole[32:])}
	if d := one(t, pcapOf(linkRaw, parts...)); !bytes.Equal(d.Payload, numbers(40)) {
		t.Fatalf("we got %x", d.Payload)
	}
	const unfinished = 10 * maxUnfinished
	for n := range uint16(unfinished) {
		parts = append(parts, piece4(1000+n, 0, true, whole[:24]))
	}
	d := ip4defrag.NewIPv4Defragmenter()
	for _, b := range parts {
		ip := new(layers.IPv4)
		if err := ip.DecodeFromBytes(b, gopacket.NilDecodeFeedback); err != nil {
			t.Fatal(err)
		}
		if got, err := d.DefragIPv4(ip); got != nil || err != nil {
			t.Errorf("got %v and %v", got, err)
		}
	}
	if n := d.DiscardOlderThan(time.Now().Add(time.Hour)); n != unfinished+1 {
		t.Errorf("%d datagrams were kept, want %d", n, unfinished+1)
	}
}
