package arq

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

var start = time.Date(2002, 2, 19, 12, 0, 0, 0, time.UTC)

// after returns a time by seconds from the start.
func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// split returns the messages of a datagram.
func split(t *testing.T, plain []byte) (list []transport.Message) {
	t.Helper()
	s, err := transport.Split(plain)
	if err != nil {
		t.Fatal(err)
	}
	for {
		m, ok, err := s.Next()
		if err != nil {
			t.Fatalf("% X: %v", plain, err)
		}
		if !ok {
			return list
		}
		list = append(list, m)
	}
}

// say queues a reliable game message.
func say(t *testing.T, l *Endpoint, now time.Time, body string) {
	t.Helper()
	if err := l.Queue(now, Message{Type: transport.Standard, Reliable: true, Body: []byte(body)}); err != nil {
		t.Fatal(err)
	}
}

// reliable is a message as it comes from the other side.
func reliable(typ transport.Type, seq uint16, body string) *transport.Message {
	return &transport.Message{
		Header: transport.Header{Type: typ, Reliable: true, HasSeq: true, Seq: seq},
		Body:   []byte(body),
	}
}

// collect returns a function for Receive and the list of its messages.
func collect() (func(*Message), *[]string) {
	var got []string
	return func(m *Message) { got = append(got, string(m.Body)) }, &got
}

func TestDatagramBytes(t *testing.T) {
	l := New(1, Limits{})
	if err := l.Queue(start, Message{Type: transport.Connect, Body: []byte{2}}); err != nil {
		t.Fatal(err)
	}
	say(t, l, start, "\x20\x00\x08\x00scripts/\x07\x00App.pyc\x20")
	got, ok := l.Datagram(start, nil)
	// The first datagram of a stock host.
	want := "\x01\x02\x03\x06\xC0\x00\x00\x02\x32\x1B\x80\x00\x00\x20\x00\x08\x00scripts/\x07\x00App.pyc\x20"
	if !ok || string(got) != want {
		t.Errorf("got\n% X, want\n% X", got, want)
	}
	if _, ok := l.Datagram(start, nil); ok {
		t.Error("there is a second datagram")
	}
}

// steps lets time pass in tenths of a second and returns when datagrams hold
// the type.
func steps(l *Endpoint, typ transport.Type, until float64) (at []string) {
	for i := 0; float64(i)/10 <= until; i++ {
		for {
			b, ok := l.Datagram(after(float64(i)/10), nil)
			if !ok {
				break
			}
			s, _ := transport.Split(b)
			for {
				m, ok, err := s.Next()
				if err != nil || !ok {
					break
				}
				if m.Type == typ {
					at = append(at, fmt.Sprint(float64(i)/10))
				}
			}
		}
	}
	return at
}

func TestRetransmission(t *testing.T) {
	l := New(2, Limits{})
	say(t, l, start, "\x2A\x20")
	want := []string{"0", "1", "3", "6", "10", "15", "16", "18", "21", "25", "30", "31", "33"}
	if got := steps(l, transport.Standard, 35); !slices.Equal(got, want) {
		t.Errorf("sent at %v, want %v", got, want)
	}
	l = New(2, Limits{})
	if err := l.Queue(start, Message{Type: transport.Disconnect, Body: make([]byte, 5)}); err != nil {
		t.Fatal(err)
	}
	if got, want := steps(l, transport.Disconnect, 4), []string{"0", "1", "2", "3", "4"}; !slices.Equal(got, want) {
		t.Errorf("a leave is sent at %v, want %v", got, want)
	}
}

func TestExpiry(t *testing.T) {
	l := New(2, Limits{})
	say(t, l, start, "lost")
	l.Datagram(start, nil)
	l.Datagram(after(359.9), nil)
	if l.Idle() {
		t.Fatal("given up before 360 s")
	}
	l.Datagram(after(360), nil)
	if !l.Idle() || l.Stats().Expired != 1 {
		t.Errorf("not given up after 360 s: %+v", l.Stats())
	}
}

func TestKeepalive(t *testing.T) {
	l := New(2, Limits{})
	if got := steps(l, transport.DoNothing, 6); got != nil {
		t.Errorf("keepalives at %v before anything was sent", got)
	}
	l = New(2, Limits{})
	if err := l.Queue(start, Message{Type: transport.Standard, Body: []byte{1}}); err != nil {
		t.Fatal(err)
	}
	if got, want := steps(l, transport.DoNothing, 16), []string{"5", "10", "15"}; !slices.Equal(got, want) {
		t.Errorf("keepalives at %v, want %v", got, want)
	}
}

