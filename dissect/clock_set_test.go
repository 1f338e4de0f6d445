package dissect_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// TestClockSet has the numbers of a battle in which hosts with 8-bit numbers send
// many messages again: they do not depend on a clock that is set in the recording.
func TestClockSet(t *testing.T) {
	var whole []dissect.Datagram
	recorded.Datagrams(t, "field/c21.host.pcap.gz", func(d *dissect.Datagram) {
		whole = append(whole, *d)
		whole[len(whole)-1].Payload = bytes.Clone(d.Payload)
	})
	type finding struct {
		frame  int
		number int64
		repeat bool
	}
	numbers := func(at int, by time.Duration) (list []finding) {
		p := dissect.New(dissect.Config{})
		take := func(r *dissect.Record) error {
			list = append(list, finding{r.Datagram.Number, r.Number, r.Repeat})
			return nil
		}
		for i, d := range whole {
			if i >= at {
				d.Time = d.Time.Add(by)
			}
			if err := p.Push(&d, take); err != nil {
				t.Fatal(err)
			}
		}
		return list
	}
	want := numbers(0, 0)
	if n := len(slices.DeleteFunc(slices.Clone(want), func(f finding) bool { return !f.repeat })); n < 100 {
		t.Fatalf("only %d messages are sent again", n)
	}
	for _, by := range []time.Duration{-3 * 365 * 24 * time.Hour, -7 * time.Second, time.Hour} {
		for at := 1; at < len(whole); at += len(whole) / 20 {
			if have := numbers(at, by); !slices.Equal(have, want) {
				t.Errorf("set by %v at frame %d: other numbers", by, at)
			}
		}
	}
}
