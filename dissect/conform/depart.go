package conform

import (
	"bytes"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// guards are the rules of bcdissect relay, by the model's name for them.
var guards = [relay.Guards]*decode.Rule{
	relay.GuardSender:  {Name: "corrects-sender", Text: "puts the true sender into chat and teams that name another; the stock host passes them on as they are"},
	relay.GuardText:    {Name: "cleans-chat", Text: "puts spaces in the place of line breaks and other control characters in chat; the stock host passes them on"},
	relay.GuardOwner:   {Name: "corrects-owner", Text: "puts the true owner into creations that name another; the stock host passes them on as they are"},
	relay.GuardObject:  {Name: "refuses-others-objects", Text: "refuses creations, updates, actions and destructions of the objects of other players; the stock host passes them on"},
	relay.GuardName:    {Name: "corrects-names", Text: "makes names readable and unique by numbers, and puts the true id into them; the stock host passes them on as they are"},
	relay.GuardRename:  {Name: "limits-renames", Text: "passes on no name that the player has already, and one a second at most; the stock host passes all on"},
	relay.GuardLeave:   {Name: "corrects-leave", Text: "puts the true id into a Disconnect that names another; the stock host passes it on as it is"},
	relay.GuardAddress: {Name: "hides-addresses", Text: "puts zeros in the place of the address in names and leaves; the stock host tells every player the others' addresses"},
	relay.GuardFlood:   {Name: "limits-floods", Text: "drops messages of a client beyond its budget; the stock host passes all on"},
}

// A departure is a message of the model in which a host that protects its players
// departs from the stock host.
type departure struct {
	rule    *decode.Rule
	typ     transport.Type
	body    []byte
	instead []byte // nil if it does not send another message
	spare   bool   // it sends the message, and the stock host does not
}

// maxDepartures bounds the departures because of one input: the objects of all
// players, when one asks for them.
const maxDepartures = relay.MaxPlayers * maxObjects

// whySpare is the reason why a host need not send an object.
const whySpare = "a creation in another player's range took its place, unless the host refuses those"

// depart takes a departure of the model. It reports whether there was room.
func (c *comparer) depart(s *source, d relay.Departure) bool {
	if d.Guard == relay.GuardFlood {
		s.excess = true
		return true
	}
	if len(c.departs) == maxDepartures {
		return false
	}
	c.departs = append(c.departs, departure{guards[d.Guard], d.Type, bytes.Clone(d.Body), bytes.Clone(d.Instead), d.Spare})
	return true
}

// departure returns the departure for a message that a model sent, nil if there
// is none.
func (c *comparer) departure(m *sent) *departure {
	for i := range c.departs {
		if d := &c.departs[i]; d.typ == m.typ && bytes.Equal(d.body, m.body) {
			return d
		}
	}
	return nil
}

// refused returns the rule by which a host that protects its players does not
// send a message, nil if there is none. It does not explain that one player got a
// copy, and another did not.
func (x *expect) refused() *decode.Rule {
	switch {
	case x.changed != 0 || x.copied() && x.src.matched > 0:
		return nil
	case x.src.excess && x.copied() && !x.reliable:
		return guards[relay.GuardFlood]
	}
	return x.rule
}

// deviates counts a message that did not come because of a rule.
func (c *comparer) deviates(x *expect, rule *decode.Rule) {
	c.rep.Row(x.typ, x.op).Explained++
	c.invariants.missed(c, x, true)
	c.rep.Deviate(rule, x.typ, x.op, x.src.frame)
}
