package dissect

import "github.com/bcdissect/bcdissect/decode"

// Needs are the parts of records that a consumer needs. The zero value means
// all of them. With fewer, the pipeline is faster.
type Needs struct {
	// Updates is the part of ship updates that the consumer needs.
	Updates Updates
	// Run, if not nil, gets ship updates and acknowledgements in runs instead of
	// records. Some of them still make records: those that do not decode, and
	// those that may reveal their sender's dialect. A run is valid until Run
	// returns.
	//
	// Positions, copies of updates and notes on updates are not tracked, so Run
	// must be set before the first datagram.
	Run func(*Run) error
}

// Updates is the part of ship updates that a consumer needs. Updates of
// uncertain layout always make a complete record.
type Updates uint8

// The parts, from most to least.
const (
	UpdatesWhole  Updates = iota
	UpdatesOnce           // no Message in copies with an Author and without subsystems. Most of them make no record unless they begin a datagram.
	UpdateHeaders         // no Message in updates
	NoUpdates             // most updates make no record
)

// Need sets what records of later datagrams must have.
func (p *Pipeline) Need(n Needs) {
	if u := &p.updates; u.forms[decode.Stock] == nil || u.forms[decode.OpenBC] == nil {
		n.Run = nil // a run needs the update layouts of both dialects
	}
	p.needs = n
}
