package relay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
)

// A host that is always there: players come, fight, talk, restart their game and
// leave, while strangers connect, query and forge. Everything that is said comes
// back, no player is thrown out, and memory does not grow. The test simulates a
// day if BCDISSECT_LONG is set, and else ten minutes.
func TestDay(t *testing.T) {
	hours := 10 * time.Minute
	if long() {
		hours = 24 * time.Hour
	}
	s := besiege(t, 3, relay.Config{Players: relay.MaxPlayers})
	s.trouble = relay.Trouble{Delay: 30 * time.Millisecond}
	var guests []*player
	n := 0
	var early uint64
	for from := s.now; s.now.Sub(from) < hours; {
		s.events = nil
		f := &forger{siege: s, victim: s.chatters[n%3], when: s.rand.IntN(90)}
		attack := forgeries[n%len(forgeries)]
		if attack.name == "ship updates" || attack.name == "all ids, all the time" { // each takes seconds
			attack = forgeries[0]
		}
		s.chat(time.Minute, func(tick int) {
			if tick < 1500 {
				attack.at(f, tick)
			}
			if tick%10 == 0 {
				s.inject(s.forged(tick), s.connect())
				s.send(s.forged(tick), []byte(`\status\`), &relay.Trouble{})
			}
		})
		s.unharmed()
		for _, c := range s.chatters {
			c.echoes, c.next = nil, 0
		}
		// One guest leaves, one begins anew from the same address, one comes.
		if len(guests) == 3 {
			guests[0].Leave(s.now)
			s.advance(3*time.Second, nil)
			delete(s.byAddr, guests[0].addr)
			again := guests[1]
			s.advance(8*time.Second, nil) // its game starts again
			again.Client = relaytest.NewClient(relaytest.Options{Name: again.Name, Nonce: uint32(100000 + n)})
			s.join(again)
			guests = guests[1:]
			s.clients = append(s.clients[:3], guests...)
		}
		guest := &player{
			Client: relaytest.NewClient(relaytest.Options{Name: fmt.Sprintf("guest %d", n), Nonce: uint32(5000 + n)}), damaged: true,
			addr: s.guestAddr(n),
		}
		s.clients, s.byAddr[guest.addr] = append(s.clients, guest), guest
		s.join(guest)
		guests = append(guests, guest)
		if n++; n == 5 {
			early = heap()
		}
		clear(s.from)
		clear(s.to)
		if t.Failed() {
			t.Fatalf("after %v of simulated time", s.now.Sub(from))
		}
	}
	if late := heap(); late > early+(8<<20) {
		t.Errorf("%d KiB are in use, %d after five minutes", late>>10, early>>10)
	} else {
		t.Logf("%d minutes; %d KiB in use, %d after five", n, late>>10, early>>10)
	}
}

// A clock that jumps, forwards and back, throws no player out, and nothing is
// lost.
func TestJumpingClock(t *testing.T) {
	s := besiege(t, 4, relay.Config{})
	s.trouble = relay.Trouble{Delay: 30 * time.Millisecond, Loss: 0.02}
	s.events = nil
	jumps := func(tick int) {
		switch tick % 1000 {
		case 300:
			s.now = s.now.Add(4 * time.Second)
		case 800:
			s.now = s.now.Add(-3 * time.Second)
		}
	}
	s.chat(2*time.Minute, jumps)
	early := heap()
	s.chat(8*time.Minute, jumps)
	s.advance(20*time.Second, nil)
	if late := heap(); late > early+(1<<20) {
		t.Errorf("%d KiB are in use, %d after two minutes", late>>10, early>>10)
	}
	for _, c := range s.chatters {
		if c.Phase != relaytest.Playing || len(c.said) > 0 || len(c.echoes) != c.next {
			t.Errorf("%s: phase %d, %d of %d lines came back; %v", c.Name, c.Phase, len(c.echoes), c.next, s.events)
		}
	}
}

// Now and then for a second, the system has no room for datagrams, or fails to
// read them. What was acknowledged is not lost, and memory does not grow.
func TestFailingSocket(t *testing.T) {
	w := newWorld(t, 5, relay.Config{Mode: relay.Playable, Players: relay.MaxPlayers})
	w.trouble = relay.Trouble{Delay: 20 * time.Millisecond}
	var all []*player
	for range 8 {
		all = append(all, w.add(false))
	}
	w.join(all...)
	var early uint64
	for minute := range 10 {
		seconds := 0
		w.fails = func() bool { // a whole second in seven, and a tenth of the rest
			seconds = int(w.now.Sub(began) / time.Second)
			return seconds%7 == 3 || w.rand.IntN(10) == 0
		}
		w.fight(10*time.Second, all...)
		w.fails = nil
		w.settle()
		if minute == 2 {
			early = heap()
		}
	}
	for _, a := range all {
		for _, b := range all {
			if got := b.seen[relaytest.Forward][a.forward()]; a != b && got.last != a.Last(relaytest.Forward) {
				t.Errorf("%s got up to %d of %s, want %d", b.Name, got.last, a.Name, a.Last(relaytest.Forward))
			}
		}
	}
	w.fine()
	if late := heap(); late > early+(1<<20) {
		t.Errorf("%d KiB are in use, %d after three minutes", late>>10, early>>10)
	}
}
