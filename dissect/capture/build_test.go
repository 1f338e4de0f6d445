package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// order is a byte order that can also append.
type order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

var (
	little order = binary.LittleEndian
	big    order = binary.BigEndian
)

// pcapStart returns the header of a pcap file.
func pcapStart(o order, magic, snap, link uint32) []byte {
	b := o.AppendUint32(nil, magic)
	b = o.AppendUint16(b, 2)
	b = o.AppendUint16(b, 4)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	b = o.AppendUint32(b, snap)
	return o.AppendUint32(b, link)
}

// pcapAppend appends a record to a pcap file.
func pcapAppend(b []byte, o order, sec, fraction uint32, data []byte, full int) []byte {
	for _, v := range []uint32{sec, fraction, uint32(len(data)), uint32(full)} {
		b = o.AppendUint32(b, v)
	}
	return append(b, data...)
}

// pcapOf returns a pcap file of whole frames, one a second.
func pcapOf(link uint32, frames ...[]byte) []byte { return pcapFrom(1000, link, frames...) }

// pcapFrom is pcapOf for frames that begin at a time.
func pcapFrom(sec, link uint32, frames ...[]byte) []byte {
	b := pcapStart(little, pcapMicro, 65535, link)
	for i, f := range frames {
		b = pcapAppend(b, little, sec+uint32(i), 0, f, len(f))
	}
	return b
}

// block returns a pcapng block. The body is padded.
func block(o order, kind uint32, body ...[]byte) []byte {
	data := bytes.Join(body, nil)
	for len(data)%4 != 0 {
		data = append(data, 0)
	}
	b := o.AppendUint32(nil, kind)
	b = o.AppendUint32(b, uint32(len(data)+12))
	b = append(b, data...)
	return o.AppendUint32(b, uint32(len(data)+12))
}

func section(o order) []byte {
	b := o.AppendUint32(nil, ngMagic)
	b = o.AppendUint16(b, 1)
	b = o.AppendUint16(b, 2)
	return block(o, ngSection, b, bytes.Repeat([]byte{0xff}, 8))
}

func option(o order, code uint16, value ...byte) []byte {
	b := o.AppendUint16(nil, code)
	b = o.AppendUint16(b, uint16(len(value)))
	b = append(b, value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func iface(o order, link uint16, snap uint32, options ...[]byte) []byte {
	b := o.AppendUint16(nil, link)
	b = append(b, 0, 0)
	b = o.AppendUint32(b, snap)
	return block(o, ngInterface, b, bytes.Join(options, nil))
}

func enhanced(o order, which uint32, stamp uint64, data []byte, full int, options ...[]byte) []byte {
	var b []byte
	for _, v := range []uint32{which, uint32(stamp >> 32), uint32(stamp), uint32(len(data)), uint32(full)} {
		b = o.AppendUint32(b, v)
	}
	return block(o, ngEnhanced, b, pad4(data), bytes.Join(options, nil))
}

func simple(o order, data []byte, full int) []byte {
	return block(o, ngSimple, o.AppendUint32(nil, uint32(full)), data)
}

func pad4(b []byte) []byte { return append(slices.Clone(b), make([]byte, (4-len(b)%4)%4)...) }

// join returns the frames' bytes in one slice.
func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// udp4 returns an IPv4 packet from 10.0.0.1:1000 to 10.0.0.2:2000.
func udp4(payload []byte) []byte {
	b := []byte{0x45, 0}
	b = big.AppendUint16(b, uint16(28+len(payload)))
	b = append(b, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2)
	return append(b, udp(payload)...)
}

// udp returns a UDP datagram from port 1000 to 2000.
func udp(payload []byte) []byte {
	b := big.AppendUint16(nil, 1000)
	b = big.AppendUint16(b, 2000)
	b = big.AppendUint16(b, uint16(8+len(payload)))
	return append(append(b, 0, 0), payload...)
}

// datagrams reads everything and returns clones of the datagrams and the final
// error, nil for io.EOF. It checks the properties common to all sources.
func datagrams(t *testing.T, s packet.Source) ([]packet.Datagram, error) {
	t.Helper()
	var all []packet.Datagram
	number := 0
	for {
		d, err := s.Next()
		if err != nil {
			if _, again := s.Next(); again == nil || again.Error() != err.Error() {
				t.Errorf("got %v after %v, want it again", again, err)
			}
			checkStats(t, s)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return all, err
		}
		if d.Number <= number {
			t.Errorf("got frame %d after %d", d.Number, number)
		}
		if number = d.Number; d.Full < len(d.Payload) {
			t.Errorf("frame %d: got %d bytes of %d", d.Number, len(d.Payload), d.Full)
		}
		if y := d.Time.Year(); d.Time.Location() != time.UTC || y < 1 || y > 9999 {
			t.Errorf("frame %d: got time %v", d.Number, d.Time)
		}
		if d.Digits < 0 || d.Digits > 9 {
			t.Errorf("frame %d: got %d digits", d.Number, d.Digits)
		}
		if d.Src.Addr().Is4In6() || d.Dst.Addr().Is4In6() {
			t.Errorf("frame %d: got %v and %v, want them unmapped", d.Number, d.Src, d.Dst)
		}
		c := *d
		c.Payload = bytes.Clone(d.Payload)
		all = append(all, c)
	}
}

func checkStats(t *testing.T, s packet.Source) {
	t.Helper()
	st, ok := s.(interface{ Stats() Stats })
	if !ok {
		return
	}
	got := st.Stats()
	if got.Frames != got.Datagrams+got.Other.Total() {
		t.Errorf("got %+v, want frames to be the sum", got)
	}
	links := 0
	for _, l := range got.Other.Links {
		links += l.Frames
	}
	if links > got.Other.UnknownLink || links < got.Other.UnknownLink && len(got.Other.Links) < maxLinks {
		t.Errorf("got %d frames by link type of %d", links, got.Other.UnknownLink)
	}
	if got.LastTime.Before(got.FirstTime) {
		t.Errorf("got last time %v before first %v", got.LastTime, got.FirstTime)
	}
}

// read reads a capture from memory.
func read(t *testing.T, capture []byte) ([]packet.Datagram, Stats, error) {
	t.Helper()
	f, err := NewReader("test", bytes.NewReader(capture))
	if err != nil {
		return nil, Stats{}, err
	}
	defer f.Close()
	all, err := datagrams(t, f)
	return all, f.Stats(), err
}

// mustRead reads an intact capture.
func mustRead(t *testing.T, capture []byte) ([]packet.Datagram, Stats) {
	t.Helper()
	all, stats, err := read(t, capture)
	if err != nil {
		t.Fatal(err)
	}
	return all, stats
}

// one reads a capture with a single datagram.
func one(t *testing.T, capture []byte) packet.Datagram {
	t.Helper()
	all, stats := mustRead(t, capture)
	if len(all) != 1 {
		t.Fatalf("got %d datagrams, want 1: %+v", len(all), stats)
	}
	return all[0]
}
