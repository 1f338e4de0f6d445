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
players, kills and chat, all records, ship updates, connections, and a table for
each message. A file is a partition: DIR/kills/capture=evening/part.parquet.

Adding a capture adds files. Captures that are there are skipped; a capture with
a row in the table captures is there as a whole.`,
		Example: `  bcdissect tables league *.pcap.gz
  duckdb -c "select name, count(*) from 'league/records/*/*.parquet' group by 1"
  bcdissect tables league *.pcap.gz -T csv
  bcdissect tables league evening.pcap --replace`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error { return f.Run(s, args[0], args[1:]) },
	}
	f.Define(cmd)
	return cmd
}
