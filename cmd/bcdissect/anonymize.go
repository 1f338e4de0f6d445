package main

import (
	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/anonymize/command"
	"github.com/bcdissect/bcdissect/cmd/internal/cli"
)

func newAnonymize(s cli.Streams) *cobra.Command {
	var f command.Flags
	cmd := &cobra.Command{
		Use:   "anonymize FILE... OUT",
		Short: "Replace names, chat and addresses before sharing captures",
		Long: `Anonymize copies the game's datagrams of captures to the pcapng file OUT, with
pseudonyms for names of players, ships and servers, for chat, passwords and
addresses: in all headers and in every message, which it enciphers again.
Lengths, ports, times, ids and harmless numbers stay. OUT.pcapng.gz is compressed.

Comments and descriptions are left out, and so are frames that are not of the
game and datagrams in IP fragments. Bytes of no known field and malformed
messages become zeros; the summary counts them.

In the end it searches OUT for every original value in every encoding, and blanks
the messages that hold one. Without --key the pseudonyms are other ones each
time. 'bcdissect help captures' says more.`,
		Example: `  bcdissect anonymize battle.pcap anonymous.pcapng
  bcdissect anonymize day1.pcap.gz day2.pcap.gz -w both.pcapng
  bcdissect anonymize battle.pcap anonymous.pcapng --key my.key`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.Run(s, args) },
	}
	f.Define(cmd)
	return cmd
}
