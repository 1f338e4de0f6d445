package decode

// Made is the reason why a host sends a message that neither copies nor answers
// a client's message.
type Made uint8

// The reasons.
const (
	MadeUnknown      Made = iota // none is known
	MadeNever                    // it only sends copies of clients' messages
	MadeBySimulation             // its simulation of the ships and of the match
	MadeByStock                  // the stock host's simulation of the ships. An OpenBC host only sends copies.
	MadeByScores                 // the scores that it keeps
	MadeByState                  // the players in the game and their objects
	MadeByLeave                  // a player that leaves
	MadeByOptions                // an option of the game that changes
	MadeByFiles                  // the files of a client that it compares with its own
)

// String returns the reason in lower case.
func (m Made) String() string {
	return word(m, "unknown", "never", "simulation", "stock simulation", "scores", "state", "leave", "options", "files")
}

// A Step is the part of a client's join that a message belongs to.
type Step uint8

// The steps, in their order.
const (
	StepNone   Step = iota // not part of a join
	StepAsk                // the host asks for hashes of files
	StepAnswer             // the client answers
	StepFiles              // files differ, or are sent
	StepLoad               // the host tells the client the mission to load
	StepReady              // the client has loaded it
	StepEnter              // the host tells it the rules: it is in the game
)

// String returns the step in lower case.
func (s Step) String() string {
	return word(s, "none", "ask", "answer", "files", "load", "ready", "enter")
}

// A Need names the clients whose messages the stock host consumes although
// other players need them. The stock host tells the players the result of its
// own simulation instead. A playable host simulates nothing and passes the
// messages on.
type Need uint8

// The needs.
const (
	NeedNone   Need = iota // no clients
	NeedOpenBC             // OpenBC's clients, which expect these messages from each other
	NeedAll                // all clients
)

// String returns the need in lower case.
func (n Need) String() string {
	return word(n, "none", "openbc", "all")
}

// An Only is the condition on which a host treats a message by its relay class.
// If the condition is false, the host consumes the message.
type Only uint8

// The conditions.
const (
	OnlyAlways   Only = iota // none
	OnlyOwn                  // the message creates an object in the sender's own slot
	OnlyMoving               // the message updates more than subsystems
	OnlyReadable             // the host can decode it in the host's own dialect
	OnlyAllowed              // the host's simulation of the ship allows it
	OnlyFirst                // the sender is the first player
)

// String returns the condition in lower case.
func (o Only) String() string {
	return word(o, "always", "own", "moving", "readable", "allowed", "first")
}

// A Rule is a documented behaviour of a host that differs from the stock
// host's.
type Rule struct {
	Name string // for scripts
	Text string // sentence about the host for people
}

// A Deviation tells how hosts of another dialect treat a client's message if
// they treat it differently from the stock host.
type Deviation struct {
	Dialect Dialect
	Relay   Relay // replaces the spec's Relay
	Only    Only
	Rule    Rule
}

// A Habit is a documented behaviour of hosts of another dialect for a message
// that they send unasked, or for all copies of one.
type Habit struct {
	Dialect Dialect
	Rule    Rule
}

// Habit returns the habit of a dialect's hosts with the message, or nil if
// there is none.
func (s *Spec) Habit(d Dialect) *Habit {
	for i := range s.Habits {
		if s.Habits[i].Dialect == d {
			return &s.Habits[i]
		}
	}
	return nil
}

// Deviation returns how a dialect's hosts treat a client's message, or nil if
// they treat it like the stock host.
func (s *Spec) Deviation(d Dialect) *Deviation {
	for i := range s.Deviations {
		if s.Deviations[i].Dialect == d {
			return &s.Deviations[i]
		}
	}
	return nil
}
