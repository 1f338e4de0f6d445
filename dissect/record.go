package dissect

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/session"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Dir is the way a datagram goes.
type Dir uint8

// The directions.
const (
	DirUnknown Dir = iota
	ToHost         // from a client
	FromHost       // to a client
)

// String returns the direction as JSON names it.
func (d Dir) String() string {
	switch d {
	case ToHost:
		return "c2s"
	case FromHost:
		return "s2c"
	case DirUnknown:
	}
	return "unknown"
}

// A Kind tells what a record is about.
type Kind uint8

// The kinds of records.
const (
	KindMessage   Kind = iota // one transport message
	KindGameSpy               // a datagram of GameSpy text
	KindMalformed             // the part of a datagram that does not split into messages
	KindEvicted               // no bytes: state was given up to keep to a limit
	KindPayload               // a game message of which the transport is not known
)

// A Status tells how far a record was understood.
type Status uint8

// The statuses.
const (
	StatusOK         Status = iota
	StatusPending           // a fragment; the message is not complete
	StatusDuplicate         // seen before, not decoded again
	StatusTrailing          // decoded, with bytes left over: Rest
	StatusUnresolved        // needs state that the capture does not hold
	StatusUnknown           // no decoder for the opcode or the transport type
	StatusMalformed         // stopped making sense: Err
)

// String returns the status as JSON names it, empty for OK.
func (s Status) String() string {
	switch s {
	case StatusOK:
		return ""
	case StatusPending:
		return "pending"
	case StatusDuplicate:
		return "duplicate"
	case StatusTrailing:
		return "trailing"
	case StatusUnresolved:
		return "unresolved"
	case StatusUnknown:
		return "unknown"
	case StatusMalformed:
		return "malformed"
	}
	return "?"
}

// A Note is worth knowing and no error.
type Note struct {
	Code string // stable, for scripts: seq-gap, dialect, evicted ...
	Text string // for people
}

// A Player is one of the people in a host's game, as far as is known. It may
// change with the next record.
type Player = session.Player

// A Resolver knows what the session knows of ids. Its answers are text from
// the network: escape them before a terminal sees them.
type Resolver interface {
	// Player returns the player that a number means, nil if that is not known.
	Player(by decode.Number, n int64) *Player
	// Object returns what an object is, such as "Akira of Cady2" or
	// "Torpedoes of Akira of Cady2"; empty if it is not known.
	Object(id wire.ObjectID) string
	// AppendObject appends what Object returns.
	AppendObject(dst []byte, id wire.ObjectID) []byte
	// ShipOf returns the ship that an object is or is a part of.
	ShipOf(id wire.ObjectID) (ship wire.ObjectID, ok bool)
}

// A Record is one transport message, one GameSpy datagram, or the part of a
// datagram that makes no sense. It is valid until the function it was given to
// returns, and so is all that it refers to.
type Record struct {
	Datagram *Datagram
	Kind     Kind
	Part     int   // index of the message in its datagram, from 0
	Offset   int   // of Bytes in the deciphered datagram
	Dir      Dir   // DirUnknown if nothing tells
	Peer     uint8 // sender's peer id: the datagram's first byte; 0 for GameSpy

	Bytes     []byte           // the whole transport message, deciphered; of GameSpy and malformed records their text or bytes
	Transport transport.Header // of a message

	// Of a message with a number that is no acknowledgement:
	Number int64 // the number without wrap; the first of a sender is as it was sent
	Repeat bool  // it repeats an earlier message; Status is StatusDuplicate
	Late   bool  // its number was missing until now
	Gap    int   // how many numbers before it are missing from now on

	Spec    *decode.Spec   // of the game message, or of a transport message with fields; nil if there is none
	Payload []byte         // the game message, reassembled, opcode first; nil for other transport types and while fragments are missing
	Message decode.Message // nil if nothing was decoded
	Layout  decode.Dialect // the dialect that Message is written in
	Sender  decode.Dialect // the dialect that the sender is known to write
	Pieces  []int          // frames of all fragments, on the message that completed it

	Rest   []byte // bytes of Payload, or of the body, that Message does not account for
	Status Status
	Err    error // why Status is not OK; *decode.Error where a field is to blame
	Notes  []Note

	Cut bool // KindMalformed because the capture, not the sender, left bytes out

	CopyOf int            // frame of the first sighting of the message that this is a host's copy of, 0 if it is none
	First  bool           // a complete game message that is neither a repetition nor a copy
	Author *Player        // who wrote what a host passes on, nil if not known
	Writer decode.Dialect // the dialect of the one who wrote the message: of a copy its author's

	Conversation int      // number of the address pair, from 1 in the order of their first datagrams
	Player       *Player  // whose conversation it is; nil while that is not known
	Client       string   // the player's name, empty if not known
	ClientID     uint8    // peer id of the client, 0 if not known
	Session      Resolver // nil if there is no session

	GameSpy gamespy.Message // KindGameSpy

	fieldsAt int // where the fields of Message begin: 1 after an opcode
	fields   []byte
}

// SetMessage sets what a decoder made of the record's fields, which begin at
// offset at: after the opcode of a game message, or at the start of the body of
// a transport message. The result's memory is borrowed.
func (r *Record) SetMessage(res decode.Result, fields []byte, at int) {
	r.Message, r.Layout, r.Rest = res.Message, res.Dialect, res.Rest
	r.Err = nil
	if res.Err != nil { // a nil *decode.Error would not be a nil error
		r.Err = res.Err
	}
	r.fields, r.fieldsAt = fields, at
}

// isOf fills in whose conversation the record is of.
func (r *Record) isOf(c *session.Conversation) {
	r.Conversation, r.Player = c.Serial(), c.Player()
	r.Client, r.ClientID = c.Client()
}

// NameOf returns the name of the player that the number in a field means, empty
// if it means none or the name is not known.
func (r *Record) NameOf(f *decode.Field) string {
	if f.Who == decode.NoPlayer {
		return ""
	}
	n := int64(f.Uint)
	if f.Kind == decode.KindI32 {
		n = f.Int
	}
	return r.PlayerName(f.Who, n)
}

// PlayerName returns the name of the player that a number means in the record's
// message, empty if it means none or the name is not known.
func (r *Record) PlayerName(who decode.Who, n int64) string {
	by := who.In(r.Writer, r.Dir == ToHost)
	switch {
	case who == decode.Speaker && r.Author != nil:
		return r.Author.Name
	case by == decode.Self:
		return r.Client
	case by == decode.NoNumber || r.Session == nil:
		return ""
	}
	if p := r.Session.Player(by, n); p != nil {
		return p.Name
	}
	return ""
}

// Visit takes v through the decoded fields, up to the byte where decoding
// stopped. Offsets are in Payload, or in the body of a transport message.
func (r *Record) Visit(w *decode.Viewer, v decode.Visitor) {
	if r.Message != nil {
		w.Show(r.Message, r.fields, r.fieldsAt, r.Layout, v)
	}
}

// Game reports whether the record is a complete game message that is not a
// repetition: what frequencies count.
func (r *Record) Game() bool {
	return r.Kind == KindMessage && len(r.Payload) > 0 && r.Status != StatusDuplicate
}

// Opcode returns the opcode of a complete game message.
func (r *Record) Opcode() (op decode.Opcode, ok bool) {
	if len(r.Payload) == 0 {
		return 0, false
	}
	return decode.Opcode(r.Payload[0]), true
}
