package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/wireshark"
)

func newWireshark(s cli.Streams) *cobra.Command {
	var f cli.Common
	var program string
	cmd := &cobra.Command{
		Use:   "wireshark FILE...",
		Short: "Show captures in Wireshark, and install the plugin for it",
		Long: `Wireshark opens captures in Wireshark, deciphered and with every field of every
message. You need not install anything. Arguments after -- are for Wireshark.

Install adds a plugin, a profile with colour rules and columns, and a live
capture to your own folders of Wireshark. Wireshark then shows the game by
itself.`,
		Example: `  # open a capture in Wireshark
  bcdissect wireshark evening.pcap
  # open the chat of one player
  bcdissect wireshark evening.pcap --player Bot0 -- -Y bc.Chat
  # teach Wireshark to show the game by itself
  bcdissect wireshark install`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			files := args
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				at += len(args) - len(cmd.Flags().Args()) // files of -r are before the others
				files, args = args[:at], args[at:]
			} else {
				args = nil
			}
			if _, err := os.Stat(files[0]); err != nil && files[0] != "-" {
				return cli.Unknown(cmd, files[0])
			}
			return wireshark.Open(&f, s, program, slices.Clip(files), args)
		},
	}
	cmd.PersistentFlags().StringVar(&program, "program", "", "use this `PROGRAM`, a wireshark or tshark, and not the one that is found")
	f.DefinePorts(cmd)
	f.DefineDecoding(cmd)
	f.DefineSelection(cmd)
	for _, sub := range []struct {
		use, short, long string
		run              func(cli.Streams, string) error
	}{
		{"install", "Install plugin, profile and live capture for Wireshark", `Install writes into your own folders of Wireshark: the plugin, a profile with
colour rules and columns, and a link with which Wireshark captures live. It
needs no rights. Files that are not from bcdissect are not overwritten.`, wireshark.Install},
		{"status", "Show the Wireshark in use and the parts installed for it", `Status shows which Wireshark is used, and whether plugin, live capture and
profile are installed for it, in which version.`, wireshark.Status},
		{"uninstall", "Remove all that install has written", `Uninstall removes the files and folders of install, and nothing else. Your
changes to the profile are lost with it.`, wireshark.Uninstall},
	} {
		cmd.AddCommand(&cobra.Command{
			Use: sub.use, Short: sub.short, Long: sub.long, Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return sub.run(s, program) },
		})
	}
	cmd.AddCommand(&cobra.Command{
		Use: "plugin", Short: "Print the plugin",
		Long: `Plugin prints the plugin, a file in Lua, for packages and for Wireshark's
-X lua_script:FILE.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return wireshark.Plugin(s.Out) },
	})
	return cmd
}
