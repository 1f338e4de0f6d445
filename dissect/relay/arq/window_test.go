package arq

import (
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/transport"
)

// due returns all game messages that are due.
func due(t *testing.T, l *Endpoint, now time.Time) (list []transport.Message) {
	t.Helper()
	for {
		d, ok := l.Datagram(now, nil)
		if !ok {
			return list
		}
		for _, m := range split(t, d) {
			if m.Type == transport.Standard {
				list = append(list, m)
			}
		}
	}
}

// A side that acknowledges little is sent little, and nothing is lost: what it
// was not sent comes as soon as it acknowledges.
func TestWindow(t *testing.T) {
	l, now, _ := measured(t, 40*time.Millisecond)
	const count, size = 2000, 100
	for range count {
		say(t, l, now, string(make([]byte, size)))
	}
	sent := 0
	for range 450 { // for 45 s it acknowledges nothing
		got := due(t, l, now)
		sent += len(got) * size
		now = now.Add(100 * time.Millisecond)
	}
	if sent > 8*windowFirst {
		t.Errorf("%d bytes were sent to a side that acknowledges nothing", sent)
	}
	if !l.Congested() {
		t.Error("it is not seen that the other side lags behind")
	}
	for round := 0; !l.Idle(); round++ {
		if round == 2000 {
			t.Fatalf("%d messages still wait", l.Stats().Waiting)
		}
		now = now.Add(40 * time.Millisecond)
		got := due(t, l, now)
		for _, m := range got {
			l.Receive(now.Add(40*time.Millisecond), acknowledgement(m.Seq, 0), nil)
		}
	}
	if l.window.flight != 0 || l.bytes != 0 || l.Congested() {
		t.Errorf("%d bytes are under way, %d are kept", l.window.flight, l.bytes)
	}
}

// Only game messages count for the age of what waits for an acknowledgement. OpenBC's
// clients acknowledge no other messages, and would be thought silent after each leave of
// a player.
func TestOldest(t *testing.T) {
	l := New(1, Limits{})
	if err := l.Queue(start, Message{Type: transport.Disconnect, Body: make([]byte, 5)}); err != nil {
		t.Fatal(err)
	}
	due(t, l, start)
	if age := l.Oldest(after(4)); age != 0 {
		t.Errorf("a control message is %v old", age)
	}
	say(t, l, after(4), "x")
	due(t, l, after(4))
	if age := l.Oldest(after(9)); age != 5*time.Second {
		t.Errorf("a game message is %v old", age)
	}
}

// The last message that was acknowledged is repeated to ask for another
// acknowledgement, and counts like a new one.
func TestAsk(t *testing.T) {
	l, now, _ := measured(t, 40*time.Millisecond)
	say(t, l, now, "x")
	got := due(t, l, now)
	l.Ask(now) // something else is asked for
	l.Receive(now, acknowledgement(got[0].Seq, 0), nil)
	if more := due(t, l, now); len(more) > 0 || !l.Idle() {
		t.Fatalf("%d messages are sent that nobody asked for", len(more))
	}
	before := l.Stats().Acknowledged
	for range 2 {
		now = now.Add(time.Second)
		l.Ask(now)
		again := due(t, l, now)
		if len(again) != 1 || again[0].Seq != got[0].Seq || string(again[0].Body) != "x" || again[0].Type != transport.Standard {
			t.Fatalf("asked with %v", again)
		}
		now = now.Add(40 * time.Millisecond)
		l.Receive(now, acknowledgement(got[0].Seq, 0), nil)
	}
	if s := l.Stats(); s.Acknowledged != before+2 || s.Bogus != 0 || !l.Idle() || l.bytes != 0 || l.window.flight != 0 {
		t.Errorf("%+v, %d bytes", s, l.bytes)
	}
}
