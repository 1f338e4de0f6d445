// Not part of the library: package key has the table of a record's keys, in the
// order of the JSON object. Each key has a name, a type, a meaning and a
// getter. JSON, columns, filters, completion, docs/json.md and the JSON Schema
// are all derived from it.
//
// The keys of decoded fields are not in the table. They are derived from the
// message descriptions: see [Members].
package key

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
)

// A Type is the type of a key's value.
type Type uint8

// The types. The comments name the getter of [Key] that has the value.
const (
	Object  Type = iota // no getter: has members, and no value
	Int                 // Int
	Bool                // Int: 0 or 1
	Word                // Word: one of a small set of words
	Text                // Text or Append
	Hex                 // Bytes
	Address             // Addr: IP address and port
	IP                  // Addr: IP address without the port
	Time                // no getter: time of the datagram
	Seconds             // no getter: time of the datagram since the start of the capture
)

// String returns the type as named in docs/json.md.
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

// A Scope is the set of places where a key can be used.
type Scope uint8

// The scopes.
const (
	Everywhere Scope = iota // JSON, columns and filters
	Column                  // columns and filters
	Filter                  // filters only
)

// A Key is one key of a record. Only the getter for its type is set. Getters
// with an index return the values one by one until ok is false. Keys that are
// not lists have at most one value.
type Key struct {
	Name  string // path in the JSON object, such as ack or ack.seq
	Type  Type
	List  bool // an array in JSON. Keys below it have one value for each element.
	Scope Scope
	Doc   string

	Aliases []string // Wireshark's names for it, which columns and filters accept

	// Has reports whether the JSON object has the key. If nil, the key is present
	// whenever it has a value.
	Has    func(r *dissect.Record) bool
	Int    func(r *dissect.Record, i int) (v int64, ok bool)
	Word   func(r *dissect.Record) int // index in Words, or -1 for none
	Words  []string
	Offer  []string // possible words, if not all of Words
	Text   func(r *dissect.Record, i int) (s wire.Untrusted, ok bool)
	Append func(dst []byte, r *dissect.Record) []byte // computed text, empty for none
	Bytes  func(r *dissect.Record) []byte
	Addr   func(r *dissect.Record, i int) (a netip.AddrPort, ok bool)

	Kind bool // depends only on the transport type and the opcode

	// The fields below are for filters.
	Bare    bool                                                       // the text is a name that needs no quotes
	Digits  bool                                                       // the text may be a number, and is then compared as a number
	Player  func(r *dissect.Record) wire.Untrusted                     // name of the player whose number the value is, empty if unknown
	Opcode  bool                                                       // the number may also be given as a message name
	Message bool                                                       // the text is the name of a message in the catalogue
	Members string                                                     // for an Object: the members to compare instead
	Search  func(r *dissect.Record, i int) (s wire.Untrusted, ok bool) // texts for contains and matches, if Text is not the one to search
}

// All returns the table. The caller must not change it.
func All() []Key { return keys }

// Find returns the key with a name or alias, or nil. A name such as
// gamespy.hostname stands for the values of any key of a GameSpy datagram.
func Find(name string) *Key {
	for i := range keys {
		if keys[i].Name == name || slices.Contains(keys[i].Aliases, name) {
			return &keys[i]
		}
	}
	if of, ok := strings.CutPrefix(name, "gamespy."); ok && of != "" {
		return gameSpyKey(name, of)
	}
	return nil
}

// gameSpyKey returns a key for the values of a key of GameSpy datagrams.
func gameSpyKey(name, of string) *Key {
	return &Key{
		Name: name, Type: Text, Bare: true, Digits: true, Doc: "value of a key of a GameSpy datagram",
		Text: func(r *dissect.Record, i int) (wire.Untrusted, bool) {
			if r.Kind != dissect.KindGameSpy {
				return "", false
			}
			for k, v := range r.GameSpy.Pairs() {
				if k != wire.Untrusted(of) {
					continue
				}
				if i == 0 {
					return v, true
				}
				i--
			}
			return "", false
		},
	}
}

// Present reports whether the JSON object of r has the key, regardless of
// encoder options.
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

// Item returns the value of the key with index i in the form of package
// display, in which words and addresses are texts. Its text is appended to dst.
// If there is no such value, or the key is an object or a time, ok is false.
func (k *Key) Item(dst []byte, r *dissect.Record, i int) (it display.Item, ok bool) {
	it.Type = decode.TypeText
	switch {
	case k.Int != nil:
		it.Type = decode.TypeInt
		if k.Type == Bool {
			it.Type = decode.TypeBool
		}
		it.Int, ok = k.Int(r, i)
	case k.Text != nil:
		var s wire.Untrusted
		if s, ok = k.Text(r, i); ok {
			it.Text = append(dst, s.Raw()...)
		}
	case k.Addr != nil:
		var a netip.AddrPort
		if a, ok = k.Addr(r, i); ok && k.Type == IP {
			it.Text = a.Addr().AppendTo(dst)
		} else if ok {
			it.Text = a.AppendTo(dst)
		}
	case i > 0:
	case k.Word != nil:
		if w := k.Word(r); w >= 0 {
			it.Text, ok = append(dst, k.Words[w]...), true
		}
	case k.Bytes != nil:
		it.Type, it.Text = decode.TypeBytes, hex.AppendEncode(dst, k.Bytes(r))
		ok = len(it.Text) > len(dst)
	case k.Append != nil:
		it.Text = k.Append(dst, r)
		ok = len(it.Text) > len(dst)
	}
	return it, ok
}
