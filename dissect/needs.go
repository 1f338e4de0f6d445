package dissect

import "github.com/bcdissect/bcdissect/decode"

// Needs are the parts of records that a consumer needs. The zero value is all of
// them. With less, the pipeline is faster.
type Needs struct {
	// Updates is what the consumer needs of ship updates.
	Updates Updates
	// Run, if it is not nil, takes ship updates and acknowledgements in runs instead
	// of as records. A few still make records: those that do not decode, and those
	// that may tell the dialect of their sender. A run is valid until Run returns.
	//
	// Positions, copies of updates and notes on updates are not followed: the
	// pipeline must have it from the first datagram on.
	Run func(*Run) error
}

// Updates is what a consumer needs of ship updates. Updates of uncertain layout
// always make a whole record.
type Updates uint8

// What a consumer needs, from most to least.
const (
	UpdatesWhole  Updates = iota
	UpdatesOnce           // no Message in copies with an Author and without subsystems; most of them make no record unless they begin a datagram
	UpdateHeaders         // no Message
	NoUpdates             // mostly no record
)

// Need sets what later datagrams make.
func (p *Pipeline) Need(n Needs) {
	if u := &p.updates; u.forms[decode.Stock] == nil || u.forms[decode.OpenBC] == nil {
		n.Run = nil // runs count by the layout of both
	}
	p.needs = n
}
