package names

import (
	"fmt"
	"strings"
	"sync"
)

// missions are the numbers of the game's multiplayer missions.
const missions = 5

// ownTexts are the texts that the game itself sends: its star systems, missions, and
// the files and directories that it compares. Directories are written in several ways.
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

// Own reports whether a text is one of the game's own: the name of a star system, a
// mission, a file or a directory. Whoever finds it in a message learns nothing of the
// sender.
func Own(text string) bool { return ownTexts()[text] }
