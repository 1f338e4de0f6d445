// Package viewer answers the questions of the web page about captures: the
// matches and counts, a list of messages, the fields of one, and files to save.
// It knows no browser. Captures are read again where that saves memory.
//
// All text that it returns is escaped as for a terminal, except in files.
package viewer

import (
	"iter"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// A passage is one way through captures: datagrams in, records out.
type passage struct {
	src      *capture.Series
	pipeline *dissect.Pipeline
	next     func() (*dissect.Batch, error, bool)
	stop     func()
	err      error // why the captures ended early
}

// pass begins a passage. It fails if the first capture cannot be opened.
func pass(names []string) (*passage, error) {
	return passTapped(names, nil, 0)
}

// passTapped is pass with a tap and the largest number of datagrams in a step,
// unless they are nil and 0.
func passTapped(names []string, tap capture.Tap, most int) (*passage, error) {
	src, err := capture.OpenTapped(names, nil, tap)
	if err != nil {
		return nil, err
	}
	p := &passage{src: src, pipeline: dissect.New(dissect.Config{})}
	first, _ := src.Next() // its error comes again
	p.next, p.stop = iter.Pull2(dissect.Batches(src, dissect.BatchOptions{First: first, Most: most}))
	return p, nil
}

// close ends the passage before its last step.
func (p *passage) close() {
	p.stop()
	_ = p.src.Close() // nothing was written
}

// step emits the records of some thousand datagrams, and after the last the
// messages that never became complete. It reports whether there are more.
func (p *passage) step(emit func(*dissect.Record) error) (more bool) {
	b, err, _ := p.next()
	if b != nil {
		_ = p.pipeline.PushBatch(b, emit) // emit does not fail
		return true
	}
	p.err = err
	_ = p.pipeline.Flush(emit)
	p.close()
	return false
}

// all emits all records, and tells how far it is.
func (p *passage) all(emit func(*dissect.Record) error, progress func(read, size int64)) {
	for p.step(emit) {
		if progress != nil {
			progress(p.src.Progress())
		}
	}
}
