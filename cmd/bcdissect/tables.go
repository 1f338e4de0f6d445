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
connections, and one table for each message. A file is
DIR/kills/part=evening.pcap/part.parquet, for example.

Adding a capture adds files. Tables skips captures that are there already. The
parts of a recording are one capture. --views prints SQL that answers who won,
who kills whom and more.`,
		Example: `  # write the tables of a season
  bcdissect tables league *.pcap.gz
  # ask them who won most, with DuckDB
  bcdissect tables league --views duckdb >league.sql
  duckdb -init league.sql -c "from wins order by wins desc"
  # join small files, so that engines read faster
  bcdissect tables league --compact
  # take one evening out again
  bcdissect tables league monday.pcap.gz --remove
  # share the work: this is the first of four programs
  bcdissect tables league *.pcap.gz --shard 0/4
  # write CSV instead of Parquet
  bcdissect tables league *.pcap.gz -T csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.Run(s, args[0], args[1:]) },
	}
	f.Define(cmd)
	return cmd
}
