package transport

import (
	"bytes"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/fixtures"
)

func ms(n float64) int64 { return int64(n * 1e6) }

// The times at which the OpenBC server sends a message again, to the nanosecond.
func TestTimes(t *testing.T) {
	const tick = 1e-6 // a nanosecond
	for _, tt := range []struct {
		age              float64 // in ms
		inTime, inMissed bool
	}{
		{1900 - tick, false, false},
		{1900, true, false},
		{3300, true, false},
		{3300 + tick, false, false},
		{3900 - tick, false, false},
		{3900, false, true},
		{6600, false, true},
		{6600 + tick, false, false},
	} {
		age := time.Duration(ms(tt.age))
		if a, b := inTime(age), afterMissed(age); a != tt.inTime || b != tt.inMissed {
			t.Errorf("%v: got %v, %v, want %v, %v", age, a, b, tt.inTime, tt.inMissed)
		}
	}
	// After another retransmission: in the 20 ms of its round, or k rounds of 995
	// ms later, give or take 60 ms and 20 ms for each round, or half of this.
	for _, tt := range []struct {
		since        float64 // in ms
		due, exactly bool
	}{
		{20, true, true},
		{20 + tick, false, false},
		{60, false, false},
		{497, false, false},
		{498, false, false},
		{915 - tick, false, false},
		{915, true, false},
		{955 - tick, true, false},
		{955, true, true},
		{1035, true, true},
		{1035 + tick, true, false},
		{1075, true, false},
		{1075 + tick, false, false},
		{6765 - tick, false, false},
		{6765, true, false},
		{7165, true, false},
		{7165 + tick, false, false},
		{7960, true, true},
		{7960 + tick, true, true},
	} {
		tr := Tracker{repeats: true, repeated: ms(50)}
		at := tr.repeated + ms(tt.since)
		if a, b := tr.due(at, false), tr.due(at, true); a != tt.due || b != tt.exactly {
			t.Errorf("%v ms after a retransmission: got %v, %v, want %v, %v", tt.since, a, b, tt.due, tt.exactly)
		}
		if tr.repeats = false; !tr.due(at, true) {
			t.Errorf("%v ms: not due without a retransmission", tt.since)
		}
	}
}

