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
		Short: "Measure a host's habits beside the stock game's",
		Long: `Measure shows numbers of a capture or log beside the known ones of the stock
game, with the frames behind each: messages in a datagram, times between
repetitions, times between updates of each ship for each receiver, at rest and
cloaked, the steps of a join, the host's copies of each opcode, and the start
indices of subsystem blocks of each class.`,
		Example: `  bcdissect measure evening.pcap
  bcdissect measure packet_trace.log
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
