package conform

import (
	"fmt"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/decode/plural"
)

// A limit bounds memory or work. Where one is reached, something is given up that
// may change the verdict, and the report says so.
type limit uint8

const (
	limitEarly limit = iota
	limitDoubts
	limitGroups
	limitMemory
	limitSearch
	limitHoles
	limitCuts
	limitHeld
	limitWaiting
	limitRules
	limitNames
	limitGuards
	limitDepartures
	limitListed
	limitFields
	limits
)

// limitNotes are the notes of the report, with a number each. See [plural.Form].
var limitNotes = [limits]string{
	limitEarly:      "%d {message was|messages were} judged early: too many, of all clients together, waited for their counterparts.",
	limitDoubts:     "%d {message has|messages have} no verdict: too many messages may be lost, and those are judged at the end of the capture.",
	limitGroups:     "%d {message was|messages were} counted together with those of other clients: there are too many clients and kinds of messages.",
	limitMemory:     "%d {message was|messages were} forgotten before {its|their} time: others with the same bytes, or in other places, may be taken for {it|them}.",
	limitSearch:     "%d {message was|messages were} compared with only some messages of the same time: there are too many.",
	limitHoles:      "%d {gap|gaps} in the numbers {was|were} forgotten before {its|their} time: messages in {it|them} may count as missing.",
	limitCuts:       "%d cut {datagram was|datagrams were} forgotten before {its|their} time: messages in {its|their} cut {part|parts} may count as missing.",
	limitHeld:       "%d {message|messages} of clients {was|were} played without a missing message before {it|them}: too many waited for one.",
	limitWaiting:    "%d {message|messages} of clients that had not been let in {was|were} not played: too many waited.",
	limitRules:      "%d {message|messages} came before the rules of the game: the model began without the rules.",
	limitNames:      "%d {name was|names were} not compared: a client was told too many.",
	limitGuards:     "%d {object or message was|objects and messages were} too many for the model to keep: the host's messages about {it|them} may count as extra.",
	limitDepartures: "%d {change|changes} that a host makes to protect its players {was|were} not kept: one message caused too many. Documented differences may count as undocumented.",
	limitListed:     "%d {client, silence or run of the host is|clients, silences and runs of the host are} not listed: there are too many.",
	limitFields:     "%d {field|fields} of differences {is|are} not listed: the messages have too many.",
}

// reached counts the things given up at each limit.
type reached [limits]int

func (r *reached) notes() (notes []string) {
	for l, n := range r {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(plural.Form(n, limitNotes[l]), n))
		}
	}
	return notes
}

// forget makes room in lists of memories that are ordered by time: it drops those
// from before a time or, if more than three quarters of most are left, all. It
// returns how many are left, and how many of these were dropped.
func forget[K comparable, M any](lists map[K][]M, at func(*M) time.Time, since time.Time, most int) (left, dropped int) {
	for key, list := range lists {
		old := 0
		for old < len(list) && at(&list[old]).Before(since) {
			old++
		}
		if old == len(list) {
			delete(lists, key)
			continue
		}
		lists[key] = slices.Delete(list, 0, old)
		left += len(list) - old
	}
	if 4*left > 3*most {
		clear(lists)
		return 0, left
	}
	return left, 0
}
