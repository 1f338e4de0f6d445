package capture

import (
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/bcdissect/bcdissect/dissect/capture/device"
)

// A DatagramWriter writes the datagrams that a program itself has sent and
// received. It puts each into an IPv4 packet of its own, so that all capture
// readers can read the file.
type DatagramWriter struct {
	packets PacketWriter
	buf     gopacket.SerializeBuffer
	ip      layers.IPv4
	udp     layers.UDP
	payload gopacket.Payload
	layers  [3]gopacket.SerializableLayer
	packet  device.Packet

	Comment string // of the next datagram; empty for none
}

// DatagramOptions sets the link type and snap length of a file of datagrams.
func DatagramOptions(o WriterOptions) *WriterOptions {
	o.Link, o.SnapLen = linkRaw, math.MaxUint16
	return &o
}

// NewDatagramWriter returns a writer of datagrams on top of a packet writer
// with the link type of raw IP, 101.
func NewDatagramWriter(w PacketWriter) *DatagramWriter {
	d := &DatagramWriter{packets: w, buf: gopacket.NewSerializeBuffer()}
	const ttl = 64
	d.ip = layers.IPv4{Version: 4, TTL: ttl, Protocol: layers.IPProtocolUDP, Flags: layers.IPv4DontFragment}
	d.layers = [...]gopacket.SerializableLayer{&d.ip, &d.udp, &d.payload}
	return d
}

// Write writes a borrowed datagram. Both addresses must be IPv4.
func (d *DatagramWriter) Write(t time.Time, src, dst netip.AddrPort, payload []byte) error {
	from, to := src.Addr().Unmap(), dst.Addr().Unmap()
	if !from.Is4() || !to.Is4() {
		return fmt.Errorf("capture: %s → %s: not IPv4", src, dst)
	}
	src4, dst4 := from.As4(), to.As4()
	d.ip.SrcIP, d.ip.DstIP = append(d.ip.SrcIP[:0], src4[:]...), append(d.ip.DstIP[:0], dst4[:]...)
	d.ip.Id++
	d.udp.SrcPort, d.udp.DstPort = layers.UDPPort(src.Port()), layers.UDPPort(dst.Port())
	if err := d.udp.SetNetworkLayerForChecksum(&d.ip); err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	d.payload = payload
	err := gopacket.SerializeLayers(d.buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, d.layers[:]...)
	d.payload = nil
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	b := d.buf.Bytes()
	d.packet = device.Packet{Time: t, Data: b, Full: len(b), Comment: d.Comment}
	return d.packets.WritePacket(&d.packet)
}
