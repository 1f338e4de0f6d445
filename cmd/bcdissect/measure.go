package main

import (
	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/table"
)

func newMeasure(s cli.Streams) *cobra.Command {
	var f cli.Common
	cmd := &cobra.Command{
		Use:   "measure FILE...",
		Short: "Measure a host's habits next to the stock game's",
		Long: `Measure shows what a host does, next to what the stock game's host does, and
names the frames behind each number. It measures:

- the messages in a datagram
- the times between repetitions
- the times between updates of a ship, also at rest and cloaked
- the steps of a join
- the host's copies of each opcode
- the start indices of subsystem blocks, by ship class`,
		Example: `  # compare a host's habits with those of the stock game
  bcdissect measure evening.pcap
  # measure what a server logged
  bcdissect measure packet_trace.log
  # list the names of the measures
  bcdissect measure evening.pcap -T json | jq '.figures[].name'`,
		Args:    cobra.MinimumNArgs(1),
		PreRunE: f.CheckForm,
		RunE: func(_ *cobra.Command, args []string) error {
			h := new(measure.Habits)
			return summarize(&f, s, args, h, func(out *cli.Output, o table.Options, _ *reading.Counts) error {
				if f.Format.Value == "json" {
					return ndjson.Measure(out, h)
				}
				return table.Measure(out.Text(), h, o)
			})
		},
	}
	f.DefineReport(cmd, "table", "table", "json")
	f.DefinePorts(cmd)
	f.DefineJobs(cmd)
	return cmd
}
