package conform

import (
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// numberedRecord is the record of a message with a number, as the pipeline makes it.
func numberedRecord(number int64, gap int, late bool) *dissect.Record {
	h := transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true, Seq: uint16(uint8(number))}
	return &dissect.Record{Datagram: &dissect.Datagram{Number: 1}, Transport: h, Number: number, Gap: gap, Late: late}
}

// says takes a message with a number, which is recorded in the given frame.
func (t *track) says(number int64, gap int, late bool, frame int) *receipt {
	return t.take(numberedRecord(number, gap, late), moment{frame: frame}, 0)
}

// confirms takes an acknowledgement.
func (t *track) confirms(seq uint16, frame int) *receipt {
	return t.acknowledged(&dissect.Record{Datagram: &dissect.Datagram{Number: frame}, Transport: transport.Header{Seq: seq}})
}

// TestHoles: which numbers are missing, or came late.
func TestHoles(t *testing.T) {
	h := track{begun: true}
	h.says(2, 0, false, 1) // 0 and 1 are missing
	h.says(3, 0, false, 2)
	h.says(7, 3, false, 3)                                    // 4, 5 and 6
	h.says(5, 0, true, 4)                                     // sent again
	if r := h.says(1, 0, false, 5); h.lost != 5 || !r.twice { // the tracker does not know that the first was due
		t.Errorf("%d lost, twice %v; want 5, true", h.lost, r.twice)
	}
}

// TestLongHole: of a long hole, only so many numbers count as the tracker remembers.
func TestLongHole(t *testing.T) {
	h := track{begun: true}
	h.says(0, 0, false, 1)
	h.says(60000, 59999, false, 2)
	h.says(59500, 0, true, 3) // sent again
	if h.missing() != maxGap {
		t.Errorf("%d are missing, want %d", h.missing(), maxGap)
	}
}

// TestSentBefore: a message may have been sent before if its number was skipped, or
// if the receiver has acknowledged it already.
func TestSentBefore(t *testing.T) {
	h := track{begun: true}
	for i, step := range []struct {
		name   string
		number int64
		gap    int
		late   bool
		acked  uint16 // before
		want   bool
	}{
		{"the first", 0, 0, false, 0, false},
		{"behind a hole", 3, 2, false, 0, false},
		{"in the hole", 1, 0, true, 3, true},
		{"the next", 4, 0, false, 3, false},
		{"acknowledged before it came", 5, 0, false, 5, true},
	} {
		if step.acked > 0 {
			h.confirms(step.acked, i)
		}
		if r := h.says(step.number, step.gap, step.late, i); r.twice != step.want {
			t.Errorf("%s: sent before: %v, want %v", step.name, r.twice, step.want)
		}
	}
}

// TestMissingFragment: a message is missing if its fragments are not complete when the
// next one begins.
func TestMissingFragment(t *testing.T) {
	for _, last := range []dissect.Status{dissect.StatusPending, dissect.StatusOK} {
		h := track{begun: true}
		for i := range 2 {
			r := numberedRecord(0, 0, false)
			r.Transport.Fragment, r.Transport.Index, r.Status = true, uint8(i), dissect.StatusPending
			if i == 1 {
				r.Status = last
			}
			h.take(r, moment{frame: i}, 0)
		}
		h.says(1, 0, false, 3)
		if lacks := last == dissect.StatusPending; (h.missing() > 0) != lacks {
			t.Errorf("%v: a message is missing: %v, want %v", last, h.missing() > 0, lacks)
		}
	}
}

