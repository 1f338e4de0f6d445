package arq

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// fragmentOf returns a fragment of message 0 from the other side.
func fragmentOf(index, count uint8, body string) *transport.Message {
	m := reliable(transport.Standard, 0, body)
	m.Fragment, m.Index, m.Count = true, index, count
	return m
}

// acked returns the numbers that the next datagrams acknowledge.
func acked(t *testing.T, l *Endpoint, now time.Time) (seqs []uint16) {
	t.Helper()
	for d, ok := l.Datagram(now, nil); ok; d, ok = l.Datagram(now, nil) {
		for _, m := range split(t, d) {
			seqs = append(seqs, m.Seq)
		}
	}
	return seqs
}

// Every arrival is counted once, under its own name. Messages beyond a limit are
// not acknowledged, so that they come again; those outside the window are, as in
// the game.
func TestStats(t *testing.T) {
	whole := func(seq uint16, body string) *transport.Message { return reliable(transport.Standard, seq, body) }
	plain := func(typ transport.Type, fragment bool) *transport.Message {
		return &transport.Message{Header: transport.Header{Type: typ, Fragment: fragment}, Body: []byte("a")}
	}
	type list = []*transport.Message
	tests := []struct {
		name      string
		arrivals  list
		want      Stats
		delivered string
		acked     []uint16
	}{
		{"in order", list{whole(0, "a"), whole(1, "b")}, Stats{Delivered: 2}, "ab", []uint16{0, 1}},
		{"unreliable", list{plain(transport.Standard, false)}, Stats{Delivered: 1}, "a", nil},
		{"an unreliable fragment", list{plain(transport.Standard, true)}, Stats{Refused: 1}, "", nil},
		{"a keepalive", list{plain(transport.DoNothing, false)}, Stats{}, "", nil},
		{"again", list{whole(0, "a"), whole(0, "a")}, Stats{Delivered: 1, Duplicates: 1}, "a", []uint16{0}},
		{"early", list{whole(1, "b")}, Stats{Early: 1, Held: 1}, "", []uint16{1}},
		{"early, and again", list{whole(1, "b"), whole(1, "b")}, Stats{Early: 1, Duplicates: 1, Held: 1}, "", []uint16{1}},
		{"early, then the first", list{whole(1, "b"), whole(0, "a")}, Stats{Early: 1, Delivered: 2}, "ab", []uint16{1, 0}},
		{"the end of the window", list{whole(0x3FFF, "x")}, Stats{Early: 1, Held: 1}, "", []uint16{0x3FFF}},
		{"beyond the window", list{whole(0x4000, "x")}, Stats{Refused: 1}, "", []uint16{0x4000}},
		{"from before the wrap", list{whole(0, "a"), whole(0xFFFF, "x")}, Stats{Delivered: 1, Duplicates: 1}, "a", []uint16{0, 0xFFFF}},
		{"whole, after a fragment of it", list{fragmentOf(0, 2, "a"), whole(0, "x")}, Stats{Refused: 1, Held: 1}, "", []uint16{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := New(1, Limits{})
			delivered := ""
			for _, m := range tt.arrivals {
				l.Receive(start, m, func(m *Message) { delivered += string(m.Body) })
			}
			if got := l.Stats(); got != tt.want || delivered != tt.delivered {
				t.Errorf("delivered %q, %+v; want %q, %+v", delivered, got, tt.delivered, tt.want)
			}
			if got := acked(t, l, start); !slices.Equal(got, tt.acked) {
				t.Errorf("acknowledged %v, want %v", got, tt.acked)
			}
		})
	}

	l := New(1, Limits{})
	say(t, l, start, "a")
	say(t, l, start, "b")
	sendAll(t, l, start)
	sendAll(t, l, after(1))
	l.Receive(after(1.5), acknowledgement(0, 0), nil)
	want := Stats{Sent: 2, Retransmitted: 2, Acknowledged: 1, Waiting: 1, WaitingBytes: 1, RTT: 500 * time.Millisecond}
	if got := l.Stats(); got != want {
		t.Errorf("sent: %+v, want %+v", got, want)
	}
}

