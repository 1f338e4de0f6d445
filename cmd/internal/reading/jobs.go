package reading

import (
	"errors"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/csv"
)

// The meaning of a message depends on those before it, so one goroutine has to
// decode all messages in order. Another goroutine reads ahead in batches and
// deciphers them. Rendering takes several times as long as decoding, so several
// goroutines share it. Each of them decodes everything to have the state it
// needs, and renders every nth part of a batch. An [order] joins the parts.

const usefulJobs = 4 // more goroutines would spend most of their time on decoding

// newJobs returns the number of goroutines to use.
func newJobs(asked int) int {
	if asked > 0 {
		return asked
	}
	return min(runtime.GOMAXPROCS(0), usefulJobs)
}

// A reading reads a source into a report.
type reading struct {
	*cli.Common
	s        cli.Streams
	cfg      dissect.Config
	src      Source
	out      *cli.Output
	makeSink SinkMaker
	start    time.Time // time of the first frame of the capture
	one      *reader   // takes all records, and at the end has the sum of the readers' counts
	progress *cli.Progress
	enough   bool // the requested number of records has been shown
}

// files are captures that a goroutine reads. The goroutine can outlive the
// report if it is waiting for standard input.
type files struct {
	*capture.Series
	abandoned bool
}

// Close closes the files unless the goroutine may still be reading them.
func (f *files) Close() error {
	if f.abandoned {
		return nil
	}
	return f.Series.Close()
}

// newReader returns a reader that passes records to a sink.
func (r *reading) newReader(wanted *cli.Selection, sink report.Sink) *reader {
	c := &reader{pipeline: dissect.New(r.cfg), wanted: wanted, sink: sink, nameless: r.NoNames}
	if r.Verify {
		c.verify = &dissect.Verifier{Clear: r.cfg.Clear}
	}
	if wanted.WantsPlayer() && !wanted.KnowsPlayer() {
		c.held = newHolder(wanted.IsPlayer, c.show)
	}
	return c
}

