package watch

import (
	"os"

	"github.com/atotto/clipboard"
)

// copier returns a function that copies text to the clipboard of the system. It
// returns nil if there is none. With ssh, the terminal's clipboard is used
// instead.
func copier() func(text string) {
	if clipboard.Unsupported || os.Getenv("SSH_CONNECTION") != "" || os.Getenv("SSH_TTY") != "" {
		return nil
	}
	return func(text string) {
		_ = clipboard.WriteAll(text) // the text is also on the terminal's clipboard and on the screen
	}
}
