package decode

// A Number is a way of numbering players.
type Number uint8

// The ways.
const (
	NoNumber  Number = iota // of no player
	NetworkID               // given by the host: 1 is the host, clients have 2 and more
	Slot                    // in the host's table of players, from 0
	Self                    // whatever it is: of the player whose conversation it is
)

// A Who tells which player the number in a field means. That depends on the
// dialect of the one who wrote the message, and on who that is.
type Who uint8

// The meanings. Behind each stands its evidence in OpenBC's dialect; the game
// itself writes network ids everywhere but in the slot of a new object.
const (
	NoPlayer  Who = iota // the field is of no player
	ByID                 // OpenBC: a network id, too (scores, announcements)
	BySlot               // OpenBC: a slot, too (ship creation)
	Speaker              // OpenBC: the slot (chat); of a client's message always the client
	Itself               // OpenBC: a network id; of a client's message always the client
	Announced            // OpenBC: the client, which gets its own name back (NameChange)
	ByIDStock            // OpenBC: not a player but a team, an index or 0 (ship creation, shots)
)

// In returns how the number is to be understood in a message that somebody of
// the dialect wrote.
func (w Who) In(d Dialect, byClient bool) Number {
	switch w {
	case ByID:
		return NetworkID
	case BySlot:
		return Slot
	case Speaker, Itself, Announced:
		switch {
		case byClient:
			return Self
		case d == OpenBC && w == Speaker:
			return Slot
		case d == OpenBC && w == Announced:
			return Self
		}
		return NetworkID
	case ByIDStock:
		if d == OpenBC {
			return NoNumber
		}
		return NetworkID
	case NoPlayer:
	}
	return NoNumber
}

// Player8 is a number of 8 bits that stands for a player.
func (c *Codec) Player8(name string, p *uint8, who Who, doc string) {
	c.field.Who = who
	c.U8(name, p, doc)
	c.field.Who = NoPlayer
}

// Player32 is a number of 32 bits with sign that stands for a player.
func (c *Codec) Player32(name string, p *int32, who Who, doc string) {
	c.field.Who = who
	c.I32(name, p, doc)
	c.field.Who = NoPlayer
}