// An acknowledgement is worth three datagrams that are sent just for it, and
// travels in six more.
func TestAcknowledgements(t *testing.T) {
	deliver, _ := collect()
	alone := New(2, Limits{})
	alone.Receive(start, reliable(transport.Standard, 7, "x"), deliver)
	if got := len(steps(alone, transport.Acknowledge, 4.9)); got != 3 {
		t.Errorf("sent %d times alone, want 3", got)
	}

	closed := New(2, Limits{})
	closed.Receive(start, reliable(transport.Disconnect, 0, "x"), deliver)
	closed.Close()
	if got := len(steps(closed, transport.Acknowledge, 15)); got != 9 {
		t.Errorf("sent %d times after a leave, want 9", got)
	}

	busy := New(2, Limits{})
	busy.Receive(start, reliable(transport.Standard, 0, "x"), deliver)
	n := 0
	for i := range 200 {
		now := after(float64(i) / 10)
		if err := busy.Queue(now, Message{Type: transport.Standard, Body: []byte{1}}); err != nil {
			t.Fatal(err)
		}
		b, _ := busy.Datagram(now, nil)
		for _, m := range split(t, b) {
			if m.Type == transport.Acknowledge {
				n++
			}
		}
	}
	if n != 9 {
		t.Errorf("sent %d times among other messages, want 9", n)
	}
}

func TestAcknowledged(t *testing.T) {
	tests := []struct {
		name string
		ack  transport.Header
		idle bool
	}{
		{"its own", transport.Header{Seq: 0}, true},
		{"another number", transport.Header{Seq: 1}, false},
		{"the other class", transport.Header{Seq: 0, AckFlags: 2}, false},
		{"a fragment", transport.Header{Seq: 0, AckFlags: 1, Fragment: true}, false},
		{"as OpenBC writes it", transport.Header{Seq: 0, AckFlags: 0x80}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := New(1, Limits{})
			say(t, l, start, "x")
			l.Datagram(start, nil)
			tt.ack.Type, tt.ack.HasSeq = transport.Acknowledge, true
			l.Receive(start, &transport.Message{Header: tt.ack}, func(*Message) { t.Error("delivered") })
			if l.Idle() != tt.idle {
				t.Errorf("idle is %v, want %v", l.Idle(), tt.idle)
			}
		})
	}
}

// Two messages may have the same number of eight bits. An acknowledgement of
// this number is for the message that was sent last.
func TestAcknowledgedWithEightBits(t *testing.T) {
	l := New(1, Limits{})
	l.Eight(true)
	send := func(now time.Time) (bodies []string) {
		for {
			d, ok := l.Datagram(now, nil)
			if !ok {
				return bodies
			}
			for _, m := range split(t, d) {
				bodies = append(bodies, string(m.Body))
			}
		}
	}
	acknowledge := func(now time.Time, seq int) {
		h := transport.Header{Type: transport.Acknowledge, HasSeq: true, Seq: uint16(seq & 0xFF), AckFlags: 0x80}
		l.Receive(now, &transport.Message{Header: h}, nil)
	}
	say(t, l, start, "0")
	send(start) // and lost
	for n := range 256 {
		say(t, l, after(0.5), fmt.Sprint(n+1))
	}
	send(after(0.5))
	for n := range 256 {
		acknowledge(after(0.6), n+1)
	}
	if got := send(after(1)); !slices.Equal(got, []string{"0"}) {
		t.Fatalf("repeated: got %q, want 0", got)
	}
	acknowledge(after(1.1), 0)
	if !l.Idle() {
		t.Error("not all is acknowledged")
	}
}

func TestOrder(t *testing.T) {
	deliver, got := collect()
	l := New(1, Limits{})
	for _, seq := range []uint16{0, 2, 1, 1, 5, 4, 2, 3, 0x4006, 6} {
		l.Receive(start, reliable(transport.Standard, seq, fmt.Sprint(seq)), deliver)
	}
	if want := []string{"0", "1", "2", "3", "4", "5", "6"}; !slices.Equal(*got, want) {
		t.Errorf("delivered %v, want %v", *got, want)
	}
	l.Receive(start, reliable(transport.NameChange, 0, "name"), deliver)
	if n := len(*got); n != 8 {
		t.Errorf("the classes do not count apart: %v", *got)
	}
	if s := l.Stats(); s.Duplicates != 2 || s.Refused != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestWrap(t *testing.T) {
	for _, bits := range []int{8, 16} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) {
			deliver, got := collect()
			l := New(1, Limits{})
			l.Eight(bits == 8)
			n := 3 << bits
			for i := 0; i < n; i += 2 {
				mask := uint16(1<<bits - 1)
				l.Receive(start, reliable(transport.Standard, uint16(i+1)&mask, fmt.Sprint(i+1)), deliver)
				l.Receive(start, reliable(transport.Standard, uint16(i)&mask, fmt.Sprint(i)), deliver)
			}
			if len(*got) != n {
				t.Fatalf("delivered %d of %d", len(*got), n)
			}
			for i, s := range *got {
				if s != fmt.Sprint(i) {
					t.Fatalf("message %d is %s", i, s)
				}
			}
		})
	}
}

