package gamespy

import (
	"bytes"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
)

// words are the keys with values that players do not choose: the game's own
// words, and answers to a challenge.
var words = []string{"gamename", "missionscript", "mapname", "gamemode", "system", "secure", "challenge", "validate"}

// numbers are further keys with numbers, next to those of a reply.
var numbers = []string{"heartbeat", "statechanged"}

// EachPrivate calls f with every text that may tell of people or hosts: names,
// and all keys and values that the game does not have. f may change it in place.
func (m Message) EachPrivate(f func(kind decode.Privacy, text []byte)) {
	m.pairs(func(key, value []byte) bool {
		name := string(key)
		number := slices.Contains(answers, name) || slices.Contains(numbers, name)
		switch {
		case name == "hostname":
			f(decode.ServerName, bytes.TrimPrefix(value, []byte{'*'})) // a star tells of a password
		case isPlayer(name):
			f(decode.PlayerName, value)
		case slices.Contains(words, name), len(value) == 0 && (number || slices.Contains(queries, name)):
		case known(string(value)) && name != "echo":
			if !known(name) {
				f(decode.FreeText, key)
			}
		case number && isNumber(value):
		default:
			if !known(name) {
				f(decode.FreeText, key)
			}
			f(decode.FreeText, value)
		}
		return true
	})
}

// Keys returns the keys that the game has, apart from those of its players:
// player_0 and so on.
func Keys() []string {
	all := slices.Concat(queries, answers, words, numbers)
	slices.Sort(all)
	return slices.Compact(all)
}

// known reports whether a key is one of the game's.
func known(key string) bool {
	return slices.Contains(queries, key) || slices.Contains(answers, key) || slices.Contains(words, key) ||
		slices.Contains(numbers, key) || isPlayer(key)
}

// isPlayer reports whether a key is that of a player's name.
func isPlayer(key string) bool {
	n, ok := strings.CutPrefix(key, "player_")
	return ok && n != "" && len(n) <= 3 && isNumber([]byte(n))
}

// isNumber reports whether a value consists of digits, dots and signs.
func isNumber(b []byte) bool { return len(bytes.Trim(b, "0123456789.-")) == 0 }
