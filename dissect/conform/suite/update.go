package suite

import (
	"bytes"
	"slices"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// update returns an update of a client's ship. Its time grows from one update
// to the next, and differs much from the host's.
func update(c *client) []byte {
	const ahead = 1000
	at := wire.FloatBits(float32(ahead + c.now().Sub(c.t.r.begun).Seconds()))
	return encode(msg.OpStateUpdate, &msg.StateUpdate{Object: c.base(), GameTime: at, Flags: msg.DirtyPower}) // without power settings, as clients send it
}

// explosion is a damage volume of a ship of slot 0.
const explosion = "29ffffff3f1d7a0c95611b57e278"

func updateCases() []Case {
	return []Case{
		{ID: "U-1", players: 3, run: noClientUpdates, watch: always(sent(msg.OpStateUpdate, seeFlags))},
		{ID: "U-2", watch: always(sent(msg.OpStateUpdate, seeUnreliable))},
		{ID: "U-11", watch: watchTime},
		{ID: "P-1", players: 3, run: updatesPassedOn},
		{ID: "P-2", players: 3, run: explosionsPassedOn},
	}
}

func noClientUpdates(t *T) {
	var sent [][]byte
	t.silence(t.chat(t.p[0], t.p...), func() {
		for range 5 {
			sent = append(sent, update(t.p[0]))
			t.p[0].SendBody(t.now(), false, sent[len(sent)-1])
			t.wait(20e6)
		}
		t.wait(betweenAll)
	})
	for _, o := range t.p {
		for _, m := range o.games(msg.OpStateUpdate) {
			_, flags, ok := msg.UpdateHead(m.Body)
			t.expectKnown(!ok || flags&msg.DirtyPower == 0, slices.ContainsFunc(sent, func(b []byte) bool { return bytes.Equal(b, m.Body) }), "no StateUpdate (1C) with power settings (flag 80)", m)
		}
	}
}

func updatesPassedOn(t *T) {
	const tries = 20 // each one may be lost
	for range tries {
		body := update(t.p[0])
		t.p[0].SendBody(t.now(), false, body)
		if !t.until(betweenAll, func() bool { return every(t.p[1:], func(o *client) bool { return o.count(body) > 0 }) }) {
			continue
		}
		for _, o := range t.p[1:] {
			m := o.copies(body)[0]
			t.expect(!m.Reliable, "an unreliable copy", m)
		}
		t.settle(t.p[0], t.p...)
		t.none("no copy back to the sender", t.p[0].copies(body))
		return
	}
	t.fails(false, "copies of the update at all others", t.p[1].games(msg.OpStateUpdate))
}

func explosionsPassedOn(t *T) {
	body := t.p[0].adapt(explosion)
	t.p[0].say(body)
	t.settle(t.p[0], t.p...)
	t.once(t.p[0], body, t.p)
	if o := without(t.p[1:], body); o != nil {
		t.fails(false, "one copy of Explosion (29) at "+o.name, o.games(msg.OpExplosion))
	}
}
