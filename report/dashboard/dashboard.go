// Not part of the library: package dashboard shows traffic on a whole terminal
// while it is read: players, the quality of their connections, message rates
// and the events of the game. docs/dashboard.md describes the screen and the
// keys.
//
// A [Dashboard] is a sink. One goroutine passes records to it while another one
// runs the screen. Its use of memory is limited for any traffic, and text from
// the network is escaped.
package dashboard

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/internal/canvas"
)

// Options configure a Dashboard.
type Options struct {
	Title string // name of the source, such as a file or an interface
	Color bool   // use ANSI colour sequences
	ASCII bool   // draw no bars and ellipses

	// Now returns the current time. The dashboard uses it to measure the time
	// since the last record, so that rates decrease when no records arrive. If
	// Now is nil, time stops between records.
	Now func() time.Time

	// Pacer delays the reader of a recorded session. The pause key then stops
	// the reading, and other keys change its speed and position. If Pacer is
	// nil, the pause key stops only the screen.
	Pacer *Pacer

	// Compile makes a filter from an expression. Only one goroutine at a time
	// uses the filter. An error may be a [*report.FilterError]. If Compile is
	// nil, there are no filters.
	Compile canvas.Compiler
}

// ErrQuit is the error for records after the user has quit.
var ErrQuit = errors.New("dashboard: the user quit")

// frames is the maximum number of times the screen is drawn in a second.
const frames = 10

// A Dashboard counts and shows records. Its methods may be called concurrently.
type Dashboard struct {
	opts Options

	program canvas.Program

	mu sync.Mutex
	s  state
}

// New returns a dashboard without records.
func New(o Options) *Dashboard {
	d := &Dashboard{opts: o}
	d.s.now = o.Now
	d.s.pacer = o.Pacer
	return d
}

// Record adds a record. It does not wait for the terminal. It returns [ErrQuit]
// or nil.
func (d *Dashboard) Record(r *dissect.Record) error {
	if d.program.Stopped() {
		return ErrQuit
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.s.record(r)
	return nil
}

// Close tells the dashboard that there are no more records. The screen stays
// until the user quits.
func (d *Dashboard) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.s.closed {
		d.s.stand = d.s.clock()
		d.s.closed = true
	}
	return nil
}

// Restart clears all counts, since the records will be read again. It keeps the
// filter.
func (d *Dashboard) Restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.s = state{now: d.s.now, pacer: d.s.pacer, keep: d.s.keep}
}

// SetDrops sets the number of packets that a live capture received and the
// number that it lost.
func (d *Dashboard) SetDrops(received, dropped uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.s.received, d.s.dropped, d.s.live = received, dropped, true
}

// Run shows the dashboard until the user quits or Stop is called. Run reads
// keys from in, draws on the terminal out, and restores the terminal at the
// end.
func (d *Dashboard) Run(in io.Reader, out io.Writer) error {
	defer d.Stop()
	return d.program.Run(newModel(d), in, out, frames)
}

// Stop ends Run. If Run has not begun, it will return at once.
func (d *Dashboard) Stop() {
	if d.opts.Pacer != nil {
		d.opts.Pacer.Stop()
	}
	d.program.Stop()
}

// snapshot returns the current state for the screen.
func (d *Dashboard) snapshot() snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.s.snapshot()
}

// setFilter makes the dashboard count only messages for which keep returns
// true. It clears earlier counts.
func (d *Dashboard) setFilter(keep func(*dissect.Record) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.s.setFilter(keep)
}
