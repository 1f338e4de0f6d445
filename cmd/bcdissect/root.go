package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/wireshark"
)

// run runs the program and returns its exit status.
func run(args []string, s cli.Streams) (code int) {
	defer func() {
		if fault := recover(); fault != nil {
			code = cli.Fault(s.Err, fault)
		}
	}()
	if wireshark.IsExtcap(args) {
		return wireshark.Extcap(args, s)
	}
	root := newRoot(s)
	args, err := withCommand(root, cli.Unquote(args))
	cmd := root
	if err == nil {
		root.SetArgs(args)
		cmd, err = cli.Execute(root)
		err = cli.OfOutput(err, s)
	}
	code = cli.StatusOf(err)
	if code == cli.ExitOK {
		return code
	}
	var st *cli.StatusError
	_ = errors.As(err, &st) // an error without a status has no caret
	if text := err.Error(); text != "" {
		cli.Say(s.Err, "%s", text)
		if ways := cli.Remedy(err); ways != "" {
			fmt.Fprintf(s.Err, "%s\n", cli.OneLine(ways))
		}
		if st != nil && st.Caret != "" {
			fmt.Fprintf(s.Err, "%s\n", st.Caret)
		} else if code == cli.ExitUsage {
			cli.WriteUsage(s.Err, cmd, err)
		}
	}
	return code
}

// withCommand puts a command before arguments that begin with a file or a flag,
// as those of a capture dropped on the program or of tshark do.
func withCommand(root *cobra.Command, args []string) ([]string, error) {
	switch {
	case len(args) == 0 || args[0] == "":
		return args, nil
	case strings.HasPrefix(args[0], "__"): // of the completion
		return args, nil
	case args[0] == "-":
		return append([]string{"read"}, args...), nil
	case strings.HasPrefix(args[0], "-"):
		if hasFlag(root, args[0]) {
			return args, nil
		}
		name := "read"
		if slices.ContainsFunc(args, isInterface) {
			name = "live"
		}
		if cmd, _, _ := root.Find([]string{name}); !hasFlag(cmd, args[0]) {
			return args, nil
		}
		return append([]string{name}, args...), nil
	}
	if c, _, _ := root.Find(args); c != root { // the root takes any arguments
		return args, nil
	}
	if cli.OnWindows && cli.IsPattern(args[0]) {
		return append([]string{"read"}, args...), nil
	}
	if info, err := os.Stat(args[0]); err != nil || info.IsDir() {
		return nil, cli.Unknown(root, args[0])
	}
	return append([]string{"read"}, args...), nil
}

// hasFlag reports whether an argument is a flag of a command.
func hasFlag(cmd *cobra.Command, arg string) bool {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if strings.HasPrefix(arg, "--") {
		return cmd.Flags().Lookup(name) != nil
	}
	return name != "" && cmd.Flags().ShorthandLookup(name[:1]) != nil
}

// isInterface reports whether an argument is the flag that chooses an interface.
func isInterface(arg string) bool {
	return arg == "-i" || arg == "--interface" || strings.HasPrefix(arg, "--interface=")
}

func newRoot(s cli.Streams) *cobra.Command {
	var fields bool
	cmd := &cobra.Command{
		Use:   "bcdissect",
		Short: "Read the multiplayer traffic of Star Trek: Bridge Commander",
		Long: `bcdissect reads captures and live traffic of the multiplayer protocol of Star
Trek: Bridge Commander: it finds the game's datagrams, deciphers them, puts
fragments together and decodes every message, as a table, as JSON or as a
histogram.`,
		Example: `  bcdissect demo                           try it on a recorded match
  bcdissect read capture.pcap              every message, a line each
  bcdissect read capture.pcap -V           all fields, with offsets and bytes
  bcdissect read capture.pcap -T json      one JSON object a line, for jq
  bcdissect browse capture.pcap            the same on the whole terminal
  bcdissect session capture.pcap           players, ships, kills and chat
  bcdissect stats capture.pcap             opcodes, directions and bytes
  bcdissect replay capture.pcap            compare its host with the original
  bcdissect live                           the same while people play
  bcdissect decode 01D73368C3BF76DB        a single datagram in hex
  bcdissect encode lines.json              its JSON back into hex
  bcdissect opcodes TorpedoFire            the reference of one message
  bcdissect -G speed                       fields with "speed" in their names`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       cli.Version(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && !fields {
				return errors.New("no such command")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if fields {
				return listFields(s, args)
			}
			return cmd.Help()
		},
	}
	cmd.Flags().BoolVarP(&fields, "list-fields", "G", false, "list keys and fields with type and meaning; WORD lists those that contain it")
	cmd.SetVersionTemplate(versionLine())
	cmd.SetIn(s.In)
	cmd.SetOut(s.Out)
	cmd.SetErr(s.Err)
	cmd.AddCommand(newDemo(s), newRead(s), newBrowse(s), newLive(s), newProxy(s), newInterfaces(s), newStats(s), newSession(s), newReplay(s), newDiff(s), newMeasure(s), newAnonymize(s), newTables(s), newWeb(s),
		newWireshark(s), newRelay(s), newQuery(s), newConform(s), newBots(s), newDecode(s), newEncode(s), newOpcodes(s), newSchema(s), newConfig(s), newVersion(s))
	cli.Arrange(cmd)
	return cmd
}
