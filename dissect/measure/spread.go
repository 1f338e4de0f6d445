package measure

import (
	"math"
	"math/bits"
	"time"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// spread is a distribution of times. It counts times in ranges that grow with
// the time, so that the middle of a range differs by at most 1/32 from any time
// in it.
type spread struct {
	n        int64
	min, max int64
	counts   [1 + (1+octaves*steps)/steps]*[steps]uint32 // nil where all are 0, since round trips of a link differ little
}

// Each octave from lowest to lowest+octaves is divided into steps ranges of the
// same width. Times below a microsecond share one range, and so do times above
// 18 minutes.
const (
	lowest    = 10 // log2 of 1.024 µs in nanoseconds
	octaves   = 30
	stepsLog2 = 4
	steps     = 1 << stepsLog2
)

func rangeOf(ns int64) int {
	e := bits.Len64(uint64(ns)) - 1
	switch {
	case e < lowest:
		return 0
	case e >= lowest+octaves:
		return 1 + octaves*steps
	}
	return 1 + (e-lowest)*steps + int(ns>>(e-stepsLog2))%steps
}

// middle returns the middle of a range.
func middle(i int) int64 {
	switch i {
	case 0:
		return 1 << lowest / 2
	case 1 + octaves*steps:
		return math.MaxInt64 // quantile limits the result to the longest time
	}
	i--
	width := int64(1) << (lowest + i/steps - stepsLog2)
	return (steps+int64(i%steps))*width + width/2
}

func (s *spread) add(ns int64) {
	if s.n == 0 || ns < s.min {
		s.min = ns
	}
	s.max = max(s.max, ns)
	s.n++
	i := rangeOf(ns)
	block := &s.counts[i/steps]
	if *block == nil {
		*block = new([steps]uint32)
	}
	(*block)[i%steps]++
}

// quantile returns the time that the given share of all times does not exceed.
func (s *spread) quantile(share float64) time.Duration {
	rank := max(1, int64(math.Ceil(share*float64(s.n))))
	for b, block := range s.counts {
		if block == nil {
			continue
		}
		for i, c := range block {
			if rank -= int64(c); rank <= 0 {
				return time.Duration(min(max(middle(b*steps+i), s.min), s.max))
			}
		}
	}
	return time.Duration(s.max)
}

func (s *spread) result() RTT {
	if s.n == 0 {
		return RTT{}
	}
	return RTT{N: s.n, Min: time.Duration(s.min), Median: s.quantile(0.5), P95: s.quantile(0.95), Max: time.Duration(s.max)}
}

// Times are a distribution of times.
type Times struct{ spread }

// Add adds a time.
func (t *Times) Add(d time.Duration) { t.add(int64(d)) }

// Result returns number, median and so on, as exact as for round trips.
func (t *Times) Result() RTT { return t.result() }

// rates has the recent traffic, in steps of a quarter of a second.
type rates [window / step]bucket

const (
	window = 5 * time.Second
	step   = 250 * time.Millisecond
)

// A bucket counts the traffic of one step of time.
type bucket struct {
	epoch                         int64 // number of the step, counted from 1970
	bytes                         uint64
	datagrams, messages, repeated uint32
}

// epochOf returns the number of the step that a time is in.
func epochOf(ns int64) int64 {
	if ns < 0 {
		return (ns+1)/int64(step) - 1
	}
	return ns / int64(step)
}

// at returns the bucket of a time.
func (r *rates) at(ns int64) *bucket {
	epoch := epochOf(ns)
	b := &r[(epoch%int64(len(r))+int64(len(r)))%int64(len(r))]
	if b.epoch != epoch {
		*b = bucket{epoch: epoch}
	}
	return b
}

// result returns the rates at the time now of a link whose first datagram came
// at the time first. The window ends now and begins with a step.
func (r *rates) result(now, first int64) (out Rate) {
	last := epochOf(now)
	begin := last - int64(len(r)) + 1
	for i := range r {
		if b := &r[i]; b.epoch >= begin && b.epoch <= last {
			out.Datagrams += float64(b.datagrams)
			out.Messages += float64(b.messages)
			out.Bytes += float64(b.bytes)
			out.Repeated += float64(b.repeated)
		}
	}
	// A link that began within the window had less time. But one or two datagrams
	// are not enough for a rate.
	span := now - last*int64(step) + int64(window-step)
	if age := packet.Minus(now, first); age >= 0 && age < span {
		span = max(age, int64(time.Second))
	}
	per := float64(time.Second) / float64(span)
	out.Datagrams *= per
	out.Messages *= per
	out.Bytes *= per
	out.Repeated *= per
	return out
}
