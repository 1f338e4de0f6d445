package gamespy

import (
	"bytes"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
)

// words are the game's keys that do not occur in a reply.
var words = []string{"gamename", "missionscript", "mapname", "gamemode", "system", "secure", "challenge", "validate"}

// own are the game's values other than names of missions and star systems.
var own = []string{"bcommander", "bcommand", "DM", "TDM", "settings", "openplaying", "closedplaying", "exiting"}

// numbers are the keys with numbers that do not occur in a reply.
var numbers = []string{"heartbeat", "statechanged"}

// EachPrivate calls f with every text that may tell something about people or
// hosts: names, the texts of a challenge, and all keys and values that are not
// the game's. f may change the text in place.
func (m Message) EachPrivate(f func(kind decode.Privacy, text []byte)) {
	m.pairs(func(key, value []byte) bool {
		name := string(key)
		number := slices.Contains(answers, name) || slices.Contains(numbers, name)
		switch {
		case name == "hostname":
			f(decode.ServerName, bytes.TrimPrefix(value, []byte{'*'})) // a leading star marks a game with a password
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

// Keys returns the game's keys except the keys of players, such as player_0.
func Keys() []string {
	all := slices.Concat(queries, answers, words, numbers)
	slices.Sort(all)
	return slices.Compact(all)
}

// Own reports whether a key or value is one of the game's or a number, so that
// it tells nothing about a host.
func Own(word []byte) bool { return known(string(word)) || isOwn(word) || isNumber(word) }

// known reports whether a key is one of the game's.
func known(key string) bool {
	return slices.Contains(queries, key) || slices.Contains(answers, key) || slices.Contains(words, key) ||
		slices.Contains(numbers, key) || isPlayer(key)
}

// isPlayer reports whether the value of a key is a player's name.
func isPlayer(key string) bool {
	n, ok := strings.CutPrefix(key, "player_")
	return ok && n != "" && len(n) <= 3 && isNumber([]byte(n))
}

// isOwn reports whether a value is one of the game's.
func isOwn(value []byte) bool {
	return slices.Contains(own, string(value)) || names.Own(string(value))
}

// isNumber reports whether a value is a number that the game would send. An address
// has more dots, and a telephone number more digits.
func isNumber(b []byte) bool {
	const most = 8
	return len(b) <= most && bytes.Count(b, []byte{'.'}) <= 1 && len(bytes.Trim(b, "0123456789.-")) == 0
}