// A fragment fits its message, or is refused.
func TestFragmentsThatFit(t *testing.T) {
	type list = []*transport.Message
	tests := []struct {
		name      string
		fragments list
		refused   int
		delivered string
	}{
		{"in order", list{fragmentOf(0, 3, "a"), fragmentOf(1, 0, "b"), fragmentOf(2, 0, "c")}, 0, "abc"},
		{"the first last", list{fragmentOf(2, 0, "c"), fragmentOf(1, 0, "b"), fragmentOf(0, 3, "a")}, 0, "abc"},
		{"one is all", list{fragmentOf(0, 1, "a")}, 0, "a"},
		{"a message of none", list{fragmentOf(0, 0, "a")}, 1, ""},
		{"one too many", list{fragmentOf(0, 2, "a"), fragmentOf(2, 0, "c"), fragmentOf(1, 0, "b")}, 1, "ab"},
		{"the first says that one is too many", list{fragmentOf(2, 0, "c"), fragmentOf(0, 2, "a"), fragmentOf(1, 0, "b")}, 1, ""},
		{"the last possible", list{fragmentOf(254, 0, "z")}, 0, ""},
		{"an impossible one", list{fragmentOf(255, 0, "z")}, 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := New(1, Limits{})
			delivered := ""
			for _, m := range tt.fragments {
				l.Receive(start, m, func(m *Message) { delivered += string(m.Body) })
			}
			if got := l.Stats().Refused; got != tt.refused || delivered != tt.delivered {
				t.Errorf("%d refused, delivered %q; want %d, %q", got, delivered, tt.refused, tt.delivered)
			}
		})
	}
}

// As many early messages are held as the limits allow, not one fewer.
func TestHeldLimits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits Limits
		want   int
	}{
		{"messages", Limits{Held: 4}, 4},
		{"bytes", Limits{HeldBytes: 3 * (earlyBytes + 6)}, 3},
		{"one byte short", Limits{HeldBytes: 3*(earlyBytes+6) - 1}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := New(1, tt.limits)
			for seq := range uint16(6) {
				l.Receive(start, reliable(transport.Standard, seq+1, "123456"), nil)
			}
			if s := l.Stats(); s.Held != tt.want || s.Early != tt.want || s.Refused != 6-tt.want {
				t.Errorf("%+v, want %d held and the others refused", s, tt.want)
			}
		})
	}
}

// Messages of every kind wait, sent or not.
func TestWaiting(t *testing.T) {
	kinds := []Message{
		{Type: transport.Standard, Body: []byte("a")},
		{Type: transport.Standard, Priority: true, Body: []byte("b")},
		{Type: transport.Standard, Alone: true, Body: []byte("c")},
		{Type: transport.NameChange, Body: []byte("d")},
	}
	l := New(1, Limits{Waiting: len(kinds)})
	for i, m := range kinds {
		if l.Stats().Waiting != i {
			t.Errorf("%d wait, want %d", l.Stats().Waiting, i)
		}
		if err := l.Queue(start, m); err != nil || l.Idle() {
			t.Errorf("%+v: %v, idle %v", m, err, l.Idle())
		}
	}
	if err := l.Queue(start, kinds[0]); !errors.Is(err, ErrFull) {
		t.Errorf("one more: %v, want %v", err, ErrFull)
	}
	if sendAll(t, l, start); l.Stats().Waiting != 1 {
		t.Errorf("%d wait for their acknowledgement, want the name", l.Stats().Waiting)
	}
	if err := l.Queue(start, kinds[0]); err != nil || l.Idle() || l.Stats().Waiting != 2 {
		t.Errorf("one sent and one not: %v, idle %v, %d wait", err, l.Idle(), l.Stats().Waiting)
	}
}

// A datagram is filled to its last byte, and appended to the bytes before it.
func TestDatagramIsFull(t *testing.T) {
	for last, want := range map[int][]int{1: {transport.MaxDatagram}, 2: {2 + 2*253, 2 + 3 + 2}} {
		for _, before := range [][]byte{nil, make([]byte, 100)} {
			l := New(1, Limits{})
			for _, n := range []int{250, 250, last} { // 3 bytes of header each, and 2 of the datagram
				if err := l.Queue(start, Message{Type: transport.Standard, Body: make([]byte, n)}); err != nil {
					t.Fatal(err)
				}
			}
			var got []int
			for d, ok := l.Datagram(start, before); ok; d, ok = l.Datagram(start, before) {
				if !bytes.HasPrefix(d, before) {
					t.Fatal("the bytes before are lost")
				}
				split(t, d[len(before):])
				got = append(got, len(d)-len(before))
			}
			if !slices.Equal(got, want) {
				t.Errorf("bodies of 250, 250, %d bytes after %d: datagrams of %v bytes, want %v", last, len(before), got, want)
			}
		}
	}
}

