package arq

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Two sides talk past the number at which counting begins again, while one
// challenges the other. Every message is acknowledged, and no datagram counts as
// a guess.
func TestSignsWhereNumbersBeginAgain(t *testing.T) {
	const around = 200 // messages before and after 65,535
	host, client := New(transport.HostPeer, Limits{}), New(2, Limits{})
	now := start
	say(t, host, now, "first")
	host.next[data] = 1<<16 - around
	client.in[data].expected = host.next[data]
	host.Abandon()
	random := rand.New(rand.NewPCG(1, 1))
	carry := func(from, to *Endpoint, arrived func(plain []byte)) {
		for {
			d, ok := from.Datagram(now, nil)
			if !ok {
				return
			}
			if arrived != nil {
				arrived(d)
			}
			for _, m := range split(t, d) {
				to.Receive(now, &m, func(*Message) {})
			}
		}
	}
	signed := 0
	for range 2 * around {
		now = now.Add(20 * time.Millisecond)
		say(t, host, now, "x")
		host.Challenge(now, random.Uint32(), false)
		carry(host, client, nil)
		carry(client, host, func(plain []byte) {
			switch host.Signed(now, plain) {
			case FalseSign:
				t.Fatalf("number %d is next: an honest datagram counts as a guess", host.next[data])
			case TrueSign:
				signed++
			case NoSign:
			}
		})
	}
	if !host.Idle() || signed < 2*around*9/10 {
		t.Errorf("%d messages wait for acknowledgements; %d of %d rounds had a sign", host.Stats().Waiting, signed, 2*around)
	}
}

// A message is lost again and again, while a thousand others come through. Challenges go on: without a sign, a host that
// demands signs would reject every later acknowledgement, also the one of that message.
func TestSignsAfterALoss(t *testing.T) {
	const rounds = 0x500 // more than behindAtLeast
	host, client := New(transport.HostPeer, Limits{}), New(2, Limits{})
	now := start
	say(t, host, now, "first")
	host.next[data], client.in[data].expected = 0x4000, 0x4000
	host.Abandon()
	random := rand.New(rand.NewPCG(1, 1))
	signed, last := 0, 0
	for round := range rounds {
		now = now.Add(3 * time.Millisecond) // a busy game of 16
		say(t, host, now, "x")
		host.Challenge(now, random.Uint32(), false)
		for {
			d, ok := host.Datagram(now, nil)
			if !ok {
				break
			}
			for _, m := range split(t, d) {
				if m.Type != transport.Standard || m.Seq != 0x4000 || round == rounds-1 {
					client.Receive(now, &m, func(*Message) {})
				}
			}
		}
		for {
			d, ok := client.Datagram(now, nil)
			if !ok {
				break
			}
			sign := host.Signed(now, d)
			if sign == FalseSign {
				t.Fatalf("round %d: an honest datagram counts as a guess", round)
			}
			if sign == TrueSign {
				signed++
				last = round
			}
			for _, m := range split(t, d) {
				host.Receive(now, &m, func(*Message) {})
			}
		}
	}
	if signed < rounds*9/10 || last < rounds-2 {
		t.Errorf("%d of %d rounds had a sign, the last one in round %d", signed, rounds, last)
	}
}

// However much waits for the other side, the endpoint challenges it, and with numbers that it
// acknowledged long ago. If signs were wanted and the endpoint asked for none, the other side could
// not empty the queue.
func TestSignsWithFullQueue(t *testing.T) {
	e := New(1, Limits{})
	now := time.Unix(0, 0)
	receive := func(seq uint16) {
		e.Receive(now, &transport.Message{Header: transport.AckOf(&transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true, Seq: seq})}, nil)
	}
	send := func() {
		if err := e.Queue(now, Message{Type: transport.Standard, Reliable: true, Body: []byte{1}}); err != nil {
			t.Fatal(err)
		}
		for {
			if _, ok := e.Datagram(now, nil); !ok {
				return
			}
		}
	}
	const answered = behindBy + 100
	for seq := range uint16(answered) {
		send()
		receive(seq)
	}
	for waiting := range 8000 {
		send()
		if waiting%1000 != 0 {
			continue
		}
		for n := range uint32(50) {
			now = now.Add(time.Millisecond)
			e.Challenge(now, n*0x9E3779B9, false)
			c := e.signs.asked[e.signs.next]
			if e.at(now) != c.at {
				t.Fatalf("%d messages wait: no challenge", waiting+1)
			}
			for _, number := range c.numbers {
				if behind := answered - int(number); behind < behindAtLeast || int(e.next[data])-int(number) > behindBy {
					t.Fatalf("%d messages wait: a challenge with %d, answered are those below %d", waiting+1, number, answered)
				}
			}
		}
	}
}

