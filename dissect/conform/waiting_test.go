package conform

import (
	"net/netip"
	"testing"

	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Messages that have come leave the lists, also behind one that has not.
func TestDoneLeave(t *testing.T) {
	c := newComparer(NewClients(msg.Catalog(), func(*Event) {}), result.New(0, msg.Catalog()), stockModel, false)
	d := c.dest(&Client{})
	const n, key = 1000, 7
	for i := range n {
		x := &expect{key: key, to: d.client, src: &source{Event: Event{Client: d.client}}, why: whyLate, done: i > 0}
		d.expects = append(d.expects, x)
		d.awaited[key] = append(d.awaited[key], x)
		g := &got{Event: &Event{Number: -1}, key: key + 1, done: i > 0}
		d.gots = append(d.gots, g)
		d.causeless[g.key] = append(d.causeless[g.key], g)
	}
	if x := c.choose(d, &got{Event: &Event{Number: -1}, key: key}); x != d.expects[0] {
		t.Error("the message that has not come is not found")
	}
	if g := find(d.work, d.causeless, key+1, func(*got) bool { return true }); g != d.gots[0] {
		t.Error("the message that nothing asked for is not found")
	}
	if left := len(d.awaited[key]); left != 1 {
		t.Errorf("%d messages with the key are left, want 1", left)
	}
	var l load
	if d.tidy(&l); len(d.expects) != 1 || len(d.gots) != 1 || l.messages != 2 {
		t.Errorf("%d and %d messages are left, %d are counted; want one of each", len(d.expects), len(d.gots), l.messages)
	}
}

// A message that is dropped before the end, since too many wait, does not count as a difference.
func TestEarly(t *testing.T) {
	for _, ended := range []bool{false, true} {
		r := New(Config{})
		r.begin()
		r.t.fromClients = 1
		r.cmp.ended = ended
		d := r.cmp.dest(&Client{})
		d.gots = append(d.gots, &got{Event: &Event{Client: d.client, Type: transport.Standard, Op: msg.OpTorpedoFire, Body: []byte{byte(msg.OpTorpedoFire)}, Number: 7, Reliable: true}})
		if n := r.cmp.resolve(d, 0, 1); n != 1 || (r.rep.Found > 0) != ended {
			t.Errorf("at the end %v: %d judged, %d differences", ended, n, r.rep.Found)
		}
	}
}

// A host needn't tell a newcomer of a ship that has exploded: the order of the explosion and the join is unknown.
func TestExploded(t *testing.T) {
	r := New(Config{})
	r.begin()
	ship, other, c := wire.FirstObject(1), wire.FirstObject(2), &Client{}
	explosion := r.t.bodies.write(msg.OpHostEvent, &msg.HostEvent{Event: event.Event{Class: event.ClassExploding, Code: event.CodeObjectExploding, Dest: ship}})
	r.play(&Event{Kind: Output, Client: c, Type: transport.Standard, Op: msg.OpHostEvent, Body: explosion, Number: 1})
	for id, want := range map[wire.ObjectID]bool{ship: true, other: false} {
		body := r.t.bodies.write(msg.OpObjectCreate, &msg.ObjectCreate{Slot: 1, Object: msg.Object{Class: msg.ClassShip, ID: id, Species: 1}})
		x := &expect{to: c, src: &source{Event: Event{Client: c, Op: msg.OpClientReady}}, typ: transport.Standard, op: msg.OpObjectCreate, body: body}
		if got := r.cmp.absent(x); got != want {
			t.Errorf("object %v may be absent: %v, want %v", id, got, want)
		}
	}
}

// When the host tells that one player has left, another one whose leave it has not acted on stays.
func TestTwoLeaves(t *testing.T) {
	tl := NewClients(msg.Catalog(), func(*Event) {})
	var list []*Client
	for i := range uint8(3) {
		c := tl.add(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, i}), 4000), 1)
		c.Peer, c.admitted = i+2, true
		goodbye := controlBody(&transport.Goodbye{ID: c.Peer})
		c.leave = &Event{Kind: Left, Client: c, Type: transport.Disconnect, Body: goodbye, receipt: &receipt{}}
		list = append(list, c)
	}
	list[2].leave = nil
	told := controlBody(&transport.Goodbye{ID: list[0].Peer})
	tl.control(&dissect.Record{}, &Event{Kind: Output, Client: list[2], Type: transport.Disconnect, Body: told, Number: -1})
	if !list[0].gone || list[1].gone || list[2].gone {
		t.Errorf("gone: %v, %v, %v; want only the first", list[0].gone, list[1].gone, list[2].gone)
	}
}

// Of two messages with the same number, one has another number with the same low eight bits: the one
// with the bytes of a message that has such a number, if there is one.
func TestSameNumber(t *testing.T) {
	r := New(Config{})
	r.begin()
	d := r.cmp.dest(&Client{})
	place := func(number int64, key uint64) *got {
		g := &got{Event: &Event{Client: d.client, Type: transport.Standard, Number: number}, key: key}
		r.cmp.place(d, g)
		d.gots = append(d.gots, g)
		return g
	}
	place(1, 7)
	old := place(1+eightBits, 7)
	if g := place(1+eightBits, 8); !old.again || g.again || d.line[1][1].key != 8 || d.line[1][1].torn {
		t.Errorf("the earlier message is a retransmission: %v, the later one: %v; the place has key %d", old.again, g.again, d.line[1][1].key)
	}
	if g := place(1, 9); !g.again || d.line[1][0].key != 7 || !d.line[1][0].torn {
		t.Errorf("the later message is a retransmission: %v; the place has key %d", g.again, d.line[1][0].key)
	}
}