// The round trip is measured with the attempt that was acknowledged.
// Repetitions follow the round trip and its deviation.
func TestRoundTrip(t *testing.T) {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	l := New(1, Limits{})
	l.Adapt(true)
	say(t, l, start, "first")
	sendAll(t, l, start)
	l.Receive(start.Add(ms(40)), acknowledgement(0, 0), nil)
	tests := []struct {
		name     string
		answer   float64 // after it was sent, in ms
		rtt      float64 // 7/8 of the one before, 1/8 of the new one
		overdue  float64 // after it was sent: the round trip, and 4 deviations (3/4 of the one before, 1/4 of the new one)
		repeated bool    // when it was overdue
	}{
		{"a second one", 20, 37.5, 40 + 4*20, false},
		// The deviation of 20 is now (3*20 + 20) / 4 = 20.
		{"a third", 57.5, 40, 37.5 + 4*20, false}, // the deviation of 20 is now (3*20 + 20) / 4
		// The answer is 10 ms after the repetition, less than 3/4 of the shortest
		// round trip, 20 ms: it is to the first attempt.
		{"repeated too early", 130, 40 + 90./8, 40 + 4*20, true},
		// 15 ms after the repetition is not less: it is to that.
		{"repeated in time", 201.25 + 15, 51.25 - 36.25/8, 51.25 + 4*37.5, true},
	}
	now := after(1)
	for i, tt := range tests {
		say(t, l, now, tt.name)
		sendAll(t, l, now)
		if got, want := l.Next().Sub(now), ms(tt.overdue); got != want {
			t.Errorf("%s: overdue after %v, want %v", tt.name, got, want)
		}
		if tt.repeated {
			if got, _ := sendAll(t, l, now.Add(ms(tt.overdue))); len(got) != 1 {
				t.Errorf("%s: repeated %q", tt.name, got)
			}
		}
		l.Receive(now.Add(ms(tt.answer)), acknowledgement(uint16(i+1), 0), nil)
		if got, want := l.Stats().RTT, ms(tt.rtt); got != want {
			t.Errorf("%s: round trip %v, want %v", tt.name, got, want)
		}
		now = now.Add(time.Second)
	}
}

// A burst ends with the message that fills it.
func TestBurstIsExact(t *testing.T) {
	const size, fill = burstBytes/32 - transport.PlainHeader, 32
	l, now, _ := measured(t, 40*time.Millisecond)
	for range fill + 1 {
		say(t, l, now, string(make([]byte, size)))
	}
	sendAll(t, l, now)
	now = now.Add(100 * time.Millisecond)
	if got, _ := sendAll(t, l, now); len(got) != fill {
		t.Errorf("%d leave at once, want %d", len(got), fill)
	}
	if next := l.Next(); !next.Equal(now.Add(burstPause)) {
		t.Errorf("the next in %v, want %v", next.Sub(now), burstPause)
	}
	if got, _ := sendAll(t, l, now.Add(burstPause)); len(got) != 1 {
		t.Errorf("then %d leave, want 1", len(got))
	}
}

// The life of a message begins when it is sent.
func TestLateExpiry(t *testing.T) {
	l := New(1, Limits{})
	l.Datagram(start, nil)
	say(t, l, after(300), "x")
	sendAll(t, l, after(300))
	if sendAll(t, l, after(659.9)); l.Idle() {
		t.Error("given up before its time")
	}
	if sendAll(t, l, after(660)); !l.Idle() {
		t.Error("not given up")
	}
}

