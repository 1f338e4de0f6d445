// Package partitions writes the tables of captures into a folder that engines
// read: Hive partitions, which are there whole or not at all.
package partitions

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/cmd/internal/remark"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/tables"
)

// memory is the amount for each worker above which the collector works harder.
const memory = 96 << 20

// Flags are the flags of the command tables.
type Flags struct {
	cli.Common
	replace bool
}

// Define defines the flags.
func (f *Flags) Define(cmd *cobra.Command) {
	f.DefineFormat(cmd, "parquet", "parquet", "csv")
	cmd.Flags().Lookup("format").Usage = "form of the tables"
	f.DefineDecoding(cmd)
	f.DefinePorts(cmd)
	cmd.Flags().BoolVar(&f.replace, "replace", false, "replace captures that have other contents or options under the same name")
	cmd.Flags().IntVarP(&f.Jobs, "jobs", "j", 0, "read `N` captures at a time (0 = automatic)")
}

var (
	errStopped = errors.New("interrupted")
	errThere   = errors.New("already there")
)

// Run writes the tables of captures.
func (f *Flags) Run(s cli.Streams, dir string, files []string) error {
	cfg, err := f.Config()
	if err != nil {
		return err
	}
	w := &work{Flags: f, s: s, cfg: cfg, folder: folder{dir, f.Format.Value}}
	if w.options, err = f.options(); err != nil {
		return err
	}
	if err := w.plan(files); err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		defer func() { _ = os.Remove(dir) }() // unless there are tables in it
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return cli.Failed(cli.PlainPath(dir, err))
	}
	return w.run()
}

// options returns a text for the options that change the tables.
func (f *Flags) options() (string, error) {
	var all []string
	if f.Dialect.Value != "auto" {
		all = append(all, "dialect="+f.Dialect.Value)
	}
	if f.Clear() {
		all = append(all, "clear")
	}
	if on := f.OnPorts(); on != "" {
		all = append(all, "ports="+strings.ReplaceAll(strings.TrimPrefix(on, " on port "), ", ", ","))
	}
	for _, name := range f.Defined {
		sum, err := digest(name, func() bool { return false })
		if err != nil {
			return "", cli.Failed(err)
		}
		all = append(all, "define="+sum[:16])
	}
	return strings.Join(all, " "), nil
}

// work is one run of the command.
type work struct {
	*Flags
	s       cli.Streams
	cfg     dissect.Config
	folder  folder
	options string
	jobs    []*job
	stopped atomic.Bool

	mu       sync.Mutex
	progress *cli.Progress
	size     int64 // of all files
	read     atomic.Int64
	frames   atomic.Int64
	reported int // jobs with a written result
}

// A job is one capture.
type job struct {
	file, name string
	size       int64
	read       int64 // bytes
	frames     int
	err        error // reason why it was not written, or errThere
	damage     error
	remarks    []string
	rows       map[string]int64
	done       bool
}

// plan lists the captures. Two files cannot have the same name.
func (w *work) plan(files []string) error {
	by := map[string]string{}
	for _, file := range files {
		if file == "-" {
			return errors.New("standard input: it has no name for its tables; save it as a file")
		}
		name := nameOf(file)
		if other, ok := by[name]; ok {
			if filepath.Clean(other) == filepath.Clean(file) {
				continue
			}
			return fmt.Errorf("%s and %s: both would be capture=%s; rename one", other, file, name)
		}
		by[name] = file
		j := &job{file: file, name: name}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			j.size = info.Size()
		}
		w.size += j.size
		w.jobs = append(w.jobs, j)
	}
	return nil
}

// run works on the captures, several at a time.
func (w *work) run() error {
	n := w.Jobs
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	n = min(n, len(w.jobs))
	cli.LimitMemory(int64(n) * memory)
	interrupts := cli.NewInterrupts(w.s, 0, false)
	defer interrupts.Close()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		defer cli.Guard()
		select {
		case <-interrupts.Stopped:
			w.stopped.Store(true)
		case <-ended:
		}
	}()
	w.progress = cli.NewProgress(w.s, w.NoProgress)
	next := make(chan *job)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			defer cli.Guard()
			for j := range next {
				if j.err = errStopped; !w.stopped.Load() {
					j.err = w.write(j)
				}
				w.finish(j)
			}
		})
	}
	for _, j := range w.jobs {
		next <- j
	}
	close(next)
	all.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress.Done()
	return w.verdict()
}

// finish reports the captures that are done, in the order of the arguments.
func (w *work) finish(j *job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	j.done = true
	w.read.Add(j.size - j.read)
	for ; w.reported < len(w.jobs) && w.jobs[w.reported].done; w.reported++ {
		w.progress.Done()
		w.report(w.jobs[w.reported])
	}
}

// report writes the result of a capture.
func (w *work) report(j *job) {
	name := report.Escape(j.file)
	switch {
	case errors.Is(j.err, errThere):
		fmt.Fprintf(w.s.Out, "%s: already there\n", name)
	case errors.Is(j.err, errStopped):
	case j.err != nil:
		cli.Say(w.s.Err, "%v", j.err)
	default:
		if j.damage != nil {
			cli.Say(w.s.Err, "%v", j.damage)
		}
		for _, text := range j.remarks {
			fmt.Fprintf(w.s.Err, "bcdissect: %s: %s\n", name, text)
		}
		fmt.Fprintf(w.s.Out, "%s: %d %s in %d tables\n", name, j.rows["records"], plural.Form(j.rows["records"], "{record|records}"), len(j.rows)+1)
	}
}

