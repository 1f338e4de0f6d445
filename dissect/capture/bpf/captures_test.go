package bpf

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// captured returns the packets of all captures by link type. Packets that no
// filter can distinguish are included once.
func captured(tb testing.TB) map[int][][]byte {
	tb.Helper()
	type key struct {
		link, size int
		head       string
	}
	seen := make(map[key]bool)
	all := make(map[int][][]byte)
	names := append(fixtures.Glob(tb, "captures/*.pcap*"), fixtures.Glob(tb, "captures/variants/*.pcap*")...)
	for _, name := range names {
		if strings.HasSuffix(name, ".json") {
			continue
		}
		total := 0
		frames(tb, name, func(link int, data []byte) {
			total++
			head := bytes.Clone(data[:min(len(data), 80)])
			// An IPv4 header without options, as in nearly all packets.
			if l, ok := links[link]; ok && len(head) > int(l.size)+24 && head[l.size] == 0x45 {
				head = head[:l.size+24]
				at := head[l.size:]
				for _, i := range []int{1, 2, 3, 4, 5, 8, 10, 11} {
					at[i] = 0
				}
			}
			k := key{link, min(len(data), 80), string(head)}
			if !seen[k] {
				seen[k] = true
				all[link] = append(all[link], bytes.Clone(data))
			}
		})
		if total == 0 && !strings.Contains(name, "headeronly") {
			tb.Errorf("no packet was read of %s", name)
		}
	}
	return all
}

// frames calls f with every packet of a capture. It supports only the formats
// of the fixtures.
func frames(tb testing.TB, name string, f func(link int, data []byte)) {
	tb.Helper()
	b := fixtures.Read(tb, name)
	if strings.HasSuffix(name, ".gz") {
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			tb.Fatal(err)
		}
		if b, err = io.ReadAll(r); err != nil {
			tb.Fatal(err)
		}
	}
	if bytes.HasPrefix(b, []byte{0x0a, 0x0d, 0x0d, 0x0a}) {
		blocks(b, f)
		return
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if b[0] == 0xa1 {
		order = binary.BigEndian
	}
	link := int(order.Uint32(b[20:]))
	for b = b[24:]; len(b) >= 16; {
		size := int(order.Uint32(b[8:]))
		if len(b) < 16+size {
			return // the file is truncated on purpose
		}
		f(link, b[16:16+size])
		b = b[16+size:]
	}
}

// blocks is frames for pcapng.
func blocks(b []byte, f func(link int, data []byte)) {
	order := binary.ByteOrder(binary.LittleEndian)
	if b[8] == 0x1a {
		order = binary.BigEndian
	}
	var links []int
	for len(b) >= 12 {
		size := order.Uint32(b[4:])
		switch order.Uint32(b) {
		case 1:
			links = append(links, int(order.Uint16(b[8:])))
		case 6:
			f(links[order.Uint32(b[8:])], b[28:28+order.Uint32(b[20:])])
		}
		b = b[size:]
	}
}
