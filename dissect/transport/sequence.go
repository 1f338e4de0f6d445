package transport

// An Action is what the stock game does with a reliable message, by its
// sequence number.
type Action uint8

// The actions.
const (
	ActionAccept  Action = iota // new: held until its turn comes
	ActionSeen                  // delivered before: acknowledged again and dropped
	ActionOutside               // too far ahead: dropped
)

// String returns the action in lower case.
func (a Action) String() string {
	switch a {
	case ActionAccept:
		return "accept"
	case ActionSeen:
		return "seen"
	case ActionOutside:
		return "outside"
	}
	return "?"
}

// window is how far a sequence number may be from the expected one.
const window = 0x4000

// Classify tells what the stock game does with a reliable message if it
// expects another. It compares the numbers as plain integers, as the game does,
// so that close to the wrap a message may be dropped which modular arithmetic
// would take for seen.
func Classify(expected, seq uint16) Action {
	switch d := int(seq) - int(expected); {
	case d >= window:
		return ActionOutside
	case d < 0 && d >= -window:
		return ActionSeen
	}
	return ActionAccept
}
