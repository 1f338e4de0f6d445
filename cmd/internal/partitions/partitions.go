// Package partitions writes the tables of captures to a folder that database
// engines can read. The tables are Hive partitions, each of which is either
// complete or does not exist.
package partitions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/filelock"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/cmd/internal/remark"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/capture/private"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/tables"
)

// memory is the number of bytes for each worker above which the garbage
// collector works harder.
const memory = 96 << 20

// Flags are the flags of the command tables.
type Flags struct {
	cli.Common
	replace, remove, compact bool
	shard                    shard
	views                    cli.Choice
}

// Define defines the flags.
func (f *Flags) Define(cmd *cobra.Command) {
	f.DefineFormat(cmd, "parquet", "parquet", "csv")
	cmd.Flags().Lookup("format").Usage = "form of the tables"
	f.DefineDecoding(cmd)
	f.DefinePorts(cmd)
	cmd.Flags().BoolVar(&f.replace, "replace", false, "replace captures that have other contents or options under the same name")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "remove the rows of the named captures")
	cmd.Flags().BoolVar(&f.compact, "compact", false, "join the files of small captures, so that engines open fewer")
	cmd.Flags().Var(&f.shard, "shard", "write part `I/N` of the captures: 0/4 to 3/4 for four programs")
	f.views.Define(cmd, "views", "", "print views of the tables in the SQL of an engine", "", "duckdb", "clickhouse")
	cmd.Flags().IntVarP(&f.Jobs, "jobs", "j", 0, "read `N` captures at a time (0 = automatic)")
}

var (
	errStopped = errors.New("interrupted")
	errThere   = errors.New("already there")
)

// Run writes the tables of captures, or changes or prints existing tables if a
// flag requests that.
func (f *Flags) Run(s cli.Streams, dir string, files []string) error {
	on := folder{dir, f.Format.Value}
	switch adds := !f.remove && !f.compact && f.views.Value == ""; {
	case (adds || f.remove) && len(files) == 0:
		return fmt.Errorf("no captures; name them after %s", dir)
	case (f.compact || f.views.Value != "") && len(files) > 0:
		return errors.New("--compact and --views are for the whole folder; name no captures with them")
	case f.views.Value != "":
		return f.printViews(s, &on)
	case !adds:
		return f.change(s, &on, files)
	}
	cfg, err := f.Config()
	if err != nil {
		return err
	}
	w := &work{Flags: f, s: s, cfg: cfg, folder: on}
	if w.options, err = f.options(); err != nil {
		return err
	}
	if err := w.plan(files); err != nil {
		return err
	}
	_, missing := os.Stat(dir)
	if err := private.MakeDir(dir, 0o777); err != nil {
		return cli.Failed(cli.PlainPath(dir, err))
	}
	if errors.Is(missing, fs.ErrNotExist) {
		defer on.abandon()
	}
	unlock, err := on.lock()
	if err != nil {
		return err
	}
	w.index, err = w.folder.enter()
	unlock()
	if err != nil {
		return err
	}
	return w.run()
}

// lock waits until no other program changes the folder. Several programs can
// read captures at the same time, but only one at a time moves its tables to
// their places.
func (f *folder) lock() (unlock func(), err error) {
	unlock, err = filelock.Lock(filepath.Join(f.path, locked), func() {})
	if err != nil {
		err = cli.Failed(cli.PlainPath(f.path, err))
	}
	return unlock, err
}

// exists reports whether there are tables, including those of a killed run.
func (f *folder) exists() bool {
	for _, name := range []string{tables.Captures, unfinished} {
		if _, err := os.Stat(filepath.Join(f.path, name)); err == nil {
			return true
		}
	}
	return false
}

// abandon removes the folder if it has no tables.
func (f *folder) abandon() {
	if all, err := os.ReadDir(f.path); err == nil && len(all) == 1 && all[0].Name() == locked {
		_ = os.Remove(filepath.Join(f.path, locked)) // the next run creates it again
	}
	_ = os.Remove(f.path) // fails if others use it
}