// A sender that knows or guesses one number of a challenge has no sign, not even if it acknowledges that number
// twice. Numbers that were never sent show that the sender guesses, also where the numbers of challenges lie
// behind the numbers of messages.
func TestGuessedSigns(t *testing.T) {
	for _, used := range []uint16{0, behindBy + 500, 0xF000, 100} {
		host := New(transport.HostPeer, Limits{})
		say(t, host, start, "first")
		host.Abandon()
		host.next[data], host.wrapped = used, used == 100
		random := rand.New(rand.NewPCG(1, uint64(used)))
		for range challenges {
			host.Challenge(start, random.Uint32(), false)
			if _, ok := host.Datagram(start, nil); !ok {
				t.Fatal("no challenge")
			}
		}
		acknowledge := func(numbers ...uint16) Sign {
			plain := []byte{2, byte(len(numbers))}
			for _, n := range numbers {
				h := transport.AckOf(&transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true, Seq: n})
				plain, _ = transport.Append(plain, &h, nil)
			}
			return host.Signed(start, plain)
		}
		c, other := host.signs.asked[3].numbers, host.signs.asked[4].numbers
		if s := acknowledge(c[0], c[1]); s != TrueSign {
			t.Errorf("%d messages: both numbers of a challenge are sign %d", used, s)
		}
		for _, one := range [][]uint16{{c[0]}, {c[0], c[0]}, {c[0], c[0], c[0]}, {c[0], other[0]}, {c[0], other[1]}} {
			if s := acknowledge(one...); s != NoSign {
				t.Errorf("%d messages: acknowledgements of %d, which aren't a challenge, are sign %d", used, one, s)
			}
		}
		from, size := host.challengeRange()
		guesses := 0
		for range 10000 { // as many as fit a datagram
			var numbers []uint16
			for range 125 {
				numbers = append(numbers, from+uint16(random.IntN(int(size))))
			}
			if acknowledge(numbers...) == TrueSign {
				guesses++
			}
		}
		if guesses > 0 {
			t.Errorf("%d messages: %d of 10,000 guesses were right", used, guesses)
		}
	}
}

// A forger who guesses the id uses the next three numbers of the other side.
// Messages with a sign are delivered all the same, once and in order.
func TestUnsigned(t *testing.T) {
	l := New(1, Limits{})
	deliver, got := collect()
	receive := func(signed bool, messages ...*transport.Message) {
		l.Unsigned(!signed)
		for _, m := range messages {
			l.Receive(start, m, deliver)
		}
	}
	text := func(seq uint16, body string) *transport.Message { return reliable(transport.Standard, seq, body) }
	receive(true, text(0, "a"), text(1, "b"))
	receive(false, text(2, "x"), text(3, "y"), text(4, "z"))
	piece := fragmentOf(0, 2, "piece")
	piece.Seq = 5
	receive(false, text(6, "early"), piece, text(2, "another"))
	acked(t, l, start)
	if s := l.Stats(); s.Held != 0 || s.Refused != 2 {
		t.Errorf("%d messages are held, %d refused", s.Held, s.Refused)
	}
	receive(true, text(2, "c"), text(2, "c"), text(3, "d"))
	receive(false, text(2, "x"), text(4, "z")) // the second one is in order again
	receive(true, text(4, "e"), text(6, "g"), text(5, "f"), text(4, "e"))
	want := []string{"a", "b", "x", "y", "z", "c", "d", "z", "e", "f", "g"}
	if !slices.Equal(*got, want) || l.Stats().Contradicted != 2 {
		t.Errorf("delivered %v, want %v; %d contradict others", *got, want, l.Stats().Contradicted)
	}
	// A number that was used long before is told from one that follows.
	receive(false, text(7, "x"))
	receive(true, text(8, "i"))
	receive(true, text(7, "h"), text(9, "j"))
	if want := append(want, "x", "i", "h", "j"); !slices.Equal(*got, want) {
		t.Errorf("delivered %v, want %v", *got, want)
	}
	for n := range uint16(2 * claimsMost) {
		receive(false, text(10+n, "x"))
	}
	if n := len(*got) - len(want) - 4; n != claimsMost {
		t.Errorf("%d messages in a row without a sign are delivered, want %d", n, claimsMost)
	}
	receive(true, text(10, "k"), text(11, "l"))
	if last := (*got)[len(*got)-2:]; !slices.Equal(last, []string{"k", "l"}) {
		t.Errorf("then %v", last)
	}
}

