package names

import (
	"fmt"
	"strings"
	"sync"
)

// missions are the numbers of the game's multiplayer missions.
const missions = 5

// ownTexts are the game's texts: its star systems, missions, and the files and
// directories that it compares. Each directory is in it in several spellings.
var ownTexts = sync.OnceValue(func() map[string]bool {
	own := map[string]bool{"": true, "*.pyc": true}
	add := func(text string) {
		own[text] = true
		own[strings.TrimSuffix(text, "/")] = true
		own[strings.TrimSuffix(text, "/")+"/"] = true
	}
	for _, name := range Systems.Values() {
		own[name] = true
	}
	for _, name := range Files.Values() {
		add(name)
	}
	for i := range missions {
		add(fmt.Sprintf("Multiplayer.Episode.Mission%d.Mission%d", i+1, i+1))
	}
	return own
})

// Own reports whether a text is one of the game's: the name of a star system, a
// mission, a file or a directory. Such a text in a message tells nothing about
// the sender.
func Own(text string) bool { return ownTexts()[text] }
