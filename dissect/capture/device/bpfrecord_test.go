package device

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/fixtures"
)

// Two packets as read from /dev/bpf, as struct bpf_hdr of each system's
// net/bpf.h. Their times are 123456789.000042 s and a second later.
var recordExamples = []struct {
	name   string
	layout layout
	bytes  string
}{
	{"macOS", layout{word: 4, align: 4}, `
		15cd5b07 2a000000  06000000 09000000 1200     # a header of 18 bytes
		a0a1a2a3a4a5                                  # 24 bytes, no padding
		16cd5b07 2b000000  05000000 05000000 1200
		b0b1b2b3b4 00`},
	{"FreeBSD, 64 bits", layout{word: 8, align: 8}, `
		15cd5b0700000000 2a00000000000000  06000000 09000000 1a00   # 26 bytes
		a0a1a2a3a4a5
		16cd5b0700000000 2b00000000000000  05000000 05000000 1a00
		b0b1b2b3b4 00`},
	{"FreeBSD, 32 bits of ARM", layout{word: 8, align: 4}, `
		15cd5b0700000000 2a000000deadbeef  06000000 09000000 1c00 0000  # microseconds, then padding
		a0a1a2a3a4a5 0000
		16cd5b0700000000 2b000000deadbeef  05000000 05000000 1c00 0000
		b0b1b2b3b4 000000`},
	{"OpenBSD", layout{word: 4, align: 4}, `
		15cd5b07 2a000000  06000000 09000000 1800 0100 0000 00 00
		a0a1a2a3a4a5 0000
		16cd5b07 2b000000  05000000 05000000 1800 0100 0000 00 00
		b0b1b2b3b4`}, // the last record is not padded
}

func TestRecord(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the examples are of machines with the low byte first")
	}
	for _, tt := range recordExamples {
		t.Run(tt.name, func(t *testing.T) {
			b, err := fixtures.ParseHex(tt.bytes)
			if err != nil {
				t.Fatal(err)
			}
			var p packet
			rest, ok := tt.layout.next(b, &p)
			if !ok || string(p.data) != "\xa0\xa1\xa2\xa3\xa4\xa5" || p.full != 9 || !p.time.Equal(time.Unix(123456789, 42000)) {
				t.Fatalf("got %+v and %v", p, ok)
			}
			whole := rest
			rest, ok = tt.layout.next(rest, &p)
			if !ok || string(p.data) != "\xb0\xb1\xb2\xb3\xb4" || p.full != 5 || !p.time.Equal(time.Unix(123456790, 43000)) || len(rest) != 0 {
				t.Fatalf("got %+v and %v, %d bytes left", p, ok, len(rest))
			}
			for n := range len(strings.TrimRight(string(whole), "\x00")) {
				if _, ok := tt.layout.next(whole[:n], &p); ok {
					t.Errorf("got %+v of %d bytes", p, n)
				}
			}
		})
	}
}
