package gamespy

import (
	"bytes"
	"strconv"

	"github.com/bcdissect/bcdissect/decode/wire"
)

const (
	// MaxQuery is the number of bytes of a query that the game reads. It ignores
	// the rest.
	MaxQuery = 255
	// MaxReply is the maximum length of a reply datagram in bytes. A longer reply
	// is split.
	MaxReply = 1349

	maxValue = 255 // length of a value that Answer writes, in characters
)

// The texts for a game without a limit.
const (
	NoTimeLimit = -1
	NoFragLimit = -2
)

// A Game is the information in a host's reply. Its text is UTF-8.
type Game struct {
	Version  string // 60 for version 1.1 of the game
	Location string
	Name     string
	Mission  string // the script, such as Multiplayer.Episode.Mission1.Mission1
	Map      string // such as DM
	Count    int    // players in the game. A dedicated server does not count.
	Limit    int
	Playing  bool // the match runs: the players are not in the lobby

	TimeLimit int // minutes, or NoTimeLimit
	FragLimit int // or NoFragLimit
	System    string
	Password  bool // a password is required

	Players []string // a dedicated server comes first
}

// Answer returns a host's reply to a query, as a list of datagrams. If the
// message is not a query, there are none. The number n counts the host's
// answered queries, from 1.
//
// Names that others chose cannot add keys: a backslash in a name becomes a
// slash.
func Answer(query Message, g *Game, n int) (datagrams [][]byte) {
	query.text = query.text[:min(len(query.text), MaxQuery)]
	if !query.Query() {
		return nil
	}
	a := answer{n: n}
	all := query.asks("status") || query.asks("packets")
	separate := query.asks("packets")
	for _, part := range g.parts() {
		if !all && !query.asks(part.query) {
			continue
		}
		if separate && len(a.text) > 0 {
			a.end()
		}
		for i := 0; i < len(part.pairs); i += 2 {
			a.pair(part.pairs[i], part.pairs[i+1])
		}
	}
	if text, ok := query.after("echo"); ok {
		a.raw("echo", text)
	}
	if challenge, ok := query.after("secure"); ok {
		a.raw("validate", []byte(Validate(Key, string(challenge))))
	}
	a.raw("final", nil)
	a.end()
	return a.datagrams
}

// after returns the text between the given word and the next backslash.
func (m Message) after(word string) (value []byte, ok bool) {
	_, rest, ok := bytes.Cut(m.text, []byte(`\`+word+`\`))
	value, _, _ = bytes.Cut(rest, []byte{'\\'})
	return value, ok
}

// An answer is a reply under construction.
type answer struct {
	n         int
	text      []byte // text of the current datagram
	datagrams [][]byte
}

// A part has the keys that answer a query, each with its value.
type part struct {
	query string
	pairs []string
}

// parts returns the parts of a reply in the order in which they are sent.
func (g *Game) parts() []part {
	name, mode, password := g.Name, "settings", "0"
	if g.Password {
		name, password = "*"+name, "1"
	}
	if g.Playing {
		mode = "openplaying"
	}
	var players []string
	for i, name := range g.Players {
		players = append(players, "player_"+strconv.Itoa(i), name)
	}
	return []part{
		{"basic", []string{"gamename", "bcommander", "gamever", g.Version, "location", g.Location}},
		{"info", []string{
			"hostname", name, "missionscript", g.Mission, "mapname", g.Map,
			"numplayers", strconv.Itoa(g.Count), "maxplayers", strconv.Itoa(g.Limit), "gamemode", mode,
		}},
		{"rules", []string{"timelimit", strconv.Itoa(g.TimeLimit), "fraglimit", strconv.Itoa(g.FragLimit), "system", g.System, "password", password}},
		{"players", players},
	}
}

// pair adds a key with arbitrary text.
func (a *answer) pair(key, value string) {
	text := wire.AppendTextOf(nil, value)
	text = text[:min(len(text), maxValue)]
	for i, c := range text {
		switch {
		case c == '\\':
			text[i] = '/'
		case c < ' ' || c == 0x7F:
			text[i] = '?'
		}
	}
	a.raw(key, text)
}

// raw adds a key. It begins the next datagram if this one lacks room for the
// key and the final number.
func (a *answer) raw(key string, value []byte) {
	if len(a.text)+2+len(key)+len(value)+len(a.number()) > MaxReply {
		a.end()
	}
	a.text = append(append(append(a.text, '\\'), key...), '\\')
	a.text = append(a.text, value...)
}

// end numbers the current datagram.
func (a *answer) end() {
	a.datagrams = append(a.datagrams, append(a.text, a.number()...))
	a.text = nil
}

// number returns the number of the query and of the datagram.
func (a *answer) number() string {
	return `\queryid\` + strconv.Itoa(a.n) + "." + strconv.Itoa(len(a.datagrams)+1)
}
