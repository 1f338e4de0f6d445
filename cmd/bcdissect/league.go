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

Run league again after each evening. It reads only new and changed recordings.
The file league.toml in DIR holds seasons, points and aliases. Without this
file, the site shows no addresses and no chat.`,
		Example: `  # make the site evenings/site
  bcdissect league evenings
  # make the site in another folder
  bcdissect league evenings -o public/league
  # get the results for a program
  bcdissect league evenings -T json | jq '.matches[].match.verdict'
  # keep the site up to date, and post each result to a chat room
  bcdissect league evenings --watch --post webhook.txt`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.Run(s, args[0]) },
	}
	f.Define(cmd)
	return cmd
}
