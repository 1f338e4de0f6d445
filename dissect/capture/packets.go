package capture

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// Series of files and live captures are sources of packets for other programs that
// use gopacket: pass one and its LinkType to [gopacket.NewPacketSource]. In the
// other direction, [FromPackets] reads the datagrams of any such source.
var (
	_ gopacket.PacketDataSource         = (*Series)(nil)
	_ gopacket.PacketDataSource         = (*Live)(nil)
	_ gopacket.ZeroCopyPacketDataSource = (*Series)(nil)
	_ gopacket.ZeroCopyPacketDataSource = (*Live)(nil)
)

// A LinkType is a LINKTYPE number as in capture files. It has 16 bits, and
// [layers.LinkType] has 8. It is a [gopacket.Decoder] for packets of the type.
type LinkType uint16

// Decode implements [gopacket.Decoder]. It decodes the types that gopacket knows
// and all types of this package, but adds no layer for Linux's current header on
// "any".
func (l LinkType) Decode(data []byte, p gopacket.PacketBuilder) error {
	switch {
	case l == linkSLL2 && len(data) >= sll2Header:
		return layers.EthernetType(be16(data)).Decode(data[sll2Header:], p)
	case isIP(uint16(l)):
		return layers.LinkTypeRaw.Decode(data, p)
	case l > 0xff:
		return fmt.Errorf("link type %d with %d bytes cannot be decoded", l, len(data))
	}
	return layers.LinkType(l).Decode(data, p)
}

// A packetReader lets a source of datagrams yield its packets.
type packetReader struct {
	decode  *decoder
	next    func() (*packet.Datagram, error) // the source's Next
	current func() *frame                    // the frame at which it stopped
}

// ReadPacketData implements [gopacket.PacketDataSource]. Like Next, it takes the
// packet out of the capture. The packet's [LinkType] is its ancillary data. A
// packet whose bytes are not in the capture is skipped.
func (r *packetReader) ReadPacketData() (data []byte, ci gopacket.CaptureInfo, err error) {
	data, ci, err = r.ZeroCopyReadPacketData()
	ci.AncillaryData = slices.Clone(ci.AncillaryData)
	return bytes.Clone(data), ci, err
}

// ZeroCopyReadPacketData is ReadPacketData with bytes and ancillary data that are
// valid until the next packet or datagram is read.
func (r *packetReader) ZeroCopyReadPacketData() (data []byte, ci gopacket.CaptureInfo, err error) {
	d := r.decode
	d.every = true
	defer func() { d.every = false }()
	for {
		if _, err := r.next(); err != nil {
			return nil, ci, err
		}
		f := r.current()
		data, full := f.Data, f.Full
		if f.logged != nil {
			data, full = d.ofLog(f)
		}
		if data == nil {
			continue
		}
		if link := f.linkType(); d.ancillary[0] != link {
			d.ancillary[0] = link
		}
		return data, gopacket.CaptureInfo{
			Timestamp: f.Time, CaptureLength: len(data), Length: full, InterfaceIndex: f.Interface, AncillaryData: d.ancillary[:],
		}, nil
	}
}

// LinkType returns the link type of the next packet. Later ones may have other
// types, also in one pcapng file.
func (s *Series) LinkType() LinkType {
	for s.err == nil {
		f, _ := s.turn()
		if f == nil {
			continue
		}
		s.turnTo(f)
		if !f.ahead {
			if err := f.lookAhead(); err != nil {
				s.end(f, err)
				continue
			}
		}
		return f.frame.linkType()
	}
	return 0
}

// LinkType returns the link type of all packets.
func (l *Live) LinkType() LinkType { return LinkType(l.link) }

// linkType returns the link type of the packet that gopacket gets.
func (f *frame) linkType() LinkType {
	if f.logged != nil {
		return linkRaw
	}
	return LinkType(f.Link)
}

// Packets reads the datagrams in the packets of a source. It implements
// [packet.Source].
type Packets struct {
	read    func() ([]byte, gopacket.CaptureInfo, error)
	link    uint16
	frame   frame
	decoder decoder
	err     error // result of all later calls of Next
}

// FromPackets returns a source of the datagrams in packets, which may come from
// anywhere: a pcap.Handle, an afpacket.TPacket, a pcapgo.Reader, a reader of
// yours. link is the LINKTYPE number of the packets. A link type in a packet's
// ancillary data, which a pcapgo.NgReader can set, takes precedence.
//
// If src also implements [gopacket.ZeroCopyPacketDataSource], that is used. An
// error that is only temporary, such as a timeout, is not the end.
func FromPackets(src gopacket.PacketDataSource, link uint16) *Packets {
	p := &Packets{read: src.ReadPacketData, link: link}
	if z, ok := src.(gopacket.ZeroCopyPacketDataSource); ok {
		p.read = z.ZeroCopyReadPacketData
	}
	return p
}

// Next implements [packet.Source].
func (p *Packets) Next() (*packet.Datagram, error) {
	for p.err == nil {
		data, ci, err := p.read()
		if err != nil {
			if t, ok := errors.AsType[interface {
				error
				Temporary() bool
			}](err); !ok || !t.Temporary() {
				p.err = err
			}
			continue
		}
		at := unixTime(ci.Timestamp.Unix(), 0, int64(ci.Timestamp.Nanosecond()))
		p.frame.Frame = Frame{Time: at, Link: p.linkOf(&ci), Data: data, Full: max(ci.Length, len(data))}
		p.frame.digits = 9 // a source may know, but pcapgo.Reader mistakes microseconds for nanoseconds
		if p.decoder.decode(&p.frame) {
			return &p.decoder.datagram, nil
		}
	}
	return nil, p.err
}

// linkOf returns the link type of a packet.
func (p *Packets) linkOf(ci *gopacket.CaptureInfo) uint16 {
	for _, a := range ci.AncillaryData {
		switch l := a.(type) {
		case layers.LinkType:
			return uint16(l)
		case LinkType:
			return uint16(l)
		}
	}
	return p.link
}

// Stats counts the packets read so far.
func (p *Packets) Stats() Stats { return p.decoder.stats(new(progress)) }

// Close implements [packet.Source]. It leaves the packets' source open.
func (p *Packets) Close() error { return nil }
