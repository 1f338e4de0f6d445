package main

import (
	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/league"
)

func newLeague(s cli.Streams) *cobra.Command {
	var f league.Flags
	cmd := &cobra.Command{
		Use:   "league DIR",
		Short: "Make a web site of a folder of recordings: tables, players, replays",
		Long: `League reads the recordings in the folder DIR and writes a web site: tables,
matches with their replay, players with a rating, ships, rivalries, records and
seasons. The site needs no server: open its index.html. The file league.json in
it has all the numbers.

Run it again after each evening: recordings that did not change are not read
again. The file league.toml in DIR holds seasons, points and aliases. Without it,
addresses and chat are not published.`,
		Example: `  bcdissect league evenings
  bcdissect league evenings -o public/league
  bcdissect league evenings -T json | jq '.matches[].match.verdict'
  bcdissect league evenings --watch --post webhook.txt`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.Run(s, args[0]) },
	}
	f.Define(cmd)
	return cmd
}
