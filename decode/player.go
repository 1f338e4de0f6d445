package decode

// A Number is a way of numbering players.
type Number uint8

// The ways.
const (
	NoNumber  Number = iota // the field is no player number
	NetworkID               // assigned by the host: 1 is the host, clients have 2 and more
	Slot                    // index in the host's table of players, from 0
	Self                    // any numbering: the field means the player at the client's end of the connection
)

// A Who tells which player a number in a field refers to. That depends on the
// dialect and the role of the message's sender.
type Who uint8

// The meanings, with the evidence for OpenBC's dialect. The game itself writes
// network ids everywhere except for the slot of a new object.
const (
	NoPlayer  Who = iota // the field is not a player number
	ByID                 // OpenBC: also a network id (scores, announcements)
	BySlot               // OpenBC: also a slot (ship creation)
	Speaker              // OpenBC: the slot (chat). In a client's message it always means that client.
	Itself               // OpenBC: a network id. In a client's message it always means that client.
	Announced            // OpenBC: the client itself, since it gets its own name back (NameChange)
	ByIDStock            // OpenBC: not a player but a team, an index or 0 (ship creation, shots)
)

// In returns the numbering used in a message, given its sender's dialect and
// role.
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

// Player8 is an 8-bit player number.
func (c *Codec) Player8(name string, p *uint8, who Who, doc string) {
	c.field.Who = who
	c.U8(name, p, doc)
	c.field.Who = NoPlayer
}

// Player32 is a signed 32-bit player number.
func (c *Codec) Player32(name string, p *int32, who Who, doc string) {
	c.field.Who = who
	c.I32(name, p, doc)
	c.field.Who = NoPlayer
}