// enter completes the work of a killed run, and reads the list of captures.
func (f *folder) enter() (*index, error) {
	if err := f.recover(); err != nil {
		return nil, cli.Failed(cli.Plain(err))
	}
	x, err := f.newIndex()
	if err != nil {
		return nil, cli.Failed(cli.Plain(err))
	}
	return x, nil
}

// change removes captures, or joins small parts.
func (f *Flags) change(s cli.Streams, on *folder, names []string) error {
	if !on.exists() {
		return cli.Failed(fmt.Errorf("%s: no tables in it", on.path))
	}
	unlock, err := on.lock()
	if err != nil {
		return err
	}
	defer unlock()
	x, err := on.enter()
	if err != nil {
		return err
	}
	on.forget()
	if f.compact {
		n, packs, err := x.compact()
		if err != nil {
			return cli.Failed(cli.Plain(err))
		}
		fmt.Fprintf(s.Out, "%d %s joined in %d %s\n", n, plural.Form(n, "{capture|captures}"), packs, plural.Form(packs, "{pack|packs}"))
		return nil
	}
	var all []*entry
	for _, name := range names {
		e, err := x.find(name)
		if err != nil {
			return cli.Failed(err)
		}
		if !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	if err := x.remove(all); err != nil {
		return cli.Failed(cli.Plain(err))
	}
	fmt.Fprintf(s.Out, "%d %s removed\n", len(all), plural.Form(len(all), "{capture|captures}"))
	return nil
}

// A shard is the flag that selects a share of the work.
type shard struct{ index, of int }

// String implements pflag.Value.
func (s *shard) String() string {
	if s.of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.index, s.of)
}

// Type implements pflag.Value.
func (*shard) Type() string { return "I/N" }

// Set implements pflag.Value.
func (s *shard) Set(text string) error {
	var i, n int
	if _, err := fmt.Sscanf(text, "%d/%d", &i, &n); err != nil || fmt.Sprintf("%d/%d", i, n) != text || i < 0 || i >= n {
		return errors.New("must be I/N with I from 0 to N-1, such as 0/4")
	}
	*s = shard{i, n}
	return nil
}

// has reports whether the shard includes the capture with an index.
func (s *shard) has(i int) bool { return s.of == 0 || i%s.of == s.index }

// options returns a text that represents the options that change the contents
// of tables.
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
		sum, _, err := digest(name, -1, func() bool { return false })
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
	index   *index
	options string
	jobs    []*job
	stopped atomic.Bool

	mu       sync.Mutex
	progress *cli.Progress
	size     int64 // size of all files
	read     atomic.Int64
	frames   atomic.Int64
	reported int // number of jobs whose results were reported
}

// A job is one capture: a file, or the parts of a recording.
type job struct {
	files   []string
	name    string // name in reports
	second  bool   // an earlier capture has a file with the same name
	capture string // name of the capture, once it is known
	size    int64
	read    int64 // bytes read
	frames  int
	err     error // the reason that it was not written, or errThere
	damage  error
	remarks []string
	rows    map[string]int64
	done    bool
}