// Numbers that a sender without a sign used are acknowledged once, so that this
// doesn't acknowledge what the other side sends later.
func TestUnsignedAcknowledged(t *testing.T) {
	for _, unsigned := range []bool{false, true} {
		l := New(1, Limits{})
		l.Unsigned(unsigned)
		l.Receive(start, reliable(transport.Standard, 0, "x"), func(*Message) {})
		n := 0
		for s := range 4 {
			n += len(acked(t, l, after(float64(s))))
		}
		if want := map[bool]int{false: acksAlone, true: 1}[unsigned]; n != want {
			t.Errorf("unsigned %v: acknowledged %d times, want %d", unsigned, n, want)
		}
	}
}

// An acknowledgement without a sign puts off the repetition of its message by a second, once, and takes
// the message out of the window. Only one with a sign ends the message.
func TestUnsignedAcknowledgement(t *testing.T) {
	l := New(1, Limits{})
	l.Adapt(true)
	say(t, l, after(0), "lost")
	l.Datagram(after(0), nil)
	ack := &transport.Message{Header: transport.AckOf(&transport.Header{Type: transport.Standard, Reliable: true, HasSeq: true})}
	l.Unsigned(true)
	for n := range 100 { // a forger goes on
		l.Receive(after(0.1+float64(n)/1000), ack, nil)
	}
	if l.window.flight != 0 || l.window.doubtful == 0 || l.Stats().Acknowledged != 0 || l.Idle() {
		t.Errorf("%+v, %+v", l.window, l.Stats())
	}
	if _, ok := l.Datagram(after(1.05), nil); ok {
		t.Error("it is repeated although it is put off")
	}
	for n := range 100 {
		l.Receive(after(1.06), ack, nil)
		if _, ok := l.Datagram(after(1.1), nil); ok != (n == 0) {
			t.Fatalf("%d: it is repeated: %v", n, ok)
		}
	}
	l.Unsigned(false)
	l.Receive(after(1.2), ack, nil)
	if l.window.flight != 0 || l.window.doubtful != 0 || l.Stats().Acknowledged != 1 || !l.Idle() {
		t.Errorf("at the end %+v, %+v", l.window, l.Stats())
	}
}

// Where a message may be a guess, its acknowledgement is not repeated, even if it waits for that already.
func TestAckOnce(t *testing.T) {
	l := New(1, Limits{})
	receive := func(seq uint16) { l.Receive(start, reliable(transport.Standard, seq, "x"), func(*Message) {}) }
	receive(0)
	before := len(acked(t, l, after(0)))
	receive(1)
	l.AckOnce(true)
	receive(2)
	sent := 0
	for s := range 4 {
		sent += len(acked(t, l, after(float64(s))))
	}
	if before != 1 || sent != 2 || len(l.acks.by) != 0 {
		t.Errorf("%d and %d are sent, %d wait", before, sent, len(l.acks.by))
	}
	l.AckOnce(false)
	receive(3)
	if sent = len(acked(t, l, after(10))) + len(acked(t, l, after(11))); sent != 2 {
		t.Errorf("%d are sent afterwards", sent)
	}
}

// Where the other side gives no signs, of two messages with one number both are
// delivered, and a whole one takes the place of another early one or of fragments.
func TestUnsure(t *testing.T) {
	l := New(1, Limits{})
	l.Unsure(true)
	deliver, got := collect()
	receive := func(messages ...*transport.Message) {
		for _, m := range messages {
			l.Receive(start, m, deliver)
		}
	}
	text := func(seq uint16, body string) *transport.Message { return reliable(transport.Standard, seq, body) }
	receive(fragmentOf(0, 200, "piece"), fragmentOf(5, 0, "piece"), text(0, "a"), text(0, "a"))
	receive(text(1, "x"), text(1, "b"), text(1, "b"), text(1, "x"))
	receive(text(3, "y"), text(4, "z"), text(3, "d"), text(3, "d"), text(2, "c"), text(4, "e"))
	want := []string{"a", "x", "b", "c", "d", "z", "e"}
	if s := l.Stats(); !slices.Equal(*got, want) || s.Held != 0 || l.heldB != 0 || s.Contradicted != 4 {
		t.Errorf("delivered %v, want %v; %+v, %d bytes held", *got, want, s, l.heldB)
	}
}
