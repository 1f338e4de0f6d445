package suite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

func leaveCases() []Case {
	return []Case{
		{
			ID: "L-1", Title: "orderly leave", Rule: "A disconnect is acknowledged as a control message and passed on to all others, and the slot is free at once.",
			Source: "TRANSPORT 7.3", Grade: OnWire, Profiles: everyHost, run: orderlyLeave,
		},
		{
			ID: "L-2", Title: "name and ship of a leaver", Rule: "The others are sent 18 with the leaver's name and, if it had a ship, 06 with its end, caused by nobody.",
			Source: "TRANSPORT 7.3", Grade: FromCode, Profiles: everyHost, run: nameOfLeaver,
		},
		{
			ID: "L-3", Title: "no 14 and 17 for a leave", Rule: "A leave makes the host send neither 14 nor a 17 with code 60005.",
			Source: "TRANSPORT 7.3", Grade: OnWire, Profiles: everyHost, run: no14No17, watch: watchLeaves,
		},
		{
			ID: "L-4", Title: "leave acknowledged repeatedly", Rule: "The acknowledgement of a disconnect is sent seven times, two thirds of a second apart.",
			Source: "TRANSPORT 7.3", Grade: OnWire, Profiles: everyHost, Slow: true, Informs: true, Timing: true, run: leaveAckRepeated,
		},
		{
			ID: "L-5", Title: "slot reused", Rule: "The next client gets the slot that a leaver has freed, and another id.",
			Source: "TRANSPORT 14", Grade: FromCode, Profiles: everyHost, run: slotReused,
		},
		{
			ID: "L-6", Title: "the host stops", Rule: "A host that stops sends every client a disconnect with id 1.",
			Source: "TRANSPORT 7.3", Grade: FromCode, Profiles: everyHost, watch: watchStop,
		},
		{
			ID: "L-8", Title: "heartbeat on a leave", Rule: `A leave is told to the master server by \statechanged\1 within 10 seconds.`,
			Source: "TRANSPORT 16.2", Grade: OnWire, Profiles: everyHost, Slow: true, Timing: true, run: leaveAnnounced,
		},
	}
}

// toldOf reports whether a client was told by a disconnect that another left.
func (c *client) toldOf(id uint8) *heard {
	for _, h := range c.controls(transport.Disconnect) {
		if len(h.Body) > 0 && h.Body[0] == id {
			return h
		}
	}
	return nil
}

func orderlyLeave(t *T) error {
	p, c, err := t.newcomer(2)
	if err != nil {
		return err
	}
	before, _, counting := t.counted()
	id := c.ID
	c.Leave(t.now())
	if !t.until(t.soon(), c.hasLeft) {
		return t.fail("an acknowledgement of the disconnect as a control message", c.all()...)
	}
	for _, o := range p {
		if !t.until(t.soon(), func() bool { return o.toldOf(id) != nil }) {
			told := slices.ContainsFunc(o.games(msg.OpPlayerDeleted), func(h *heard) bool { return bytes.HasSuffix(h.Body, []byte(c.name)) })
			return t.fail(fmt.Sprintf("05 with id %d at %s", id, o.name), o.all()...).known(told && len(o.controls(transport.Disconnect)) == 0)
		}
		t.show(o.toldOf(id).frame)
	}
	if counting == nil {
		if n, reply, err := t.counted(); err == nil && n != before-1 {
			return t.fail(fmt.Sprintf("%d players after the leave", before-1), said(reply))
		}
	}
	return nil
}

// left returns a client that had a ship and left, and the first object id of its
// slot.
func (t *T) left(p []*client) (c *client, ship uint32, err error) {
	if c, err = t.joined(); err != nil {
		return nil, 0, err
	}
	c.creates(akira)
	t.settle(c, append(p, c)...)
	ship = c.base()
	for _, o := range p {
		o.forget()
	}
	t.leaves(c)
	t.settle(p[0], p...)
	return c, ship, nil
}

