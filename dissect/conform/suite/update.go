package suite

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/bcdissect/bcdissect/decode/msg"
)

// update returns a ship update of a client's own ship. Its time grows from one to
// the next.
func update(c *client) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{byte(msg.OpStateUpdate)}, c.base())
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(c.now().Sub(c.t.r.begun).Seconds())))
	b = append(b, 0x80) // no further fields, as clients write it
	return b
}

// explosion returns a damage volume of a client's own ship.
func explosion(c *client) []byte {
	return c.adapt(unhex("29ffffff3f1d7a0c95611b57e278"), 1)
}

func updateCases() []Case {
	return []Case{
		{
			ID: "U-1", Title: "weapons and subsystems", Rule: "Ship updates of the host never have flag 80, which is for clients.",
			Source: "TRANSPORT 11.4", Grade: OnWire, Profiles: likeStock, run: noClientUpdates, watch: watchFlags,
		},
		{
			ID: "U-2", Title: "updates unreliable", Rule: "Ship updates of the host have no number.",
			Source: "TRANSPORT 11.4", Grade: OnWire, Profiles: everyHost, watch: watchUnreliable,
		},
		{
			ID: "U-11", Title: "game time grows", Rule: "The time in the updates of a ship to one client does not go back.",
			Source: "GAME 7.1", Grade: FromCode, Profiles: everyHost, watch: watchTime,
		},
		{
			ID: "P-1", Title: "updates passed on", Rule: "A host without simulation passes ship updates on, unchanged and unreliably, to every other client in the game.",
			Source: "TRANSPORT 13", Grade: NotStock, Profiles: Playable, run: updatesPassedOn,
		},
		{
			ID: "P-2", Title: "explosions passed on", Rule: "A host without simulation passes 29 on to every other client in the game.",
			Source: "TRANSPORT 13", Grade: NotStock, Profiles: Playable, run: explosionsPassedOn,
		},
	}
}

func noClientUpdates(t *T) error {
	p, err := t.players(3)
	if err != nil {
		return err
	}
	var sent [][]byte
	for range 5 {
		sent = append(sent, update(p[0]))
		p[0].SendBody(t.now(), false, sent[len(sent)-1])
		t.wait(20e6)
	}
	t.settle(p[0], p...)
	t.wait(betweenAll)
	for _, o := range p {
		for _, h := range o.games(msg.OpStateUpdate) {
			if _, flags, ok := msg.UpdateHead(h.Body); ok && flags&msg.DirtyPower != 0 {
				return t.fail("no update with flag 80", h).known(slices.ContainsFunc(sent, func(b []byte) bool { return bytes.Equal(b, h.Body) }))
			}
		}
	}
	return nil
}

func updatesPassedOn(t *T) error {
	p, err := t.players(3)
	if err != nil {
		return err
	}
	done := func(body []byte) bool {
		for _, o := range p[1:] {
			if o.count(body) == 0 {
				return false
			}
		}
		return true
	}
	const tries = 20 // each may be lost
	for range tries {
		body := update(p[0])
		p[0].SendBody(t.now(), false, body)
		if !t.until(betweenAll, func() bool { return done(body) }) {
			continue
		}
		for _, o := range p[1:] {
			if h := o.copies(body)[0]; h.Reliable {
				return t.fail("an unreliable copy", h)
			}
		}
		if list := p[0].copies(body); len(list) > 0 {
			return t.fail("no copy back to the sender", list)
		}
		return nil
	}
	return t.fail("copies of the update at all others", p[1].games(msg.OpStateUpdate))
}

func explosionsPassedOn(t *T) error {
	p, err := t.players(3)
	if err != nil {
		return err
	}
	body := explosion(p[0])
	p[0].say(body)
	t.settle(p[0], p...)
	for _, o := range p[1:] {
		if o.count(body) != 1 {
			return t.fail("one copy of 29 at "+o.name, o.games(msg.OpExplosion))
		}
	}
	return nil
}
