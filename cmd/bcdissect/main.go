// Command bcdissect reads what the multiplayer protocol of Star Trek: Bridge
// Commander sent over a network.
package main

import (
	"os"

	"github.com/spf13/cobra"
)

func main() {
	// Started from the Explorer, cobra would say that this is a command line
	// tool and wait; a file dropped on the program has to be read instead.
	cobra.MousetrapHelpText = "" //nolint:reassign // cobra has no other way to say it
	os.Exit(run(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