// A sender that was taken for one with 8-bit numbers turns out to have more.
func TestEightIsWide(t *testing.T) {
	deliver, got := collect()
	l := New(1, Limits{})
	l.Eight(true)
	for i := range 255 {
		l.Receive(start, reliable(transport.Standard, uint16(i), "x"), deliver)
	}
	l.Receive(start, reliable(transport.Standard, 256, "256"), deliver)
	l.Receive(start, reliable(transport.Standard, 255, "255"), deliver)
	if n := len(*got); n != 257 || (*got)[256] != "256" {
		t.Errorf("delivered %d, the last is %s", n, (*got)[n-1])
	}
}

func TestFragments(t *testing.T) {
	for _, size := range []int{407, 408, 811, 812, 832, MaxBody} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			body := make([]byte, size)
			for i := range body {
				body[i] = byte(i * 7)
			}
			from, to := New(2, Limits{}), New(1, Limits{})
			if err := from.Queue(start, Message{Type: transport.Standard, Reliable: true, Body: body}); err != nil {
				t.Fatal(err)
			}
			var pieces []transport.Message
			for {
				b, ok := from.Datagram(start, nil)
				if !ok {
					break
				}
				if len(b) > transport.MaxDatagram {
					t.Errorf("a datagram of %d bytes", len(b))
				}
				for _, m := range split(t, b) {
					if m.Len > transport.MaxMessage {
						t.Errorf("a message of %d bytes", m.Len)
					}
					pieces = append(pieces, m)
				}
			}
			if size == 832 { // the real reply: 412, 412 and 27 bytes
				if len(pieces) != 3 || pieces[0].Len != 412 || pieces[1].Len != 412 || pieces[2].Len != 27 || pieces[0].Count != 3 {
					t.Errorf("cut into %+v", pieces)
				}
			}
			slices.Reverse(pieces)
			var got [][]byte
			for range 2 {
				for i := range pieces {
					to.Receive(start, &pieces[i], func(m *Message) { got = append(got, bytes.Clone(m.Body)) })
				}
			}
			if len(got) != 1 || !bytes.Equal(got[0], body) {
				t.Fatalf("delivered %d messages", len(got))
			}
			for !from.Idle() {
				b, ok := to.Datagram(start, nil)
				if !ok {
					t.Fatal("not everything is acknowledged")
				}
				for _, m := range split(t, b) {
					from.Receive(start, &m, func(*Message) {})
				}
			}
		})
	}
	l := New(2, Limits{})
	for size, pieces := range map[int]int{409: 1, 410: 2} { // without being reliable
		l = New(2, Limits{})
		if err := l.Queue(start, Message{Type: transport.Standard, Body: make([]byte, size)}); err != nil || l.waiting() != pieces {
			t.Errorf("%d bytes make %d messages, want %d (%v)", size, l.waiting(), pieces, err)
		}
	}
	if err := l.Queue(start, Message{Type: transport.Standard, Body: make([]byte, MaxBody+1)}); !errors.Is(err, ErrLong) {
		t.Errorf("one byte more: %v, want %v", err, ErrLong)
	}
}

