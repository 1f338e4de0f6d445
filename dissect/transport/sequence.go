package transport

// An Action is the stock game's treatment of a reliable message, depending on
// its sequence number.
type Action uint8

// The actions.
const (
	ActionAccept  Action = iota // new: kept until its turn
	ActionSeen                  // delivered before: acknowledged again and dropped
	ActionOutside               // too far ahead: dropped
)

// window is the maximum distance of a sequence number from the expected one.
const window = 0x4000

// Classify returns the stock game's treatment of a reliable message. Like the
// game, it compares the numbers as plain integers. Close to the wrap, it may
// therefore drop a message that modular arithmetic would recognise as seen.
func Classify(expected, seq uint16) Action {
	switch d := int(seq) - int(expected); {
	case d >= window:
		return ActionOutside
	case d < 0 && d >= -window:
		return ActionSeen
	}
	return ActionAccept
}
