package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report/histogram"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/table"
)

func newStats(s cli.Streams) *cobra.Command {
	var f cli.Common
	var links bool
	cmd := &cobra.Command{
		Use:   "stats FILE...",
		Short: "Count opcodes, directions, bytes and ship updates",
		Long: `Stats counts the traffic in capture files: opcodes with their shares, bytes and
directions, transport messages, fragments, repetitions, and the fields of ship
updates. It counts a message once: repetitions have their own count, and
fragments count when the message is complete.

--network measures connections instead: round trips, repetitions, losses and
silence of each player and direction, and how regularly ship updates come.`,
		Example: `  # see which messages fill a capture
  bcdissect stats battle.pcap
  # get the most frequent message for a program
  bcdissect stats battle.pcap -T json | jq '.opcodes[0]'
  # find out who lagged
  bcdissect stats battle.pcap --network`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if links {
				return networkStats(&f, s, cmd, args)
			}
			if err := cli.CheckEffect(cmd, f.Format.Value); err != nil {
				return err
			}
			t := new(measure.Tally)
			return summarize(&f, s, args, t, func(out *cli.Output, o table.Options, c *reading.Counts) error {
				c.Fill(t)
				switch f.Format.Value {
				case "json":
					return ndjson.Stats(out, t)
				case "table":
					return table.Stats(out.Text(), t, o)
				}
				return histogram.Write(out.Text(), t, histogram.Options{Width: o.Width, Color: o.Color, ASCII: o.ASCII})
			})
		},
	}
	f.Define(cmd, "histogram", "table", "json", "histogram")
	f.DefineJobs(cmd)
	cmd.Flags().BoolVar(&links, "network", false, "measure round trips, losses, silence and ship updates (a table or -T json)")
	return cmd
}

// errBars is the error for link measurements as a histogram.
var errBars = errors.New("--network: not available as a histogram; use -T table or -T json")

// networkStats reads captures and reports their link measurements.
func networkStats(f *cli.Common, s cli.Streams, cmd *cobra.Command, args []string) error {
	switch {
	case !cmd.Flags().Changed("format"):
		f.Format.Value = "table"
	case f.Format.Value == "histogram":
		return errBars
	}
	if err := cli.CheckEffect(cmd, f.Format.Value); err != nil {
		return err
	}
	m := new(measure.Meter)
	return summarize(f, s, args, m, func(out *cli.Output, o table.Options, _ *reading.Counts) error {
		if f.Format.Value == "json" {
			return ndjson.Network(out, m, nil)
		}
		return table.Network(out.Text(), m, o)
	})
}
