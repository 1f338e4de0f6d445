package conform

import (
	"fmt"
	"slices"
	"time"
)

// A limit bounds memory or work. Where one is reached, something is given up that
// may change the verdict, and the report says so.
type limit uint8

const (
	limitDoubts limit = iota
	limitGroups
	limitMemory
	limitSearch
	limitHoles
	limitHeld
	limitWaiting
	limitRules
	limitNames
	limitGuards
	limitListed
	limits
)

// limitNotes say what is given up; the number is how often.
var limitNotes = [limits]string{
	limitDoubts:  "%d messages have no verdict: the capture as a whole decides about messages that may be lost, and too many are.",
	limitGroups:  "%d messages were counted together with those of other clients: there are too many clients and kinds of messages.",
	limitMemory:  "%d messages were forgotten before their time: others with the same bytes, or in other places, may be taken for them.",
	limitSearch:  "%d messages were compared with a part of those about the same time only: there are too many.",
	limitHoles:   "%d gaps in the numbers were forgotten before their time: messages in them may count as missing.",
	limitHeld:    "%d messages of clients were played although messages before them may still have come: too many waited.",
	limitWaiting: "%d messages of clients that had not been let in were not played: too many waited.",
	limitRules:   "%d messages came before the rules of the game: the model began without these.",
	limitNames:   "%d names were not compared: a client was told too many.",
	limitGuards:  "%d objects and messages were too many for the model to keep: what the host sends of them may count as extra.",
	limitListed:  "%d clients and silences are not listed: there are too many.",
}

// reached counts what was given up at each limit.
type reached [limits]int

func (r *reached) notes() (notes []string) {
	for l, n := range r {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(limitNotes[l], n))
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
