package result

import (
	"fmt"

	"github.com/bcdissect/bcdissect/decode/plural"
)

// A Limit bounds memory or work. If one is reached, something is dropped that
// may change the verdict, and the report mentions it.
type Limit uint8

// The limits.
const (
	LimitEarly Limit = iota
	LimitDoubts
	LimitGroups
	LimitMemory
	LimitSearch
	LimitRules
	LimitNames
	LimitGuards
	LimitDepartures
	LimitListed
	LimitFields
	Limits // number of limits
)

// limitNotes are the notes of the report. Each contains a number. See
// [plural.Form].
var limitNotes = [Limits]string{
	LimitEarly:      "%d {message was|messages were} judged early: too many, of all clients together, waited for their counterparts.",
	LimitDoubts:     "%d {message has|messages have} no verdict: too many messages may be lost, and those are judged at the end of the capture.",
	LimitGroups:     "%d {message was|messages were} counted together with those of other clients: there are too many clients and kinds of messages.",
	LimitMemory:     "%d {message was|messages were} forgotten before {its|their} time: others with the same bytes, or in other places, may be taken for {it|them}.",
	LimitSearch:     "%d {message has|messages have} no verdict: too many others may explain {it|them}.",
	LimitRules:      "%d {message|messages} came before the rules of the game: the model began without the rules.",
	LimitNames:      "%d {name was|names were} not compared: a client was told too many.",
	LimitGuards:     "%d {object or message was|objects and messages were} too many for the model to keep: the host's messages about {it|them} may count as extra.",
	LimitDepartures: "%d {change|changes} that a host makes to protect its players {was|were} not kept: one message caused too many. Documented differences may count as undocumented.",
	LimitListed:     "%d {client, silence or run of the host is|clients, silences and runs of the host are} not listed: there are too many.",
	LimitFields:     "%d {field|fields} of differences {is|are} not listed: the messages have too many.",
}

// Reached counts what was dropped at each limit.
type Reached [Limits]int

// Notes returns the notes of the limits that were reached.
func (r *Reached) Notes() (notes []string) {
	for l, n := range r {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(plural.Form(n, limitNotes[l]), n))
		}
	}
	return notes
}