func nameOfLeaver(t *T) error {
	p, err := t.players(2)
	if err != nil {
		return err
	}
	c, ship, err := t.left(p)
	if err != nil {
		return err
	}
	want := binary.LittleEndian.AppendUint32([]byte{byte(msg.OpPlayerDeleted)}, uint32(len(c.name)))
	want = append(want, c.name...)
	end := binary.LittleEndian.AppendUint32(unhex("06298100004e00800000000000"), ship)
	end = append(end, unhex("0000000000001841")...)
	short := binary.LittleEndian.AppendUint16([]byte{byte(msg.OpPlayerDeleted)}, uint16(len(c.name)))
	short = append(short, c.name...)
	deleted := binary.LittleEndian.AppendUint32([]byte{byte(msg.OpDestroyObject)}, ship)
	otherwise := !slices.ContainsFunc(p, func(o *client) bool {
		return o.count(short) != 1 || o.count(deleted) != 1 || o.count(want)+o.count(end) > 0
	})
	for _, o := range p {
		if o.count(want) != 1 {
			return t.fail(fmt.Sprintf("18 with the name, %X", want), o.strange(msg.OpPlayerDeleted)).known(otherwise)
		}
		if o.count(end) != 1 {
			return t.fail(fmt.Sprintf("the end of the ship, %X", end), o.strange(msg.OpHostEvent))
		}
		t.show(o.copies(want)[0].frame, o.copies(end)[0].frame)
	}
	return nil
}

func no14No17(t *T) error {
	p, err := t.players(2)
	if err != nil {
		return err
	}
	_, ship, err := t.left(p)
	if err != nil {
		return err
	}
	deleted := binary.LittleEndian.AppendUint32([]byte{byte(msg.OpDestroyObject)}, ship)
	for _, o := range p {
		gone := slices.DeleteFunc(o.games(msg.OpPlayerAnnounce), func(h *heard) bool { return !announcesLeave(h.Body) })
		both := o.count(deleted) == 1 && len(gone) == 1
		if list := o.games(msg.OpDestroyObject); len(list) > 0 {
			return t.fail("no 14", list).known(both && len(list) == 1)
		}
		if len(gone) > 0 {
			return t.fail("no 17 with code 60005", gone)
		}
	}
	return nil
}

// announcesLeave reports whether a 17 is about a player who is gone.
func announcesLeave(body []byte) bool {
	const codeAt = 5
	return len(body) >= codeAt+4 && binary.LittleEndian.Uint32(body[codeAt:]) == uint32(event.CodeDeletePlayer)
}

func leaveAckRepeated(t *T) error {
	c, err := t.joined()
	if err != nil {
		return err
	}
	t.settle(c, c)
	t.leaves(c)
	t.wait(6 * time.Second)
	var times []time.Time
	for i := len(c.out) - 1; i >= 0; i-- {
		if c.out[i].Type != transport.Disconnect {
			continue
		}
		for k := range c.in {
			if s := &c.in[k]; s.Type == transport.Acknowledge && s.Control() && s.Seq == c.out[i].Seq {
				times = append(times, s.at)
			}
		}
		break
	}
	if len(times) < 7 {
		return t.fail("seven acknowledgements", secondsSince(times))
	}
	return nil
}

func slotReused(t *T) error {
	if _, err := t.players(2); err != nil {
		return err
	}
	c, err := t.joined()
	if err != nil {
		return err
	}
	slot, id := c.Slot, c.ID
	t.leaves(c)
	next, err := t.joined()
	if err != nil {
		return err
	}
	if next.Slot != slot || next.ID == id {
		return t.fail(fmt.Sprintf("slot %d again, and another id than %d", slot, id), slices.Concat(next.accepted(), next.slotted())...).
			known(next.Slot == slot && next.bySlot())
	}
	return nil
}

// accepted and slotted return the messages that tell a client its id and slot.
func (c *client) accepted() (list []any) {
	for _, a := range c.accepts() {
		list = append(list, a)
	}
	return list
}

func (c *client) slotted() []any { return []any{c.games(msg.OpSettings)} }