// A host that calls as Next says repeats its acknowledgements after a leave, and
// comes to rest; 50 ms pass before a connect is acknowledged.
func TestNextAcknowledges(t *testing.T) {
	follow := func(l *Endpoint) (at []time.Duration) {
		for next := l.Next(); !next.IsZero() && len(at) < 20; next = l.Next() {
			if got := acked(t, l, next); !slices.Equal(got, []uint16{0}) {
				t.Fatalf("acknowledged %v after %v, want 0", got, next.Sub(start))
			}
			at = append(at, next.Sub(start))
		}
		return at
	}
	const each = 2 * time.Second / 3
	l := New(1, Limits{})
	l.Receive(start, reliable(transport.Disconnect, 0, "x"), func(*Message) {})
	l.Close()
	if got, want := follow(l), []time.Duration{0, each, 2 * each, 3 * each, 4 * each, 5 * each, 6 * each, 7 * each, 8 * each}; !slices.Equal(got, want) {
		t.Errorf("after a leave: at %v, want %v", got, want)
	}
	l = New(1, Limits{})
	l.Receive(start, reliable(transport.Connect, 0, "x"), func(*Message) {})
	if got := l.Next().Sub(start); got != 50*time.Millisecond {
		t.Errorf("a connect is acknowledged after %v, want 50 ms", got)
	}
	// Where room is short, it is acknowledged once, and then only a keepalive is due.
	l.SetRoom(100)
	sendAll(t, l, after(1))
	if got := l.Next(); !got.Equal(after(6)) {
		t.Errorf("next at %v, want the keepalive after 6 s", got.Sub(start))
	}
}

// OpenBC's acknowledgements do not tell the class of the message.
func TestAcknowledgedWithoutClass(t *testing.T) {
	for _, typ := range []transport.Type{transport.Standard, transport.NameChange} {
		l := New(1, Limits{})
		if err := l.Queue(start, Message{Type: typ, Reliable: true, Body: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		sendAll(t, l, start)
		if l.Receive(start, acknowledgement(0, openBCAck), nil); !l.Idle() {
			t.Errorf("type %v is not acknowledged", typ)
		}
	}
}

// A number of eight bits reaches back as far as messages can wait, and of
// messages that were sent at one time it is for the newest.
func TestEightBitsReachBack(t *testing.T) {
	l := New(1, Limits{Waiting: 256})
	l.Eight(true)
	say(t, l, start, "lost")
	sendAll(t, l, start)
	for n := 1; n < 3*256; n++ {
		say(t, l, after(0.5), "x")
		sendAll(t, l, after(0.5))
		l.Receive(after(0.5), acknowledgement(uint16(n&0xFF), 0), nil)
		if s := l.Stats(); s.Acknowledged != n || s.WaitingBytes != len("lost") {
			t.Fatalf("%d of %d are acknowledged, %d bytes wait", s.Acknowledged, n, s.WaitingBytes)
		}
	}
	if l.Receive(after(0.6), acknowledgement(0, 0), nil); !l.Idle() {
		t.Error("message 0 is not found among 768")
	}

	l = New(1, Limits{})
	l.Eight(true)
	for n := range 257 {
		say(t, l, start, fmt.Sprint(n))
	}
	sendAll(t, l, start)
	for n := range 256 {
		l.Receive(after(0.5), acknowledgement(uint16(n), 0), nil)
	}
	if got, _ := sendAll(t, l, after(1)); !slices.Equal(got, []string{"0"}) {
		t.Errorf("repeated %q, want 0", got)
	}
}

// The heap is in order, whatever changes in it.
func TestDueHeap(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 1))
	var h dueHeap
	var all []*outgoing
	for step := range 2000 {
		switch at := random.IntN(len(all) + 1); {
		case at == len(all) || len(all) < 20 && step%2 == 0:
			o := &outgoing{due: time.Duration(random.IntN(50)), order: uint64(step)}
			all = append(all, o)
			h.push(o)
		case step%3 == 0:
			h.remove(all[at])
			all = slices.Delete(all, at, at+1)
		default:
			all[at].due = time.Duration(random.IntN(50))
			h.fix(all[at])
		}
		if len(h) != len(all) {
			t.Fatalf("step %d: %d in the heap, want %d", step, len(h), len(all))
		}
		if len(h) == 0 {
			continue
		}
		first := slices.MinFunc(all, func(a, b *outgoing) int {
			if a.due != b.due {
				return int(a.due - b.due)
			}
			return int(a.order) - int(b.order)
		})
		if h[0] != first {
			t.Fatalf("step %d: the first is due at %d (%d), want %d (%d)", step, h[0].due, h[0].order, first.due, first.order)
		}
	}
}
