package dissect_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// A capture with wrong times has the same retransmissions, fragments and copies:
// they go by the order of the datagrams.
func TestWrongTimes(t *testing.T) {
	for _, name := range []string{"lossy.pcap", "stock_client.pcap", "networked_battle.pcap"} {
		t.Run(name, func(t *testing.T) {
			read := func(off func(frame int) time.Duration) (list []string) {
				p := dissect.New(dissect.Config{})
				recorded.Datagrams(t, name, func(d *dissect.Datagram) {
					d.Time = d.Time.Add(off(d.Number))
					err := p.Push(d, func(r *dissect.Record) error {
						list = append(list, fmt.Sprint(d.Number, r.Part, r.Kind, r.Status, r.Number, r.Repeat, r.Late, r.Gap, r.CopyOf))
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
				})
				return list
			}
			want := read(func(int) time.Duration { return 0 })
			for _, off := range []time.Duration{2 * time.Second, time.Hour, -time.Hour} {
				got := read(func(frame int) time.Duration { return time.Duration(frame%2) * off })
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Errorf("every other datagram %v off: got %s, want %s", off, got[i], want[i])
						break
					}
				}
				if len(got) != len(want) {
					t.Errorf("every other datagram %v off: %d records, want %d", off, len(got), len(want))
				}
			}
		})
	}
}
