package capture

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/netip"
	"strings"
	"testing"
)

// A comment stands behind the packet that it is of, and readers of packets do not
// mind it.
func TestComments(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter("memory", &b, DatagramOptions(WriterOptions{Start: start}))
	if err != nil {
		t.Fatal(err)
	}
	d := NewDatagramWriter(w)
	from, to := netip.MustParseAddrPort("192.0.2.1:22101"), netip.MustParseAddrPort("198.51.100.7:4000")
	comments := []string{"", "R-07: PASS", "four", strings.Repeat("long ", 2000)}
	for i, c := range comments {
		d.Comment = c
		if err := d.Write(start, from, to, []byte{1, byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for rest := b.Bytes(); len(rest) > 0; {
		kind, size := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
		if again := binary.LittleEndian.Uint32(rest[size-4:]); again != size || size%4 != 0 {
			t.Fatalf("a block of %d bytes ends with %d", size, again)
		}
		if kind == 6 { // an enhanced packet block: 28 bytes before the packet, of 30 bytes and 2 of padding
			comment := ""
			if options := rest[28+32 : size-4]; len(options) > 0 {
				if code := binary.LittleEndian.Uint16(options); code != 1 {
					t.Errorf("option %d", code)
				}
				n := binary.LittleEndian.Uint16(options[2:])
				comment = string(options[4 : 4+n])
				if end := options[4+(int(n)+3)&^3:]; !bytes.Equal(end, []byte{0, 0, 0, 0}) {
					t.Errorf("the options end with % x", end)
				}
			}
			got = append(got, comment)
		}
		rest = rest[size:]
	}
	comments[3] = comments[3][:4096]
	if len(got) != len(comments) {
		t.Fatalf("%d packets", len(got))
	}
	for i := range got {
		if got[i] != comments[i] {
			t.Errorf("packet %d: %q, want %q", i, got[i], comments[i])
		}
	}
	src, err := OpenAll([]string{"-"}, &b)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		p, err := src.Next()
		if err == io.EOF { //nolint:errorlint // it is not wrapped
			break
		}
		if err != nil || p.Payload[1] != byte(n) {
			t.Fatalf("datagram %d: %v", n, err)
		}
		n++
	}
	if n != len(comments) {
		t.Errorf("%d datagrams", n)
	}
}
