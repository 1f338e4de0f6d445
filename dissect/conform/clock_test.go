package conform_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
)

// With wrong times, no host is blamed: the captures conform, and so they do with these. A
// clock that goes back has a note.
func TestWrongTimes(t *testing.T) {
	for _, name := range []string{"join_flow.pcap", "stock_client.pcap", "lossy.pcap", "networked_battle.pcap"} {
		for _, tt := range []struct {
			name string
			off  func(frame int) time.Duration
			back bool
		}{
			{"every other frame", func(frame int) time.Duration { return time.Duration(frame%2) * time.Hour }, true},
			{"every other frame, seconds", func(frame int) time.Duration { return time.Duration(frame%2) * 5 * time.Second }, true},
			{"three clocks", func(frame int) time.Duration { return time.Duration(frame%3) * time.Hour }, true},
			{"never twice the same", func(frame int) time.Duration { return time.Duration(frame*7919%3600) * time.Second }, true},
			{"ahead at frame 12", func(frame int) time.Duration { return time.Duration(min(frame/12, 1)) * time.Hour }, false},
			{"ahead at frame 20", func(frame int) time.Duration { return time.Duration(min(frame/20, 1)) * time.Minute }, false},
		} {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				reports := compare(t, name, decode.Undecided, nil, func(d *dissect.Datagram) bool {
					d.Time = d.Time.Add(tt.off(d.Number))
					return true
				})
				for _, r := range reports {
					if !r.Conforms() {
						t.Errorf("%d differences, the first in frame %d: %s", len(r.Differences), r.Differences[0].Frame, r.Differences[0].Detail)
					}
					said := slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "clock goes back") })
					if said != tt.back {
						t.Errorf("the note of a clock that goes back: %v, want %v", said, tt.back)
					}
				}
			})
		}
	}
}
