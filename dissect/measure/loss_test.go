package measure

import (
	"math"
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
)

// The parts were lost on purpose when the captures were made: fixtures/MANIFEST.md says
// how many, and where. Single players have few messages, so their mean is compared.
func TestLossesOnPurpose(t *testing.T) {
	for _, tt := range []struct {
		name       string
		lost, near float64
	}{
		{"field/c21.host.pcap.gz", 0.20, 0.08}, {"field/c21.client.pcap.gz", 0.20, 0.08}, // before and behind the recording
		{"field/c15.router.pcap.gz", 0.15, 0.05}, // behind it
		{"field/f1x.host.pcap.gz", 0.05, 0.03}, {"field/p187.host.pcap.gz", 0, 0.03},
	} {
		var m Meter
		each(t, tt.name, m.Record)
		mean, all := 0.0, Losses(m.Links())
		for _, l := range all {
			mean += l.Part / float64(len(all))
			if l.Most < l.Part || l.Most < 0.8*tt.lost || l.Most > 1 {
				t.Errorf("%s: %v %s: %v", tt.name, l.Dir, l.Player, l)
			}
		}
		if math.Abs(mean-tt.lost) > tt.near || len(all) != 8 {
			t.Errorf("%s: %.3f of %d directions, want %v", tt.name, mean, len(all), tt.lost)
		}
	}
}

// Worked out by hand: of six numbers to the host one never came, one came again after
// a second, and one was overtaken; of four messages to the client one was sent twice
// before its acknowledgement. The last waits for one, also when it comes again: the
// client may have left.
func TestLossEvidence(t *testing.T) {
	gap := func(seq uint16, n int) dissect.Record {
		r := data(seq)
		r.Number, r.Gap = int64(seq), n
		return r
	}
	late := func(seq uint16) dissect.Record {
		r := data(seq)
		r.Number, r.Late = int64(seq), true
		return r
	}
	p := newTape()
	p.ms(0, toHost, gap(0, 0))
	p.ms(10, toHost, gap(2, 1))
	p.ms(20, toHost, late(1))
	p.ms(100, toHost, gap(5, 2))
	p.ms(1100, toHost, late(3))
	for seq := range uint16(3) {
		p.ms(2000, fromHost, data(seq))
	}
	p.ms(3000, fromHost, again(data(1)))
	p.ms(3010, toHost, ackOf(data(0)), ackOf(data(1)), ackOf(data(2)))
	p.ms(4000, fromHost, data(3))
	p.ms(5000, fromHost, again(data(3)))
	p.ms(6000, fromHost, again(data(3)))
	for _, l := range Losses(p.Links()) {
		want := Loss{Numbers: 6, Missing: 2, Sent: 0} // no acknowledgement came
		if l.Dir == fromHost {
			want = Loss{Numbers: 4, Sent: 4, Unanswered: 1}
		}
		if got := (Loss{Numbers: l.Numbers, Missing: l.Missing, Sent: l.Sent, Unanswered: l.Unanswered}); got != want {
			t.Errorf("%v: got %+v, want %+v", l.Dir, got, want)
		}
		part := 2.0 / 6
		if l.Dir == fromHost { // fewer are unanswered than acknowledgements are lost
			part = 0
		}
		if math.Abs(l.Part-part) > 1e-9 {
			t.Errorf("%v: lost %v, want %v", l.Dir, l.Part, part)
		}
	}
}

// A host sends its challenges again although they are acknowledged, so they tell
// nothing about the line.
func TestChallengesAreNoLoss(t *testing.T) {
	p := newTape()
	p.ms(0, fromHost, data(0))
	p.ms(10, toHost, ackOf(data(0)))
	for i := range 10 {
		c := data(51272)
		c.Transport.Len, c.Payload, c.Bytes = c.Transport.Size, nil, make([]byte, c.Transport.Size)
		p.ms(float64(20+20*i), fromHost, c)
		p.ms(float64(30+20*i), toHost, ackOf(c))
	}
	for _, l := range Losses(p.Links()) {
		want := int64(0)
		if l.Dir == fromHost {
			want = 1
		}
		if l.Numbers != want || l.Sent != want || l.Missing+l.Unanswered != 0 {
			t.Errorf("%v: %d numbers, %d sent, %d missing, %d unanswered; want %d, %d, 0, 0", l.Dir, l.Numbers, l.Sent, l.Missing, l.Unanswered, want, want)
		}
	}
}
