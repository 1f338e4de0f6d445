package msg

// challengeOpcode is an opcode that the game does not use.
const challengeOpcode = 0xFF

// Challenge returns the game message with which bcdissect's host checks a
// client's address. The game acknowledges the message and otherwise ignores it.
func Challenge() []byte { return []byte{challengeOpcode} }

// IsChallenge reports whether a host's game message is a challenge. A host
// sends it when datagrams seem to have a forged source address.
func IsChallenge(payload []byte) bool { return len(payload) == 1 && payload[0] == challengeOpcode }
