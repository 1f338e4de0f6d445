// Package viewer answers the questions of the web page about captures: the
// matches and counts, a list of messages, the fields of one, and files to save.
// It knows no browser. Captures are read again where that saves memory.
//
// All text that it returns is escaped as for a terminal, except in files.
package viewer

import (
	"errors"
	"io"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// A passage is one way through captures: datagrams in, records out.
type passage struct {
	src      *capture.Series
	pipeline *dissect.Pipeline
	batch    dissect.Batch
	most     int               // datagrams of a step, 0 for as many as the batch holds
	waiting  *dissect.Datagram // read, but for which the batch had no room
	places   *places           // nil unless frames are numbered anew
	ended    bool
	err      error // why the captures ended early
}

// pass begins a passage. It fails if the first capture cannot be opened.
func pass(names []string) (*passage, error) {
	return passTapped(names, nil)
}

// passTapped is pass with the numbers of frames, unless they are nil.
func passTapped(names []string, numbers *places) (*passage, error) {
	var tap capture.Tap
	if numbers != nil {
		tap = numbers
	}
	src, err := capture.OpenTapped(names, nil, tap)
	if err != nil {
		return nil, err
	}
	p := &passage{src: src, pipeline: dissect.New(dissect.Config{}), places: numbers}
	p.next()
	return p, nil
}

// next reads a datagram ahead.
func (p *passage) next() {
	d, err := p.src.Next()
	switch {
	case err == nil:
		p.waiting = d
		if p.places != nil {
			p.places.names[p.places.file] = d.Capture
		}
		return
	case !errors.Is(err, io.EOF):
		p.err = err
	}
	p.waiting, p.ended = nil, true
}

// step emits the records of some thousand datagrams, and after the last the
// messages that never became complete. It reports whether there are more.
func (p *passage) step(emit func(*dissect.Record) error) (more bool) {
	p.batch.Reset()
	for p.waiting != nil && (p.most == 0 || p.batch.Len() < p.most) && p.batch.Add(p.waiting) {
		p.next()
	}
	p.batch.Decipher()
	_ = p.pipeline.PushBatch(&p.batch, emit) // emit does not fail
	if !p.ended {
		return true
	}
	_ = p.pipeline.Flush(emit)
	_ = p.src.Close() // nothing was written
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
