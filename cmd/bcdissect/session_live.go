package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/reading"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/page"
)

// refresh is how often a page is written anew, in the time of the capture.
const refresh = time.Minute

// A pageSink writes the page of the matches so far, beside another report.
type pageSink struct {
	report.Sink
	story *match.Builder
	name  string
	next  time.Time
	say   func(format string, args ...any)
}

// checkPage checks before a long report that its page can be written: every
// record counts for it, it is no file that is read or written otherwise, and its
// folder takes files.
func checkPage(name string, f *cli.Common, r *cli.Recording, inputs ...string) error {
	if !f.All {
		return errors.New("--session needs every record; leave out the flags that choose some")
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
	_ = file.Close() // nothing was written
	return os.Remove(file.Name())
}

// withPage makes sinks that also keep a page up to date. A page that cannot be
// written is reported to say, and tried again; only the last one must succeed.
func withPage(name string, say func(format string, args ...any), makeSink reading.SinkMaker) reading.SinkMaker {
	return func(out *cli.Output, start time.Time) (report.Sink, func(*reading.Counts) error) {
		sink, finish := makeSink(out, start)
		return &pageSink{Sink: sink, story: match.New(start), name: name, next: start.Add(refresh), say: say}, finish
	}
}

// Record implements [report.Sink].
func (s *pageSink) Record(r *dissect.Record) error {
	if r.Datagram != nil && r.Datagram.Time.After(s.next) {
		s.next = r.Datagram.Time.Add(refresh)
		if err := s.write(); err != nil {
			s.say("%v", err)
		}
	}
	if err := s.story.Record(r); err != nil {
		return err
	}
	return s.Sink.Record(r)
}

// Close implements [report.Sink].
func (s *pageSink) Close() error {
	if err := s.story.Close(); err != nil {
		return err
	}
	if err := s.write(); err != nil {
		return err
	}
	return s.Sink.Close()
}

// write replaces the page at once, so that a browser never loads half of it.
func (s *pageSink) write() error {
	d, err := cli.CreateDraft(s.name, true, cli.Streams{Graceful: true})
	if err != nil {
		return err
	}
	if err = errors.Join(page.Write(d, s.story.Matches(), match.Evenings{}), d.Chmod(0o644), d.Close()); err != nil {
		d.Discard()
		return cli.PlainPath(s.name, err)
	}
	return d.Accept()
}
