// Not part of the library: package dashboard shows traffic on a whole terminal
// while it is read: players, the quality of their links, message rates and the
// events of the game. docs/dashboard.md describes the screen and the keys.
//
// A [Dashboard] is a sink that one goroutine gives records to while another one
// runs the screen. Its memory is bounded for any traffic, and text from the
// network is escaped.
package dashboard

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/internal/canvas"
)

// Options say how the dashboard looks and where it gets time from.
type Options struct {
	Title string // the source: a file, an interface
	Color bool   // by ANSI sequences
	ASCII bool   // no bars and ellipses

	// Now tells how much time went by since a record came, so that rates fall
	// when nothing comes. Without it time stands still between records.
	Now func() time.Time

	// Pacer delays the reader of a recorded session; the pause key then
	// stops the reading, and other keys change its speed and its place. Without
	// it pause stops the screen alone.
	Pacer *Pacer

	// Compile makes a filter of an expression. The filter is used by one
	// goroutine at a time. An error may be a [*report.FilterError]. Without it there are
	// no filters.
	Compile canvas.Compiler
}

// ErrQuit is returned for a record that comes after the user quit.
var ErrQuit = errors.New("dashboard: the user quit")

// frames is how often a second the screen is drawn at most.
const frames = 10

// A Dashboard counts and shows records. Its methods may be called by different
// goroutines.
type Dashboard struct {
	opts Options

	program canvas.Program

	mu sync.Mutex
	s  state
}

// New returns a dashboard that has seen nothing.
func New(o Options) *Dashboard {
	d := &Dashboard{opts: o}
	d.s.now = o.Now
	d.s.pacer = o.Pacer
	return d
}

// Record takes note of a record. It does not wait for the terminal. Its error
// is [ErrQuit], or nil.
func (d *Dashboard) Record(r *dissect.Record) error {
	if d.program.Stopped() {
		return ErrQuit
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.s.record(r)
	return nil
}

// Close tells that there are no more records. The screen stays until the user
// quits.
func (d *Dashboard) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.s.closed {
		d.s.stand = d.s.clock()
		d.s.closed = true
	}
	return nil
}

// Restart forgets all records, since they will be read again. The filter stays.
func (d *Dashboard) Restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.s = state{now: d.s.now, pacer: d.s.pacer, keep: d.s.keep}
}

// SetDrops tells how many packets a live capture received and how many of
// them it lost.
func (d *Dashboard) SetDrops(received, dropped uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.s.received, d.s.dropped, d.s.live = received, dropped, true
}

// Run shows the dashboard until the user quits or Stop is called. Keys come
// from in; out is the terminal, which Run leaves as it was.
func (d *Dashboard) Run(in io.Reader, out io.Writer) error {
	defer d.Stop()
	return d.program.Run(newModel(d), in, out, frames)
}

// Stop ends Run, and makes it end at once if it has not begun.
func (d *Dashboard) Stop() {
	if d.opts.Pacer != nil {
		d.opts.Pacer.Stop()
	}
	d.program.Stop()
}

// snapshot returns the present state for the screen.
func (d *Dashboard) snapshot() snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.s.snapshot()
}

// setFilter counts only messages that keep accepts. Earlier counts are cleared.
func (d *Dashboard) setFilter(keep func(*dissect.Record) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.s.setFilter(keep)
}
