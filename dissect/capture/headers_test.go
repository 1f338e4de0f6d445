package capture

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/fixtures"
)

// gopacket's full decoding agrees about every frame.
func TestAgainstGopacket(t *testing.T) {
	for _, name := range allCaptures(t) {
		t.Run(name, func(t *testing.T) {
			s, err := Open(fixtures.Path(name), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			f := s.open[0]
			for {
				err := f.frames.next(&f.frame)
				if errors.Is(err, io.EOF) || errors.Is(err, ErrCut) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				want, ok := second(f.frame.Link, f.frame.Data)
				if !f.decoder.decode(&f.frame) || !ok {
					t.Fatal("no datagram")
				}
				compare(t, &f.decoder.datagram, &want)
			}
		})
	}
}

// FuzzHeaders compares our code for headers, and what it makes of gopacket's
// layers, with gopacket's whole decoding. Where gopacket finds a UDP header behind
// headers that we know, we find the same datagram.
func FuzzHeaders(f *testing.F) {
	seedFrames(f)
	f.Fuzz(func(t *testing.T, link uint16, _ uint8, b []byte) {
		want, ok := second(link, b)
		discovery := []byte{0x88, 0x63} // gopacket takes PPPoE discovery for a session
		if !ok || bytes.Contains(b, discovery) {
			return
		}
		var d decoder
		if !d.decode(&frame{Frame: Frame{Link: link, Data: b, Full: len(b)}}) {
			t.Fatalf("no datagram, want %+v", want)
		}
		compare(t, &d.datagram, &want)
	})
}

// compare compares a datagram with what gopacket found.
func compare(t *testing.T, got, want *packet.Datagram) {
	t.Helper()
	if got.Src != want.Src || got.Dst != want.Dst || !bytes.Equal(got.Payload, want.Payload) || got.Full != want.Full {
		t.Fatalf("frame %d: got %v > %v, %d of %d bytes; gopacket has %v > %v, %d of %d", got.Number,
			got.Src, got.Dst, len(got.Payload), got.Full, want.Src, want.Dst, len(want.Payload), want.Full)
	}
}

// second decodes a frame with gopacket. It reports false if gopacket finds no UDP
// behind headers that we know, or if it is wrong about them.
func second(link uint16, b []byte) (d packet.Datagram, ok bool) {
	var first gopacket.Decoder = layers.LinkType(link)
	switch link {
	case linkSLL2: // 20 for gopacket
		if len(b) < 20 {
			return d, false
		}
		first, b = layers.EthernetType(be16(b)), b[20:]
	case linkIPv4, linkIPv6, linkRawBSD, linkRawOpen: // unknown to gopacket
		first = layers.LinkTypeRaw
	default:
		if link > 0xff {
			return d, false
		}
	}
	b = slices.Clip(b) // gopacket's PPPoE reads beyond the end
	p := gopacket.NewPacket(b, first, gopacket.DecodeOptions{NoCopy: true})
	udp := udpBehind(p.Layers())
	if udp == nil {
		return d, false
	}
	flow := p.NetworkLayer().NetworkFlow()
	from, _ := netip.AddrFromSlice(flow.Src().Raw())
	to, _ := netip.AddrFromSlice(flow.Dst().Raw())
	d.Src, d.Dst = netip.AddrPortFrom(from.Unmap(), uint16(udp.SrcPort)), netip.AddrPortFrom(to.Unmap(), uint16(udp.DstPort))
	d.Payload, d.Full = udp.Payload, int(udp.Length)-udpHeader
	return d, true
}

// udpBehind returns the UDP header of a packet behind headers that we know, one
// of which is an IP header. It returns nil where gopacket is known to be wrong.
func udpBehind(all []gopacket.Layer) *layers.UDP {
	ip := false
	for i, l := range all {
		switch l := l.(type) {
		case *layers.Ethernet:
			if i > 0 {
				return nil // a bridge's tunnel
			}
		case *layers.Dot1Q, *layers.Loopback, *layers.LinuxSLL, *layers.PPP, *layers.PPPoE, *layers.MPLS:
			if ip {
				return nil // a tunnel
			}
		case *layers.IPv4:
			// gopacket does not look at the version, and takes the lower 16 bits of the
			// frame's length if the packet has none.
			if ip || l.Version != 4 || be16(l.Contents[2:]) == 0 {
				return nil
			}
			ip = true
		case *layers.IPv6:
			// gopacket does not look at the version, and takes padding for payload behind a
			// hop-by-hop header.
			if ip || l.Version != 6 || l.HopByHop != nil {
				return nil
			}
			ip = true
		case *layers.IPv6Routing, *layers.IPv6Destination:
		case *layers.UDP:
			if !ip || l.Length < udpHeader { // a length of 0 stands for the IP packet's length, which is lost by now
				return nil
			}
			return l
		default:
			return nil
		}
	}
	return nil
}
