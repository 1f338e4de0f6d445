package reading

import (
	"errors"
	"fmt"
	"strings"
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

// Messages are the flags of a report that shows each message.
type Messages struct {
	verbose, hex, payload, brief bool
	time                         cli.Choice
	options                      []string // options of columns
	form                         csv.Form
}

// times are the formats of times by name, including tshark's names.
var times = map[string]table.Times{
	"relative": table.Relative, "clock": table.Clock, "date": table.Date, "utc": table.UTC, "utc-date": table.UTCDate,
	"delta": table.Delta, "shown": table.Shown, "epoch": table.Epoch,
}

// Define defines the flags.
func (m *Messages) Define(f *cli.Common, cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringSliceVarP(&f.Columns, "fields", "e", nil, "columns, or keys of -T json: a key or `FIELD`, repeatable")
	fl.StringArrayVarP(&m.options, "field-options", "E", nil, "csv, fields: `OPTION` of the rows: header=y|n, separator=CHAR|/t|/s, quote=d|s|n, repeatable")
	fl.BoolVarP(&f.NoNames, "no-names", "n", false, "addresses and ids in place of the names of players and objects")
	f.CompleteColumns(cmd, "fields")
	m.time = cli.NewChoice("relative", "relative", "clock", "date", "utc", "utc-date", "delta", "shown", "epoch")
	m.time.Alias(map[string]string{"r": "relative", "a": "clock", "ad": "date", "u": "utc", "ud": "utc-date", "d": "delta", "dd": "shown", "e": "epoch"})
	fl.VarP(&m.time, "time", "t", "table: time of each message; also by tshark's names, such as ad")
	m.time.Complete(cmd, "time")
	fl.BoolVar(&m.brief, "brief", false, "table: each message once, no acknowledgements, a line for each ship and second")
	fl.BoolVarP(&m.verbose, "verbose", "V", false, "table: all fields as a tree with offsets and bytes")
	fl.BoolVarP(&m.hex, "hex", "x", false, "table: hex dump of the deciphered message")
	fl.BoolVar(&m.payload, "payload", false, "json: the complete game payload as hex")
}

// Check chooses the format of the report. It returns an error for flags that do
// not fit it.
func (m *Messages) Check(f *cli.Common, cmd *cobra.Command) error {
	if len(f.Columns) > 0 && !cmd.Flags().Changed("format") {
		f.Format.Value = "csv"
	}
	if err := cli.CheckEffect(cmd, f.Format.Value); err != nil {
		return err
	}
	if m.brief && (m.verbose || m.hex) {
		return errors.New("--brief: shows no fields or bytes; drop -V and -x")
	}
	if m.brief {
		f.EachOnce()
	}
	if m.brief || m.time.Value == "shown" {
		f.Jobs = 1 // a line depends on the lines before it
	}
	switch f.Format.Value {
	case "json":
		if m.form.JSON = len(f.Columns) > 0; m.form.JSON && m.payload {
			return errors.New("--payload: no effect with -e; add -e payload")
		}
	case "fields":
		m.form = csv.Form{Separator: '\t', NoHeader: true, Quote: csv.QuoteNone, Raw: true}
	case "csv":
	default:
		return nil
	}
	if len(f.Columns) == 0 && f.Format.Value != "json" {
		f.Columns = csv.Usual
	}
	for _, o := range m.options {
		if err := setOptions(&m.form, o); err != nil {
			return fmt.Errorf("--field-options %s: %w", o, err)
		}
	}
	return nil
}

// setOptions sets options of columns, which are separated by commas as in
// header=y,separator=;.
func setOptions(form *csv.Form, text string) error {
	for text != "" {
		name, rest, ok := strings.Cut(text, "=")
		value := rest
		text = ""
		for _, next := range []string{",header=", ",separator=", ",quote="} {
			if at := strings.Index(rest, next); at >= 0 && at < len(value) {
				value, text = rest[:at], rest[at+1:]
			}
		}
		switch {
		case !ok:
			return errors.New("give NAME=VALUE, such as header=y")
		case name == "header" && (value == "y" || value == "n"):
			form.NoHeader = value == "n"
		case name == "separator" && value == "/t":
			form.Separator = '\t'
		case name == "separator" && value == "/s":
			form.Separator = ' '
		case name == "separator" && len(value) == 1 && value[0] >= ' ' && value[0] <= '~' && value != `"` && value != "'":
			form.Separator = value[0]
		case name == "quote" && value == "d":
			form.Quote = csv.QuoteDouble
		case name == "quote" && value == "s":
			form.Quote = csv.QuoteSingle
		case name == "quote" && value == "n":
			form.Quote = csv.QuoteNone
		case name == "header":
			return errors.New("header is y or n")
		case name == "separator":
			return errors.New("separator is a character, /t for a tab or /s for a space")
		case name == "quote":
			return errors.New("quote is d for double quotes, s for single ones or n for none")
		default:
			return fmt.Errorf("no such option %q; the options are header, separator and quote", name)
		}
	}
	return nil
}

// Sink makes the sink for the format. If live is set, it writes each message
// without delay.
func (m *Messages) Sink(f *cli.Common, out *cli.Output, start time.Time, live bool) (report.Sink, func(*Counts) error) {
	color := out.Colored(f.Color.Value)
	switch f.Format.Value {
	case "csv", "fields":
		m.form.Mark = f.Format.Value == "csv" && (out.File || f.Output != "" && f.Output != "-")
		return csv.New(out, f.Columns, m.form, ndjson.Options{Payload: true, Start: start, Live: live}), nil
	case "json":
		if len(f.Columns) > 0 {
			return csv.New(out, f.Columns, m.form, ndjson.Options{Payload: true, Start: start, Live: live}), nil
		}
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
		Times: times[m.time.Value], Zone: time.Local, Brief: m.brief,
	}), nil
}
