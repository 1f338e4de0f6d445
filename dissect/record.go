package dissect

import (
	"net/netip"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/internal/session"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Dir is the direction of a datagram.
type Dir uint8

// The directions.
const (
	DirUnknown Dir = iota
	ToHost         // from a client
	FromHost       // to a client
)

// String returns the direction as written in JSON.
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

// A Kind is the kind of a record.
type Kind uint8

// The kinds of records.
const (
	KindMessage   Kind = iota // one transport message
	KindGameSpy               // a datagram of GameSpy text
	KindMalformed             // the rest of a datagram that does not split into messages
	KindEvicted               // an eviction, without bytes
	KindPayload               // a game message without its transport message
)

// A Status is the result of decoding a record.
type Status uint8

// The statuses.
const (
	StatusOK         Status = iota
	StatusPending           // a fragment of an incomplete message
	StatusDuplicate         // seen before and not decoded again: a retransmission, or a part of a doubled datagram
	StatusTrailing          // decoded, but bytes are left over: see Rest
	StatusUnresolved        // needs state that is not in the capture
	StatusUnknown           // no decoder for the opcode or the transport type
	StatusMalformed         // malformed: see Err
)

var statusTexts = [...]string{
	StatusPending:    "pending",
	StatusDuplicate:  "duplicate",
	StatusTrailing:   "trailing",
	StatusUnresolved: "unresolved",
	StatusUnknown:    "unknown",
	StatusMalformed:  "malformed",
}

// String returns the status as written in JSON, or "" for OK.
func (s Status) String() string {
	if int(s) < len(statusTexts) {
		return statusTexts[s]
	}
	return "?"
}

// Problem reports whether bytes could not be decoded.
func (s Status) Problem() bool { return s >= StatusTrailing }

// A Note is a remark about a record that is not an error.
type Note struct {
	Code string // stable code for scripts, such as seq-gap, dialect or evicted
	Text string // sentence for people
}

// noteWords are the short words of notes, by code.
var noteWords = map[string]string{
	"class": "another ship class", "cut": "cut by the capture", "doubled_datagram": "doubled", "empty": "empty message",
	"evicted": "evicted", "form": "not the game's form", "incomplete": "incomplete", "inferred": "ship class inferred",
	"late": "begins late", "peer": "another peer id", "restart": "connects anew", "seq-gap": "numbers missing before",
	"seq-late": "late", "verify": "encodes differently",
}

// Words returns a short form of the note for lists. For a dialect, it is the
// first clause of the text.
func (n Note) Words() string {
	if words := noteWords[n.Code]; words != "" {
		return words
	}
	if words, _, ok := strings.Cut(n.Text, ": "); ok && n.Code == "dialect" {
		return words
	}
	return n.Code
}

// A Player is a player in a host's game. Later records may change its
// properties.
type Player = session.Player

// A Resolver resolves ids with the state of the session. Its texts come from
// the network: escape them before they reach a terminal.
type Resolver interface {
	// Player returns the player with a number, or nil if unknown.
	Player(by decode.Number, n int64) *Player
	// Object describes an object, such as "Akira of Cady2" or "Torpedoes of Akira
	// of Cady2". It returns "" if the object is unknown.
	Object(id wire.ObjectID) wire.Untrusted
	// AppendObject appends the result of Object.
	AppendObject(dst []byte, id wire.ObjectID) []byte
	// ShipOf returns the ship that has the id or contains the subsystem with the
	// id.
	ShipOf(id wire.ObjectID) (ship wire.ObjectID, ok bool)
}

// A Record is one transport message, one GameSpy datagram, or the malformed
// part of a datagram. The record and everything it refers to are valid until
// the emit function returns.
type Record struct {
	*Datagram // has the time, addresses and frame number
	Kind      Kind
	Part      int   // index of the message in its datagram, from 0
	Offset    int   // offset of Bytes in the deciphered datagram
	Dir       Dir   // DirUnknown if there is no evidence
	Peer      uint8 // sender's peer id, the datagram's first byte. It is 0 for GameSpy.

	Bytes     []byte           // the whole transport message, deciphered. For GameSpy and malformed records, their text or bytes.
	Transport transport.Header // header of a message

	// Set for a numbered message other than an acknowledgement:
	Number int64 // number of the message, counted on where the wire's number wraps. The sender's first is as sent.
	Repeat bool  // the message duplicates an earlier one, and Status is StatusDuplicate
	Late   bool  // the number was missing until now
	Gap    int   // how many numbers are missing directly before this one

	Spec    *decode.Spec   // spec of the game message, or of a transport message with fields. Nil if there is none.
	Payload []byte         // the reassembled game message, opcode first. Nil for other transport types and while fragments are missing.
	Message decode.Message // nil if not decoded
	Layout  decode.Dialect // dialect of Message
	Sender  decode.Dialect // the sender's dialect as far as known
	Pieces  []int          // frames of all fragments, in the record of the message that completes them

	Rest   []byte // undecoded bytes of Payload or of the body
	Status Status
	Err    error // reason why Status is not OK. It is a *decode.Error if it concerns a field.
	Notes  []Note

	// DoubleOf is the frame of the datagram that Datagram doubles, or 0 if
	// Datagram is new. All records of a double have StatusDuplicate.
	DoubleOf int

	Cut bool // KindMalformed because the capture lacks bytes that the sender sent

	CopyOf int            // for a host's copy, the frame in which the original was first seen. Otherwise 0.
	First  bool           // a complete game message, neither a duplicate nor a copy
	Author *Player        // author of a forwarded message, nil if unknown
	Writer decode.Dialect // dialect of the author. For a copy, that is the original's dialect.

	Conversation int            // number of the address pair, from 1 in order of first datagrams
	Player       *Player        // player of the conversation, nil until known
	Client       wire.Untrusted // the player's name, "" if unknown
	ClientID     uint8          // peer id of the client, 0 if unknown
	Session      Resolver       // nil without a session

	GameSpy gamespy.Message // KindGameSpy

	fieldsAt int // offset of Message's fields: 1 after an opcode
	fields   []byte
}

// SetMessage sets a decoder's result for the record's fields, which begin at
// offset at. That is after the opcode of a game message, or at the start of a
// transport message's body. The record borrows the result's memory.
func (r *Record) SetMessage(res decode.Result, fields []byte, at int) {
	r.Message, r.Layout, r.Rest = res.Message, res.Dialect, res.Rest
	r.Err = nil
	if res.Err != nil { // a nil *Error must not become an error
		r.Err = res.Err
	}
	r.fields, r.fieldsAt = fields, at
}

// isOf fills in the record's conversation and player.
func (r *Record) isOf(c *session.Conversation) {
	r.Conversation, r.Player = c.Serial(), c.Player()
	r.Client, r.ClientID = c.Client()
}

// NameOf returns the name of the player in a field. It returns "" if the field
// is not a player number or the player is unknown.
func (r *Record) NameOf(f *decode.Field) wire.Untrusted {
	if f.Who == decode.NoPlayer {
		return ""
	}
	return r.playerBy(f.Who, f.Whole())
}

// AppendObject appends the session's description of an object, or nothing if it
// is unknown.
func (r *Record) AppendObject(dst []byte, id wire.ObjectID) []byte {
	if r.Session == nil {
		return dst
	}
	return r.Session.AppendObject(dst, id)
}

// PlayerName returns the name of the player that a field of the record's
// message names by a number, or "" if no field does or the player is unknown.
// The meaning of the number depends on the field and on who wrote it.
func (r *Record) PlayerName(number int32) (name wire.Untrusted) {
	var w decode.Viewer
	r.Visit(&w, decode.FieldFunc(func(f *decode.Field) {
		if n := f.Whole(); f.Who != decode.NoPlayer && n == int64(number) && name == "" {
			name = r.playerBy(f.Who, n)
		}
	}))
	return name
}

// playerBy returns the name of the player with a number, or "" if it is
// unknown.
func (r *Record) playerBy(who decode.Who, n int64) wire.Untrusted {
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

// Visit walks v through the decoded fields, up to the first undecoded byte.
// Offsets are relative to Payload, or to the body of a transport message.
func (r *Record) Visit(w *decode.Viewer, v decode.Visitor) {
	if r.Message != nil {
		w.Show(r.Message, r.fields, r.fieldsAt, r.Layout, v)
	}
}

// NamesObject reports whether a field of the record is the object with the id
// or a part of it, such as a weapon of a ship.
func (r *Record) NamesObject(w *decode.Viewer, id wire.ObjectID) (found bool) {
	r.Visit(w, decode.FieldFunc(func(f *decode.Field) {
		if f.Kind != decode.KindObject || found {
			return
		}
		part := wire.ObjectID(f.Uint)
		if found = part == id; !found && r.Session != nil {
			ship, ok := r.Session.ShipOf(part)
			found = ok && ship == id
		}
	}))
	return found
}

// Ends returns the addresses of the host and of the client, if the direction is known.
func (r *Record) Ends() (host, client netip.AddrPort) {
	if r.Dir == FromHost {
		return r.Datagram.Src, r.Datagram.Dst
	}
	return r.Datagram.Dst, r.Datagram.Src
}

// Game reports whether statistics count the record: it has a complete game
// message that is not a duplicate.
func (r *Record) Game() bool {
	return r.Kind == KindMessage && len(r.Payload) > 0 && r.Status != StatusDuplicate
}

// Problem reports whether the record deserves attention: it was not decoded to
// its last byte, or it has a note. Records of doubled datagrams are no problem,
// although all have a note.
func (r *Record) Problem() bool {
	return r.Status.Problem() || len(r.Notes) > 0 && r.DoubleOf == 0
}

// Keepalive reports whether the message only shows that its sender is still
// connected. It is a DoNothing, the empty name of OpenBC's clients, or the echo
// of OpenBC's host. Each second, that host sends each player's NameChange back
// with the same bytes and number, so that all echoes except the first look like
// retransmissions.
func (r *Record) Keepalive() bool {
	switch h := &r.Transport; {
	case r.Kind != KindMessage || h.Type != transport.NameChange:
		return r.Kind == KindMessage && h.Type == transport.DoNothing
	case h.Short && h.Len == h.Size:
		return true
	default:
		return r.Repeat && r.Dir == FromHost && r.Sender == decode.OpenBC
	}
}

// Challenge reports whether the message is a challenge of a host, which has a
// made-up number and is sent again although it is acknowledged. Number is 0.
func (r *Record) Challenge() bool {
	h := &r.Transport
	if r.Kind != KindMessage || r.Dir != FromHost || h.Type != transport.Standard || !h.HasSeq || h.Fragment || len(r.Bytes) < h.Size {
		return false
	}
	yes, _ := msg.IsChallenge(r.Bytes[h.Size:])
	return yes
}

// Opcode returns the opcode of a complete game message.
func (r *Record) Opcode() (op decode.Opcode, ok bool) {
	if len(r.Payload) == 0 {
		return 0, false
	}
	return decode.Opcode(r.Payload[0]), true
}
