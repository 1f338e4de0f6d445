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

// withCommand inserts a command before arguments that begin with a file or a
// flag. Captures dropped on the program and command lines for tshark are
// examples.
func withCommand(root *cobra.Command, args []string) ([]string, error) {
	switch {
	case len(args) == 0 || args[0] == "":
		return args, nil
	case strings.HasPrefix(args[0], "__"): // a command for shell completion
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
	if c, _, _ := root.Find(args); c != root { // the root command accepts any arguments
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

// isInterface reports whether an argument is the flag for an interface.
func isInterface(arg string) bool {
	return arg == "-i" || arg == "--interface" || strings.HasPrefix(arg, "--interface=")
}

func newRoot(s cli.Streams) *cobra.Command {
	var fields bool
	cmd := &cobra.Command{
		Use:   "bcdissect",
		Short: "Wireshark for Star Trek: Bridge Commander",
		Long: `Record your multiplayer game, and bcdissect turns it into a replay you can
watch, a score sheet, and a line for every message between players and host.`,
		Example: `  bcdissect demo                           try it on a recorded match
  bcdissect proxy HOST -w game.pcapng      record your own game
  bcdissect session game.pcapng            see who played, and who won
  bcdissect web game.pcapng                watch the match in your browser
  bcdissect read game.pcapng               list every message
  bcdissect stats --network game.pcapng    find out who lagged
  bcdissect live                           watch the messages of a running game
  bcdissect relay --name 'Friday night'    host a game
  bcdissect conform HOST:PORT              test your own server
  bcdissect opcodes TorpedoFire            look up a message
  bcdissect -G speed                       look up fields by a word`,
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
	cmd.Flags().BoolVarP(&fields, "list-fields", "G", false, "list the keys and fields that contain WORD, or all, with type and meaning")
	cmd.SetVersionTemplate(versionLine())
	cmd.SetIn(s.In)
	cmd.SetOut(s.Out)
	cmd.SetErr(s.Err)
	add := func(title string, commands ...*cobra.Command) {
		cmd.AddGroup(&cobra.Group{ID: title, Title: title})
		for _, c := range commands {
			c.GroupID = title
		}
		cmd.AddCommand(commands...)
	}
	add("Watch a match", newDemo(s), newSession(s), newLeague(s), newWeb(s))
	add("Record a game", newHome(s), newProxy(s), newLive(s), newInterfaces(s))
	add("Inspect messages", newRead(s), newBrowse(s), newStats(s), newWireshark(s), newOpcodes(s), newDecode(s), newEncode(s))
	add("Run a server", newRelay(s), newQuery(s))
	add("Test a server", newConform(s), newBots(s), newReplay(s), newMeasure(s), newDiff(s))
	add("Share and export", newAnonymize(s), newTables(s))
	cmd.AddCommand(newConfig(s), newSchema(s), newVersion(s))
	cli.Arrange(cmd)
	return cmd
}
