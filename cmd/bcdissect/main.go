// Command bcdissect reads what the multiplayer protocol of Star Trek: Bridge
// Commander sent over a network.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/inconshreveable/mousetrap"
	"github.com/spf13/cobra"
)

func main() {
	// Started from the Explorer, cobra would say that this is a command line
	// tool and wait; a file dropped on the program has to be read instead.
	cobra.MousetrapHelpText = "" //nolint:reassign // cobra has no other way to say it
	shown, restore := openDisplay(os.Stdout, os.Stderr)
	code := run(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, display: shown})
	restore()
	if mousetrap.StartedByExplorer() { // the window would close before anything could be read
		fmt.Fprintf(os.Stderr, "\nPress Enter to close this window.")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // whatever ends the wait
	}
	os.Exit(code)
}
