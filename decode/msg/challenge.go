package msg

// challengeOpcode is an opcode that the game does not have.
const challengeOpcode = 0xFF

// Challenge returns the game message by which bcdissect's host asks a client for
// a sign: a message that the game acknowledges and does nothing with.
func Challenge() []byte { return []byte{challengeOpcode} }

// IsChallenge reports whether a game message of a host is a challenge. It shows
// that others write the receiver's address as their own.
func IsChallenge(payload []byte) bool { return len(payload) == 1 && payload[0] == challengeOpcode }
