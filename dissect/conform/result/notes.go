package result

import (
	"fmt"

	"github.com/bcdissect/bcdissect/decode/plural"
)

// A Note is something about a capture that the report counts.
type Note uint8

// The notes. The limits bound memory or work. If one is reached, something is
// dropped that may change the verdict.
const (
	NoteAdopted Note = iota
	NoteStrangers
	NoteLostInputs
	NoteLostOutputs
	NoteMadeUp
	NoteCut
	NoteMalformed
	NoteHeaders
	NoteApparent
	NoteOnlyHost
	NoteOnlyClients
	NoteOutside
	NoteUnknown
	NoteRefused
	NoteLong
	LimitEarly
	LimitDoubts
	LimitGroups
	LimitMemory
	LimitSearch
	LimitRules
	LimitNames
	LimitGuards
	LimitListed
	LimitFields
	Notes // number of notes
)

// noteTexts are the texts of the report. Each contains a number. See
// [plural.Form].
var noteTexts = [Notes]string{
	NoteAdopted:     "The capture lacks the {join|joins} of %d {client|clients}. {It|They} entered the model when {it|they} first appeared; the host's messages for a join were not compared.",
	NoteStrangers:   "The host names %d {player|players} without captured traffic, as in a capture made at one client. Copies of {its|their} messages were not compared.",
	NoteLostInputs:  "%d {message|messages} of clients {is|are} missing from the capture, by {its number|their numbers}, or {was|were} lost and sent again.",
	NoteLostOutputs: "%d {message|messages} of the host {is|are} missing from the capture, by {its number|their numbers}, or {was|were} lost and sent again.",
	NoteMadeUp:      "%d {message|messages} of clients that the capture lacks {was|were} made up, because the host's messages prove {it|them}.",
	NoteCut:         "The capture holds only a part of %d {datagram|datagrams}. The rest was not played, and not compared.",
	NoteMalformed:   "%d malformed {datagram was|datagrams were} not played.",
	NoteHeaders:     "%d {datagram has a damaged IP header|datagrams have damaged IP headers} with new addresses: not played.",
	NoteApparent:    "%d {address has|addresses have} only a few datagrams, all in one direction, and damaged headers explain {it|them}: not counted as {a host|hosts}.",
	NoteOnlyHost:    "The capture holds only the %d {datagram|datagrams} of the host: there is nothing to compare.",
	NoteOnlyClients: "The capture holds only the %d {datagram|datagrams} of clients: there is nothing to compare.",
	NoteOutside:     "%d {client was|clients were} not let in by the host.",
	NoteUnknown:     "The host sent nothing to %d {address of a client|addresses of clients} that had not joined. {Its|Their} messages stay outside the model.",
	NoteRefused:     "%d {message|messages} of clients {was|were} ignored: there are too many clients at a time.",
	NoteLong:        "%d {message was|messages were} not played: {it is|they are} too long to be sent.",
	LimitEarly:      "%d {message was|messages were} judged early: too many, of all clients together, waited for their counterparts.",
	LimitDoubts:     "%d {message has|messages have} no verdict: too many messages may be lost, and those are judged at the end of the capture.",
	LimitGroups:     "%d {message was|messages were} counted together with those of other clients: there are too many clients and kinds of messages.",
	LimitMemory:     "%d {message was|messages were} forgotten before {its|their} time: others with the same bytes, or in other places, may be taken for {it|them}.",
	LimitSearch:     "%d {message has|messages have} no verdict: too many others may explain {it|them}.",
	LimitRules:      "%d {message|messages} came before the rules of the game: the model began without the rules.",
	LimitNames:      "%d {name was|names were} not compared: a client was told too many.",
	LimitGuards:     "%d {object or message was|objects and messages were} too many for the model to keep: the host's messages about {it|them} may count as extra.",
	LimitListed:     "%d {client, silence or run of the host is|clients, silences and runs of the host are} not listed: there are too many.",
	LimitFields:     "%d {field|fields} of differences {is|are} not listed: the messages have too many.",
}

// Noted counts what the notes tell.
type Noted [Notes]int

// Texts returns the notes for people.
func (c *Noted) Texts() (texts []string) {
	for note, n := range c {
		if n > 0 {
			texts = append(texts, fmt.Sprintf(plural.Form(n, noteTexts[note]), n))
		}
	}
	return texts
}
