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

// A Sequence turns the sequence numbers of one peer, direction and class into
// numbers that do not wrap. Its zero value is ready for the first message.
type Sequence struct {
	// Bits is 8 for a sender whose numbers go from 255 to 0, as those of
	// OpenBC do; any other value means 16. It may change at any time: numbers
	// go on from where they are.
	Bits uint8

	next  int64
	begun bool
}

// Unwrap returns the number of a message without the wrap: of all that end in
// the same bits the one nearest to the number that is expected, the earlier one
// of two. The first number comes back as it is, even in a capture that begins
// in the middle; one before it may be negative.
//
// Within a quarter of the range this is what Classify goes by, wrap or no
// wrap. Beyond it the game drops messages, or takes old ones for new; here a
// gap in the capture may be as wide as half the range.
func (s *Sequence) Unwrap(seq uint16) (n int64) {
	switch {
	case !s.begun:
		s.begun = true
		n = int64(seq)
	case s.Bits == 8:
		n = s.next + int64(int8(uint8(seq)-uint8(s.next)))
	default:
		n = s.next + int64(int16(seq-uint16(s.next)))
	}
	if n >= s.next {
		s.next = n + 1
	}
	return n
}

// Next returns the number that follows the highest so far, and false if there
// was none yet. Less than it is a repetition or came late; more leaves a gap.
func (s *Sequence) Next() (n int64, ok bool) { return s.next, s.begun }
