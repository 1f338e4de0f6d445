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
		Long: `Anonymize copies the game's datagrams to the pcapng file OUT. It replaces the
names of players, ships and servers, chat, passwords and addresses, in all
headers and in every message, and enciphers the messages again. Lengths, ports,
times, ids and harmless numbers stay. OUT.pcapng.gz is compressed.

OUT has no comments, no frames of other programs and no IP fragments. Bytes that
belong to no known field become zeros, and so do malformed messages. The summary
counts them.

At the end, anonymize searches OUT for every original value in every encoding.
It blanks the messages in which it finds one. Without --key, each run makes new
pseudonyms. Before you share a copy, read 'bcdissect help captures'.`,
		Example: `  # replace names, chat and addresses
  bcdissect anonymize battle.pcap anonymous.pcapng
  # join two captures, with one pseudonym for each name
  bcdissect anonymize day1.pcap.gz day2.pcap.gz -w both.pcapng
  # keep the pseudonyms for later captures
  bcdissect anonymize evening.pcap shared.pcapng --key my.key`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.Run(s, args) },
	}
	f.Define(cmd)
	return cmd
}
