// Package key holds the table of the keys of a record: name, type, meaning and
// getter of each, in the order of the JSON object. JSON, columns, filters,
// completion, docs/json.md and the JSON Schema all follow it.
//
// The keys of decoded fields are not in the table: they follow from the
// descriptions of the messages, see [Members].
package key

import (
	"net/netip"

	"github.com/bcdissect/bcdissect/dissect"
)

// A Type is the type of a key's value.
type Type uint8

// The types.
const (
	Object  Type = iota // has members and no value of its own
	Int                 // Int
	Bool                // Int 0 or 1
	Word                // Word: one of a few words
	Text                // Text or Append
	Hex                 // Bytes
	Address             // Addr: IP address and port
	IP                  // Addr, of which only the IP address counts
	Time                // of the datagram
	Seconds             // of the datagram, since the capture began
)

// String returns the type as docs/json.md names it.
func (t Type) String() string {
	switch t {
	case Object:
		return "object"
	case Int:
		return "int"
	case Bool:
		return "bool"
	case Seconds:
		return "number"
	default:
		return "string"
	}
}

// A Scope tells where a key can be used.
type Scope uint8

// The scopes.
const (
	Everywhere Scope = iota // JSON, columns and filters
	Column                  // columns and filters
	Filter                  // filters only
)

// A Key is one key of a record. Of the getters, the one of its type is set.
// Those with an index return the values one by one until ok is false; keys that
// are no lists have one value at most.
type Key struct {
	Name  string // path in the JSON object: ack, ack.seq
	Type  Type
	List  bool // an array in JSON; a key below it has a value for each element
	Scope Scope
	Doc   string

	// Has reports whether the JSON object has the key. Nil means that it has
	// it if there is a value.
	Has    func(r *dissect.Record) bool
	Int    func(r *dissect.Record, i int) (v int64, ok bool)
	Word   func(r *dissect.Record) int // index in Words, -1 for none
	Words  []string
	Offer  []string // the words that occur, if not all of Words do
	Text   func(r *dissect.Record, i int) (s string, ok bool)
	Append func(dst []byte, r *dissect.Record) []byte // text that is not kept anywhere; empty for none
	Bytes  func(r *dissect.Record) []byte
	Addr   func(r *dissect.Record, i int) (a netip.AddrPort, ok bool)

	// For filters:
	Bare    bool                                               // the text is a name, which needs no quotes
	Player  func(r *dissect.Record) string                     // the name of the player whose index the number is; empty if it is not known
	Opcode  bool                                               // the number also goes by the name of the message
	Message bool                                               // the text is the name of a message of the catalogue
	Members string                                             // of an Object: the members to compare instead
	Search  func(r *dissect.Record, i int) (s string, ok bool) // texts for contains and matches, if not Text
}

// All returns the table. The caller must not change it.
func All() []Key { return keys }

// Find returns the key of a name, nil if there is none.
func Find(name string) *Key {
	for i := range keys {
		if keys[i].Name == name {
			return &keys[i]
		}
	}
	return nil
}

// Present reports whether the JSON object of r has the key. It does not know
// the options of the encoder.
func (k *Key) Present(r *dissect.Record) bool {
	ok := false
	switch {
	case k.Has != nil:
		return k.Has(r)
	case k.Int != nil:
		_, ok = k.Int(r, 0)
	case k.Text != nil:
		_, ok = k.Text(r, 0)
	case k.Addr != nil:
		_, ok = k.Addr(r, 0)
	case k.Word != nil:
		ok = k.Word(r) >= 0
	case k.Bytes != nil:
		ok = len(k.Bytes(r)) > 0
	case k.Append != nil:
		ok = r.Err != nil
	case k.Type == Time || k.Type == Seconds:
		ok = r.Datagram != nil && !r.Datagram.Time.IsZero()
	}
	return ok
}
