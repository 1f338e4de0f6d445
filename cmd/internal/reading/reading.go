// Package reading reads captures and live traffic into reports. One goroutine
// decodes, and others read ahead and render.
package reading

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/remark"
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/report"
)

// Counts are the counts of a reader. A sink cannot compute them.
type Counts struct {
	capture  capture.Stats
	pipeline dissect.Stats
}

// CountsOf returns the counts of a capture and of its pipeline.
func CountsOf(c capture.Stats, p dissect.Stats) Counts { return Counts{c, p} }

// Fill copies the counts to a tally.
func (c *Counts) Fill(t *measure.Tally) {
	t.Frames = int64(c.capture.Frames)
	t.Duration = c.capture.LastTime.Sub(c.capture.FirstTime)
	t.Other = int64(c.pipeline.Other)
}

// Anonymous reports whether a capture contains pseudonyms.
func (c *Counts) Anonymous() bool { return c.capture.Anonymous }

// warn reports frames and datagrams that could not be read to standard error.
func warn(s cli.Streams, c capture.Stats) {
	for _, text := range remark.Of(&c) {
		fmt.Fprintf(s.Err, "bcdissect: %s\n", text)
	}
}

// distinct returns the names of files without those whose contents equal an
// earlier file. It reports these to standard error.
func distinct(s cli.Streams, names []string) []string {
	kept, copies := dissect.Distinct(names)
	SayCopies(s, names, copies)
	return kept
}

// SayCopies reports the files whose contents equal those of others.
func SayCopies(s cli.Streams, names []string, copies map[string]string) {
	said := map[string]bool{}
	for _, name := range names {
		first, isCopy := copies[name]
		switch {
		case !isCopy || said[name]:
		case first == name:
			cli.Say(s.Err, "%s is given more than once; it counts once", report.Escape(name))
		default:
			cli.Say(s.Err, "%s has the same bytes as %s; it counts once", report.Escape(name), report.Escape(first))
		}
		said[name] = isCopy
	}
}

// ErrEnough ends a reading when the requested number of records has been shown.
var ErrEnough = errors.New("enough")

// Captures reads captures into a sink.
func Captures(f *cli.Common, s cli.Streams, names []string, makeSink SinkMaker) error {
	cfg, err := f.Config()
	if err != nil {
		return err
	}
	if err := cli.CheckOverwrite(f.Output, s.In, append(slices.Clone(names), f.Defined...)...); err != nil {
		return err
	}
	names = distinct(s, names)
	src, err := capture.OpenAll(names, s.In)
	if err != nil {
		return ofCapture(err)
	}
	if f.WantsPlayer() {
		if err := learn(f, cfg, names); err != nil {
			return err
		}
	}
	all := &files{Series: src}
	defer func() { _ = all.Close() }() // it was opened only for reading
	return Report(f, s, cfg, all, makeSink)
}

// A Source provides datagrams.
type Source interface {
	packet.Source
	Stats() capture.Stats
	Progress() (read, size int64)
}

// A SinkMaker makes the sink of a report whose capture begins at a time. It
// also returns a function to call after the last record, which may be nil.
type SinkMaker func(out *cli.Output, start time.Time) (sink report.Sink, finish func(*Counts) error)

// Report reads a source into a sink.
func Report(f *cli.Common, s cli.Streams, cfg dissect.Config, src Source, makeSink SinkMaker) (err error) {
	out, err := cli.OpenOutput(f.Output, s)
	if err != nil {
		return err
	}
	defer func() {
		if e := out.Close(); e != nil && err == nil {
			err = cli.Failed(cli.PlainPath(f.Output, e))
		}
	}()

	first, readErr := src.Next()
	if err := f.Begin(src.Stats().FirstTime); err != nil {
		return err
	}
	r := reading{Common: f, s: s, cfg: cfg, src: src, out: out, makeSink: makeSink, start: src.Stats().FirstTime}
	sink, finish := makeSink(out, r.start)
	r.one = r.newReader(&f.Selection, sink)
	r.one.left = f.Count
	r.one.skim(cfg.Catalog, nil)
	r.progress = cli.NewProgress(s, f.NoProgress || out.Terminal && finish == nil)
	defer r.progress.Done()
	if f.Verify {
		defer func() {
			v := r.one.verify
			fmt.Fprintf(s.Err, "bcdissect: verify: %d %s and %d %s were encoded anew, %d %s\n",
				v.Messages, plural.Form(v.Messages, "{message|messages}"), v.Datagrams, plural.Form(v.Datagrams, "{datagram|datagrams}"),
				v.Differ, plural.Form(v.Differ, "{differs|differ}"))
		}()
	}
	if readErr == nil {
		readErr, err = r.all(first)
	}
	if err == nil {
		err = r.one.flush()
	}
	if err := r.ended(err, sink, finish); err != nil || r.enough {
		return err
	}
	if text := r.nothing(); text != "" {
		fmt.Fprintf(s.Err, "bcdissect: %s\n", text)
	}
	if readErr != nil && !errors.Is(readErr, io.EOF) {
		return ofCapture(readErr)
	}
	return r.judged(r.one)
}

