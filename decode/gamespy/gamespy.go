// Package gamespy reads and writes the plain text that shares the game's port:
// queries of server browsers, the host's replies, and heartbeats. Such a
// datagram begins with a backslash and lists keys and values:
// \key\value\key\value.
//
// A message borrows the bytes it was parsed from.
package gamespy

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// The kinds of messages.
const (
	KindQuery     = "query"     // a question to a host
	KindReply     = "reply"     // a host's answer, or a part of it
	KindHeartbeat = "heartbeat" // a host's announcement to the master server
	KindOther     = "other"
)

// queries are the keys that a host answers, anywhere in the text.
var queries = []string{"basic", "info", "rules", "players", "status", "packets", "echo", "secure"}

// answers are the possible first keys of a reply or of a part of one, next to
// player_0 and so on.
var answers = []string{
	"gamename", "gamever", "location",
	"hostname", "missionscript", "mapname", "numplayers", "maxplayers", "gamemode",
	"timelimit", "fraglimit", "system", "password",
	"validate", "final", "queryid",
}

// A Message is one datagram of GameSpy text. The zero value is empty.
type Message struct{ text []byte }

// Parse returns b as a message. Any bytes are valid and kept.
func Parse(b []byte) Message { return Message{b} }

// Append appends the message unchanged.
func (m Message) Append(dst []byte) []byte { return append(dst, m.text...) }

// Kind returns the kind of the message, one of the constants above.
func (m Message) Kind() string {
	first, _, _ := bytes.Cut(bytes.TrimPrefix(m.text, []byte{'\\'}), []byte{'\\'})
	key := string(first)
	switch {
	case key == "heartbeat":
		return KindHeartbeat
	case slices.Contains(answers, key) || strings.HasPrefix(key, "player_"):
		return KindReply
	case key == "echo" && m.has(`\final\`):
		return KindReply // a reply to a query has the same form as this except at its end
	}
	for range m.Queries() {
		return KindQuery
	}
	if m.has(`\final\`) {
		return KindReply // with keys that Answer does not write
	}
	return KindOther
}

// Query reports whether the message asks a host for something.
func (m Message) Query() bool { return m.Kind() == KindQuery }

// Queries returns the information requested by a query: such as status or info,
// each once. The host searches the whole text for words such as \status\, so
// \basic\info\ requests both, although as a pair it is one key and its value.
func (m Message) Queries() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, q := range queries {
			if m.asks(q) && !yield(q) {
				return
			}
		}
	}
}

// asks reports whether the text contains the word between backslashes.
func (m Message) asks(word string) bool {
	for rest := m.text; ; {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 {
			return false
		}
		rest = rest[at+1:]
		if len(rest) > len(word) && rest[len(word)] == '\\' && string(rest[:len(word)]) == word {
			return true
		}
	}
}

func (m Message) has(s string) bool { return bytes.Contains(m.text, []byte(s)) }

// Pairs returns keys and values in the order of the text, including repeated
// keys. A final key without a value comes with an empty value. A final
// backslash begins no key.
func (m Message) Pairs() iter.Seq2[wire.Untrusted, wire.Untrusted] {
	return func(yield func(key, value wire.Untrusted) bool) {
		m.pairs(func(key, value []byte) bool { return yield(wire.Text(key), wire.Text(value)) })
	}
}

// A Place is a pair with its offsets in the text, from the key to the end of
// the value.
type Place struct {
	Key, Value wire.Untrusted
	From, To   int
}

// Places returns the pairs with their places.
func (m Message) Places() iter.Seq[Place] {
	return func(yield func(Place) bool) {
		m.pairs(func(key, value []byte) bool {
			// All slices share the end of the text's array, so capacities tell offsets.
			p := Place{Key: wire.Text(key), Value: wire.Text(value), From: cap(m.text) - cap(key)}
			if p.To = p.From + len(key); value != nil {
				p.To = cap(m.text) - cap(value) + len(value)
			}
			return yield(p)
		})
	}
}

// Get returns the value of the first pair with the key.
func (m Message) Get(key string) (value wire.Untrusted, ok bool) {
	m.pairs(func(k, v []byte) bool {
		ok = string(k) == key
		if !wire.IsPlain(k) {
			ok = wire.Text(k) == wire.Untrusted(key)
		}
		if ok {
			value = wire.Text(v)
		}
		return !ok
	})
	return value, ok
}

func (m Message) pairs(yield func(key, value []byte) bool) {
	for rest := bytes.TrimPrefix(m.text, []byte{'\\'}); len(rest) > 0; {
		var key, value []byte
		key, rest, _ = bytes.Cut(rest, []byte{'\\'})
		value, rest, _ = bytes.Cut(rest, []byte{'\\'})
		if !yield(key, value) {
			return
		}
	}
}

// text returns a key or value in UTF-8.
