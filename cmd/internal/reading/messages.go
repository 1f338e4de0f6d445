package reading

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/csv"
	"github.com/bcdissect/bcdissect/report/histogram"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/table"
)

// Messages are the flags of a report that shows every message.
type Messages struct{ verbose, hex, payload bool }

// Define defines the flags.
func (m *Messages) Define(f *cli.Common, cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringSliceVarP(&f.Columns, "fields", "e", nil, "csv: column, a key or `FIELD` of the JSON, repeatable")
	cli.CompleteFilter(cmd, "fields")
	fl.BoolVarP(&m.verbose, "verbose", "V", false, "table: all fields as a tree with offsets and bytes")
	fl.BoolVarP(&m.hex, "hex", "x", false, "table: hex dump of the deciphered message")
	fl.BoolVar(&m.payload, "payload", false, "json: the complete game payload as hex")
}

// Check chooses the form of the report and refuses flags that do not fit it.
func (m *Messages) Check(f *cli.Common, cmd *cobra.Command) error {
	if len(f.Columns) > 0 && !cmd.Flags().Changed("format") {
		f.Format.Value = "csv"
	}
	if f.Format.Value == "csv" && len(f.Columns) == 0 {
		f.Columns = csv.Usual
	}
	return cli.CheckEffect(cmd, f.Format.Value)
}

// Sink makes the sink of the format. A live one writes every message at once.
func (m *Messages) Sink(f *cli.Common, out *cli.Output, start time.Time, live bool) (report.Sink, func(*Counts) error) {
	color := out.Colored(f.Color.Value)
	switch f.Format.Value {
	case "csv":
		return csv.New(out, f.Columns, ndjson.Options{Payload: true, Start: start}), nil
	case "json":
		return ndjson.New(out, ndjson.Options{Payload: m.payload, Start: start, Live: live}), nil
	case "histogram":
		t := new(measure.Tally)
		return t, func(c *Counts) error {
			c.Fill(t)
			return histogram.Write(out.Text(), t, histogram.Options{Width: out.Width, Color: color, ASCII: out.ASCII})
		}
	}
	return table.New(out.Text(), table.Options{
		Color: color, ASCII: out.ASCII, Width: out.Width, Verbose: m.verbose, Hex: m.hex, Start: start, Live: live,
	}), nil
}