func TestAloneAndPriority(t *testing.T) {
	l := New(1, Limits{})
	for _, m := range []Message{
		{Type: transport.Standard, Reliable: true, Alone: true, Body: []byte("a")},
		{Type: transport.Standard, Reliable: true, Alone: true, Body: []byte("b")},
		{Type: transport.Standard, Body: []byte("c")},
		{Type: transport.Standard, Priority: true, Body: []byte("d")},
	} {
		if err := l.Queue(start, m); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for {
		b, ok := l.Datagram(start, nil)
		if !ok {
			break
		}
		one := ""
		for _, m := range split(t, b) {
			one += string(m.Body)
		}
		got = append(got, one)
	}
	if want := []string{"dac", "b"}; !slices.Equal(got, want) {
		t.Errorf("datagrams %q, want %q", got, want)
	}
}

func TestLimits(t *testing.T) {
	l := New(1, Limits{Waiting: 3, WaitingBytes: 100, Held: 4, HeldBytes: 20, Acks: 5})
	for range 3 {
		say(t, l, start, "x")
	}
	if err := l.Queue(start, Message{Type: transport.Standard, Body: []byte("x")}); !errors.Is(err, ErrFull) {
		t.Errorf("a fourth message: %v", err)
	}
	deliver, got := collect()
	for i := range uint16(100) {
		l.Receive(start, reliable(transport.Standard, 100-i, "xxxxxx"), deliver)
	}
	if l.held > 4 || l.heldB > 20 {
		t.Errorf("%d messages, %d bytes are held", l.held, l.heldB)
	}
	if len(l.acks.by) > 5 {
		t.Errorf("%d acknowledgements are kept", len(l.acks.by))
	}
	for i := range uint16(101) { // the refused messages come again
		l.Receive(start, reliable(transport.Standard, i, "xxxxxx"), deliver)
	}
	if len(*got) != 101 || l.held != 0 || l.heldB != 0 {
		t.Errorf("delivered %d, %d held with %d bytes", len(*got), l.held, l.heldB)
	}
}

func TestNext(t *testing.T) {
	l := New(1, Limits{})
	if !l.Next().IsZero() {
		t.Error("a new link wants to be called")
	}
	say(t, l, start, "x")
	l.Datagram(start, nil)
	if got := l.Next(); !got.Equal(after(1)) {
		t.Errorf("next at %v, want the repetition after 1 s", got)
	}
	l.Receive(start, &transport.Message{Header: transport.Header{Type: transport.Acknowledge, HasSeq: true}}, nil)
	if got := l.Next(); !got.Equal(after(5)) {
		t.Errorf("next at %v, want the keepalive after 5 s", got)
	}
}

// FuzzEndpoint sends messages over a line that loses, doubles and reorders, as the
// input says, and then over one that does not: every reliable message arrives
// once, in order. The first line does not last so long that messages are given up.
func FuzzEndpoint(f *testing.F) {
	f.Add([]byte{}, uint8(3))
	f.Add([]byte{1, 2, 3, 0, 9, 250, 7, 7, 1}, uint8(40))
	f.Fuzz(func(t *testing.T, line []byte, count uint8) {
		a, b := New(1, Limits{}), New(2, Limits{})
		var want, got []string
		for i := range int(count) {
			body := fmt.Sprintf("%d %s", i, make([]byte, i*i%1300))
			say(t, a, start, body)
			want = append(want, body)
		}
		deliver := func(m *Message) { got = append(got, string(m.Body)) }
		now, tries := start, 0
		var late [][]byte
		move := func(from, to *Endpoint, take func(*Message)) {
			for {
				d, ok := from.Datagram(now, nil)
				if !ok {
					break
				}
				list := [][]byte{d}
				if len(line) > 0 && now.Sub(start) < Lifetime/2 {
					switch what := line[0] % 4; what {
					case 0:
						list = nil
					case 1:
						list = append(list, d)
					case 2:
						late, list = append(late, d), nil
					}
					line = line[1:]
				}
				for _, d := range list {
					for _, m := range split(t, d) {
						to.Receive(now, &m, take)
					}
				}
			}
		}
		for !a.Idle() {
			if tries++; tries > 2000 {
				t.Fatalf("not all arrived: %d of %d", len(got), len(want))
			}
			move(a, b, deliver)
			move(b, a, func(*Message) { t.Error("the receiver sent a message") })
			for _, d := range late {
				to, take := b, deliver
				if d[0] == 2 {
					to, take = a, func(*Message) { t.Error("the receiver sent a message") }
				}
				for _, m := range split(t, d) {
					to.Receive(now, &m, take)
				}
			}
			late = nil
			now = now.Add(700 * time.Millisecond)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("delivered %d, want %d", len(got), len(want))
		}
		if a.bytes != 0 || b.held != 0 || b.heldB != 0 {
			t.Errorf("left over: %d bytes to send, %d held with %d bytes", a.bytes, b.held, b.heldB)
		}
	})
}

func BenchmarkUnreliable(b *testing.B) {
	l := New(1, Limits{})
	body := make([]byte, 40)
	buf := make([]byte, 0, transport.MaxDatagram)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Queue(start, Message{Type: transport.Standard, Body: body}); err != nil {
			b.Fatal(err)
		}
		l.Datagram(start, buf[:0])
	}
}

// A message too long for the bound holds up no repetition behind it, and leaves
// when there is room.
func TestShortRoom(t *testing.T) {
	for _, adapt := range []bool{false, true} {
		l := New(1, Limits{})
		l.Adapt(adapt)
		say(t, l, start, string(make([]byte, 100)))
		say(t, l, start, "short")
		sendAll(t, l, start)
		l.SetRoom(40)
		for s := 1.0; s <= 10; s++ {
			l.Datagram(after(s), nil)
		}
		// After 1 s, then 2, 3 and 4 s later.
		if want := 4; !adapt && l.Stats().Retransmitted != want || adapt && l.Stats().Retransmitted < want {
			t.Errorf("adapt %v: the short one is repeated %d times, want %d", adapt, l.Stats().Retransmitted, want)
		}
		l.SetRoom(0)
		if got, _ := sendAll(t, l, after(11)); len(got) == 0 || len(got[0]) != 100 {
			t.Errorf("adapt %v: then %q is repeated, want the long one", adapt, got)
		}
	}
}
