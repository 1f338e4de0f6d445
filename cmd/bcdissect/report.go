package main

import (
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/table"
)

// look returns the options of tables for an output and a flag --color.
func look(out *cli.Output, color *cli.Choice) table.Options {
	return table.Options{Color: out.Colored(color.Value), ASCII: out.ASCII, Width: out.Width}
}

// summarize reads captures into a sink. Then it calls write, which reports the
// result as JSON or in another format.
func summarize(f *cli.Common, s cli.Streams, names []string, sink report.Sink, write func(out *cli.Output, o table.Options, c *reading.Counts) error) error {
	return reading.Captures(f, s, names, func(out *cli.Output, start time.Time) (report.Sink, func(*reading.Counts) error) {
		return sink, func(c *reading.Counts) error {
			o := look(out, &f.Color)
			o.Start = start
			return write(out, o, c)
		}
	})
}
