package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

// run runs the program and returns its exit status.
func run(args []string, s cli.Streams) int {
	root := newRoot(s)
	root.SetArgs(fileFirst(root, args))
	err := root.Execute()
	code := cli.StatusOf(err)
	if code == cli.ExitOK {
		return code
	}
	var st *cli.StatusError
	_ = errors.As(err, &st) // an error without a status has no caret
	if text := err.Error(); text != "" {
		fmt.Fprintf(s.Err, "bcdissect: %s\n", cli.OneLine(text))
		if ways := cli.Remedy(err); ways != "" {
			fmt.Fprintf(s.Err, "%s\n", cli.OneLine(ways))
		}
		if st != nil && st.Caret != "" {
			fmt.Fprintf(s.Err, "%s\n", st.Caret)
		} else if code == cli.ExitUsage {
			fmt.Fprintf(s.Err, "Run 'bcdissect --help' for how it is used.\n")
		}
	}
	return code
}

// fileFirst puts the command read before arguments that begin with the name of
// a file: a capture dropped on the program is its first argument.
func fileFirst(root *cobra.Command, args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return args
	}
	if c, _, err := root.Find(args); err == nil && c != root {
		return args
	}
	if info, err := os.Stat(args[0]); err != nil || !info.Mode().IsRegular() {
		return args
	}
	return append([]string{"read"}, args...)
}

func newRoot(s cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bcdissect",
		Short: "Read the multiplayer traffic of Star Trek: Bridge Commander",
		Long: `bcdissect reads captures and live traffic of the multiplayer protocol of Star
Trek: Bridge Commander: it finds the game's datagrams, deciphers them, puts
fragments together and decodes every message, as a table, as JSON or as a
histogram.`,
		Example: `  bcdissect read capture.pcap              every message, a line each
  bcdissect read capture.pcap -V           all fields, with offsets and bytes
  bcdissect read capture.pcap -T json      one JSON object a line, for jq
  bcdissect stats capture.pcap             opcodes, directions and bytes
  bcdissect replay capture.pcap           compare its host with the original game's
  bcdissect live                           the same while people play
  bcdissect decode 01D73368C3BF76DB        a single datagram in hex
  bcdissect opcodes TorpedoFire           the reference of one message`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetIn(s.In)
	cmd.SetOut(s.Out)
	cmd.SetErr(s.Err)
	cmd.AddCommand(newRead(s), newLive(s), newInterfaces(s), newStats(s), newSession(s), newReplay(s), newRelay(s), newQuery(s),
		newDecode(s), newOpcodes(s), newSchema(s), newVersion(s))
	return cmd
}
