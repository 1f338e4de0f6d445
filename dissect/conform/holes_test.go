package conform

import (
	"testing"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// TestHoles: which numbers are missing.
func TestHoles(t *testing.T) {
	var h holes
	h.begin()
	h.take(2, 0, false) // 0 and 1 are missing
	h.take(3, 0, false)
	h.take(7, 3, false) // 4, 5 and 6
	h.take(5, 0, true)  // sent again
	if h.lost != 4 || h.late != 1 || h.seen != 4 {
		t.Errorf("%d lost, %d late, %d seen; want 4, 1, 4", h.lost, h.late, h.seen)
	}
	if h.take(1, 0, false); h.lost != 3 || h.late != 2 || !h.before { // the tracker does not know that the first was due
		t.Errorf("%d lost, %d late; want 3, 2", h.lost, h.late)
	}
}

// TestJumps: a long hole is one, but its numbers are not counted.
func TestJumps(t *testing.T) {
	var h holes
	h.begin()
	h.take(0, 0, false)
	h.take(1+maxGap, maxGap, false)
	if h.lost != maxGap || h.jumps != 0 || !h.lacking() {
		t.Errorf("%d lost and %d jumps, want %d and none", h.lost, h.jumps, maxGap)
	}
	h.take(60000, 60000-maxGap-2, false)
	h.take(59500, 0, true) // sent again
	if h.lost != maxGap || h.jumps != 1 || h.late != 1 {
		t.Errorf("%d lost, %d jumps and %d late, want %d, 1 and 1", h.lost, h.jumps, h.late, maxGap)
	}
}

// TestSentBefore: a message may have been sent before if its number was skipped, or
// if the receiver has acknowledged it already.
func TestSentBefore(t *testing.T) {
	var h holes
	h.begin()
	for _, step := range []struct {
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
			h.acknowledged(step.acked)
		}
		h.take(step.number, step.gap, step.late)
		if h.before != step.want {
			t.Errorf("%s: sent before: %v, want %v", step.name, h.before, step.want)
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
		var h holes
		h.acknowledged(c.seq)
		if h.missing() != 0 {
			t.Errorf("%s: an acknowledgement before all messages proves %d", c.name, h.missing())
		}
		h.take(c.last, 0, false)
		h.acknowledged(c.seq)
		if got := h.missing(); got != c.want {
			t.Errorf("%s: %d are missing, want %d", c.name, got, c.want)
		}
		if c.after > 0 {
			h.take(c.after, 0, false)
		}
		if got := h.missing(); got != c.left {
			t.Errorf("%s: %d are left, want %d", c.name, got, c.left)
		}
	}
}

// TestReceipts: an acknowledgement bears eight bits of the number, also where the
// client's numbers have no more on the wire. It is that of the nearest message.
func TestReceipts(t *testing.T) {
	r := &receipts{}
	first := r.sent(145, false, 0)
	for n := int64(146); n <= 400; n++ {
		r.sent(n, false, 0)
	}
	r.acknowledge(145, false, 0, 1) // of 401, which was recorded late
	if first.acknowledged() {
		t.Error("the acknowledgement of message 401 counts for message 145")
	}
	near := r.sent(401, false, 0)
	r.acknowledge(145, false, 0, 2)
	if !near.acknowledged() || first.acknowledged() {
		t.Errorf("message 401 is acknowledged: %v, message 145: %v; want only the first", near.acknowledged(), first.acknowledged())
	}
	r.acknowledge(400, false, 0, 3) // a host with 16 bits
	if got := r.find(400); got == nil || !got.acknowledged() {
		t.Error("message 400 is not acknowledged by its whole number")
	}
}

// A challenge has a made-up number, so it neither fills a hole nor counts as a
// message that was sent again.
func TestChallengesFillNoHoles(t *testing.T) {
	var c Client
	c.got[1].begin()
	c.got[1].take(1, 0, false) // 0 is missing
	h := transport.Header{Type: transport.Standard, Len: 5, Size: 5, Reliable: true, HasSeq: true, Seq: 51272}
	challenge := &dissect.Record{Datagram: &dissect.Datagram{Number: 1}, Dir: dissect.FromHost, Transport: h, Bytes: make([]byte, 5)}
	var line timeline
	for range 2 {
		line.number(challenge, &c)
		c.watch(&line, challenge)
	}
	if got := &c.got[1]; got.lost != 1 || got.late != 0 || !got.lacking() {
		t.Errorf("%d lost, %d late; want 1, 0", got.lost, got.late)
	}
	if s := &c.streams[1]; len(s.out) != 0 || !s.wide {
		t.Errorf("%d messages with numbers, more than 8 bits: %v; want none, true", len(s.out), s.wide)
	}
}
