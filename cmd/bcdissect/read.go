package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/csv"
	"github.com/bcdissect/bcdissect/report/histogram"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/table"
)

func newRead(s streams) *cobra.Command {
	var f common
	var w watching
	var m messages
	cmd := &cobra.Command{
		Use:   "read FILE...",
		Short: "Decode captures and report every message",
		Long: `Read decodes capture files and reports every message in them.

FILE is pcap or pcapng, plain, gzip or zstd; "-" is standard input. Several
files are read one after another as one stream. Undecodable bytes are part of
the report and never change the exit status, unless --strict is given.`,
		Example: `  bcdissect read battle.pcap
  bcdissect read battle.pcap -V -x | less -R
  bcdissect read battle.pcap -T csv -e rel -e StateUpdate.object_name -e StateUpdate.speed
  bcdissect read battle.pcap -T json | jq 'select(.name == "Chat") | .fields.text'
  dumpcap -i eth0 -w - | bcdissect read -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.check(cmd); err != nil {
				return err
			} else if w.on {
				return w.read(&f, s, args)
			}
			if err := m.check(&f, cmd); err != nil {
				return err
			}
			live := slices.Contains(args, "-")
			return f.run(s, args, func(out *output, start time.Time) (report.Sink, func(*counts) error) {
				return m.sink(&f, out, start, live && out.terminal)
			})
		},
	}
	f.define(cmd, "table", "table", "json", "histogram", "csv")
	m.define(&f, cmd)
	w.define(cmd)
	return cmd
}

// messages are the flags of a report that shows every message.
type messages struct{ verbose, hex, payload bool }

func (m *messages) define(f *common, cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringSliceVarP(&f.columns, "fields", "e", nil, "csv: a column, repeatable: a key or field path of the JSON")
	completeFilter(cmd, "fields")
	fl.BoolVarP(&m.verbose, "verbose", "V", false, "table: all fields as a tree with offsets and bytes")
	fl.BoolVarP(&m.hex, "hex", "x", false, "table: hex dump of the deciphered message")
	fl.BoolVar(&m.payload, "payload", false, "json: the complete game payload as hex")
}

// check sees to it that csv has columns, and what has columns is csv.
func (m *messages) check(f *common, cmd *cobra.Command) error {
	if len(f.columns) > 0 && !cmd.Flags().Changed("format") {
		f.format.value = "csv"
	}
	if (f.format.value == "csv") != (len(f.columns) > 0) {
		return errors.New("csv has the columns that -e names, such as -T csv -e frame -e StateUpdate.speed")
	}
	return nil
}

// sink makes the sink of the format. A live one writes every message at once.
func (m *messages) sink(f *common, out *output, start time.Time, live bool) (report.Sink, func(*counts) error) {
	color := out.colored(f.color.value)
	switch f.format.value {
	case "csv":
		return csv.New(out, f.columns, ndjson.Options{Payload: true, Start: start}), nil
	case "json":
		return ndjson.New(out, ndjson.Options{Payload: m.payload, Start: start, Live: live}), nil
	case "histogram":
		t := new(measure.Tally)
		return t, func(c *counts) error {
			c.fill(t)
			return histogram.Write(out.text(), t, histogram.Options{Width: out.width, Color: color, ASCII: out.ascii})
		}
	}
	return table.New(out.text(), table.Options{
		Color: color, ASCII: out.ascii, Width: out.width, Verbose: m.verbose, Hex: m.hex, Start: start, Live: live,
	}), nil
}

func newStats(s streams) *cobra.Command {
	var f common
	var links bool
	cmd := &cobra.Command{
		Use:   "stats FILE...",
		Short: "Count what captures consist of: opcodes, directions, bytes, ship updates",
		Long: `Stats counts what is in capture files: opcodes with shares, bytes and
directions, transport messages, fragments and repetitions, and which fields the
ship updates carry. A message counts once: repetitions are counted apart, and
fragments when they are complete.

With --network it measures instead: round trips, repetitions, losses and silence
of each player and direction, and how regularly the updates of ships come.`,
		Example: `  bcdissect stats battle.pcap
  bcdissect stats battle.pcap -T json | jq '.opcodes[0]'
  bcdissect stats battle.pcap --network`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if links {
				return f.networkStats(s, cmd, args)
			}
			return f.run(s, args, func(out *output, _ time.Time) (report.Sink, func(*counts) error) {
				t := new(measure.Tally)
				return t, func(c *counts) error {
					c.fill(t)
					color := out.colored(f.color.value)
					switch f.format.value {
					case "json":
						return ndjson.Stats(out, t)
					case "table":
						return table.Stats(out.text(), t, table.Options{Color: color, ASCII: out.ascii, Width: out.width})
					}
					return histogram.Write(out.text(), t, histogram.Options{Width: out.width, Color: color, ASCII: out.ascii})
				}
			})
		},
	}
	f.define(cmd, "histogram", "table", "json", "histogram")
	cmd.Flags().BoolVar(&links, "network", false, "measure round trips, losses, silence and ship updates; a table unless -T json")
	return cmd
}

// counts are what the reader of a capture knows and a sink does not.
type counts struct {
	capture  capture.Stats
	pipeline dissect.Stats
}

// fill puts the counts into a tally.
func (c *counts) fill(t *measure.Tally) {
	t.Frames = int64(c.capture.Frames)
	t.Duration = c.capture.LastTime.Sub(c.capture.FirstTime)
	t.Other = int64(c.pipeline.Other)
}

// warn tells what the report does not: frames that could not be looked at.
func warn(s streams, c capture.Stats) {
	say := func(n int, format string, args ...any) {
		if n > 0 {
			fmt.Fprintf(s.err, "bcdissect: %d %s\n", n, fmt.Sprintf(format, args...))
		}
	}
	for _, l := range c.Other.Links {
		say(l.Frames, "frames were passed over: their link type %d is not known here", l.Type)
	}
	say(c.Other.NoInterface, "frames were passed over: the file does not describe their interface")
	say(c.Other.Oversized, "frames were passed over: they are too large to be looked at")
	say(c.Evicted, "datagrams in IP fragments were given up: too old, too many or contradictory")
	say(c.Unfinished, "datagrams in IP fragments lack some of them")
}

// errEnough ends a reading that has shown as many records as asked for.
var errEnough = errors.New("enough")

// run reads the captures into a sink.
func (f *common) run(s streams, names []string, makeSink sinkMaker) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	if err := spare(f.output, s.in, append(slices.Clone(names), f.defined...)...); err != nil {
		return err
	}
	src, err := capture.OpenAll(names, s.in)
	if err != nil {
		return ofCapture(err)
	}
	all := &files{Series: src}
	defer func() { _ = all.Close() }() // nothing was written
	return f.report(s, cfg, all, makeSink)
}

// A source is where datagrams come from.
type source interface {
	packet.Source
	Stats() capture.Stats
	Progress() (read, size int64)
}

// A sinkMaker makes the sink of a report that begins at a time, and what is
// left to do when everything has been read, which may be nil.
type sinkMaker func(out *output, start time.Time) (sink report.Sink, finish func(*counts) error)

// report reads a source into a sink.
func (f *common) report(s streams, cfg dissect.Config, src source, makeSink sinkMaker) (err error) {
	out, err := openOutput(f.output, s)
	if err != nil {
		return err
	}
	defer func() {
		if e := out.Close(); e != nil && err == nil {
			err = failed(plainPath(f.output, e))
		}
	}()

	first, readErr := src.Next()
	if err := f.begin(src.Stats().FirstTime); err != nil {
		return err
	}
	r := reading{common: f, s: s, cfg: cfg, src: src, out: out, makeSink: makeSink, start: src.Stats().FirstTime}
	sink, finish := makeSink(out, r.start)
	r.one = r.newReader(&f.selection, sink)
	r.one.left = f.count
	r.progress = newProgress(s, f.noProgress || out.terminal && finish == nil)
	defer r.progress.done()
	if f.verify {
		defer func() {
			v := r.one.verify
			fmt.Fprintf(s.err, "bcdissect: verify: %d messages and %d datagrams were encoded anew, %d differ\n",
				v.Messages, v.Datagrams, v.Differ)
		}()
	}
	if readErr == nil {
		readErr, err = r.all(first)
	}
	if err == nil {
		err = r.one.flush()
	}
	if err := f.ended(s, err, &r, sink, finish); err != nil || r.enough {
		return err
	}
	if !errors.Is(readErr, io.EOF) {
		return ofCapture(readErr)
	}
	return f.judged(r.one)
}

// judged returns what --strict makes of the records.
func (f *common) judged(c *reader) error {
	switch {
	case !f.strict:
	case c.pipeline.Stats().Malformed > 0:
		return &status{code: exitMalformed, err: errors.New("some of the traffic was malformed (--strict)")}
	case c.verify != nil && c.verify.Differ > 0:
		return &status{code: exitMalformed, err: errors.New("some of the traffic is not encoded again as it was (--strict)")}
	}
	return nil
}

// ofCapture gives an error of reading its exit status: one of its own if
// captures were cut short or damaged, and nothing else was the matter.
func ofCapture(err error) error {
	if onlyDamage(err) {
		return &status{code: exitDamaged, err: err}
	}
	return failed(err)
}

func onlyDamage(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			if !onlyDamage(e) {
				return false
			}
		}
		return true
	}
	return errors.Is(err, capture.ErrCut) || errors.Is(err, capture.ErrDamaged)
}

// ended closes the sink after all records, or after as many as asked for.
func (f *common) ended(s streams, err error, r *reading, sink report.Sink, finish func(*counts) error) error {
	r.progress.done()
	r.enough = errors.Is(err, errEnough)
	if err != nil && !r.enough {
		return failed(err)
	}
	if e := sink.Close(); e != nil {
		return failed(e)
	}
	warn(s, r.src.Stats())
	if finish != nil {
		if e := finish(&counts{r.src.Stats(), r.one.pipeline.Stats()}); e != nil {
			return failed(e)
		}
	}
	if r.enough {
		return f.judged(r.one)
	}
	return nil
}

// A reader hands records to a sink and keeps count of them.
type reader struct {
	pipeline *dissect.Pipeline
	verify   *dissect.Verifier // nil unless asked for
	wanted   *selection
	sink     report.Sink
	left     int // records still to show, 0 for no limit
}

// flush takes what never became complete.
func (c *reader) flush() error { return c.pipeline.Flush(c.emit()) }

// emit returns what takes the pipeline's records.
func (c *reader) emit() func(*dissect.Record) error {
	if c.wanted.all && c.verify == nil && c.left == 0 {
		return c.sink.Record
	}
	return c.record
}

func (c *reader) record(r *dissect.Record) error {
	if c.verify != nil {
		if differs := c.verify.Check(r); differs != "" {
			r.Notes = append(r.Notes, dissect.Note{Code: "verify", Text: differs})
		}
	}
	if !c.wanted.match(r) {
		return nil
	}
	if err := c.sink.Record(r); err != nil {
		return err
	}
	if c.left > 0 {
		if c.left--; c.left == 0 {
			return errEnough
		}
	}
	return nil
}
