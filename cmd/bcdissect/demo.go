package main

import (
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/sample"
	"github.com/bcdissect/bcdissect/decode/plural"
)

// demonstrated are the commands that demo runs. They read captures and write
// only files that the user has named.
var demonstrated = []string{"session", "read", "browse", "web", "stats", "replay", "measure", "wireshark"}

func newDemo(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "demo [COMMAND [FLAG]...]",
		Short: "Try a command on a recorded match: you need no game and no capture",
		Long: `Demo runs another command on a match that's part of the program: four scripted
players for half a minute, with eight lost ships and some chat. Without COMMAND
it tells the story of the match, as session does.

COMMAND is ` + plural.Or(demonstrated) + `.
Its flags follow it. To keep the match as a file, give 'demo read -w FILE'.`,
		Example: `  # see the story of a match
  bcdissect demo
  # watch the match in your browser
  bcdissect demo web
  # step through the messages
  bcdissect demo browse
  # read the chat
  bcdissect demo read -Y 'Chat or TeamChat'
  # keep the match as a capture
  bcdissect demo read -w demo.pcapng`,
		DisableFlagsInUseLine: true,
		DisableFlagParsing:    true, // the flags belong to the other command
		ValidArgs:             demonstrated,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				args = []string{"session"}
			case args[0] == "-h" || args[0] == "--help":
				return cmd.Help()
			case !slices.Contains(demonstrated, args[0]):
				return fmt.Errorf("demo %s: give one of the commands %s first", args[0], strings.Join(demonstrated, ", "))
			}
			return demonstrate(s, args)
		},
	}
}

// demonstrate runs a command on the sample match.
func demonstrate(s cli.Streams, args []string) error {
	name, remove, err := sample.Write()
	if err != nil {
		return cli.Failed(err)
	}
	defer remove()
	if s.Process { // otherwise a closed pipe would end the program before the files are removed
		signal.Ignore(syscall.SIGPIPE)
		defer signal.Reset(syscall.SIGPIPE)
	}
	root := newRoot(s)
	root.SetArgs(append(slices.Clone(args), name))
	_, err = cli.Execute(root)
	return err
}
