package arq

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// acknowledgement is one as it comes from the other side.
func acknowledgement(seq uint16, flags uint8) *transport.Message {
	return &transport.Message{Header: transport.Header{Type: transport.Acknowledge, HasSeq: true, Seq: seq, AckFlags: flags}}
}

// sendAll returns the bodies of all game messages that are due.
func sendAll(t *testing.T, l *Endpoint, now time.Time) (bodies []string, datagrams int) {
	t.Helper()
	for {
		d, ok := l.Datagram(now, nil)
		if !ok {
			return bodies, datagrams
		}
		datagrams++
		for _, m := range split(t, d) {
			if m.Type == transport.Standard {
				bodies = append(bodies, string(m.Body))
			}
		}
	}
}

// measured returns an endpoint that knows a round trip, at a time after start,
// and the number of its next message.
func measured(t *testing.T, trip time.Duration) (l *Endpoint, now time.Time, seq uint16) {
	t.Helper()
	l = New(1, Limits{})
	l.Adapt(true)
	now = start
	for seq = range 20 {
		say(t, l, now, "x")
		sendAll(t, l, now)
		now = now.Add(trip)
		l.Receive(now, acknowledgement(seq, 0), nil)
	}
	if got := l.Stats().RTT; got != trip {
		t.Fatalf("the round trip is %v, want %v", got, trip)
	}
	return l, now, 20
}

// Lost messages are repeated by the measured round trip: soon, less and less
// often, and all at once.
func TestAdaptive(t *testing.T) {
	l, began, _ := measured(t, 40*time.Millisecond)
	for i := range 5 {
		say(t, l, began, fmt.Sprint(i))
	}
	all := []string{"0", "1", "2", "3", "4"}
	var at []time.Duration
	for now := began; now.Before(began.Add(20 * time.Second)); now = now.Add(10 * time.Millisecond) {
		if got, n := sendAll(t, l, now); len(got) > 0 {
			if !slices.Equal(got, all) || n != 1 {
				t.Errorf("after %v: %v in %d datagrams, want %v in one", now.Sub(began), got, n, all)
			}
			at = append(at, now.Sub(began))
		}
	}
	ms := time.Millisecond
	want := []time.Duration{0, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 11400 * ms, 16400 * ms}
	if !slices.Equal(at, want) {
		t.Errorf("sent at %v, want %v", at, want)
	}

	// The stock game sends one at a time, after a second.
	stock := New(1, Limits{})
	for i := range 5 {
		say(t, stock, start, fmt.Sprint(i))
	}
	sendAll(t, stock, start)
	if got, _ := sendAll(t, stock, after(0.99)); got != nil {
		t.Errorf("the stock game repeats %v within a second", got)
	}
	if got, n := sendAll(t, stock, after(1)); !slices.Equal(got, all) || n != 5 {
		t.Errorf("the stock game repeats %v in %d datagrams, want %v in five", got, n, all)
	}
}

// When the round trip grows, messages in flight are not repeated for ever.
func TestRoundTripGrows(t *testing.T) {
	const trip = 800 * time.Millisecond
	l, now, seq := measured(t, 40*time.Millisecond)
	acks := map[time.Time][]uint16{}
	for range 600 { // ten messages a second, for a minute
		now = now.Add(100 * time.Millisecond)
		say(t, l, now, "x")
		for d, ok := l.Datagram(now, nil); ok; d, ok = l.Datagram(now, nil) {
			for _, m := range split(t, d) {
				acks[now.Add(trip)] = append(acks[now.Add(trip)], m.Seq)
			}
		}
		for _, n := range acks[now] {
			l.Receive(now, acknowledgement(n, 0), nil)
		}
		if seq++; seq == 320 {
			l.stats.Retransmitted = 0
		}
	}
	if s := l.Stats(); s.RTT < trip*9/10 || s.RTT > trip*11/10 || s.Retransmitted > 15 {
		t.Errorf("round trip %v, want %v; %d of the last 300 messages repeated", s.RTT, trip, s.Retransmitted)
	}
}

