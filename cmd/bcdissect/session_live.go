package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/page"
)

// refresh is the interval at which a page is written again.
const refresh = time.Minute

// A livePage is a page of the matches so far. It is first written before the
// game begins, so that a browser can open it. Then it is written every minute
// and at the end.
type livePage struct {
	name string
	say  func(format string, args ...any)
	end  chan struct{}

	mu      sync.Mutex
	story   *match.Builder
	changed bool // there are new records since it was written
}

// A pageSink passes all records to a page, in addition to another report.
type pageSink struct {
	report.Sink
	page *livePage
}

// checkPage checks that the page can be written, before a long report begins:
// the flags must not hide records, no other output or input may have its name,
// and its folder must be writable.
func checkPage(name string, f *cli.Common, r *cli.Recording, inputs ...string) error {
	if !f.All {
		return errors.New("--session needs every record; drop the flags that choose some")
	}
	if err := cli.CheckInput("--session", name, nil, inputs...); err != nil {
		return err
	}
	if err := cli.CheckDistinct("--session", name, "--output", f.Output); err != nil {
		return err
	}
	if err := cli.CheckDistinct("--session", name, "--write", r.Name); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".session-*")
	if err != nil {
		return cli.Failed(cli.PlainPath(name, err))
	}
	_ = file.Close() // nothing was written to it
	return os.Remove(file.Name())
}

// withPage returns a maker of sinks that also keep a page up to date. If the
// page cannot be written, the error is passed to say and the page is tried
// again later. Only the last attempt must succeed.
func withPage(name string, say func(format string, args ...any), makeSink reading.SinkMaker) reading.SinkMaker {
	p := &livePage{name: name, say: say, end: make(chan struct{}), story: match.New(time.Now()), changed: true}
	p.update()
	go func() {
		defer cli.Guard()
		p.keep()
	}()
	return func(out *cli.Output, start time.Time) (report.Sink, func(*reading.Counts) error) {
		sink, finish := makeSink(out, start)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.story = match.New(start)
		return &pageSink{sink, p}, finish
	}
}

// keep writes the page every minute until the end.
func (p *livePage) keep() {
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		select {
		case <-p.end:
			return
		case <-tick.C:
			p.update()
		}
	}
}

// update writes the page if there are new records.
func (p *livePage) update() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.changed {
		return
	}
	if err := p.write(); err != nil {
		p.say("%v", err)
	}
}

// Record implements [report.Sink].
func (s *pageSink) Record(r *dissect.Record) error {
	if err := s.page.record(r); err != nil {
		return err
	}
	return s.Sink.Record(r)
}

func (p *livePage) record(r *dissect.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = true
	return p.story.Record(r)
}

// Close implements [report.Sink].
func (s *pageSink) Close() error {
	if err := s.page.close(); err != nil {
		return err
	}
	return s.Sink.Close()
}

func (p *livePage) close() error {
	close(p.end)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = false // tells the goroutine not to write it again
	if err := p.story.Close(); err != nil {
		return err
	}
	return p.write()
}

// write replaces the page in one step, so that a browser never loads half of
// it. The caller must have locked p.
func (p *livePage) write() error {
	d, err := cli.CreateDraft(p.name, true, cli.Streams{Graceful: true})
	if err != nil {
		return err
	}
	d.KeepMode()
	if err = errors.Join(page.Write(d, p.story.Matches(), match.Evenings{}), d.Close()); err != nil {
		d.Discard()
		return cli.PlainPath(p.name, err)
	}
	p.changed = false
	return d.Accept()
}
