package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/acmi"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/page"
	"github.com/bcdissect/bcdissect/report/table"
)

func newSession(s cli.Streams) *cobra.Command {
	var f cli.Common
	var o sessionFlags
	cmd := &cobra.Command{
		Use:   "session FILE...",
		Short: "Show matches: players, winners, kills and connection quality",
		Long: `Session tells the story of captures: the matches in them, players and ships,
scores, kills with weapon and distance, chat, and the quality of each player's
connection.

Name several files for several evenings, the parts of a recording, or recordings
of one match by several players. Each match counts once. A league table adds
them up.

The ending of the file of -o chooses the form of the report: .html is a page for
a browser, with the flights to watch, .acmi and .zip.acmi are for Tacview, and
.json is the whole model. With .txt or no ending, the file has the text that you
see without -o.`,
		Example: `  # see who played, and who won
  bcdissect session evening.pcap
  # list all events in order
  bcdissect session evening.pcap --events
  # get the kills for a program
  bcdissect session evening.pcap -T json | jq '.matches[].kills'
  # make a page with the replay
  bcdissect session evening.pcap -o evening.html
  # fly along in Tacview
  bcdissect session evening.pcap -o evening.acmi
  # add up several evenings
  bcdissect session *.pcap`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(&f, cmd); err != nil {
				return err
			}
			return o.run(&f, s, args)
		},
	}
	f.DefineFormat(cmd, "table", "table", "json")
	f.DefineReading(cmd)
	f.DefineJobs(cmd)
	f.DefinePorts(cmd)
	cmd.Flags().BoolVar(&o.events, "events", false, "table: list all events in order")
	cmd.Flags().BoolVar(&o.tracks, "tracks", false, "json: include the flight of each ship")
	return cmd
}

// sessionFlags are the flags of the command session.
type sessionFlags struct {
	events, tracks bool
	form           string // format of the report
}

// sessionForms are the formats of reports, by the suffix of the file name.
var sessionForms = map[string]string{
	".html": cli.FormPage, ".htm": cli.FormPage, ".acmi": cli.FormFlight, ".json": "json", ".txt": "table", "": "table",
}

// check finds the format of the report. It returns an error for flags that do
// not fit it.
func (o *sessionFlags) check(f *cli.Common, cmd *cobra.Command) error {
	ending := strings.ToLower(filepath.Ext(f.Output))
	form, known := sessionForms[ending]
	switch {
	case form == cli.FormPage, form == cli.FormFlight:
		o.form = form
	case cmd.Flags().Changed("format"):
		o.form = f.Format.Value
	case !known:
		return fmt.Errorf("--output %s: no report has the ending %s; choose .html, .acmi, .zip.acmi, .json or .txt, or -T", f.Output, ending)
	default:
		o.form = form
	}
	return cli.CheckEffect(cmd, o.form)
}

// run reads the captures one after another and writes the report.
func (o *sessionFlags) run(f *cli.Common, s cli.Streams, names []string) error {
	if err := cli.CheckOverwrite(f.Output, s.In, append(slices.Clone(names), f.Defined...)...); err != nil {
		return err
	}
	cfg, err := f.Config()
	if err != nil {
		return err
	}
	groups, copies := dissect.Recordings(cfg, names)
	reading.SayCopies(s, names, copies)
	var all []match.Recording
	var damaged error
	read := *f
	read.Output = ""
	for _, files := range groups {
		var b *match.Builder
		err := reading.Captures(&read, s, files, func(_ *cli.Output, start time.Time) (report.Sink, func(*reading.Counts) error) {
			b = match.New(start)
			return b, func(*reading.Counts) error { return nil }
		})
		if b != nil {
			r := match.Recording{Matches: b.Matches()}
			for _, name := range files {
				r.Files = append(r.Files, filepath.Base(name))
			}
			all = append(all, r)
		}
		switch code := (*cli.StatusError)(nil); {
		case err == nil:
		case errors.As(err, &code) && code.Code == cli.ExitDamaged && b != nil:
			damaged = errors.Join(damaged, err)
		default:
			return err
		}
	}
	if err := o.write(f, s, names, match.Merge(all)); err != nil {
		return err
	}
	if damaged != nil {
		return &cli.StatusError{Code: cli.ExitDamaged, Err: damaged}
	}
	return nil
}

// write writes the report.
func (o *sessionFlags) write(f *cli.Common, s cli.Streams, names []string, all []*match.Match) error {
	evenings := match.NewEvenings(names, all)
	return cli.WriteOutput(f.Output, s, func(out *cli.Output) error {
		switch {
		case o.form == cli.FormPage:
			return page.Write(out, all, evenings)
		case o.form == cli.FormFlight && strings.HasSuffix(strings.ToLower(f.Output), ".zip.acmi"):
			return acmi.WriteZip(out, all)
		case o.form == cli.FormFlight:
			return acmi.Write(out, all)
		case o.form == "json":
			return ndjson.Session(out, all, evenings, o.tracks)
		case len(all) == 0:
			_, err := fmt.Fprintf(out, "No match in %s.\n", report.Escape(strings.Join(names, ", ")))
			return err
		}
		return table.Session(out.Text(), all, evenings.League, table.SessionOptions{Options: look(out, &f.Color), Events: o.events})
	})
}
