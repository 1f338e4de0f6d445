// Package viewer provides the data about captures for the web page: the matches
// and counts, a list of messages, the fields of a message, and files to save.
// It does not depend on a browser. It reads captures again where that saves
// memory.
//
// All text that it returns is escaped as for a terminal, except in files.
package viewer

import (
	"iter"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// A passage is one reading of captures, which converts datagrams to records.
type passage struct {
	src      *capture.Series
	pipeline *dissect.Pipeline
	next     func() (*dissect.Batch, error, bool)
	stop     func()
	err      error // the reason that the captures ended early
}

// pass begins a passage. It returns an error if the first capture cannot be
// opened.
func pass(names []string) (*passage, error) {
	return passTapped(names, nil, 0)
}

// passTapped is like pass, with a tap and a maximum number of datagrams in a
// step. Nil and 0 mean no tap and the default.
func passTapped(names []string, tap capture.Tap, most int) (*passage, error) {
	src, err := capture.OpenTapped(names, nil, tap)
	if err != nil {
		return nil, err
	}
	p := &passage{src: src, pipeline: dissect.New(dissect.Config{})}
	first, _ := src.Next() // the next call returns the error again
	p.next, p.stop = iter.Pull2(dissect.Batches(src, dissect.BatchOptions{First: first, Most: most}))
	return p, nil
}

// close ends the passage before its last step.
func (p *passage) close() {
	p.stop()
	_ = p.src.Close() // it was opened only for reading
}

// step emits the records of some thousand datagrams. After the last datagram it
// emits the messages that never became complete. It reports whether there are
// more datagrams.
func (p *passage) step(emit func(*dissect.Record) error) (more bool) {
	b, err, _ := p.next()
	if b != nil {
		_ = p.pipeline.PushBatch(b, emit) // emit never returns an error
		return true
	}
	p.err = err
	_ = p.pipeline.Flush(emit)
	p.close()
	return false
}

// all emits all records and reports the progress.
func (p *passage) all(emit func(*dissect.Record) error, progress func(read, size int64)) {
	for p.step(emit) {
		if progress != nil {
			progress(p.src.Progress())
		}
	}
}