// verdict returns the error of the run.
func (w *work) verdict() error {
	failed, damaged, stopped := 0, 0, 0
	for _, j := range w.jobs {
		switch {
		case errors.Is(j.err, errStopped):
			stopped++
		case errors.Is(j.err, errThere):
		case j.err != nil:
			failed++
		case j.damage != nil:
			damaged++
		}
	}
	of := func(n int, text string) error {
		return fmt.Errorf(plural.Form(len(w.jobs), "%d of %d {capture|captures} %s"), n, len(w.jobs), text)
	}
	switch {
	case stopped > 0:
		return &cli.StatusError{Code: cli.ExitAborted, Err: of(stopped, "not written: interrupted; run the command again to go on")}
	case failed > 0:
		return cli.Failed(of(failed, "not written"))
	case damaged > 0:
		return &cli.StatusError{Code: cli.ExitDamaged, Err: of(damaged, "cut short or damaged; their tables hold all that could be read")}
	}
	return nil
}

// write writes the tables of a capture, unless they are there.
func (w *work) write(j *job) (err error) {
	before, err := os.Stat(j.file)
	switch {
	case err != nil:
		return cli.PlainPath(j.file, err)
	case !before.Mode().IsRegular():
		return fmt.Errorf("%s: not a file; give the name of a capture", j.file)
	}
	sum, err := digest(j.file, w.stopped.Load)
	if err != nil {
		return err
	}
	origin := tables.Origin{SHA256: sum, Schema: tables.Schema, Options: w.options}
	switch there, err := w.folder.find(j.name); {
	case err != nil && !w.replace:
		return fmt.Errorf("%s: %w; --replace writes it anew", w.folder.file(tables.Captures, j.name), err)
	case there == nil || err != nil:
	case *there == origin:
		if w.folder.whole(j.name) {
			w.folder.tidy(j.name) // the run that wrote it may have been killed right after
			return errThere
		}
	case there.SHA256 != sum && !w.replace:
		return fmt.Errorf("%s: capture=%s holds another capture; rename the file, or replace the tables with --replace", j.file, j.name)
	case there.Options != w.options && !w.replace:
		return fmt.Errorf("%s: capture=%s was read with other options (%s); replace the tables with --replace", j.file, j.name, cmp.Or(there.Options, "none"))
	}
	d, err := w.folder.begin(j.name)
	if err != nil {
		return err
	}
	defer d.discard()
	if err := w.fill(j, d, origin); err != nil {
		return d.plain(err)
	}
	after, err := os.Stat(j.file)
	if err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return fmt.Errorf("%s: changed while it was read; run the command again", j.file)
	}
	return d.plain(d.publish())
}

// fill reads a capture into the files of a draft.
func (w *work) fill(j *job, d *draft, origin tables.Origin) error {
	src, err := capture.OpenAll([]string{j.file}, nil)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }() // nothing was written
	first, damage := src.Next()
	c := tables.Capture{Origin: origin, File: filepath.Base(j.file), Size: j.size, Version: cli.Version()}
	sink := tables.NewSink(tables.Options{
		CSV: d.ext == "csv", Version: c.Version, Origin: origin, Start: src.Stats().FirstTime, Catalog: w.cfg.Catalog, Create: d.create,
	})
	p := dissect.New(w.cfg)
	if damage == nil {
		damage, err = w.all(j, src, p, sink, first)
	}
	if err == nil {
		err = p.Flush(sink.Record)
	}
	if e := sink.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if damage != nil && !errors.Is(damage, io.EOF) {
		if !reading.OnlyDamage(damage) {
			return damage
		}
		j.damage, c.Damage = damage, damage.Error()
	}
	stats := src.Stats()
	j.remarks = remark.Of(&stats)
	counts := reading.CountsOf(stats, p.Stats())
	counts.Fill(sink.Tally())
	c.Begin, c.End = stats.FirstTime, stats.LastTime
	j.rows = sink.Rows()
	return sink.WriteCapture(&c)
}

// all reads all datagrams. damage is the reason for the end of the file.
func (w *work) all(j *job, src *capture.Series, p *dissect.Pipeline, sink *tables.Sink, first *dissect.Datagram) (damage, err error) {
	for b, end := range dissect.Batches(src, dissect.BatchOptions{First: first}) {
		if end != nil {
			return end, nil
		}
		err := p.PushBatch(b, sink.Record)
		if w.advance(j, src.Stats()); err == nil && w.stopped.Load() {
			err = errStopped
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// advance shows the progress.
func (w *work) advance(j *job, s capture.Stats) {
	w.read.Add(s.BytesRead - j.read)
	w.frames.Add(int64(s.Frames - j.frames))
	j.read, j.frames = s.BytesRead, s.Frames
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress.Update(w.read.Load(), w.size, int(w.frames.Load()))
}
