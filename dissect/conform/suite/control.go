package suite

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A positive is a positive control: an action that the host is known to answer.
// The absence of a message is evidence only if controls on the same path are
// answered before and after. Otherwise the network may have lost it, or the
// host may have stopped listening.
type positive struct {
	what   string
	answer func() bool // performs the action, and reports whether the answer came
}

// check skips the case unless the control is answered.
func (t *T) check(c positive) {
	need(c.answer(), "silence proves nothing here: %s was not answered", c.what)
}

// silence runs the steps of a case after which something must not come, between two
// controls.
func (t *T) silence(c positive, steps func()) {
	t.check(c)
	steps()
	t.check(c)
}

// chat is the control that a client's chat reaches others, and that its author
// still hears the host. Copies keep their order, so everything that the host
// sends reliably because of the client's earlier messages has then come.
func (t *T) chat(c *client, all ...*client) positive {
	what := "a line of chat of " + c.name
	return positive{what, func() bool {
		others := slices.DeleteFunc(slices.Clone(all), func(o *client) bool { return o == c })
		body, ok := t.line(c, others)
		if !ok || !slices.Contains(all, c) || len(c.lines(body)) > 0 {
			return ok
		}
		if len(others) == 0 {
			return t.until(t.soon(), func() bool { return len(c.lines(body)) > 0 })
		}
		_, ok = t.line(others[0], []*client{c}) // some hosts do not send chat to its author
		return ok
	}}
}

// line makes a client send chat, and reports whether the others received it.
func (t *T) line(c *client, others []*client) (body []byte, ok bool) {
	t.r.serial++
	body = c.chat(fmt.Sprintf("settle %d", t.r.serial))
	c.say(body)
	here := func(o *client) bool { return len(o.lines(body)) > 0 }
	gone := func(o *client) bool { return o.Phase == relay.ClientGone }
	all := append(slices.Clone(others), c)
	t.r.await(&t.r.copies, t.soon(), func() bool { return every(others, here) || slices.ContainsFunc(all, gone) })
	return body, every(others, here)
}

// lives fails the case unless a client's chat still reaches others, as it did
// before.
func (t *T) lives(expected string, c *client, others ...*client) {
	if _, ok := t.line(c, others); !ok {
		t.misses(expected, "a line of chat of "+c.name+" does not arrive")
	}
}

// settle waits until everything has come that the host sends because of earlier
// messages of a client.
func (t *T) settle(c *client, all ...*client) { t.check(t.chat(c, all...)) }

// consumed is a game message that hosts accept and do not pass on:
// ChangedTarget.
const consumed = "0d0c010000580080000000000000000000ffff0340"

// acks is the control that the host acknowledges a game message of a client. It
// is for cases without other clients, or before the client is in the game.
func (t *T) acks(c *client) positive {
	return positive{"a message of " + c.name, func() bool {
		before, body := len(c.out), unhex(consumed)
		c.say(body)
		return t.until(t.soon(), func() bool { // a client may have to wait: see perSecond
			return slices.ContainsFunc(c.out[min(before, len(c.out)):], func(m *message) bool { return bytes.Equal(m.Body, body) && c.acked(false, m.Seq) })
		})
	}}
}

// replies is the control that a query from a client's socket is answered.
func (t *T) replies(c *client) positive {
	return positive{"a query from the same address", func() bool {
		const tries = 3
		for range tries {
			before := len(c.texts)
			t.r.send(t.now(), c.local, []byte(`\basic\`))
			if t.until(t.soon()/2, func() bool { return len(c.texts) > before }) {
				return true
			}
		}
		return false
	}}
}

// passes is the control that another client gets from one round of the hashes
// to the next.
func (t *T) passes(round, next uint8) positive {
	return positive{fmt.Sprintf("another client's answer to round %d", round), func() bool {
		c, err := t.atRound(round)
		if err != nil {
			return false
		}
		c.answers(t.answerBody(round))
		return t.asked(c, next)
	}}
}

// misses fails the case because something did not come although a control was
// answered.
func (t *T) misses(expected string, came ...any) {
	f := t.fail(expected, came...)
	f.controlled = true
	panic(stop{f})
}

// both joins controls.
func both(a, b positive) positive {
	return positive{a.what + " or " + b.what, func() bool { return a.answer() && b.answer() }}
}

// once skips the case if a client had to retransmit a message, and others were
// sent something twice. A host may act on each copy, which T-6 checks.
func (t *T) once(c *client, body []byte, others []*client) {
	sent := c.out.where(func(m *message) bool { return m.Type == transport.Standard && bytes.Equal(m.Body, body) })
	twice := func(o *client) bool {
		return slices.ContainsFunc(o.delivered, func(m *message) bool {
			return m.game() && m.opcode() == gameMessage(body).opcode() && o.count(m.Body) > 1
		})
	}
	need(len(sent) <= 1 || !slices.ContainsFunc(others, twice), "%s had to send the message again, and the host acted on each copy: see T-6", c.name)
}

// confirm runs after a case has failed because something did not come. It
// checks that the host still hears the clients of the case and answers them. If
// one of them is cut off, the case says nothing about the rule.
func (t *T) confirm() error {
	for _, c := range slices.Concat(t.p, t.opened) {
		if c.closed || c.ID == 0 || c.Phase != relay.ClientJoining && c.Phase != relay.ClientPlaying || c.sent(transport.Disconnect) != nil {
			continue
		}
		c.restore()
		if err := t.steps(func(t *T) { t.check(t.acks(c)) }); err != nil {
			return err
		}
	}
	return nil
}

// again waits until the host has had time for one or two retransmissions, if
// the line loses datagrams.
func (t *T) again(usual time.Duration) {
	if t.r.lossy() {
		usual = hungStep + t.trips(1)
	}
	t.wait(usual)
}

// trips is how long n round trips take.
func (t *T) trips(n int) time.Duration { return time.Duration(n) * t.r.trip }
