package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/table"
)

// errBars is what asking for measurements as a histogram is.
var errBars = errors.New("--network: there is no histogram of it, use -T table or -T json")

// networkStats reads captures and reports what was measured of their links.
func (f *common) networkStats(s streams, cmd *cobra.Command, args []string) error {
	switch {
	case !cmd.Flags().Changed("format"):
		f.format.value = "table"
	case f.format.value == "histogram":
		return errBars
	}
	return f.run(s, args, func(out *output, start time.Time) (report.Sink, func(*counts) error) {
		m := new(measure.Meter)
		return m, func(*counts) error {
			if f.format.value == "json" {
				return ndjson.Network(out, m)
			}
			return table.Network(out.text(), m, table.Options{Color: out.colored(f.color.value), ASCII: out.ascii, Width: out.width, Start: start})
		}
	})
}
