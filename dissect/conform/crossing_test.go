package conform

import (
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// TestEnters: a client enters between its ClientReady and the host's answer.
func TestEnters(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	c := &Client{ready: true, entered: at(10), welcomed: at(11)}
	for s, want := range map[int]bool{9: false, 10: true, 11: false} {
		if got := c.enters(at(s)); got != want {
			t.Errorf("after %d s: got %v, want %v", s, got, want)
		}
	}
	c.welcomed = time.Time{} // the capture lacks the answer
	if !c.enters(at(12)) || c.enters(at(14)) {
		t.Error("without an answer it enters for 3 s")
	}
	c.ready = false
	if c.enters(at(10)) {
		t.Error("one that is not ready does not enter")
	}
}

// TestCrossed: the host may pass a message on to a client that came after it, or
// that left before it.
func TestCrossed(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	came, left := Client{ready: true, entered: at(20)}, Client{ready: true, gone: true, left: at(20)}
	const key = 5
	for _, c := range []struct {
		name   string
		client Client
		said   int // when
		got    int // when
		key    uint64
		want   bool
	}{
		{"said before it came", came, 19, 21, key, true},
		{"another message", came, 19, 21, key + 1, false},
		{"got before it came", came, 18, 19, key, false},
		{"said long before", came, 5, 21, key, false},
		{"said after it came", came, 21, 22, key, false},
		{"said after it left", left, 21, 22, key, true},
		{"said after the copy", left, 22, 21, key, false},
		{"said before it left", left, 19, 21, key, false},
	} {
		cmp := &comparer{crossing: []crossing{{key, at(c.said)}}}
		d := newDestination(&c.client, new(reached))
		if got := cmp.crossed(d, &got{Event: &Event{Type: transport.Standard, Time: at(c.got)}, key: c.key}); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
