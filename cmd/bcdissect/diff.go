package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/dissect/conform/diff"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/table"
)

// comparing are the flags of diff.
type comparing struct {
	cli.Common
	diff.Options

	lengths bool
	damaged error
	masked  bool // a file holds pseudonyms
}

func newDiff(s cli.Streams) *cobra.Command {
	var f comparing
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two captures or logs of the same session",
		Long: `Diff compares two captures or logs: the same match seen from host and client,
or the same script played to two servers. It finds the conversations that belong
together, by player and content, aligns their messages, and reports those that
one file lacks, that differ, field by field, and that come in another order.

Ids of players and objects and addresses may differ if each has one counterpart.
Clocks, retransmissions, acknowledgements, keepalives and the division into
datagrams are not compared. Times are shown; --timing makes them differences.

If a file is an anonymised copy, names, chat and other text are compared by
length alone. The exit status is 0 if the files are equal and 4 if not.`,
		Example: `  bcdissect diff host.pcap client.pcap
  bcdissect diff host.pcap client.pcap --common --timing 100ms
  bcdissect diff stock.pcapng openbc.pcapng -Y 'name != "StateUpdate"'
  bcdissect diff evening.pcap packet_trace.log -p 22101
  bcdissect diff a.pcap b.pcap -T json | jq '.findings[]'`,
		Args:    cobra.ExactArgs(2),
		PreRunE: f.CheckForm,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(s, args, cmd.Flags().Changed("anonymized"))
		},
	}
	f.DefineReport(cmd, "table", "table", "json")
	f.DefinePorts(cmd)
	f.DefineJobs(cmd)
	fl := cmd.Flags()
	fl.DurationVar(&f.Timing, "timing", 0, "report messages more than this `TIME` earlier or later, as 50ms")
	fl.BoolVar(&f.lengths, "anonymized", false, "compare text by length alone; the default for copies that anonymize wrote")
	fl.BoolVar(&f.Both, "common", false, "leave out conversations that only one file holds")
	return cmd
}

func (f *comparing) run(s cli.Streams, names []string, chosen bool) error {
	if f.Timing < 0 {
		return fmt.Errorf("--timing %v: cannot be negative", f.Timing)
	}
	if names[0] == "-" && names[1] == "-" {
		return errors.New("diff: standard input can be only one of the files")
	}
	if err := cli.CheckOverwrite(f.Output, s.In, append(slices.Clone(names), f.Defined...)...); err != nil {
		return err
	}
	a, b, err := f.both(s, names)
	if err != nil {
		return err
	}
	if f.masked && !f.lengths && !chosen {
		f.lengths = true
		if !cli.Rereadable(names...) {
			return cli.Failed(errors.New("diff: a file is an anonymised copy; use --anonymized"))
		}
		quiet := s
		quiet.Err = io.Discard
		f.damaged = nil
		if a, b, err = f.both(quiet, names); err != nil {
			return err
		}
	}
	if len(a.Conversations()) == 0 && len(b.Conversations()) == 0 {
		return cli.Failed(errors.New("neither file holds messages of the game: there is nothing to compare"))
	}
	r := diff.Compare(a, b, f.Options)
	if err := f.explain(s, names, r); err != nil {
		return err
	}
	if err := f.write(s, names, r); err != nil {
		return err
	}
	switch {
	case f.damaged != nil:
		return &cli.StatusError{Code: cli.ExitDamaged, Err: f.damaged}
	case !r.Equal():
		return &cli.StatusError{Code: cli.ExitDiffers}
	}
	return nil
}

// both reads both files.
func (f *comparing) both(s cli.Streams, names []string) (a, b *diff.Capture, err error) {
	a, b = diff.New()
	for i, c := range []*diff.Capture{a, b} {
		c.Lengths = f.lengths
		if err := f.read(s, names[i], c); err != nil {
			return nil, nil, err
		}
	}
	return a, b, nil
}

// read reads a file into a sink. A file that is cut short or damaged is read as
// far as possible.
func (f *comparing) read(s cli.Streams, name string, sink report.Sink) error {
	one := f.Common
	one.Output = ""
	err := reading.Captures(&one, s, []string{name}, func(*cli.Output, time.Time) (report.Sink, func(*reading.Counts) error) {
		return sink, func(c *reading.Counts) error {
			f.masked = f.masked || c.Anonymous()
			return nil
		}
	})
	if code := (*cli.StatusError)(nil); errors.As(err, &code) && code.Code == cli.ExitDamaged {
		f.damaged = errors.Join(f.damaged, err)
		return nil
	}
	return err
}

// explain reads the files again for the messages in which they differ, unless one
// came from a pipe.
func (f *comparing) explain(s cli.Streams, names []string, r *diff.Report) error {
	if r.Found == 0 {
		return nil
	}
	damaged := f.damaged
	defer func() { f.damaged = damaged }()
	quiet := s
	quiet.Err = io.Discard
	for i, name := range names {
		if !cli.Rereadable(name) {
			cli.Say(s.Err, "%s: not a file that can be read twice; the fields of differences are left out", name)
			return nil
		}
		if err := f.read(quiet, name, diff.NewFinder(r, i == 1)); err != nil {
			return err
		}
	}
	r.Explain()
	return nil
}

func (f *comparing) write(s cli.Streams, names []string, r *diff.Report) error {
	catalog, err := f.Catalog()
	if err != nil {
		return err
	}
	two := [2]string{names[0], names[1]}
	return cli.WriteOutput(f.Output, s, func(out *cli.Output) error {
		if f.Format.Value == "json" {
			return ndjson.Diff(out, r, two, catalog)
		}
		return table.Diff(out.Text(), r, two, catalog, look(out, &f.Color))
	})
}
