package device

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/fixtures"
)

// FuzzRecords splits records off any bytes, in all layouts: each is shorter
// than its source and consists of its bytes, and reading ends.
func FuzzRecords(f *testing.F) {
	for i, e := range recordExamples {
		b, err := fixtures.ParseHex(e.bytes)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), b)
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		l := recordExamples[int(which)%len(recordExamples)].layout
		held := 0
		for rest := b; len(rest) > 0; {
			p := packet{time: time.Unix(-1, 0)}
			next, ok := l.next(rest, &p)
			if !ok {
				if len(rest) >= 2*l.word+10 && binary.NativeEndian.Uint32(rest[2*l.word:]) == 0 && binary.NativeEndian.Uint16(rest[2*l.word+8:]) == uint16(2*l.word+10) {
					t.Fatalf("%x: an empty packet is refused", rest)
				}
				return
			}
			if len(next) >= len(rest) {
				t.Fatalf("%d bytes are left of %d", len(next), len(rest))
			}
			if p.full < len(p.data) || p.time.Equal(time.Unix(-1, 0)) {
				t.Fatalf("got %+v", p)
			}
			held += len(p.data)
			rest = next
		}
		if held > len(b) {
			t.Fatalf("%d bytes of packets in %d", held, len(b))
		}
	})
}
