package suite

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

func leaveCases() []Case {
	return []Case{
		{ID: "L-1", players: 2, client: (*T).joined, run: orderlyLeave},
		{ID: "L-2", players: 2, client: (*T).left, run: nameOfLeaver},
		{ID: "L-3", players: 2, client: (*T).left, run: no14No17, watch: always(seeLeave)},
		{ID: "L-4", client: (*T).joined, run: leaveAckRepeated},
		{ID: "L-5", players: 2, client: (*T).joined, run: slotReused},
		{ID: "L-6", watch: watchStop},
		{ID: "L-8", needs: (*T).master, client: (*T).joined, run: leaveAnnounced},
	}
}

func orderlyLeave(t *T) {
	before, _, counting := t.counted()
	id := t.c.ID
	t.c.Leave(t.now())
	t.expect(t.until(t.soon(), t.c.hasLeft), "an acknowledgement of the disconnect as a control message", t.c.all())
	for _, o := range t.p {
		if !t.until(t.soon(), func() bool { return len(o.about(transport.Disconnect, id)) > 0 }) {
			told := slices.ContainsFunc(o.games(msg.OpPlayerDeleted), func(m *message) bool { return bytes.HasSuffix(m.Body, []byte(t.c.name)) })
			t.fails(told && len(o.controls(transport.Disconnect)) == 0, fmt.Sprintf("a disconnect with id %d at %s", id, o.name), o.all())
		}
		t.show(o.about(transport.Disconnect, id)[0].frame)
	}
	if counting == nil {
		if n, reply, err := t.counted(); err == nil {
			t.expect(n == before-1, fmt.Sprintf("%d players after the leave", before-1), said(reply))
		}
	}
}

// left returns a client that had a ship and left.
func (t *T) left() (*client, error) {
	c, err := t.joined()
	if err != nil {
		return nil, err
	}
	c.creates(akira)
	t.settle(c, append(t.p, c)...)
	for _, o := range t.p {
		o.forget()
	}
	t.leaves(c)
	t.settle(t.p[0], t.p...)
	return c, nil
}

func nameOfLeaver(t *T) {
	name, ship := wire.Chars(t.c.name), t.c.base()
	const seconds = 9.5
	want := encode(msg.OpPlayerDeleted, &msg.PlayerDeleted{Name: name})
	end := encode(msg.OpHostEvent, &msg.HostEvent{Event: event.Event{
		Class: event.ClassExploding, Code: event.CodeObjectExploding, Dest: ship, Lifetime: wire.FloatBits(seconds),
	}})
	short := encode(msg.OpPlayerDeleted, &msg.PlayerDeletedOpenBC{Name: name})
	deleted := encode(msg.OpDestroyObject, &msg.DestroyObject{Object: ship})
	otherwise := every(t.p, func(o *client) bool {
		return o.count(short) == 1 && o.count(deleted) == 1 && o.count(want)+o.count(end) == 0
	})
	for _, o := range t.p {
		t.expectKnown(o.count(want) == 1, otherwise, fmt.Sprintf("PlayerDeleted (18) with the name, %X", want), o.strange(msg.OpPlayerDeleted))
		t.expect(o.count(end) == 1, fmt.Sprintf("the end of the ship, %X", end), o.strange(msg.OpHostEvent))
		t.show(o.copies(want)[0].frame, o.copies(end)[0].frame)
	}
}

func no14No17(t *T) {
	deleted := encode(msg.OpDestroyObject, &msg.DestroyObject{Object: t.c.base()})
	for _, o := range t.p {
		gone := o.games(msg.OpPlayerAnnounce).where((*message).announcesLeave)
		both := o.count(deleted) == 1 && len(gone) == 1
		list := o.games(msg.OpDestroyObject)
		t.expectKnown(len(list) == 0, both && len(list) == 1, "no DestroyObject (14)", list)
		t.expect(len(gone) == 0, "no PlayerAnnounce (17) with the code DELETE_PLAYER (60005)", gone)
	}
}

// announcesLeave reports whether the message is a PlayerAnnounce about a player
// who has left.
func (m *message) announcesLeave() bool {
	a, _ := read[*msg.PlayerAnnounce](m)
	return a != nil && a.Code == event.CodeDeletePlayer
}

func leaveAckRepeated(t *T) {
	t.rests(t.c, t.soon())
	t.leaves(t.c)
	t.wait(6 * time.Second)
	times := t.c.acksOf(true, t.c.sent(transport.Disconnect).Seq).times()
	t.expect(len(times) >= 7, "seven acknowledgements", secondsSince(times))
}

func slotReused(t *T) {
	slot, id := t.c.Slot, t.c.ID
	t.leaves(t.c)
	need(!t.r.lossy() || t.c.hasLeft(), "the host has not acknowledged the leave, so the slot may not be free")
	next := must(t.joined())
	ok, known := next.Slot == slot && next.ID != id, next.Slot == slot && next.bySlot()
	t.proveKnown(ok, known, fmt.Sprintf("slot %d again, and another id than %d", slot, id), next.accepts(), next.games(msg.OpSettings))
}

// A beat is a heartbeat of a host, as its master server receives it.
type beat struct {
	frame   int
	text    string
	changed bool // it reports that the game has changed
}

// takeBeat adds a datagram to the master server, if it is a heartbeat.
func takeBeat(list []beat, a relay.Arrival, frame int) []beat {
	const most, longest = 256, 200
	m := gamespy.Parse(a.Datagram)
	if m.Kind() != gamespy.KindHeartbeat || len(list) >= most {
		return list
	}
	changed, _ := m.Get("statechanged")
	return append(list, beat{frame, string(a.Datagram[:min(len(a.Datagram), longest)]), changed == "1"})
}

// master returns an error if the run has no master server.
func (t *T) master() error {
	if !t.r.o.Master.IsValid() {
		return skip("needs --master, and a host that announces its game there")
	}
	return nil
}

// leaveAnnounced makes a client leave that has been in the game so long that
// the host has announced its join.
func leaveAnnounced(t *T) {
	const within, late = 10 * time.Second, time.Second
	t.wait(within + late)
	before := len(t.r.beats)
	t.c.Leave(t.now())
	var came []any
	if t.until(within+late, func() bool {
		for ; before < len(t.r.beats); before++ {
			b := &t.r.beats[before]
			t.show(b.frame)
			came = append(came, fmt.Sprintf("frame %d: %q", b.frame, b.text))
			if b.changed {
				return true
			}
		}
		return false
	}) {
		return
	}
	need(len(t.r.beats) > 0, "no heartbeat came: let the host announce its game to %v", t.r.o.Master)
	t.fails(false, `\heartbeat\ with \statechanged\1 within 10 s`, came...)
}