// plan lists the captures of the shard, in the order of their first arguments.
// Files with equal contents are listed once.
func (w *work) plan(files []string) error {
	at := map[string]int{}
	var names []string
	for i, file := range files {
		if file == "-" {
			return errors.New("standard input: it has no name for its tables; save it as a file")
		}
		if _, again := at[filepath.Clean(file)]; !again {
			at[filepath.Clean(file)] = i
			names = append(names, file)
		}
	}
	groups, copies := dissect.Recordings(w.cfg, names)
	reading.SayCopies(w.s, names, copies)
	first := func(group []string) int {
		n := len(files)
		for _, file := range group {
			n = min(n, at[filepath.Clean(file)])
		}
		return n
	}
	slices.SortFunc(groups, func(a, b []string) int { return first(a) - first(b) })
	taken := map[string]bool{}
	for i, group := range groups {
		name := nameOf(group[0])
		second := taken[name]
		taken[name] = true
		if !w.shard.has(i) {
			continue
		}
		j := &job{files: group, name: group[0], second: second}
		if n := len(group) - 1; n > 0 {
			j.name += fmt.Sprintf(" and %d more %s of the recording", n, plural.Form(n, "{part|parts}"))
		}
		for _, file := range group {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				j.size += info.Size()
			}
		}
		w.size += j.size
		w.jobs = append(w.jobs, j)
	}
	if len(w.jobs) == 0 {
		fmt.Fprintf(w.s.Out, "no captures in shard %s of %d\n", w.shard.String(), len(groups))
	}
	return nil
}

// run processes the captures, several at a time.
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

// finish reports the finished captures, in the order of the arguments.
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
	name := report.Escape(j.name)
	switch {
	case errors.Is(j.err, errThere) && j.capture != nameOf(j.files[0]):
		fmt.Fprintf(w.s.Out, "%s: already there as capture=%s\n", name, j.capture)
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

// write writes the tables of a capture unless they exist.
func (w *work) write(j *job) (err error) {
	before, err := states(j.files)
	if err != nil {
		return err
	}
	origin := tables.Origin{Schema: tables.Schema, Options: w.options}
	begin := ""
	for i, file := range j.files {
		f := tables.File{Name: filepath.Base(file), Size: before[i].Size()}
		if f.SHA256, begin, err = digest(file, w.index.sizeOf(nameOf(file)), w.stopped.Load); err != nil {
			return err
		}
		origin.Files = append(origin.Files, f)
	}
	if len(j.files) > 1 {
		begin = ""
	}
	old, err := w.index.claim(&origin, begin, j.second, w.replace)
	j.capture = origin.Capture
	if errors.Is(err, errThere) {
		w.folder.tidy(j.capture) // the run that wrote it may have been killed directly afterwards
		return err
	} else if err != nil {
		return fmt.Errorf("%s: %w", j.files[0], err)
	}
	d, err := w.folder.begin(j.capture)
	if err != nil {
		return err
	}
	defer d.discard()
	if err := w.fill(j, d, origin); err != nil {
		return d.plain(err)
	}
	after, err := states(j.files)
	if err != nil || !slices.EqualFunc(before, after, func(a, b fs.FileInfo) bool { return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) }) {
		return fmt.Errorf("%s: changed while it was read; run the command again", j.files[0])
	}
	unlock, err := w.folder.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := w.index.replace(old, j.capture); err != nil {
		return d.plain(err)
	}
	return d.plain(d.publish())
}

// states returns the sizes and modification times of files.
func states(names []string) (all []fs.FileInfo, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, cli.PlainPath(name, err)
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s: not a file; give the name of a capture", name)
		}
		all = append(all, info)
	}
	return all, nil
}

// fill converts a capture to the files of a draft.
func (w *work) fill(j *job, d *draft, origin tables.Origin) error {
	src, err := capture.OpenAll(j.files, nil)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }() // it was opened only for reading
	first, damage := src.Next()
	c := tables.Capture{Name: filepath.Base(j.files[0]), Parts: len(j.files), Size: j.size, Version: cli.Version()}
	sink := tables.NewSink(tables.Options{
		CSV: d.csv(), Version: c.Version, Origin: origin, Start: src.Stats().FirstTime, Catalog: w.cfg.Catalog, Create: d.create,
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

// all reads all datagrams. The error damage is the reason for an early end of
// the file.
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

// advance updates the progress.
func (w *work) advance(j *job, s capture.Stats) {
	w.read.Add(s.BytesRead - j.read)
	w.frames.Add(int64(s.Frames - j.frames))
	j.read, j.frames = s.BytesRead, s.Frames
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress.Update(w.read.Load(), w.size, int(w.frames.Load()))
}
