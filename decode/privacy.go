package decode

import "slices"

// A Privacy is the reason why a text must stay within the group that played.
type Privacy uint8

// The kinds of private texts.
const (
	Public     Privacy = iota
	PlayerName         // also the name of a player's ship
	ChatLine
	Password
	ServerName
	FreeText // free text whose meaning is unknown: it may contain anything
)

// Private marks the fields of body as private.
func (c *Codec) Private(p Privacy, body func()) {
	c.field.Privacy = p
	body()
	c.field.Privacy = Public
}

// Span returns the offsets of Bytes in the payload, without length prefix and
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

// Treatment is what anonymizing a capture does with a field.
type Treatment uint8

// The treatments. The zero value applies to fields that are not listed as
// harmless.
const (
	Blanked   Treatment = iota // replaced by zeros
	Kept                       // a number that tells nothing about people or hosts
	Renamed                    // a private text, replaced by a pseudonym
	Compared                   // a text or hash: kept if it is the game's, replaced by a pseudonym otherwise
	Addressed                  // an IP address, replaced by another
)

// Treatment returns what anonymizing does with a field of the message.
func (s *Spec) Treatment(f *Field) Treatment {
	switch {
	case f.Privacy != Public:
		return Renamed
	case f.Kind == KindIPv4:
		return Addressed
	case f.Kind == KindHash32, f.Kind.Type() == TypeText:
		return Compared
	case f.Kind != KindBytes && s != nil && slices.Contains(s.Harmless, f.Name):
		return Kept
	}
	return Blanked
}
