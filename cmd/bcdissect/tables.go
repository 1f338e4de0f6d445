package main

import (
	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/partitions"
)

func newTables(s cli.Streams) *cobra.Command {
	var f partitions.Flags
	cmd := &cobra.Command{
		Use:   "tables DIR FILE...",
		Short: "Write captures as Parquet tables for DuckDB, ClickHouse, Spark",
		Long: `Tables writes each capture into the folder DIR as typed tables: matches,
results, players, kills, damage and chat, all records, ship updates,
connections, and a table for each message, such as
DIR/kills/part=evening.pcap/part.parquet.

Adding a capture adds files. Captures that are there are skipped; a capture with
a row in the table captures is there as a whole. The parts of a recording are
one capture. --views prints SQL that answers who won, who kills whom and more.`,
		Example: `  bcdissect tables league *.pcap.gz
  bcdissect tables league --views duckdb >league.sql
  duckdb -init league.sql -c "from wins order by wins desc"
  bcdissect tables league --compact
  bcdissect tables league evening.pcap --remove
  bcdissect tables league *.pcap.gz --shard 0/4
  bcdissect tables league *.pcap.gz -T csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.Run(s, args[0], args[1:]) },
	}
	f.Define(cmd)
	return cmd
}
