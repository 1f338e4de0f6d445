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
	KindQuery     = "query"     // somebody asks a host
	KindReply     = "reply"     // what the host answers, or a part of it
	KindHeartbeat = "heartbeat" // a host tells the master server that it is there
	KindOther     = "other"
)

// queries are the keys that a host answers, wherever in the text they stand.
var queries = []string{"basic", "info", "rules", "players", "status", "packets", "echo", "secure"}

// answers are the keys that a reply or a part of one can begin with, besides
// player_0 and so on.
var answers = []string{
	"gamename", "gamever", "location",
	"hostname", "missionscript", "mapname", "numplayers", "maxplayers", "gamemode",
	"timelimit", "fraglimit", "system", "password",
	"validate", "final", "queryid",
}

// A Message is one datagram of GameSpy text. Its zero value is one without any.
type Message struct{ text []byte }

// Parse takes any bytes as a message; none are impossible, and none are lost.
func Parse(b []byte) Message { return Message{b} }

// Append appends the message as it was sent.
func (m Message) Append(dst []byte) []byte { return append(dst, m.text...) }

// Kind tells what the message is for: one of the constants.
func (m Message) Kind() string {
	first, _, _ := bytes.Cut(bytes.TrimPrefix(m.text, []byte{'\\'}), []byte{'\\'})
	key := string(first)
	switch {
	case key == "heartbeat":
		return KindHeartbeat
	case slices.Contains(answers, key) || strings.HasPrefix(key, "player_"):
		return KindReply
	case key == "echo" && m.has(`\final\`):
		return KindReply // to a query that has the same form but for its end
	}
	for range m.Queries() {
		return KindQuery
	}
	if m.has(`\final\`) {
		return KindReply // with keys of its own
	}
	return KindOther
}

// Query reports whether the message asks a host for something.
func (m Message) Query() bool { return m.Kind() == KindQuery }

// Queries returns what the message asks for if it is a query: status, info and
// so on, each once. The host looks for \status\ and so on anywhere in the text,
// so that \basic\info\ asks for both, although as a pair it is one key and its
// value.
func (m Message) Queries() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, q := range queries {
			if m.asks(q) && !yield(q) {
				return
			}
		}
	}
}

// asks reports whether the text holds the word between backslashes.
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

// Pairs returns keys and values in the order of the text, repeated keys too. A
// key at the end that has no value comes with an empty one; a backslash at the
// very end begins no key.
func (m Message) Pairs() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		m.pairs(func(key, value []byte) bool { return yield(wire.Text(key), wire.Text(value)) })
	}
}

// Get returns the value of the first pair with the key.
func (m Message) Get(key string) (value string, ok bool) {
	m.pairs(func(k, v []byte) bool {
		ok = string(k) == key
		if !wire.IsPlain(k) {
			ok = wire.Text(k) == key
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