// all reads all datagrams of the source, starting with first, which was already
// read. It returns the source's error and any other error that ended the
// reading.
func (r *reading) all(first *dissect.Datagram) (readErr, err error) {
	o := dissect.BatchOptions{First: first}
	f, several := r.src.(*files)
	flusher, partly := r.one.sink.(report.Flusher)
	switch jobs := newJobs(r.Jobs); {
	case r.Count > 0:
		o.Most = 1
	case !several:
	case jobs == 1 || r.one.held != nil:
		if partly {
			o.Wait = flusher.Flush // the next datagram may take long to arrive
		}
	case partly && !r.start.IsZero(): // otherwise the renderers would take the start from their first record
		return r.render(f, first, jobs)
	default:
		return r.collect(f, first)
	}
	for b, end := range dissect.Batches(r.src, o) {
		if end != nil {
			return end, nil
		}
		if err := r.push(r.one, b); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// push passes a batch to a reader's pipeline.
func (r *reading) push(c *reader, b *dissect.Batch) error {
	if err := c.pipeline.PushBatch(b, c.emit()); err != nil {
		return err
	}
	r.showProgress(b.Last().Number)
	return nil
}

func (r *reading) showProgress(frame int) {
	read, size := r.src.Progress()
	r.progress.Update(read, size, frame)
}

// A job is a batch that goroutines pass to each other.
type job struct {
	dissect.Batch
	users atomic.Int32 // number of goroutines that still use it
}

// errAbandoned tells the reading goroutine to stop.
var errAbandoned = errors.New("stopped")

// ahead reads batches in its own goroutine and passes each batch to all takers.
type ahead struct {
	takers []chan *job
	free   chan *job
	stop   chan struct{}
	ended  chan struct{} // closed after the takers' channels

	waits   atomic.Bool // the goroutine is waiting for the files
	readErr error       // valid once the takers' channels are closed
}

// readAhead starts reading files, at most size batches ahead.
func readAhead(f *files, first *dissect.Datagram, takers, size int) *ahead {
	a := &ahead{free: make(chan *job, size), stop: make(chan struct{}), ended: make(chan struct{})}
	for range takers {
		a.takers = append(a.takers, make(chan *job, size))
	}
	for range size {
		a.free <- new(job)
	}
	go func() {
		defer cli.Guard()
		a.read(f, first)
	}()
	return a
}

// read reads the files to the end.
func (a *ahead) read(f *files, first *dissect.Datagram) {
	defer close(a.ended)
	var filled *job
	o := dissect.BatchOptions{First: first, Empty: func() *dissect.Batch {
		select {
		case filled = <-a.free:
			return &filled.Batch
		case <-a.stop:
			return nil
		}
	}, Wait: func() error {
		a.waits.Store(true)
		select {
		case <-a.stop:
			return errAbandoned
		default:
			return nil
		}
	}}
	for b, err := range dissect.Batches(f, o) {
		if a.readErr = err; b == nil {
			break
		}
		a.waits.Store(false)
		filled.users.Store(int32(len(a.takers)))
		for _, t := range a.takers {
			t <- filled // never blocks, since the channel has room for all batches
		}
	}
	for _, t := range a.takers {
		close(t)
	}
}

// abandon stops the goroutine. If the goroutine is waiting for the files,
// abandon does not wait for it.
func (a *ahead) abandon(f *files) {
	close(a.stop)
	if a.waits.Load() {
		f.abandoned = true
		return
	}
	<-a.ended
}

// batches returns the batches of a taker until they end or are abandoned.
func (a *ahead) batches(taker int) iter.Seq[*job] {
	return func(yield func(*job) bool) {
		for {
			select {
			case j, ok := <-a.takers[taker]:
				if !ok || !yield(j) {
					return
				}
			case <-a.stop:
				return
			}
		}
	}
}

// done returns a batch to the reading goroutine.
func (a *ahead) done(j *job) {
	if j.users.Add(-1) == 0 {
		j.Reset()
		a.free <- j // never blocks, since the channel has room for all batches
	}
}

// collect reads in another goroutine and decodes in this one.
func (r *reading) collect(f *files, first *dissect.Datagram) (readErr, err error) {
	const size = 4
	a := readAhead(f, first, 1, size)
	for j := range a.takers[0] {
		if err := r.push(r.one, &j.Batch); err != nil {
			a.abandon(f)
			return nil, err
		}
		a.done(j)
	}
	<-a.ended
	return a.readErr, nil
}

// A renderer decodes all batches and renders some of their parts.
type renderer struct {
	*reader
	*maker
	flusher report.Flusher // the reader's sink
	show    func(*dissect.Record) error
	turn    bool // the renderer renders the current part
}

// emit returns the function to which the pipeline passes the records of the
// part.
func (w *renderer) emit() func(*dissect.Record) error {
	if w.turn {
		return w.show
	}
	return ignore
}

func ignore(*dissect.Record) error { return nil }

// partSize is the number of datagrams in a part. It is small enough that the
// decoded state and the text of a host's copies stay in the processor's caches.
const partSize = 256

// run renders every part whose number modulo of is nr. Parts are numbered from
// 0 across all batches. The records at the end of the capture are one part.
func (w *renderer) run(a *ahead, nr, of int) {
	defer close(w.blocks)
	n := 0
	for j := range a.batches(nr) {
		for from := 0; from < j.Len(); from += partSize {
			w.begin(n%of == nr)
			err := w.pipeline.PushPart(&j.Batch, from, min(from+partSize, j.Len()), w.emit())
			if w.end(j.Last().Number, err) != nil {
				return
			}
			n++
		}
		a.done(j)
	}
	w.begin(n%of == nr)
	_ = w.end(0, w.pipeline.Flush(w.emit())) // the order returns the error
}

// begin begins a part. If turn is set, the renderer renders it.
func (w *renderer) begin(turn bool) {
	w.turn = turn
	needs := w.needs
	if !turn {
		needs.Updates = dissect.NoUpdates
	}
	w.pipeline.Need(needs)
}

// end ends the part. The frame is the last one in the part.
func (w *renderer) end(frame int, err error) error {
	if !w.turn {
		return err
	}
	if err == nil {
		err = w.flusher.Flush()
	}
	return w.maker.end(frame, err)
}

// render reads in one goroutine, decodes and renders in several others, and
// writes in this one.
func (r *reading) render(f *files, first *dissect.Datagram, jobs int) (readErr, err error) {
	o := newOrder(jobs)
	var workers []*renderer
	for nr, m := range o.makers {
		sink, _ := r.makeSink(r.out.To(m), r.start)
		flusher, ok := sink.(report.Flusher)
		wanted, err := r.Again(r.cfg.Catalog, r.start)
		if !ok || err != nil {
			return nil, errors.Join(err, errors.New("this report cannot be put together from parts"))
		}
		if c, ok := sink.(*csv.Sink); ok && nr > 0 {
			c.Continue()
		}
		w := &renderer{reader: r.newReader(wanted, sink), maker: m, flusher: flusher}
		w.show = w.reader.emit()
		w.skim(r.cfg.Catalog, func() bool { return w.turn })
		workers = append(workers, w)
	}
	if c, ok := r.one.sink.(*csv.Sink); ok {
		c.Continue() // only closed, not written to
	}
	a := readAhead(f, first, jobs, jobs+2)
	var all sync.WaitGroup
	for nr, w := range workers {
		all.Go(func() {
			defer cli.Guard()
			w.run(a, nr, jobs)
		})
	}
	if err := o.write(r.out, r.showProgress); err != nil {
		a.abandon(f)
		return nil, err
	}
	all.Wait()
	<-a.ended
	r.sum(workers)
	return a.readErr, nil
}

// sum adds the counts of all renderers.
func (r *reading) sum(workers []*renderer) {
	r.one.pipeline = workers[0].pipeline
	for _, w := range workers {
		r.one.seen += w.seen
		r.one.shown += w.shown
		if v := w.verify; v != nil {
			r.one.verify.Messages += v.Messages
			r.one.verify.Datagrams += v.Datagrams
			r.one.verify.Differ += v.Differ
		}
	}
}
