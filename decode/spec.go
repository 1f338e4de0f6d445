package decode

import (
	"fmt"
	"slices"
)

// An Opcode is the first byte of a game message.
type Opcode uint8

// String returns the opcode as documents print it, such as 0x1C.
func (o Opcode) String() string { return fmt.Sprintf("0x%02X", uint8(o)) }

// A Dir tells who sends a message.
type Dir uint8

// The directions.
const (
	Either     Dir = iota // client and host
	FromClient            // client to host
	FromHost              // host to client
	Nobody                // the game neither sends nor handles it
)

// String returns the direction as tables print it.
func (d Dir) String() string {
	switch d {
	case Either:
		return "both"
	case FromClient:
		return "C>S"
	case FromHost:
		return "S>C"
	case Nobody:
		return "-"
	}
	return "?"
}

// A Relay class tells what the stock host does with a client's message.
type Relay uint8

// The relay classes.
const (
	RelayNone    Relay = iota // no client sends it
	RelayConsume              // the host handles it; nobody else gets it
	RelayForward              // an unchanged copy to every other player in the game
	RelaySlots                // an unchanged copy to every other occupied slot
	RelayEcho                 // a copy to every player in the game, the sender included
	RelayTeam                 // a copy to the sender's team, the sender included
	RelayAnswer               // the host answers the sender
)

// String returns the class in lower case.
func (r Relay) String() string {
	switch r {
	case RelayNone:
		return "none"
	case RelayConsume:
		return "consume"
	case RelayForward:
		return "forward"
	case RelaySlots:
		return "slots"
	case RelayEcho:
		return "echo"
	case RelayTeam:
		return "team"
	case RelayAnswer:
		return "answer"
	}
	return "?"
}

// Evidence tells how sure the layout of a message is.
type Evidence uint8

// The grades, from the least sure.
const (
	Open      Evidence = iota // not known
	FromProse                 // documents say so
	FromGame                  // the game's code or scripts say so
	OnWire                    // captured bytes of the real game parse to their end
)

// String returns the grade as docs print it.
func (e Evidence) String() string {
	switch e {
	case Open:
		return "open"
	case FromProse:
		return "from prose"
	case FromGame:
		return "from the game"
	case OnWire:
		return "on the wire"
	}
	return "?"
}

// A Topic is what a message is about. Reports show messages of one topic alike.
type Topic uint8

// The topics.
const (
	TopicOther   Topic = iota // of a mod, or of nobody
	TopicFlight               // how a ship moves, and what its player orders
	TopicWeapons              // shots
	TopicDamage               // damage, repair and death
	TopicObjects              // objects come, are asked for and change their set
	TopicJoining              // a player comes
	TopicLeaving              // a player goes
	TopicTalk                 // chat
	TopicMatch                // the mission and its scores
	TopicFiles                // the comparison of files

	Topics = iota // their number
)

// String returns the topic as JSON names it.
func (t Topic) String() string {
	switch t {
	case TopicOther:
		return "other"
	case TopicFlight:
		return "flight"
	case TopicWeapons:
		return "weapons"
	case TopicDamage:
		return "damage"
	case TopicObjects:
		return "objects"
	case TopicJoining:
		return "joining"
	case TopicLeaving:
		return "leaving"
	case TopicTalk:
		return "talk"
	case TopicMatch:
		return "match"
	case TopicFiles:
		return "files"
	}
	return "?"
}

// An Origin is where a host takes the value of a field from.
type Origin uint8

// The origins.
const (
	HostClock Origin = iota // its game clock
	HostIDs                 // the ids of its own objects
	HostLine                // how it is connected
	GivenSlot               // the slot that it gave to a client
	GivenID                 // the network id that it gave to a client
)

// String returns the origin in words.
func (o Origin) String() string {
	switch o {
	case HostClock:
		return "the host's game clock"
	case HostIDs:
		return "the host's own objects"
	case HostLine:
		return "the host's connection"
	case GivenSlot:
		return "the slot that the host gave"
	case GivenID:
		return "the network id that the host gave"
	}
	return "?"
}

// A HostField is a field that hosts fill in by themselves: two hosts that do the
// same need not agree in it.
type HostField struct {
	Name string
	From Origin
}

