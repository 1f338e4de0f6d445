package decode

// A Made is the reason for which a host sends a message of its own accord:
// without a message of a client that it copies or answers.
type Made uint8

// The reasons.
const (
	MadeUnknown      Made = iota // none is known
	MadeNever                    // it sends copies of clients' messages alone
	MadeBySimulation             // its simulation of the ships and of the match
	MadeByStock                  // the stock host's simulation of the ships; OpenBC's sends copies alone
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
	StepNone   Step = iota // of no join
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

// A Need names the clients with messages that the stock host consumes although
// other players need them: its simulation of the ships tells the players instead.
// A playable host, which simulates nothing, passes them on.
type Need uint8

// The needs.
const (
	NeedNone   Need = iota // of no clients
	NeedOpenBC             // those of OpenBC's clients, which expect them of each other
	NeedAll                // those of all clients
)

// String returns the need in lower case.
func (n Need) String() string {
	return word(n, "none", "openbc", "all")
}

// An Only is a condition on which a host treats a message by its relay class;
// if it does not hold, the host consumes the message.
type Only uint8

// The conditions.
const (
	OnlyAlways   Only = iota // none
	OnlyOwn                  // the message creates an object in the sender's own slot
	OnlyMoving               // an update of more than subsystems
	OnlyReadable             // the host can read it in its own layout
	OnlyAllowed              // the host's own simulation of the ship allows it
	OnlyFirst                // the sender is the first player
)

// String returns the condition in lower case.
func (o Only) String() string {
	return word(o, "always", "own", "moving", "readable", "allowed", "first")
}

// A Rule is a documented behaviour in which a host differs from the stock
// game's.
type Rule struct {
	Name string // for scripts
	Text string // for people, about the host
}

// A Deviation is the way of hosts of another dialect with a client's message,
// where it differs from the stock host's.
type Deviation struct {
	Dialect Dialect
	Relay   Relay // in the place of that of the spec
	Only    Only
	Rule    Rule
}

// A Habit is a documented way of hosts of another dialect with a message that they send of
// their own accord, or with all copies of one.
type Habit struct {
	Dialect Dialect
	Rule    Rule
}

// Habit returns the habit of hosts of a dialect with the message, nil if there is none.
func (s *Spec) Habit(d Dialect) *Habit {
	for i := range s.Habits {
		if s.Habits[i].Dialect == d {
			return &s.Habits[i]
		}
	}
	return nil
}

// Deviation returns the way of hosts of a dialect with a client's message, nil
// if it is the stock host's.
func (s *Spec) Deviation(d Dialect) *Deviation {
	for i := range s.Deviations {
		if s.Deviations[i].Dialect == d {
			return &s.Deviations[i]
		}
	}
	return nil
}