// judged returns the error of --strict for the records.
func (r *reading) judged(c *reader) error {
	switch {
	case !r.Strict:
	case c.pipeline.Stats().Malformed > 0:
		return &cli.StatusError{Code: cli.ExitMalformed, Err: errors.New("some of the traffic was malformed (--strict)")}
	case c.verify != nil && c.verify.Differ > 0:
		return &cli.StatusError{Code: cli.ExitMalformed, Err: errors.New("some of the traffic encodes to other bytes (--strict)")}
	}
	return nil
}

// ofCapture adds the exit status to an error of reading. If the only problem is
// that captures were cut short or damaged, the status is ExitDamaged.
func ofCapture(err error) error {
	if OnlyDamage(err) {
		return &cli.StatusError{Code: cli.ExitDamaged, Err: err}
	}
	return cli.Failed(err)
}

// OnlyDamage reports whether an error only says that captures were cut short or
// damaged.
func OnlyDamage(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			if !OnlyDamage(e) {
				return false
			}
		}
		return true
	}
	return errors.Is(err, capture.ErrCut) || errors.Is(err, capture.ErrDamaged)
}

// ended closes the sink after all records, or after the requested number.
func (r *reading) ended(err error, sink report.Sink, finish func(*Counts) error) error {
	r.progress.Done()
	r.enough = errors.Is(err, ErrEnough)
	if err != nil && !r.enough {
		return cli.Failed(err)
	}
	if e := sink.Close(); e != nil {
		return cli.Failed(e)
	}
	warn(r.s, r.src.Stats())
	if finish != nil {
		if e := finish(&Counts{r.src.Stats(), r.one.pipeline.Stats()}); e != nil {
			return cli.Failed(e)
		}
	}
	if r.enough {
		return r.judged(r.one)
	}
	return nil
}

// A reader passes records to a sink and counts them.
type reader struct {
	pipeline *dissect.Pipeline
	needs    dissect.Needs     // parts of records that the pipeline must provide
	verify   *dissect.Verifier // nil unless the user wants verification
	wanted   *cli.Selection
	sink     report.Sink
	left     int            // number of records still to show, 0 for no limit
	nameless bool           // show records without the names of players and objects
	author   dissect.Player // author of such a record
	held     *holder        // nil unless the records of a player may come before the name
	seen     int            // number of records from the pipeline
	shown    int
}

// skim makes the pipeline summarize ship updates and acknowledgements in runs
// instead of making records. It does so if the selection matches none of them,
// or if it matches all of a kind and the report only counts them. The function
// takes tells whether the runs are for this reader, and nil means always.
func (c *reader) skim(catalog *decode.Catalog, takes func() bool) {
	if c.wanted.All || c.verify != nil || c.held != nil || c.left > 0 {
		return
	}
	if catalog == nil {
		catalog = msg.Catalog()
	}
	update := dissect.Record{Payload: []byte{byte(msg.OpStateUpdate)}, Spec: catalog.Lookup(msg.OpStateUpdate)}
	update.Transport = transport.Header{Type: transport.Standard, Len: 1}
	ack := dissect.Record{Transport: transport.Header{Type: transport.Acknowledge, HasSeq: true, Len: 1}}
	updates, known := c.wanted.Judge(&update)
	acks, also := c.wanted.Judge(&ack)
	count := report.NeedsOf(c.sink).Run
	if !known || !also || (updates || acks) && count == nil {
		return
	}
	c.needs.Run = func(run *dissect.Run) error {
		if takes != nil && !takes() {
			return nil
		}
		c.seen += len(run.Flags) + run.Acks
		if !updates {
			run.Flags, run.Bytes = nil, 0
		}
		if !acks {
			run.Acks = 0
		}
		n := len(run.Flags) + run.Acks
		if c.shown += n; n == 0 {
			return nil
		}
		return count(run)
	}
}

// flush shows the messages that never became complete.
func (c *reader) flush() error { return c.pipeline.Flush(c.emit()) }

// emit returns the function to which the pipeline passes records.
func (c *reader) emit() func(*dissect.Record) error {
	if c.wanted.All && c.verify == nil && c.left == 0 && !c.nameless {
		c.needs = report.NeedsOf(c.sink)
		c.pipeline.Need(c.needs)
		return c.sink.Record
	}
	c.pipeline.Need(c.needs)
	return c.record
}

func (c *reader) record(r *dissect.Record) error {
	c.seen++
	if c.verify != nil {
		if differs := c.verify.Check(r); differs != "" {
			r.Notes = append(r.Notes, dissect.Note{Code: "verify", Text: differs})
		}
	}
	if c.held != nil {
		return c.held.record(r)
	}
	return c.show(r)
}

// show passes a record to the sink if it is selected.
func (c *reader) show(r *dissect.Record) error {
	if !c.wanted.Match(r) {
		return nil
	}
	c.shown++
	record := c.sink.Record
	if c.nameless {
		record = c.withoutNames
	}
	if err := record(r); err != nil {
		return err
	}
	if c.left > 0 {
		if c.left--; c.left == 0 {
			return ErrEnough
		}
	}
	return nil
}

// withoutNames shows a record without the names of players and objects. It then
// restores the record, which belongs to the pipeline.
func (c *reader) withoutNames(r *dissect.Record) error {
	client, session, author := r.Client, r.Session, r.Author
	r.Client, r.Session = "", nil
	if author != nil {
		c.author = *author
		c.author.Name = ""
		r.Author = &c.author
	}
	err := c.sink.Record(r)
	r.Client, r.Session, r.Author = client, session, author
	return err
}
