package session

import (
	"testing"

	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// A capture with many ships of unknown class does not fill memory: a few
// hundred guesses are enough for any game.
func TestGuessesAreBounded(t *testing.T) {
	const most = 1000
	c := &Conversation{game: &Game{}}
	var class *ship.Class
	for s := range ship.All() {
		class = s
		break
	}
	for i := range 20 * most {
		c.game.guess(wire.ObjectID(i))
		c.InferByHash(Client, wire.ObjectID(i), uint16(i), class)
	}
	if n := len(c.game.guesses); n == 0 || n > most {
		t.Errorf("%d ships are guessed at, want %d at most", n, most)
	}
	if n := len(c.game.hashes); n == 0 || n > most {
		t.Errorf("%d hashes are kept, want %d at most", n, most)
	}
}
