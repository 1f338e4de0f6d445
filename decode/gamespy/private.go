package gamespy

import (
	"bytes"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
)

// words are the keys that the game has next to those of a reply.
var words = []string{"gamename", "missionscript", "mapname", "gamemode", "system", "secure", "challenge", "validate"}

// own are the game's own values, next to the names of missions and star systems.
var own = []string{"bcommander", "bcommand", "DM", "TDM", "settings", "openplaying", "closedplaying", "exiting"}

// numbers are further keys with numbers, next to those of a reply.
var numbers = []string{"heartbeat", "statechanged"}

// EachPrivate calls f with every text that may tell of people or hosts: names,
// and all keys and values that the game does not have, the texts of a challenge
// among them. f may change it in place.
func (m Message) EachPrivate(f func(kind decode.Privacy, text []byte)) {
	m.pairs(func(key, value []byte) bool {
		name := string(key)
		number := slices.Contains(answers, name) || slices.Contains(numbers, name)
		switch {
		case name == "hostname":
			f(decode.ServerName, bytes.TrimPrefix(value, []byte{'*'})) // a star tells of a password
		case isPlayer(name):
			f(decode.PlayerName, value)
		case len(value) == 0 && known(name), slices.Contains(words, name) && isOwn(value):
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

// Own reports whether a key or value is one that every host sends, or a number.
func Own(word []byte) bool { return known(string(word)) || isOwn(word) || isNumber(word) }

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

// isOwn reports whether a value is one of the game's own.
func isOwn(value []byte) bool {
	return slices.Contains(own, string(value)) || names.Own(string(value))
}

// isNumber reports whether a value is a number that the game would send. An address
// has more dots, and a telephone number more digits.
func isNumber(b []byte) bool {
	const most = 8
	return len(b) <= most && bytes.Count(b, []byte{'.'}) <= 1 && len(bytes.Trim(b, "0123456789.-")) == 0
}
