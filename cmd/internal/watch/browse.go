package watch

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/extract"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/filter"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/browser"
	"github.com/bcdissect/bcdissect/report/csv"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// Browse shows the messages of captures in the browser until the user quits.
// The function command returns a command that decodes a message.
func Browse(f *cli.Common, s cli.Streams, names []string, command func(*dissect.Record) string) error {
	keys, out, done, err := screen("browse", s, names)
	if err != nil {
		return err
	}
	defer done()
	o, err := options(f, s, title(names), command)
	if err != nil {
		return err
	}
	f.NoProgress = true
	tape, err := reading.OpenTape(f, s, names)
	if err != nil {
		return err
	}
	defer tape.Close()
	// An input that is not a capture is a usage error.
	some := false
	if err := tape.Scan(0, func(int, *dissect.Record) bool { some = true; return false }); err != nil && !some && !isVerdict(err) {
		return err
	}
	o.from(tape)
	useMarks(&o.Options, names, tape.Start())
	b := browser.New(o.Options)
	unwatch := onHangup(b.Stop)
	defer unwatch()
	err = b.Run(keys, out)
	fmt.Fprintf(s.Err, "%s", tape.Said())
	if status := (*cli.StatusError)(nil); errors.As(err, &status) {
		return err
	}
	return cli.Failed(err)
}

// browserOptions are the options of a browser that depend on the command line.
type browserOptions struct {
	browser.Options
	compiler func(start func() time.Time) func(expr string) (func(*dissect.Record) bool, error)
}

// options returns the options of a browser without a source. It removes the
// filter from the selection, since the user can change it.
func options(f *cli.Common, s cli.Streams, title string, command func(*dissect.Record) string) (*browserOptions, error) {
	cfg, err := f.Config()
	if err != nil {
		return nil, err
	}
	expr := f.TakeFilter()
	if _, err := f.Config(); err != nil {
		return nil, err
	}
	o := browserOptions{Options: browser.Options{
		Title: title, Color: (&cli.Output{Terminal: true}).Colored(f.Color.Value), ASCII: s.ASCII, Filter: expr,
		Complete: f.Continuations, Command: command, Copy: copier(), Equal: filter.Equal,
		Column: func(name string) (func(*dissect.Record) string, error) { return columnOf(name, cfg.Catalog) },
	}}
	o.compiler = func(start func() time.Time) func(string) (func(*dissect.Record) bool, error) {
		return compiler(f, cfg, start)
	}
	return &o, nil
}

// A recorded is a source of records that can be read more than once.
type recorded interface {
	Scan(first int, take func(n int, r *dissect.Record) bool) error
	Start() time.Time
	Save(name string, frames *extract.Frames) (done string, err error)
}

// from sets the source of the browser.
func (o *browserOptions) from(src recorded) {
	o.Scan, o.Start, o.Compile = src.Scan, src.Start, o.compiler(src.Start)
	o.Save = func(name string, frames func(add func(frame int)) error) (string, error) {
		if name == "-" {
			return "", errors.New("-: give the name of a new file")
		}
		var all extract.Frames
		if err := frames(all.Add); err != nil {
			return "", err
		}
		return src.Save(name, &all)
	}
}

// columnOf returns a function that returns the value of a column in the format
// of CSV.
func columnOf(name string, catalog *decode.Catalog) (func(*dissect.Record) string, error) {
	if err := filter.CheckColumn(name, catalog); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	sink := csv.New(&b, []string{name}, csv.Form{NoHeader: true, Quote: csv.QuoteNone, Raw: true}, ndjson.Options{})
	return func(r *dissect.Record) string {
		b.Reset()
		_ = sink.Record(r) // a buffer never returns an error
		_ = sink.Flush()
		return strings.TrimSuffix(b.String(), "\n")
	}, nil
}

// growEvery is the interval at which a browser is told about new live traffic.
const growEvery = 200 * time.Millisecond

// Browse shows live traffic in the browser until the user quits. The function
// work runs a report without output. It reads the traffic through tap, which
// fills the browser.
func (w *Flags) Browse(f *cli.Common, s cli.Streams, title string, command func(*dissect.Record) string, work func(s cli.Streams, makeSink reading.SinkMaker, tap func(reading.Source) reading.Source) error) error {
	keys, out, done, err := screen("--browse", s, nil)
	if err != nil {
		return err
	}
	defer done()
	o, err := options(f, s, title, command)
	if err != nil {
		return err
	}
	cfg, err := f.Config()
	if err != nil {
		return err
	}
	mine, err := f.Again(cfg.Catalog, time.Time{})
	if err != nil {
		return err
	}
	var reel *reading.Reel
	var begin sync.Once
	reel = reading.NewReel(cfg, func(r *dissect.Record) bool {
		begin.Do(func() { _ = mine.Begin(reel.Start()) }) // the report returns the error
		return mine.Match(r)
	})
	o.from(reel)
	o.Why = "marks of live traffic last until you quit"
	ended := make(chan struct{})
	o.Live = func() browser.Live { return w.live(reel, ended) }
	b := browser.New(o.Options)
	go func() {
		defer cli.Guard()
		tellGrowth(b, reel, ended)
	}()
	return w.run(keys, out, s, b, func(s cli.Streams) error {
		defer close(ended)
		return work(s, func(*cli.Output, time.Time) (report.Sink, func(*reading.Counts) error) { return nothing{}, nil }, reel.Tap)
	})
}

// live returns the state of live traffic.
func (w *Flags) live(reel *reading.Reel, ended <-chan struct{}) (l browser.Live) {
	_, l.Gone = reel.Records()
	if lost := w.lost.Load(); lost != nil {
		l.Lost = (*lost)()
	}
	select {
	case <-ended:
		l.Ended = true
	default:
	}
	return l
}

// tellGrowth tells a browser about new traffic until the traffic ends.
func tellGrowth(b *browser.Browser, reel *reading.Reel, ended <-chan struct{}) {
	tick := time.NewTicker(growEvery)
	defer tick.Stop()
	told := 0
	for {
		select {
		case <-ended:
			b.Grow()
			return
		case <-tick.C:
		}
		if all, _ := reel.Records(); all != told {
			told = all
			b.Grow()
		}
	}
}

// nothing is the sink of a report that is not shown.
type nothing struct{}

func (nothing) Record(*dissect.Record) error { return nil }
func (nothing) Close() error                 { return nil }
