package msg

// challengeOpcode is an opcode that the game does not use for messages of hosts.
const challengeOpcode = 0xFF

// Challenge returns the game message with which bcdissect's host checks a
// client's address. The game acknowledges the message and otherwise ignores it,
// since its number is far from the expected one. The message is empty, or tells
// recordings that datagrams with a forged source address came.
func Challenge(forged bool) []byte {
	if forged {
		return []byte{challengeOpcode}
	}
	return nil
}

// IsChallenge reports whether a host's reliable game message is a challenge, and
// whether it tells that the client's address is forged.
func IsChallenge(payload []byte) (yes, forged bool) {
	forged = len(payload) == 1 && payload[0] == challengeOpcode
	return forged || len(payload) == 0, forged
}
