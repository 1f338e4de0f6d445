package capture

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// A DatagramWriter writes the datagrams that a program itself has sent and
// received. It puts each into its own IPv4 packet, so that all capture readers
// can read the file.
type DatagramWriter struct {
	packets PacketWriter
	buf     []byte
	id      uint16 // ID of the last packet

	Comment string // comment for the next datagram, empty for none
}

// DatagramOptions sets the link type and snap length of a file of datagrams.
func DatagramOptions(o WriterOptions) *WriterOptions {
	o.Link, o.SnapLen = linkRaw, math.MaxUint16
	return &o
}

// NewDatagramWriter returns a writer of datagrams on top of a packet writer
// with the link type of raw IP, 101.
func NewDatagramWriter(w PacketWriter) *DatagramWriter {
	return &DatagramWriter{packets: w}
}

// Write writes a borrowed datagram. Both addresses must be IPv4.
func (d *DatagramWriter) Write(t time.Time, src, dst netip.AddrPort, payload []byte) error {
	from, to := src.Addr().Unmap(), dst.Addr().Unmap()
	if !from.Is4() || !to.Is4() {
		return fmt.Errorf("capture: %s → %s: not IPv4", src, dst)
	}
	if len(payload) > math.MaxUint16-ipv4Header-udpHeader {
		return fmt.Errorf("capture: a datagram of %d bytes; the most is %d", len(payload), math.MaxUint16-ipv4Header-udpHeader)
	}
	d.id++
	b := appendIPv4(d.buf[:0], netip.AddrPortFrom(from, src.Port()), netip.AddrPortFrom(to, dst.Port()), udpHeader+len(payload))
	b = append(b, payload...)
	binary.BigEndian.PutUint16(b[4:], d.id)
	sealIPv4(b)
	// The pseudo header is of both addresses, the protocol and the length.
	sum := checksum(uint64(layers.IPProtocolUDP)+uint64(udpHeader+len(payload)), b[12:])
	putUDPSum(b[ipv4Header+6:], uint64(sum))
	d.buf = b
	ci := gopacket.CaptureInfo{Timestamp: t, CaptureLength: len(b), Length: len(b)}
	if d.Comment != "" {
		ci.AncillaryData = []any{Comment(d.Comment)}
	}
	return d.packets.WritePacket(ci, b)
}

// appendIPv4 appends the headers of an IPv4 packet with a UDP datagram of a
// size, its own header included. They have no checksums.
func appendIPv4(dst []byte, from, to netip.AddrPort, size int) []byte {
	const (
		version      = 0x45 // 4, and a header of five words
		dontFragment = 0x40
		ttl          = 64
	)
	full := ipv4Header + size
	dst = append(dst, version, 0, byte(full>>8), byte(full), 0, 0, dontFragment, 0, ttl, byte(layers.IPProtocolUDP), 0, 0)
	src4, dst4 := from.Addr().As4(), to.Addr().As4()
	dst = append(append(dst, src4[:]...), dst4[:]...)
	dst = binary.BigEndian.AppendUint16(dst, from.Port())
	dst = binary.BigEndian.AppendUint16(dst, to.Port())
	return append(dst, byte(size>>8), byte(size), 0, 0)
}

// sealIPv4 puts the checksum of its header into an IPv4 packet.
func sealIPv4(b []byte) { binary.BigEndian.PutUint16(b[10:], ^checksum(0, b[:ipv4Header])) }
