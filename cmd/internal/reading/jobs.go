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
// decode all of them in order. Another goroutine reads ahead, in batches, and
// deciphers them. Rendering takes several times as long as decoding, so it is
// shared: each of several goroutines decodes everything, which gives it the
// state it needs, and renders every nth part of a batch. An [order] puts the
// parts together.

const usefulJobs = 4 // with more, each mostly decodes

// newJobs returns how many goroutines are to do the work.
func newJobs(asked int) int {
	if asked > 0 {
		return asked
	}
	return min(runtime.GOMAXPROCS(0), usefulJobs)
}

// A reading is the way of a source into a report.
type reading struct {
	*cli.Common
	s        cli.Streams
	cfg      dissect.Config
	src      Source
	out      *cli.Output
	makeSink SinkMaker
	start    time.Time // of the capture
	one      *reader   // takes all records; at the end holds the readers' counts
	progress *cli.Progress
	enough   bool // as many records were shown as were asked for
}

// files are captures that are read by a goroutine. It may outlive the report
// that they are read for, if nobody wants it any more while it waits for
// standard input.
type files struct {
	*capture.Series
	abandoned bool
}

// Close closes the files unless their reader may still be at work.
func (f *files) Close() error {
	if f.abandoned {
		return nil
	}
	return f.Series.Close()
}

// newReader returns a reader of records into a sink.
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

// all takes datagrams from the first one on to the end of the source. It
// returns the source's error and any other error that ended the reading.
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
			o.Wait = flusher.Flush // more may take long to come
		}
	case partly && !r.start.IsZero(): // else the first record would tell the renderers when it was
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

// push gives a batch to a reader's pipeline.
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

// A job is a batch that goes from hand to hand.
type job struct {
	dissect.Batch
	users atomic.Int32 // who have not done with it yet
}

// errAbandoned tells the reading goroutine that its datagrams are not wanted.
var errAbandoned = errors.New("stopped")

// ahead reads batches in a goroutine of its own and gives each to all takers.
type ahead struct {
	takers []chan *job
	free   chan *job
	stop   chan struct{}
	ended  chan struct{} // closed after the takers' channels

	waits   atomic.Bool // for the files
	readErr error       // set when the takers' channels are closed
}

// readAhead reads files into at most size batches at a time.
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

// read reads the files to their end.
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
			t <- filled // has room for all that there are
		}
	}
	for _, t := range a.takers {
		close(t)
	}
}

// abandon stops the goroutine, unless it waits for more of the files: it is
// then left to its fate.
func (a *ahead) abandon(f *files) {
	close(a.stop)
	if a.waits.Load() {
		f.abandoned = true
		return
	}
	<-a.ended
}

// batches yields the batches of a taker until they end or are abandoned.
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

// done gives a batch back.
func (a *ahead) done(j *job) {
	if j.users.Add(-1) == 0 {
		j.Reset()
		a.free <- j // has room for all that there are
	}
}

// collect has one goroutine read and this one decode.
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

// A renderer decodes all batches and renders some parts of them.
type renderer struct {
	*reader
	*maker
	flusher report.Flusher // the reader's sink
	show    func(*dissect.Record) error
	turn    bool // the part at hand is one of them
}

// emit returns the function that takes the records of the part.
func (w *renderer) emit() func(*dissect.Record) error {
	if w.turn {
		return w.show
	}
	return ignore
}

func ignore(*dissect.Record) error { return nil }

// partSize is the number of datagrams in a part: few enough for the decoded state
// and the text of a host's copies to stay in the processor's caches.
const partSize = 256

// run renders one part in of, beginning with number nr. The parts of all batches
// are counted from 0; the records at the end of the capture count as one.
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
	_ = w.end(0, w.pipeline.Flush(w.emit())) // the order has the error
}

// begin begins a part, which is one to render if it is the renderer's turn.
func (w *renderer) begin(turn bool) {
	w.turn = turn
	needs := w.needs
	if !turn {
		needs.Updates = dissect.NoUpdates
	}
	w.pipeline.Need(needs)
}

// end ends the part after the given frame.
func (w *renderer) end(frame int, err error) error {
	if !w.turn {
		return err
	}
	if err == nil {
		err = w.flusher.Flush()
	}
	return w.maker.end(frame, err)
}

// render has one goroutine read, several decode and render, and this one write.
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
		c.Continue() // it has only to be closed
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

// sum makes one reader of all.
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
