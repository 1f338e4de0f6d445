package dissect_test

import (
	"errors"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// A damaged header opens no conversation where others are sound, and its datagram
// is a record with ErrHeader. Where all checksums are wrong they tell nothing.
func TestDamagedHeaders(t *testing.T) {
	read := func(damaged func(frame int) bool) (ok, flawed, conversations int) {
		p := dissect.New(dissect.Config{})
		recorded.Datagrams(t, "networked_battle.pcap", func(d *dissect.Datagram) {
			if d.Damaged {
				t.Fatalf("frame %d: sound headers count as damaged", d.Number)
			}
			if d.Damaged = damaged(d.Number); d.Damaged && d.Number == 1000 {
				d.Src = d.Dst // an address pair that is new
			}
			size := 0
			err := p.Push(d, func(r *dissect.Record) error {
				if errors.Is(r.Err, dissect.ErrHeader) {
					flawed++
					size = len(r.Bytes)
				} else {
					ok++
				}
				return nil
			})
			if err != nil || size != 0 && size != len(d.Payload) {
				t.Errorf("frame %d: %v, %d of %d bytes", d.Number, err, size, len(d.Payload))
			}
		})
		return ok, flawed, p.Stats().Conversations
	}
	all, flawed, conversations := read(func(int) bool { return false })
	if flawed != 0 {
		t.Errorf("%d damaged headers in a sound capture", flawed)
	}
	if n, flawed, c := read(func(frame int) bool { return frame != 1000 }); n != all || flawed != 0 || c != conversations {
		t.Errorf("all checksums are wrong: %d records, want %d; %d damaged; %d conversations, want %d", n, all, flawed, c, conversations)
	}
	if _, flawed, c := read(func(frame int) bool { return frame == 1000 }); flawed != 1 || c != conversations {
		t.Errorf("one checksum is wrong: %d damaged; %d conversations, want %d", flawed, c, conversations)
	}
}
