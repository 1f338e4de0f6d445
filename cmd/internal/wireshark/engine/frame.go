package engine

import (
	"encoding/binary"
	"math"
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
)

// A Frame has the facts that Wireshark knows about a datagram.
type Frame struct {
	Number  int
	Seconds float64 // seconds since 1970, 0 if the capture has no times
	WireLen int     // length of the frame
	Data    []byte  // bytes of the frame, or of the reassembled IP packet
	At, Len int     // position of the datagram in Data
	Full    int     // length of the datagram on the network

	// The addresses are set only if the IP header is not in Data.
	Src, Dst         string
	SrcPort, DstPort int
}

// digits is the number of decimals of times. A Lua number has enough precision
// for microseconds.
const digits = 6

// Datagram returns the datagram. If the addresses are missing, ok is false.
func (f *Frame) Datagram() (d dissect.Datagram, ok bool) {
	d = dissect.Datagram{Number: f.Number, Digits: digits, WireLen: f.WireLen, Full: f.Full, Payload: f.Data[f.At : f.At+f.Len]}
	if f.Seconds != 0 && math.Abs(f.Seconds) < 1<<33 {
		d.Time = time.UnixMicro(int64(math.Round(f.Seconds * 1e6))).UTC()
	}
	if f.Src == "" {
		return d, f.header(&d)
	}
	src, err := netip.ParseAddr(f.Src)
	if err != nil {
		return d, false
	}
	dst, err := netip.ParseAddr(f.Dst)
	if err != nil {
		return d, false
	}
	d.Src, d.Dst = netip.AddrPortFrom(src.Unmap(), uint16(f.SrcPort)), netip.AddrPortFrom(dst.Unmap(), uint16(f.DstPort))
	return d, true
}

// Sizes of headers.
const (
	sizeUDP  = 8
	sizeICMP = 8
	sizeIPv4 = 20
	maxIPv4  = 60
	sizeIPv6 = 40
)

// Protocol numbers.
const (
	protocolICMP = 1
	protocolUDP  = 17
)

// header reads the headers before the datagram.
func (f *Frame) header(d *dissect.Datagram) bool {
	udp := f.At - sizeUDP
	if udp < sizeIPv4 {
		return false
	}
	src, dst := binary.BigEndian.Uint16(f.Data[udp:]), binary.BigEndian.Uint16(f.Data[udp+2:])
	for size := sizeIPv4; size <= min(maxIPv4, udp); size += 4 {
		h := f.Data[udp-size : udp]
		if h[0] != byte(0x40|size/4) || h[9] != protocolUDP {
			continue
		}
		d.Src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(h[12:])), src)
		d.Dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(h[16:])), dst)
		d.IPID = binary.BigEndian.Uint16(h[4:])
		d.Damaged = binary.BigEndian.Uint16(h[10:]) != 0 && !sound(h) // a checksum of 0 means that the network card computes it
		return true
	}
	if udp < sizeIPv6 {
		return false
	}
	h := f.Data[udp-sizeIPv6 : udp]
	if h[0]>>4 != 6 || h[6] != protocolUDP {
		return false
	}
	d.Src = netip.AddrPortFrom(netip.AddrFrom16([16]byte(h[8:])).Unmap(), src)
	d.Dst = netip.AddrPortFrom(netip.AddrFrom16([16]byte(h[24:])).Unmap(), dst)
	return true
}

// sound reports whether the checksum of an IPv4 header is correct.
func sound(h []byte) bool {
	var sum uint32
	for i := 0; i < len(h); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	return sum == 0xFFFF
}

// Quoted reports whether the datagram is a quotation in an ICMP error.
func (f *Frame) Quoted() bool {
	ip := f.At - sizeUDP - sizeIPv4
	outer := ip - sizeICMP - sizeIPv4
	return outer >= 0 && f.Data[ip] == 0x45 && f.Data[outer] == 0x45 && f.Data[outer+9] == protocolICMP
}
