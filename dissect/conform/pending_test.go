package conform

import (
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// TestAlone: a copy is missing in a datagram that is there if those before and
// after it came in that.
func TestAlone(t *testing.T) {
	var d destination
	for _, b := range []delivery{{5, 11}, {1, 10}, {3, 10}} { // in any order
		d.brought.add(b.index, b.frame)
	}
	for index, want := range map[int]bool{0: true, 2: false, 4: true, 6: true} {
		if got := d.alone(&expect{index: index}); got != want {
			t.Errorf("%d: got %v, want %v", index, got, want)
		}
	}
	for i := range 2 * maxBrought {
		d.brought.add(10+i, i/2)
	}
	if n := len(d.brought); n > maxBrought {
		t.Errorf("%d deliveries are kept", n)
	}
	if !d.alone(&expect{index: 2}) {
		t.Error("it is not forgotten")
	}
}

// TestFollows: a message comes after another one if either the model got it later or
// their sender sent it later: a transmission that the capture lacks may have been
// the first.
func TestFollows(t *testing.T) {
	for _, c := range []struct {
		name          string
		index, before int
		number, than  int64
		want          bool
	}{
		{"later in both", 2, 1, 38, 37, true},
		{"sent later, but a transmission of the other came before the capture", 1, 2, 38, 37, true},
		{"sent before, but got later", 2, 1, 37, 38, true},
		{"before in both", 1, 2, 37, 38, false},
		{"two messages because of the same one", 1, 2, 37, 37, false},
		{"without numbers", 1, 2, -1, -1, false},
	} {
		x := &expect{index: c.index, src: &source{number: c.number}}
		if got := x.follows(&ordered{index: c.before, src: &source{number: c.than}}); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestTurn: a copy that comes as soon as the host could act on two messages is that
// of the first, although that one has waited for longer.
func TestTurn(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	const key = 5
	author := new(Client)
	d := newDestination(new(Client), new(reached))
	var list []*expect
	for n := range 2 {
		src := &source{client: author, kind: Input, number: int64(n), time: at(8 * n), turn: at(8)}
		list = append(list, &expect{key: key, src: src, number: -1, index: n})
	}
	d.byKey.at(key).expects = list
	g := &got{Event: &Event{Kind: Output, Time: at(8), Number: 3}, key: key}
	if got := d.choose(g); got != list[0] {
		t.Errorf("it is taken for number %d", got.src.number)
	}
	g.Time = at(10)
	list[1].src.turn = at(10)
	if got := d.choose(g); got != list[1] {
		t.Error("it is not taken for the one whose copy would be in time")
	}
}

// TestCopyOfHeld: a copy shows that the host has got a message that waits for one
// before it, unless it is that of another one with the same bytes.
func TestCopyOfHeld(t *testing.T) {
	at := time.Unix(10, 0)
	body := []byte{byte(msg.OpStopFiring), 1, 2, 3, 4}
	for name, expected := range map[string]bool{"of this": false, "of another": true} {
		tl := newTimeline(msg.Catalog(), func(*Event) {})
		author, to := new(Client), new(Client)
		tl.order = []*Client{author, to}
		tl.now.time = at
		author.held[1] = held{begun: true, next: 5, events: []*Event{{Kind: Input, Client: author, Time: at, Number: 7, Type: transport.Standard, Op: msg.OpStopFiring, Body: body}}}
		tl.holding.add(len(body))
		c := newComparer(tl, &Report{Invariants: newInvariants(msg.Catalog())}, stockModel, stockModel)
		if expected {
			x := &expect{to: to, key: c.key(transport.Standard, true, false, body), number: -1, by: stockModel, src: &source{client: author, time: at, turn: at, number: 4}}
			c.dest(to).byKey.at(x.key).expects = []*expect{x}
		}
		c.output(&Event{Kind: Output, Client: to, Time: at, Type: transport.Standard, Op: msg.OpStopFiring, Reliable: true, Body: body, Number: 3})
		if waits := len(author.held[1].events) == 1; waits != expected {
			t.Errorf("a copy %s: it waits: %v", name, waits)
		}
	}
}

// TestTurnOfHeld: the turn of a message comes with the one before it, unless the
// host may have got that one when the capture did not hold it.
func TestTurnOfHeld(t *testing.T) {
	now := time.Unix(10, 0)
	for _, c := range []struct {
		name  string
		next  int64
		got   bool // the host has acknowledged that one
		until int64
		want  time.Time
	}{
		{"the one before came", 7, false, 0, now},
		{"it came after its acknowledgement", 6, true, 0, time.Time{}},
		{"it was given up", 5, false, 7, time.Time{}},
	} {
		var turns []time.Time
		tl := newTimeline(msg.Catalog(), func(e *Event) { turns = append(turns, e.turn) })
		tl.now.time = now
		client := &Client{admitted: true}
		q := &client.held[1]
		*q = held{begun: true, next: c.next, got: c.got, until: c.until}
		for n := min(c.next, 7); n <= 7; n++ {
			if c.until == 0 || n == 7 {
				q.put(&Event{Kind: Input, Client: client, Time: time.Unix(9, 0), Number: n, Type: transport.Standard, Op: msg.OpStopFiring, Body: []byte{byte(msg.OpStopFiring)}})
				tl.holding.add(1)
			}
		}
		tl.release(client, 1)
		if len(turns) == 0 || !turns[len(turns)-1].Equal(c.want) {
			t.Errorf("%s: got %v, want %v", c.name, turns, c.want)
		}
	}
}

// TestFirstGot: a copy may come a little before its message, or much before if the
// capture lacks the first transmission of that; but as the model that does not
// decide sends it, it is rather the copy of another message.
func TestFirstGot(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }
	list := []*got{{Event: &Event{Time: at(0)}, done: true}, {Event: &Event{Time: at(950)}}, {Event: &Event{Time: at(1010)}}}
	c := comparer{judge: dialectModel}
	for _, tt := range []struct {
		name string
		by   model
		src  source
		want *got
	}{
		{"just before", dialectModel, source{time: at(1000)}, list[1]},
		{"too early", dialectModel, source{time: at(1100)}, list[2]},
		{"too early, but there may be a transmission before", dialectModel, source{time: at(1100), since: at(500)}, list[1]},
		{"just before, as the other model sends it", stockModel, source{time: at(1000), since: at(500)}, list[2]},
	} {
		if got := c.firstGot(list, &expect{by: tt.by, src: &tt.src}); got != tt.want {
			t.Errorf("%s: got the message of %v, want that of %v", tt.name, got.Time, tt.want.Time)
		}
	}
}

// TestTwice: a host that acts on a message again, which came again, also sends
// copies to players who were not there before. It is remembered for as long as
// the verdict on a message that nothing asks for takes.
func TestTwice(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1000, 0).Add(time.Duration(s) * time.Second) }
	present, newcomer := new(Client), new(Client)
	c := comparer{t: &timeline{order: []*Client{present, newcomer}}}
	d := c.dest(present)
	c.dest(newcomer)
	const key = 7
	pass := func(seconds int, twice bool) {
		d.pass(&expect{key: key, done: true, src: &source{time: at(seconds), receipt: &receipt{twice: twice}}})
	}
	extra := &got{Event: &Event{Time: at(1)}, key: key}
	pass(0, false)
	if c.twice(extra) {
		t.Error("the message did not come again")
	}
	pass(0, true)
	pass(2, false)
	pass(22, false) // the verdict on the extra one is near
	if !c.twice(extra) {
		t.Error("the message that came again is forgotten")
	}
	if c.twice(&got{Event: &Event{Time: at(1)}, key: key + 1}) {
		t.Error("another message did not come again")
	}
	if c.twice(&got{Event: &Event{Time: at(-1)}, key: key}) {
		t.Error("a message before the cause is no copy")
	}
}
