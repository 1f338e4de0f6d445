package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// streams are where the program reads from and writes to.
type streams struct {
	in       io.Reader
	out, err io.Writer
	display
}

// Exit statuses that scripts rely on.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitDamaged   = 3 // the capture was cut short or its container is damaged
	exitDiffers   = 4 // replay found differences
	exitMalformed = 5 // --strict and something was malformed
	exitAborted   = 130
)

// A status is an exit status that is not told by the kind of error alone.
type status struct {
	code  int
	err   error  // nil if there is nothing to say
	caret string // lines that point at the fault, if the error is of an expression
}

func (s *status) Error() string {
	if s.err == nil {
		return ""
	}
	return s.err.Error()
}

func (s *status) Unwrap() error { return s.err }

// failed marks an error as one of the work, not of how it was asked for.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return &status{code: exitFailed, err: err}
}

// run runs the program and returns its exit status.
func run(args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(fileFirst(root, args))
	err := root.Execute()
	if err == nil || isClosedPipe(err) {
		return exitOK
	}
	// What carries no status comes from cobra: an unknown command or flag, or
	// the wrong number of arguments.
	code := exitUsage
	var st *status
	if errors.As(err, &st) {
		code = st.code
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(s.err, "bcdissect: %s\n", oneLine(text))
		if ways := remedy(err); ways != "" {
			fmt.Fprintf(s.err, "%s\n", oneLine(ways))
		}
		if st != nil && st.caret != "" {
			fmt.Fprintf(s.err, "%s\n", st.caret)
		} else if code == exitUsage {
			fmt.Fprintf(s.err, "Run 'bcdissect --help' for how it is used.\n")
		}
	}
	return code
}

// fileFirst puts the command read before arguments that begin with the name of
// a file: that is what the program gets when a capture is dropped on it.
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

// oneLine keeps an error on one line, and control characters that came in with
// a file name from the terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < ' ' || r >= 0x7F && r < 0xA0:
			return '?'
		}
		return r
	}, strings.TrimSpace(s))
}

func newRoot(s streams) *cobra.Command {
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
  bcdissect stats capture.pcap             what the traffic consists of
  bcdissect replay capture.pcap            what its host does otherwise than it should
  bcdissect live                           the same while people play
  bcdissect decode 01D73368C3BF76DB        a single datagram in hex
  bcdissect opcodes TorpedoFire            all there is to know of a message`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetIn(s.in)
	cmd.SetOut(s.out)
	cmd.SetErr(s.err)
	cmd.AddCommand(newRead(s), newLive(s), newInterfaces(s), newStats(s), newReplay(s), newRelay(s),
		newDecode(s), newOpcodes(s), newVersion(s))
	return cmd
}