// Much that is due at once does not leave at once.
func TestBurst(t *testing.T) {
	l, now, _ := measured(t, 40*time.Millisecond)
	const size, count = 380, 100
	l.window.size = windowMost // as of a side that has acknowledged much
	for range count {
		say(t, l, now, string(make([]byte, size)))
	}
	sendAll(t, l, now)
	now = now.Add(100 * time.Millisecond)
	total := 0
	for range 4 {
		got, _ := sendAll(t, l, now)
		if len(got) == 0 || len(got)*size > burstBytes+size {
			t.Errorf("%d bytes leave at once", len(got)*size)
		}
		total += len(got)
		next := l.Next()
		if want := now.Add(burstPause); !next.Equal(want) {
			t.Fatalf("next at %v, want %v", next.Sub(now), want.Sub(now))
		}
		now = next
	}
	if total < 80 {
		t.Errorf("%d repeated", total)
	}
}

// A message that the other side acknowledges is none that was never sent.
func TestBogus(t *testing.T) {
	l := New(1, Limits{})
	for range 3 {
		say(t, l, start, "x")
	}
	sendAll(t, l, start)
	for _, a := range []*transport.Message{
		acknowledgement(0, 0), acknowledgement(0, 0), acknowledgement(2, 0), acknowledgement(65000, 0),
		acknowledgement(3, 0), acknowledgement(400, 0), acknowledgement(0, 2), // these three
	} {
		l.Receive(start, a, nil)
	}
	if got := l.Stats().Bogus; got != 3 {
		t.Errorf("%d are counted, want 3", got)
	}
}

// OpenBC's clients acknowledge no control messages: they are not sent for ever.
func TestUnanswered(t *testing.T) {
	for _, answers := range []bool{false, true} {
		l := New(1, Limits{})
		l.Eight(true)
		for i := range 20 {
			if err := l.Queue(start, Message{Type: transport.NameChange, Body: make([]byte, 8)}); err != nil {
				t.Fatal(err)
			}
			if i == 0 && answers {
				l.Datagram(start, nil)
				l.Receive(start, acknowledgement(0, 0x82), nil)
			}
		}
		n := len(steps(l, transport.NameChange, 55))
		if !answers && (n != 20*unansweredTries || !l.Idle()) {
			t.Errorf("sent %d times, want each of 20 three times", n)
		}
		if answers && n < 19*8 {
			t.Errorf("sent %d times to a side that acknowledges some", n)
		}
	}
}

// The stock game's messages below 32 are repeated like all others.
func TestControlIsRepeated(t *testing.T) {
	l := New(1, Limits{})
	if err := l.Queue(start, Message{Type: transport.NameChange, Body: make([]byte, 8)}); err != nil {
		t.Fatal(err)
	}
	if got := len(steps(l, transport.NameChange, 35)); got != 13 {
		t.Errorf("sent %d times in 35 s, want 13", got)
	}
}

