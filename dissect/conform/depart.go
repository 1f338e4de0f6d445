package conform

import (
	"bytes"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// maxDepartures is the maximum number of departures because of one input. It
// allows for the objects of all players, when a client asks for them.
const maxDepartures = 64 * relay.MaxPlayers

// whySpare is the reason why a host may omit the creation of an object.
const whySpare = "a creation in another player's range took its place, unless the host refuses those"

// depart records a departure of the model.
func (c *comparer) depart(d relay.Departure) {
	if len(c.departs) == maxDepartures {
		c.t.noted[result.LimitDepartures]++
		return
	}
	d.Body, d.Instead = bytes.Clone(d.Body), bytes.Clone(d.Instead)
	c.departs = append(c.departs, d)
}

// departure returns the departure for a message that a model sent, or nil if
// there is none.
func (c *comparer) departure(m *sent) *relay.Departure {
	for i := range c.departs {
		if d := &c.departs[i]; d.Type == m.Type && bytes.Equal(d.Body, m.Body) {
			return d
		}
	}
	return nil
}

// refused returns the rule by which a host that protects its players does not
// send a message, or nil if there is none. It does not explain why one player
// got a copy and another did not.
func (x *expect) refused() *decode.Rule {
	if x.changed != 0 || x.copied() && x.src.matched > 0 {
		return nil
	}
	return x.rule
}
