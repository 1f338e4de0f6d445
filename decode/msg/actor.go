package msg

import "github.com/bcdissect/bcdissect/decode/wire"

// An Actor is a message in which an object acts, such as a ship that fires.
// Only the player to whom the object belongs sends it.
type Actor interface{ Actor() wire.ObjectID }

// A Creation is a message that creates an object of the player with a slot.
type Creation interface {
	Created() (id wire.ObjectID, slot uint8)
}