// The rules by which equal bytes are a retransmission, each at its limit.
func TestTrust(t *testing.T) {
	const tick = 1e-6
	for _, tt := range []struct {
		name           string
		bits           uint8
		fresh          int
		ahead          int64
		age            float64 // in ms
		single, resent bool
		since          float64 // time since the last retransmission in ms, or 0
		want           bool
	}{
		{"a minute ago", 8, 0, near, 60000, false, false, 0, true},
		{"longer ago", 8, 0, near, 60000 + tick, false, false, 0, false},
		{"longer ago, 16 bits", 16, 0, near, 60000 + tick, false, false, 0, true},
		{"far ahead, perhaps 16 bits", 0, -1, near, 1000, false, false, 0, true},
		{"far ahead, mostly other bytes", 8, 0, near, 1000, false, false, 0, true},
		{"far ahead, mostly equal bytes", 8, -1, near, 1000, false, false, 0, false},
		{"far ahead, the network doubled it", 8, -1, near, 900 - tick, false, false, 0, true},
		{"far ahead, just too late for the network", 8, -1, near, 900, false, false, 0, false},
		{"far ahead, resent before", 8, -1, near, 1000, true, true, 0, true},
		{"far ahead, in time", 8, -1, near, 2000, true, false, 0, true},
		{"far ahead, after a missed one", 8, -1, near, 4000, true, false, 0, true},
		{"far ahead, with others", 8, -1, near, 2000, false, true, 0, false},
		{"near, resent, at any time", 8, -1, near - 1, 1000, true, true, 0, false},
		{"near, with others", 8, mostly, 5, 2000, false, true, 0, false},
		{"near, fresh, in time", 8, mostly, 5, 2000, true, false, 500, true},
		{"near, less fresh, not due", 8, mostly - 1, 5, 2000, true, false, 500, false},
		{"near, fresh, after a missed one", 8, mostly, 5, 4000, true, false, 500, true},
		{"next, fresh, in time", 8, mostly, 0, 2000, true, false, 500, true},
		{"next, fresh, after a missed one", 8, mostly, 0, 4000, true, false, 500, false},
		{"near, due, in time", 8, 0, 5, 2000, true, false, 995 + 60, true},
		{"near, due, after a missed one", 8, 0, 5, 4000, true, false, 995 + 60, false},
		{"near, due, after a missed one, resent", 8, 0, 5, 4000, true, true, 995 + 60, true},
		{"next, not quite due", 8, 0, 0, 2000, true, true, 995 + 60, false},
		{"next, due, resent", 8, 0, 0, 2000, true, true, 995 + 30, true},
		{"next, due, not resent", 8, 0, 0, 2000, true, false, 995 + 30, false},
		{"next, due, after a missed one", 8, 0, 0, 4000, true, true, 995 + 30, false},
	} {
		now := ms(100000)
		tr := Tracker{repeats: tt.since != 0, repeated: now - ms(tt.since)}
		s := space{bits: tt.bits, fresh: tt.fresh}
		a := arrival{at: now, single: tt.single}
		e := sighting{at: now - ms(tt.age), resent: tt.resent, some: true}
		if got := s.trust(&tr, &a, &e, tt.ahead); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// The rules by which an arrival has the rhythm of a retransmission.
func TestRhythm(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fresh  int
		age    float64 // in ms
		single bool
		since  float64 // time since the last retransmission in ms, or 0
		want   bool
	}{
		{"doubled by the network", -1, 899, false, 500, true},
		{"just too late for that", 0, 900, true, 0, false},
		{"in time", 0, 2000, true, 500, true},
		{"after a missed one", 0, 4000, true, 500, true},
		{"with others", 0, 2000, false, 500, false},
		{"mostly equal bytes, not due", -1, 2000, true, 500, false},
		{"mostly equal bytes, due", -1, 2000, true, 995, true},
		{"between the times", 0, 3500, true, 0, false},
	} {
		now := ms(100000)
		tr := Tracker{repeats: tt.since != 0, repeated: now - ms(tt.since)}
		s := space{bits: 8, fresh: tt.fresh}
		if got := s.rhythm(&tr, &arrival{at: now, single: tt.single}, &sighting{at: now - ms(tt.age)}); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Only messages that come 0.9 s after the same one are retransmissions of the
// sender: sooner, the network has doubled them.
func TestRetransmissionTime(t *testing.T) {
	for _, tt := range []struct {
		at   float64
		want bool
	}{{0.899, false}, {0.9, true}} {
		var tr Tracker
		first, again := taken{seq: 1, number: 1}, taken{at: tt.at, seq: 1}
		first.give(&tr)
		if v := again.give(&tr); !v.Repeat || tr.repeats != tt.want {
			t.Errorf("after %v s: %+v, of the sender: %v, want %v", tt.at, v, tr.repeats, tt.want)
		}
	}
}

// The measure of how often bytes are new moves by an eighth of the way to its
// end, and stays within its bounds.
func TestFresh(t *testing.T) {
	steps := []int{0, 16, 30, 42} // the first lap says nothing; then (128-0)/8, (128-16)/8, (128-30)/8
	for _, sign := range []int{1, -1} {
		list := counted(0, 3000, 0xFF, 100)
		if sign > 0 {
			list = own(list)
		}
		var tr Tracker
		s := &tr.spaces[1]
		for i := range list {
			list[i].with = true
			list[i].give(&tr)
			if n := i - (lap - 1); n >= 0 && n < len(steps) && s.fresh != sign*steps[n] {
				t.Errorf("after %d messages: got %d, want %d", i+1, s.fresh, sign*steps[n])
			}
		}
		if end := sign * s.fresh; end <= always-8 || end > always {
			t.Errorf("at the end: got %d, want an eighth from %d", s.fresh, sign*always)
		}
	}
}

// Unreliable and Skip split the same messages off as Read does.
func TestUnreliable(t *testing.T) {
	for _, tt := range []struct{ name, hex, want string }{
		{"one", "02 01 32 05 00 1C 41", "32 05 00 1C 41"},
		{"without a body", "02 01 32 03 00", ""},
		{"without a body, before another", "02 02 32 03 00 1C", ""},
		{"another first byte", "02 01 32 05 00 1D 41", ""},
		{"above 255 bytes", "02 01 32 01 01" + string(bytes.Repeat([]byte(" 1C"), 254)), "32 01 01" + string(bytes.Repeat([]byte(" 1C"), 254))},
		{"before another", "02 02 32 04 00 1C 02", "32 04 00 1C"},
		{"reliable", "02 01 32 06 80 1C 00 1C", ""},
		{"with priority", "02 01 32 04 40 1C", ""},
		{"a fragment", "02 01 32 06 20 1C 02 03", ""},
		{"another type", "02 01 05 04 00 1C", ""},
		{"shorter than its header", "02 01 32 02 00 1C", ""},
		{"longer than the datagram", "02 01 32 05 00 1C", ""},
		{"cut", "02 01 32 03", ""},
		{"none announced", "02 00 32 04 00 1C", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plain := fixtures.Unhex(t, tt.hex)
			s, err := Split(plain)
			if err != nil {
				t.Fatal(err)
			}
			want := fixtures.Unhex(t, tt.want)
			got := s.Unreliable(0x1C)
			if !bytes.Equal(got, want) {
				t.Fatalf("got % X, want % X", got, want)
			}
			if got == nil {
				return
			}
			one, err := Split(plain)
			if err != nil {
				t.Fatal(err)
			}
			m, ok, err := one.Next()
			if err != nil || !ok || !bytes.Equal(m.Body, got[PlainHeader:]) {
				t.Errorf("Next has % X, %v, %v", m.Body, ok, err)
			}
			if s.Skip(got); s.Offset() != one.Offset() || s.Done() != one.Done() || s.Done() != (len(s.Rest()) == 0) {
				t.Errorf("at %d, done %v, rest % X; Next goes to %d", s.Offset(), s.Done(), s.Rest(), one.Offset())
			}
		})
	}
}

// Acknowledgement and Skip split the same messages off as Read does.
func TestAcknowledgement(t *testing.T) {
	for _, tt := range []struct{ name, hex, want string }{
		{"of a message", "02 01 01 07 00 02", "01 07 00 02"},
		{"of a fragment, before another", "02 02 01 07 00 01 09 02", "01 07 00 01 09"},
		{"cut", "02 01 01 07 00", ""},
		{"cut before the fragment", "02 01 01 07 00 01", ""},
		{"another type", "02 01 32 04 00 1C", ""},
		{"none announced", "02 00 01 07 00 02", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plain := fixtures.Unhex(t, tt.hex)
			s, err := Split(plain)
			if err != nil {
				t.Fatal(err)
			}
			got := s.Acknowledgement()
			if want := fixtures.Unhex(t, tt.want); !bytes.Equal(got, want) {
				t.Fatalf("got % X, want % X", got, want)
			}
			if got == nil {
				return
			}
			one, err := Split(plain)
			if err != nil {
				t.Fatal(err)
			}
			m, ok, err := one.Next()
			if err != nil || !ok || m.Type != Acknowledge || m.AckFlags != AckFlags(got) {
				t.Errorf("Next has %+v, %v, %v", m, ok, err)
			}
			if s.Skip(got); s.Offset() != one.Offset() || s.Left() != s.Count-1 {
				t.Errorf("at %d, %d left; Next goes to %d", s.Offset(), s.Left(), one.Offset())
			}
		})
	}
}

func TestDone(t *testing.T) {
	for _, tt := range []struct {
		hex  string
		want bool
	}{{"02 01 02", true}, {"02 01 02 00", false}, {"02 02 02", false}, {"02 00", true}} {
		s, err := Split(fixtures.Unhex(t, tt.hex))
		for ok := err == nil; ok && err == nil; {
			_, ok, err = s.Next()
		}
		if got := s.Done(); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.hex, got, tt.want)
		}
	}
}

func TestKnown(t *testing.T) {
	for typ := range 256 {
		if got, want := Known(Type(typ)), typ <= 6 || typ == 0x32; got != want {
			t.Errorf("0x%02X: got %v, want %v", typ, got, want)
		}
	}
}