// Little traffic cannot cost much memory: the overhead of each fragment counts
// like its bytes.
func TestEarlyFragmentsAreSmall(t *testing.T) {
	before := heap()
	l := New(1, Limits{})
	sent := 0
	for i := range 10000 { // 7 bytes each: a fragment far behind in a message far ahead
		m := &transport.Message{Header: transport.Header{
			Type: transport.Standard, Reliable: true, HasSeq: true, Fragment: true, Seq: uint16(i%0x3F00) + 1, Index: 254,
		}, Body: []byte{1}}
		sent += 7
		l.Receive(start, m, nil)
	}
	if grown := heap() - before; grown > 512<<10 {
		t.Errorf("%d bytes of traffic cost %d bytes of memory", sent, grown)
	}
	if l.heldB > l.limits.HeldBytes || l.held > l.limits.Held || l.held < 100 {
		t.Errorf("%d fragments are held, which take %d bytes", l.held, l.heldB)
	}
	runtime.KeepAlive(l)
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A client that is told to go needs no more game messages; messages on the
// other channel still arrive.
func TestAbandon(t *testing.T) {
	l := New(1, Limits{Waiting: 10})
	for range 4 {
		say(t, l, start, "x")
	}
	if err := l.Queue(start, Message{Type: transport.NameChange, Body: []byte{1}}); err != nil {
		t.Fatal(err)
	}
	sendAll(t, l, start)
	for range 5 {
		say(t, l, start, "y")
	}
	l.Abandon()
	if s := l.Stats(); s.Waiting != 1 || s.WaitingBytes != 1 {
		t.Errorf("%+v", s)
	}
	if err := l.Queue(start, Message{Type: transport.BootPlayer, Body: []byte{4, 2}}); err != nil {
		t.Fatal(err)
	}
	if got := steps(l, transport.BootPlayer, 0); len(got) != 1 {
		t.Errorf("the goodbye is sent %d times", len(got))
	}
	if l.Receive(start, acknowledgement(0, 2), nil); l.Idle() {
		t.Error("the goodbye is forgotten")
	}
}

// No more acknowledgements are kept than the limit says; those that were sent
// most often go first.
func TestAckLimit(t *testing.T) {
	l := New(1, Limits{Acks: 5})
	deliver, _ := collect()
	count := func() (seqs []uint16) {
		d, _ := l.Datagram(start, nil)
		if d == nil {
			return nil
		}
		for _, m := range split(t, d) {
			seqs = append(seqs, m.Seq)
		}
		return seqs
	}
	for i := range uint16(3) {
		l.Receive(start, reliable(transport.Standard, i, "x"), deliver)
	}
	if got := count(); !slices.Equal(got, []uint16{0, 1, 2}) {
		t.Fatalf("acknowledged %v", got)
	}
	for i := range uint16(4) {
		l.Receive(start, reliable(transport.Standard, i+3, "x"), deliver)
	}
	if got := count(); !slices.Equal(got, []uint16{3, 4, 5, 6}) || len(l.acks.by) != 5 {
		t.Errorf("acknowledged %v, %d kept", got, len(l.acks.by))
	}
	for i := range uint16(200) {
		l.Receive(start, reliable(transport.Standard, i+7, "x"), deliver)
	}
	if len(l.acks.by) != 5 {
		t.Errorf("%d are kept, want 5", len(l.acks.by))
	}
}

// The work for one message takes the same time however many wait.
func TestCost(t *testing.T) {
	filled := func(n int) *Endpoint {
		l := New(1, Limits{Waiting: 2 * many})
		for range n {
			say(t, l, start, "x")
		}
		sendAll(t, l, start)
		return l
	}
	few, lots := filled(80), filled(many)
	bogus := acknowledgement(0x7000, 0)
	buf := make([]byte, 0, transport.MaxDatagram)
	for name, act := range map[string]func(*Endpoint){
		"a bogus acknowledgement": func(l *Endpoint) { l.Receive(start, bogus, nil) },
		"Next":                    func(l *Endpoint) { l.Next() },
		"an idle datagram":        func(l *Endpoint) { l.Datagram(after(0.5), buf) },
	} {
		best := func(l *Endpoint) time.Duration {
			best := time.Hour
			for range 20 {
				from := time.Now()
				for range 100 {
					act(l)
				}
				best = min(best, time.Since(from))
			}
			return best
		}
		// A hundred times as many took a hundred times as long.
		if a, b := best(few), best(lots); b > 20*a+10*time.Microsecond {
			t.Errorf("%s takes %v with 80 messages waiting, %v with %d", name, a/100, b/100, many)
		}
	}
}

// Stalled tells how long nothing was acknowledged that should have been.
func TestStalled(t *testing.T) {
	l := New(1, Limits{})
	if d := l.Stalled(after(9)); d != 0 {
		t.Errorf("%v without a message", d)
	}
	say(t, l, after(10), "a")
	say(t, l, after(10), "b")
	sendAll(t, l, after(10))
	if d := l.Stalled(after(13)); d != 3*time.Second {
		t.Errorf("%v, want 3 s after they were sent", d)
	}
	l.Receive(after(15), acknowledgement(0, 0), nil)
	if d := l.Stalled(after(16)); d != time.Second {
		t.Errorf("%v, want 1 s after the first was acknowledged", d)
	}
	l.Receive(after(17), acknowledgement(1, 0), nil)
	if d := l.Stalled(after(30)); d != 0 {
		t.Errorf("%v with nothing to acknowledge", d)
	}
	say(t, l, after(40), "c") // the time in which nothing was asked does not count
	sendAll(t, l, after(40))
	if d := l.Stalled(after(41)); d != time.Second {
		t.Errorf("%v, want 1 s", d)
	}
}

// The limits hold to the message and to the byte, whether it was sent or not.
func TestQueueLimits(t *testing.T) {
	fill := func(l *Endpoint, body string) (n int) {
		for n < 100 && l.Queue(start, Message{Type: transport.Standard, Reliable: true, Body: []byte(body)}) == nil {
			if n++; n%2 == 0 {
				sendAll(t, l, start)
			}
		}
		return n
	}
	l := New(1, Limits{Waiting: 7})
	if n := fill(l, "x"); n != 7 || l.Stats().Waiting != 7 || l.Stats().WaitingBytes != 7 {
		t.Errorf("%d messages, %+v; want 7", n, l.Stats())
	}
	l = New(1, Limits{WaitingBytes: 30})
	if n := fill(l, "0123456789"); n != 3 || l.Stats().WaitingBytes != 30 {
		t.Errorf("%d messages of 10 bytes, %+v; want 3", n, l.Stats())
	}
	l.Receive(start, acknowledgement(0, 0), nil)
	if n := fill(l, "0123456789"); n != 1 {
		t.Errorf("%d more when one is acknowledged", n)
	}
}

// Repeat and Settle are about messages of one type.
func TestRepeatAndSettle(t *testing.T) {
	l := New(1, Limits{})
	for _, typ := range []transport.Type{transport.Connect, transport.NameChange} {
		if err := l.Queue(start, Message{Type: typ, Body: make([]byte, 8)}); err != nil {
			t.Fatal(err)
		}
	}
	l.Datagram(start, nil)
	types := func(now time.Time) (list []transport.Type) {
		for d, ok := l.Datagram(now, nil); ok; d, ok = l.Datagram(now, nil) {
			for _, m := range split(t, d) {
				list = append(list, m.Type)
			}
		}
		return list
	}
	l.Repeat(after(0.5), transport.Connect)
	if got := types(after(0.5)); !slices.Equal(got, []transport.Type{transport.Connect}) {
		t.Errorf("repeated %v, want the connect", got)
	}
	l.Settle(transport.Connect)
	if got := types(after(3)); !slices.Equal(got, []transport.Type{transport.NameChange}) {
		t.Errorf("then %v, want the name", got)
	}
	if l.Receive(after(3), acknowledgement(1, 2), nil); !l.Idle() {
		t.Error("the name is not acknowledged")
	}
}

// A keepalive is due five seconds after the last datagram, not before.
func TestKeepaliveIsExact(t *testing.T) {
	l := New(1, Limits{})
	if err := l.Queue(start, Message{Type: transport.Standard, Body: []byte{1}}); err != nil {
		t.Fatal(err)
	}
	sendAll(t, l, start)
	if next := l.Next(); !next.Equal(after(5)) {
		t.Errorf("next %v", next.Sub(start))
	}
	if _, ok := l.Datagram(after(5).Add(-1), nil); ok {
		t.Error("a keepalive too early")
	}
	if _, ok := l.Datagram(after(5), nil); !ok {
		t.Error("no keepalive after five seconds")
	}
}

// A side that has room for no more early messages acknowledges nothing until the
// oldest one arrives. So that one is sent at least every two seconds, before all others,
// although little is sent to a side that acknowledges nothing.
func TestOldestFirst(t *testing.T) {
	l, began, oldest := measured(t, 40*time.Millisecond)
	other := New(0xFF, Limits{Held: 100})
	other.in[data].expected = oldest
	const messages, lost = 700, 14 * time.Second // until then, all transmissions of the oldest one are lost
	delivered := 0
	var last time.Duration // when the oldest one was last sent
	for since := time.Duration(0); since < 20*time.Second; since += 10 * time.Millisecond {
		now := began.Add(since)
		if n := int(since / (10 * time.Millisecond)); n < messages {
			say(t, l, now, fmt.Sprintf("%0100d", n))
		}
		for d, ok := l.Datagram(now, nil); ok; d, ok = l.Datagram(now, nil) {
			for i, m := range split(t, d) {
				if m.Type == transport.Standard && m.Seq == oldest {
					if since-last >= 2*time.Second || i > 0 {
						t.Errorf("after %v, the oldest message is sent after %d others, %v after the last time", since, i, since-last)
					}
					if last = since; since < lost {
						continue
					}
				}
				other.Receive(now, &m, func(*Message) { delivered++ })
			}
		}
		for d, ok := other.Datagram(now, nil); ok; d, ok = other.Datagram(now, nil) {
			for _, m := range split(t, d) {
				l.Receive(now, &m, nil)
			}
		}
	}
	if last < lost || last > lost+time.Second || delivered != messages {
		t.Errorf("the oldest message was last sent after %v; %d messages are delivered", last, delivered)
	}
}
