package bots

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode/modfile"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/dissect/internal/chance"
)

// A Verb is what a bot does in a step.
type Verb string

// The verbs.
const (
	Dialect Verb = "dialect" // write as stock or openbc from the next join on
	Join    Verb = "join"    // join the game, unless already in it
	Fly     Verb = "fly"     // create a ship, unless there is one, and fly for a time
	Wait    Verb = "wait"    // let a time pass, while a ship flies on
	Fire    Verb = "fire"    // fire a weapon, at a ship if the bot knows one
	Hit     Verb = "hit"     // fire, and send the damage that a client reports
	Chat    Verb = "chat"    // send a text
	Die     Verb = "die"     // lose the ship
	Leave   Verb = "leave"   // leave the game
	Repeat  Verb = "repeat"  // begin again with the first step
)

var verbs = []string{"dialect", "join", "fly", "wait", "fire", "hit", "chat", "die", "leave", "repeat"}

// A Step is one step of a script.
type Step struct {
	Verb Verb
	For  time.Duration // duration of Fly and Wait
	Text string        // text of Chat and Dialect
}

// A Script is the sequence of a player's steps.
type Script struct {
	Name  string
	Steps []Step
}

// The limits of a script.
const (
	mostText   = 200 // length of a line of chat in bytes. The game's input field takes fewer.
	longestFor = 24 * time.Hour
)

// The states in which a bot can be.
const (
	outside = iota
	inGame
	inShip
)

// needs is the state that a step requires.
var needs = map[Verb]int{
	Dialect: outside, Join: outside, Wait: outside, Repeat: outside,
	Fly: inGame, Chat: inGame, Leave: inGame,
	Fire: inShip, Hit: inShip, Die: inShip,
}

// ReadScripts reads a file of scripts. Its table bots has the steps of each
// player as a list of texts. The error is a [*modfile.Error].
func ReadScripts(f modfile.File) (all []Script, _ error) {
	lists, err := modfile.ReadLists(f, "bots")
	if err != nil {
		return nil, err
	}
	if n := len(lists); n == 0 || n > MostBots {
		return nil, &modfile.Error{File: f.Name, Reason: fmt.Sprintf("has %d players; name 1 to %d in the table [bots]", n, MostBots)}
	}
	for _, list := range lists {
		s, at := Script{Name: list.Name}, outside
		for i, text := range list.Values {
			step, err := parseStep(text)
			if err == nil && needs[step.Verb] > at {
				err = fmt.Errorf("the bot %s comes first", [...]string{inGame: "isn't in the game; join", inShip: "has no ship; fly"}[needs[step.Verb]])
			}
			if err != nil {
				return nil, &modfile.Error{File: f.Name, Line: list.Line, Reason: fmt.Sprintf("%s, step %d, %q: %v", list.Name, i+1, text, err)}
			}
			switch step.Verb {
			case Join:
				at = max(at, inGame)
			case Fly:
				at = inShip
			case Die:
				at = inGame
			case Leave:
				at = outside
			case Dialect, Wait, Fire, Hit, Chat, Repeat:
			}
			s.Steps = append(s.Steps, step)
		}
		all = append(all, s)
	}
	return all, nil
}

// parseStep reads a step such as "fly 3s".
func parseStep(text string) (s Step, err error) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	s.Verb, s.Text = Verb(verb), strings.TrimSpace(rest)
	switch s.Verb {
	case Fly, Wait:
		if s.For, err = time.ParseDuration(s.Text); err != nil || s.For <= 0 || s.For > longestFor {
			err = fmt.Errorf("give a time up to %v, such as %s 3s", longestFor, verb)
		}
	case Chat:
		if n := len(s.Text); n == 0 || n > mostText {
			err = fmt.Errorf("give a text of 1 to %d bytes, such as chat hello", mostText)
		}
	case Dialect:
		if s.Text != "stock" && s.Text != "openbc" {
			err = errors.New("choose dialect stock or dialect openbc")
		}
	case Join, Fire, Hit, Die, Leave, Repeat:
		if s.Text != "" {
			err = fmt.Errorf("%s takes nothing after it", verb)
		}
	default:
		err = fmt.Errorf("no such step%s; choose from %s", names.DidYouMean(verb, verbs), strings.Join(verbs, ", "))
	}
	return s, err
}

// source returns a function that yields the steps of a script.
func (s *Script) source() func() (Step, bool) {
	i := 0
	return func() (Step, bool) {
		if i == len(s.Steps) {
			return Step{}, false
		}
		i++
		if s.Steps[i-1].Verb == Repeat {
			i = 0
			return Step{Verb: Wait}, true
		}
		return s.Steps[i-1], true
	}
}

// invented returns a function that yields the steps of a bot without a script:
// it flies around, and sometimes fires, hits, chats, dies, or leaves and comes
// back. The seed and the bot's number determine all steps.
func invented(seed uint64, bot int) func() (Step, bool) {
	pending := []Step{{Verb: Join}, {Verb: Fly, For: time.Second}}
	n := uint64(0)
	share := func(what uint64) float64 { return chance.Share(seed, uint64(bot), n, what) }
	return func() (Step, bool) {
		if len(pending) == 0 {
			n++
			away := Step{Verb: Wait, For: 2*time.Second + time.Duration(share(1)*float64(5*time.Second))}
			switch u := share(0); { // the shares of the actions
			case u < 0.50:
				pending = []Step{{Verb: Fire}}
			case u < 0.65:
				pending = []Step{{Verb: Hit}}
			case u < 0.87:
				pending = []Step{{Verb: Chat, Text: fmt.Sprintf("line %d of bot %d", n, bot)}}
			case u < 0.94:
				pending = []Step{{Verb: Die}, away}
			default:
				pending = []Step{{Verb: Leave}, away, {Verb: Join}}
			}
			pending = append(pending, Step{Verb: Fly, For: time.Second/4 + time.Duration(share(2)*float64(7*time.Second/4))})
		}
		s := pending[0]
		pending = pending[1:]
		return s, true
	}
}
