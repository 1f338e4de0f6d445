package device

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/bcdissect/bcdissect/fixtures"
)

// native decodes hex of little-endian numbers and converts them to the byte
// order of this machine.
func native(tb testing.TB, text string) []byte {
	tb.Helper()
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		tb.Skip("the example is of a machine with the low byte first")
	}
	b, err := fixtures.ParseHex(text)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// A packet in the ring, as struct tpacket3_hdr and struct sockaddr_ll of
// linux/if_packet.h: 6 bytes of 9, with VLAN tag 100.
const slotHex = `
	60000000                  # next: 96 bytes on
	15cd5b07 40420f00         # 123456789 s, 1000000 ns
	06000000 09000000         # captured, full
	51000000                  # status: USER, VLAN_VALID, VLAN_TPID_VALID
	5000 5e00                 # the packet is at 80, its network header at 94
	11111111                  # hash
	64200000 0081 0000        # tag 2064, type 8100
	0000000000000000
	1100 0800 05000000        # AF_PACKET, IPv4, interface 5
	0100 03 06                # Ethernet, for another host, 6 bytes of address
	020304050607 0000
	000000000000000000000000  # up to 80
	a0a1a2a3a4a5`

func TestSlot(t *testing.T) {
	b := native(t, slotHex)
	s, ok := slotAt(append(make([]byte, 48), b...), 48)
	if !ok || string(s.data) != "\xa0\xa1\xa2\xa3\xa4\xa5" || s.full != 9 || s.Next_offset != 96 || s.echo() {
		t.Fatalf("got %+v and %v", s, ok)
	}
	if s.Sec != 123456789 || s.Nsec != 1000000 {
		t.Errorf("got %d s and %d ns", s.Sec, s.Nsec)
	}
	if tag, ok := s.tag(); !ok || tag != [4]byte{0x81, 0, 0x20, 0x64} {
		t.Errorf("got tag % x and %v", tag, ok)
	}
	s.Status = unix.TP_STATUS_USER | unix.TP_STATUS_VLAN_VALID
	s.Hv1.Vlan_tpid = 0xff // invalid
	if tag, ok := s.tag(); !ok || tag != [4]byte{0x81, 0, 0x20, 0x64} {
		t.Errorf("got tag % x and %v", tag, ok)
	}
	s.Status = unix.TP_STATUS_USER
	if tag, ok := s.tag(); ok {
		t.Errorf("got tag % x, want none", tag)
	}
	want := native(t, `0800 0000 00000005 0001 03 06 020304050607 0000`)
	if got := s.appendCooked(nil); string(got) != string(want) || len(got) != cookedHeader {
		t.Errorf("got % x, want % x", got, want)
	}
}

func TestSlotEcho(t *testing.T) {
	b := native(t, slotHex)
	for _, tt := range []struct {
		hardware uint16
		kind     byte
		want     bool
	}{
		{unix.ARPHRD_LOOPBACK, unix.PACKET_OUTGOING, true},
		{unix.ARPHRD_LOOPBACK, unix.PACKET_HOST, false},
		{unix.ARPHRD_ETHER, unix.PACKET_OUTGOING, false},
	} {
		s, ok := slotAt(b, 0)
		s.from.Hatype, s.from.Pkttype = tt.hardware, tt.kind
		if !ok || s.echo() != tt.want {
			t.Errorf("hardware %d, kind %d: got %v, want %v", tt.hardware, tt.kind, s.echo(), tt.want)
		}
	}
}

// Damaged slots, which the kernel never writes, must not crash the program.
func TestSlotDamaged(t *testing.T) {
	b := native(t, slotHex)
	for n := range b {
		if s, ok := slotAt(b[:n], 0); ok {
			t.Errorf("got %+v of %d bytes", s, n)
		}
	}
	for at := 1; at < 4; at++ {
		if _, ok := slotAt(b, uint32(len(b)-at)); ok {
			t.Errorf("got a packet at the end less %d", at)
		}
	}
	if _, ok := slotAt(b, 0xffffffff); ok {
		t.Error("got a packet far away")
	}
	for field, value := range map[int]uint32{12: 0xffffffff, 24: 10} { // the captured size, the packet's offset
		c := append([]byte(nil), b...)
		binary.NativeEndian.PutUint32(c[field:], value)
		if s, ok := slotAt(c, 0); ok {
			t.Errorf("field at %d with %d: got %+v", field, value, s)
		}
	}
}

// Filters for cooked packets, and their form for the kernel. The numbers are the
// values of SKF_AD_OFF, SKF_AD_PROTOCOL and so on in linux/filter.h.
func TestForCooked(t *testing.T) {
	const ad = 0xfffff000
	tests := []struct {
		name string
		from bpf.Instruction
		want *bpf.RawInstruction
	}{
		{"protocol", bpf.LoadAbsolute{Off: 0, Size: 2}, &bpf.RawInstruction{Op: 0x28, K: ad}},
		{"interface", bpf.LoadAbsolute{Off: 4, Size: 4}, &bpf.RawInstruction{Op: 0x20, K: ad + 8}},
		{"hardware", bpf.LoadAbsolute{Off: 8, Size: 2}, &bpf.RawInstruction{Op: 0x28, K: ad + 28}},
		{"kind", bpf.LoadAbsolute{Off: 10, Size: 1}, &bpf.RawInstruction{Op: 0x30, K: ad + 4}},
		{"address", bpf.LoadAbsolute{Off: 12, Size: 4}, nil},
		{"half of a field", bpf.LoadAbsolute{Off: 0, Size: 1}, nil},
		{"length", bpf.LoadExtension{Num: bpf.ExtLen}, nil},
		{"packet", bpf.LoadAbsolute{Off: 29, Size: 1}, &bpf.RawInstruction{Op: 0x30, K: 9}},
		{"first byte", bpf.LoadAbsolute{Off: 20, Size: 1}, &bpf.RawInstruction{Op: 0x30, K: 0}},
		{"indirect", bpf.LoadIndirect{Off: 22, Size: 2}, &bpf.RawInstruction{Op: 0x48, K: 2}},
		{"indirect in the header", bpf.LoadIndirect{Off: 2, Size: 2}, nil},
		{"size of the IP header", bpf.LoadMemShift{Off: 20}, &bpf.RawInstruction{Op: 0xb1, K: 0}},
		{"size of what", bpf.LoadMemShift{Off: 0}, nil},
		{"constant", bpf.LoadConstant{Val: 3}, &bpf.RawInstruction{Op: 0x00, K: 3}},
		{"memory", bpf.LoadScratch{Dst: bpf.RegA, N: 3}, &bpf.RawInstruction{Op: 0x60, K: 3}},
		{"jump", bpf.JumpIf{Cond: bpf.JumpEqual, Val: 17, SkipTrue: 1}, &bpf.RawInstruction{Op: 0x15, Jt: 1, K: 17}},
		{"no", bpf.RetConstant{Val: 0}, &bpf.RawInstruction{Op: 0x06, K: 0}},
		{"yes", bpf.RetConstant{Val: 96}, &bpf.RawInstruction{Op: 0x06, K: MaxSnapLen}},
	}
	for _, tt := range tests {
		raw, err := tt.from.Assemble()
		if err != nil {
			t.Fatal(err)
		}
		got := forCooked([]bpf.RawInstruction{raw})
		if tt.want == nil && got != nil || tt.want != nil && (len(got) != 1 || got[0] != *tt.want) {
			t.Errorf("%s: got %+v of %+v, want %+v", tt.name, got, raw, tt.want)
		}
	}
}
