package decode

// A Privacy is the reason why a text must not leave the group that played.
type Privacy uint8

// The kinds of private texts.
const (
	Public     Privacy = iota
	PlayerName         // also the name of a player's ship
	ChatLine
	Password
	ServerName
	FreeText // of unknown meaning: may hold anything
)

// Private marks the fields of body as private.
func (c *Codec) Private(p Privacy, body func()) {
	c.field.Privacy = p
	body()
	c.field.Privacy = Public
}

// Span returns the place of Bytes in the payload, without length prefix and
// terminator.
func (f *Field) Span() (lo, hi int) {
	hi = f.End
	switch f.Kind { //nolint:exhaustive // only these two have a terminator
	case KindStr32z:
		hi--
	case KindWStrz:
		hi -= 2
	}
	return hi - len(f.Bytes), hi
}
