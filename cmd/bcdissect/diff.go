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
	masked  bool // a file contains pseudonyms
}

func newDiff(s cli.Streams) *cobra.Command {
	var f comparing
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two captures or logs of the same session",
		Long: `Diff compares two captures or logs: one match seen from host and client, or one
script played to two servers. It pairs the conversations by player and content,
and aligns their messages. It reports messages that one file lacks, that have
other fields, or that come in another order.

Ids of players and objects and addresses may differ if each has one counterpart.
Diff does not compare clocks, retransmissions, acknowledgements, keepalives and
the division into datagrams. It shows times, and --timing makes them
differences.

If a file is an anonymised copy, diff compares names, chat and other text only
by length. The exit status is 0 if the files are equal and 4 if not.`,
		Example: `  # see what a client got otherwise than the host sent it
  bcdissect diff host.pcap client.pcap
  # compare only players of both, and report what is 100 ms early or late
  bcdissect diff host.pcap client.pcap --common --timing 100ms
  # compare two servers, without ship updates
  bcdissect diff stock.pcapng openbc.pcapng -Y 'name != "StateUpdate"'
  # compare a capture with a server's log
  bcdissect diff evening.pcap packet_trace.log -p 22101
  # get the differences for a program
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
	fl.DurationVar(&f.Timing, "timing", 0, "report messages more than this `TIME` earlier or later, such as 50ms")
	fl.BoolVar(&f.lengths, "anonymized", false, "compare only the length of texts (default for copies that anonymize wrote)")
	fl.BoolVar(&f.Both, "common", false, "ignore conversations that only one file has")
	return cmd
}

func (f *comparing) run(s cli.Streams, names []string, chosen bool) error {
	if f.Timing < 0 {
		return fmt.Errorf("--timing %v: cannot be negative", f.Timing)
	}
	if names[0] == "-" && names[1] == "-" {
		return errors.New("diff: only one of the files can be standard input; name the other")
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
		return cli.Failed(errors.New("neither file has messages of the game, so there is nothing to compare"))
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

// read reads a file into a sink. It reads a damaged file up to the damage.
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

// explain reads the files again to find the messages that differ. It does
// nothing if one of them came from a pipe.
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
			cli.Say(s.Err, "%s: can be read only once, so differences have no fields; save it as a file", name)
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
