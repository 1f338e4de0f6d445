package relay

import "github.com/bcdissect/bcdissect/decode"

// A profile says in what a host of one dialect differs from others.
type profile struct {
	// relay are the classes that differ from those of the specs.
	relay map[decode.Opcode]decode.Relay
	// verifyEnter: every creation of a ship makes a VerifyEnterSet.
	verifyEnter bool
}

var (
	stockProfile = profile{verifyEnter: true}
	// openBCProfile passes on what clients of OpenBC expect of each other.
	openBCProfile = profile{relay: map[decode.Opcode]decode.Relay{
		opDestroyObject:   decode.RelayForward,
		opCollisionEffect: decode.RelayForward,
		opStateUpdate:     decode.RelayForward,
		opExplosion:       decode.RelayForward,
	}}
	// playable are the messages that only the stock host's own simulation
	// sends, and that players need of each other where there is none.
	playable = map[decode.Opcode]decode.Relay{
		opStateUpdate: decode.RelayForward,
		opExplosion:   decode.RelayForward,
	}
)

func profileOf(d decode.Dialect) *profile {
	if d == decode.OpenBC {
		return &openBCProfile
	}
	return &stockProfile
}