// TestBrokenFragments: fragments that come again, or out of order.
func TestBrokenFragments(t *testing.T) {
	for _, c := range []struct {
		name   string
		index  []uint8
		again  int // index of a retransmission, -1 if there is none
		broken bool
	}{
		{"in order", []uint8{0, 1, 2}, -1, false},
		{"doubled", []uint8{0, 1, 1, 2}, 2, true},
		{"reversed", []uint8{2, 1, 0}, -1, true},
		{"first missing", []uint8{1, 2, 0}, -1, true},
	} {
		var h track
		broken := false
		for i, x := range c.index {
			r := numberedRecord(7, 0, false)
			r.Transport.Fragment, r.Transport.Index, r.Repeat = true, x, i == c.again
			broken = h.take(r, moment{frame: i}, 0).broken
		}
		if broken != c.broken {
			t.Errorf("%s: got %v, want %v", c.name, broken, c.broken)
		}
		if h.says(8, 0, false, 9).broken {
			t.Errorf("%s: the next message is broken, too", c.name)
		}
	}
}

// TestProvenHoles: an acknowledgement proves that the capture lacks a message
// although none follows.
func TestProvenHoles(t *testing.T) {
	for _, c := range []struct {
		name  string
		last  int64 // number that came
		seq   uint16
		want  int
		after int64 // number that comes then, 0 for none
		left  int
	}{
		{"the last that came", 300, 44, 0, 0, 0},
		{"the next, in 8 bits", 300, 45, 1, 0, 1},
		{"one further, in 16 bits", 300, 303, 3, 0, 3},
		{"long before", 300, 40, 0, 0, 0},
		{"long before, or far ahead", 300, 200, 0, 0, 0},
		{"across the end of 8 bits", 511, 2, 3, 0, 3},
		{"it comes after all", 300, 45, 1, 301, 0},
	} {
		var h track
		h.confirms(c.seq, 1)
		if h.missing() != 0 {
			t.Errorf("%s: an acknowledgement before all messages proves %d", c.name, h.missing())
		}
		h.says(c.last, 0, false, 2)
		h.confirms(c.seq, 3)
		if got := h.missing(); got != c.want {
			t.Errorf("%s: %d are missing, want %d", c.name, got, c.want)
		}
		if c.after > 0 {
			h.says(c.after, 0, false, 4)
		}
		if got := h.missing(); got != c.left {
			t.Errorf("%s: %d are left, want %d", c.name, got, c.left)
		}
	}
}

// TestReceipts: an acknowledgement bears eight bits of the number, also where the
// client's numbers have no more on the wire. It belongs to the nearest message.
func TestReceipts(t *testing.T) {
	var h track
	first := h.says(145, 0, false, 1)
	for n := int64(146); n <= 400; n++ {
		h.says(n, 0, false, 2)
	}
	h.confirms(145, 3) // acknowledges 401, which was recorded late
	if first.acknowledged() {
		t.Error("the acknowledgement of message 401 counts for message 145")
	}
	near := h.says(401, 0, false, 4)
	h.confirms(145, 5)
	if !near.acknowledged() || first.acknowledged() {
		t.Errorf("message 401 is acknowledged: %v, message 145: %v; want only the first", near.acknowledged(), first.acknowledged())
	}
	if got := h.confirms(400, 6); got == nil || got.number != 400 || !got.acknowledged() { // a host with 16 bits
		t.Error("message 400 is not acknowledged by its whole number")
	}
}

// A challenge has a made-up number, so it neither fills a hole nor counts as a
// message that was sent again.
func TestChallengesFillNoHoles(t *testing.T) {
	var c Client
	c.got[1].begun = true
	c.got[1].says(1, 0, false, 1) // 0 is missing
	h := transport.Header{Type: transport.Standard, Len: 5, Size: 5, Reliable: true, HasSeq: true, Seq: 51272}
	challenge := &dissect.Record{Datagram: &dissect.Datagram{Number: 1}, Dir: dissect.FromHost, Transport: h, Bytes: make([]byte, 5)}
	var line timeline
	for range 2 {
		if line.follow(challenge, &c) != nil {
			t.Error("a challenge counts as a message with a number")
		}
	}
	if n := c.got[1].missing(); n != 1 {
		t.Errorf("%d are missing, want 1", n)
	}
}