// A Dialect is the way a sender writes messages.
type Dialect uint8

// The dialects.
const (
	Undecided Dialect = iota // no evidence yet: stock is tried first
	Stock                    // the game and its dedicated server
	OpenBC                   // the OpenBC server and its test clients

	Dialects = iota // their number
)

// String returns the dialect as JSON and flags name it.
func (d Dialect) String() string {
	switch d {
	case Undecided:
		return "auto"
	case Stock:
		return "stock"
	case OpenBC:
		return "openbc"
	}
	return "?"
}

// A Message is a decoded message. Walk names its fields in wire order; what
// happens with each is up to the codec, and the walk must not care.
type Message interface{ Walk(c *Codec) }

// A Spec is all there is to know of one kind of message besides its fields.
type Spec struct {
	Code     Opcode
	Name     string   // equals the Go type
	Constant string   // the game's own name, empty if it has none
	Aliases  []string // other names in public documents
	Dir      Dir
	Reliable bool
	Relay    Relay
	Evidence Evidence
	Topic    Topic
	Doc      string   // one sentence
	Brief    []string // paths of the fields that a one-line report shows, most important first

	// HostFields are the fields that follow the host's clock, its ids and the like.
	HostFields []HostField
	// HostDialect is that of all hosts that send the message, Undecided if hosts
	// of any do.
	HostDialect Dialect
	// Head is the number of bytes, opcode included, from which on a message that
	// stops making sense still tells of what later ones need; 0 if only a whole
	// one does.
	Head int

	// Layout is the stock game's layout; its zero value means that there is
	// no decoder.
	Layout Layout
	// Forms are the layouts of other dialects.
	Forms []Form
	// Alternatives are other messages that mods send with this opcode. One is
	// used if it accounts for every byte and no layout of this spec does.
	Alternatives []*Spec
	// CatchAll is set if the spec also stands for all higher opcodes that have
	// no spec of their own.
	CatchAll bool
	// Broadcast is set where the host sends its own to all players, each of
	// whom gets the same bytes.
	Broadcast bool
	// BySender is set where a body of one dialect may parse in another with
	// a wrong meaning: the sender's dialect alone chooses the layout, once it
	// is decided.
	BySender bool
}

// Known reports whether the spec has a decoder.
func (s *Spec) Known() bool { return s.Layout.make != nil }

// Names returns the spec's name, constant and aliases.
func (s *Spec) Names() []string {
	all := []string{s.Name}
	if s.Constant != "" {
		all = append(all, s.Constant)
	}
	return append(all, s.Aliases...)
}

// HasName reports whether name is the spec's name, constant or an alias.
func (s *Spec) HasName(name string) bool {
	return name == s.Name || name == s.Constant && name != "" || slices.Contains(s.Aliases, name)
}

// A Form is the layout that senders of another dialect use for an opcode.
type Form struct {
	Dialect Dialect
	Doc     string
	Common  bool // others send it, too: it does not tell its sender's dialect
	Layout  Layout
}

// A Layout makes messages of one Go type.
type Layout struct {
	make func() (m Message, reset func())
}

// A Reusable is a message that is used again after a call of Reset.
type Reusable interface {
	Message
	Reset()
}

// LayoutFrom returns the layout whose messages fresh returns, for messages that
// are not told apart by their Go type.
func LayoutFrom(fresh func() Reusable) Layout {
	return Layout{make: func() (Message, func()) {
		m := fresh()
		return m, m.Reset
	}}
}

// New returns a new message, or nil if the layout is the zero value.
func (l Layout) New() Message {
	if l.make == nil {
		return nil
	}
	m, _ := l.make()
	return m
}

// LayoutOf returns the layout whose messages are of type T. A type that wants
// to keep the memory of its slices from one message to the next has a Reset
// method; others are set to their zero value before each use.
func LayoutOf[T any, P interface {
	*T
	Message
}]() Layout {
	return Layout{make: func() (Message, func()) {
		p := P(new(T))
		if r, ok := any(p).(interface{ Reset() }); ok {
			return p, r.Reset
		}
		return p, func() { *p = *new(T) }
	}}
}
