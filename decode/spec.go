package decode

import (
	"fmt"
	"slices"

	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// An Opcode is the first byte of a game message.
type Opcode uint8

// String returns the opcode as printed in documents, such as 0x1C.
func (o Opcode) String() string { return fmt.Sprintf("0x%02X", uint8(o)) }

// word returns the name of a value of an enumeration. names are the names of
// all values from 0 on. It returns "?" for others.
func word[T ~uint8](v T, names ...string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "?"
}

// A Dir is the direction of a message.
type Dir uint8

// The directions.
const (
	Either     Dir = iota // client and host
	FromClient            // client to host
	FromHost              // host to client
	Nobody                // the game neither sends nor handles it
)

// String returns the direction as printed in tables.
func (d Dir) String() string {
	return word(d, "both", "C>S", "S>C", "-")
}

// A Relay is the stock host's way of handling a client's message.
type Relay uint8

// The relay classes.
const (
	RelayNone    Relay = iota // no client sends it
	RelayConsume              // the host handles it, and no other client gets it
	RelayForward              // an unchanged copy to every other player in the game
	RelaySlots                // an unchanged copy to every other occupied slot
	RelayEcho                 // a copy to every player in the game, the sender included
	RelayTeam                 // a copy to the sender's team, the sender included
	RelayAnswer               // the host answers the sender
)

// String returns the class in lower case.
func (r Relay) String() string {
	return word(r, "none", "consume", "forward", "slots", "echo", "team", "answer")
}

// Evidence grades the certainty of a message's layout.
type Evidence uint8

// The grades, least certain first.
const (
	Open      Evidence = iota // not known
	FromProse                 // from documents
	FromGame                  // from the game's code or scripts
	OnWire                    // captured bytes of the real game parse to their end
)

// String returns the grade as printed in docs.
func (e Evidence) String() string {
	return word(e, "open", "from prose", "from the game", "on the wire")
}

// A Topic is the subject of a message. Reports show messages of one topic
// alike.
type Topic uint8

// The topics.
const (
	TopicOther   Topic = iota // defined by a mod, or unused
	TopicFlight               // ship movement and orders
	TopicWeapons              // shots
	TopicDamage               // damage, repair and death
	TopicObjects              // objects appear, are requested and change their set
	TopicJoining              // a player joins
	TopicLeaving              // a player leaves
	TopicTalk                 // chat
	TopicMatch                // the mission and its scores
	TopicFiles                // the comparison of files

	Topics = iota // number of topics
)

// String returns the topic as written in JSON.
func (t Topic) String() string {
	return word(t, "other", "flight", "weapons", "damage", "objects", "joining", "leaving", "talk", "match", "files")
}

// An Origin is where a host takes a field's value from.
type Origin uint8

// The origins.
const (
	HostClock Origin = iota // the host's game clock
	HostIDs                 // the ids of the host's objects
	HostLine                // the host's connection
	GivenSlot               // the slot that the host assigned to a client
	GivenID                 // the network id that the host assigned to a client
)

// String returns the origin in words.
func (o Origin) String() string {
	return word(o, "the host's game clock", "the host's own objects", "the host's connection", "the slot that the host gave", "the network id that the host gave")
}

// A HostField is a field that a host fills in. Two equal hosts may write
// different values.
type HostField struct {
	Name string
	From Origin
}

// A Dialect is the way in which a sender writes messages.
type Dialect uint8

// The dialects.
const (
	Undecided Dialect = iota // no evidence yet: stock is tried first
	Stock                    // the game and its dedicated server
	OpenBC                   // the OpenBC server and its test clients

	Dialects = iota // number of dialects
)

// String returns the dialect as written in JSON and flags.
func (d Dialect) String() string {
	return word(d, "auto", "stock", "openbc")
}

// A Message is a decoded message. Walk names its fields in wire order and must
// not depend on the codec's mode.
type Message interface{ Walk(c *Codec) }

// A Copied message is of a kind that hosts send to many players. Two of them
// have the same fields if their bytes, dialects and contexts are the same.
type Copied interface {
	Message
	Context() Context
}

// A Context holds the values outside a message that its fields depend on.
type Context struct {
	Object  wire.ObjectID // id of the only object in the message
	Class   *ship.Class   // nil if unknown
	Base    [3]uint32     // last absolute position, as bits
	HasBase bool
}

// A Spec is the description of one kind of message, apart from its fields.
type Spec struct {
	Code     Opcode
	Name     string   // equals the Go type
	Constant string   // the game's name for it, empty if it has none
	Aliases  []string // other names in public documents
	Dir      Dir
	Reliable bool
	Relay    Relay
	Evidence Evidence
	Topic    Topic
	Doc      string   // one sentence
	Brief    []string // paths of the fields that a one-line report shows, most important first

	// FlagWords are short words for the bits of the flags field, bit 0 first, for
	// a one-line report. If nil, the report uses the names of the flags.
	FlagWords []string
	// Phrase puts a host's message into words, which replace the first field of
	// Brief. If Phrase is nil or returns "", the report shows only the fields.
	Phrase func(Message) string

	// Deviations tell how hosts of other dialects treat a client's message.
	Deviations []Deviation
	// Habits tell what hosts of other dialects do with messages that they send
	// unasked, and with copies.
	Habits []Habit
	// Need names the clients with messages that a playable host passes on and the
	// stock host consumes.
	Need Need
	// Made is the reason why a host sends the message unasked.
	Made Made
	// Step is the part of a client's join that the message belongs to.
	Step Step

	// HostFields are the fields whose values depend on the host, such as its clock
	// and its ids.
	HostFields []HostField
	// Harmless names the fields whose numbers tell nothing about people or hosts.
	// Anonymizing replaces all other numbers, so a new field is replaced until its
	// name is listed here. Texts, bytes, addresses and hashes are never harmless
	// by name.
	Harmless []string
	// HostDialect is the dialect of all hosts that send the message, or Undecided
	// if hosts of any dialect send it.
	HostDialect Dialect
	// Head is the length, opcode included, of the part that later messages depend
	// on. If this part decodes, a broken message is still useful. It is 0 if the
	// whole message must decode.
	Head int

	// Layout is the stock game's layout. Its zero value means that there is no
	// decoder.
	Layout Layout
	// Forms are the layouts of other dialects.
	Forms []Form
	// Alternatives are other messages that mods send with this opcode. One is
	// used if it accounts for every byte and no layout of this spec does.
	Alternatives []*Spec
	// CatchAll is set if the spec also covers all higher opcodes without a spec.
	CatchAll bool
	// Broadcast is set if the host sends the messages that it makes to all
	// players, with the same bytes.
	Broadcast bool
	// BySender is set if a body of one dialect may parse in another with a wrong
	// meaning. Once the sender's dialect is decided, only the sender's dialect
	// chooses the layout.
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

// A Form is the layout of another dialect for an opcode.
type Form struct {
	Dialect Dialect
	Doc     string
	Common  bool // other dialects also send it, so it is no evidence of the sender's dialect
	Layout  Layout
}

// A Layout makes messages of one Go type.
type Layout struct {
	make func() (m Message, reset func())
}

// A Reusable is a message that can be used again after Reset.
type Reusable interface {
	Message
	Reset()
}

// LayoutFrom returns the layout of the messages made by fresh, for messages
// that share a Go type.
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

// LayoutOf returns the layout of messages of type T. A type with a Reset method
// keeps the memory of its slices between messages. Other types are set to their
// zero value before each use.
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
