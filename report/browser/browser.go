// Not part of the library: package browser shows the messages of captures on a
// whole terminal: a list, the fields of one message, and its bytes.
// docs/browse.md describes the screen and the keys.
//
// The package keeps an index of about one bit for each message, and a window of
// the list in memory. To show another part of the list, it reads the capture
// again. Live traffic grows and loses its oldest messages over time. Text from
// the network is escaped.
package browser

import (
	"io"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/internal/canvas"
)

// Options set the look and the source of a Browser.
type Options struct {
	Title  string // name of the source, such as a file
	Color  bool   // use ANSI colour sequences
	ASCII  bool   // draw no arrows and ellipses
	Filter string // the first filter, an expression that Compile accepts

	// Scan reads the records from number first on, counted from 0, and passes
	// them to take with their numbers until take returns false. Every call
	// passes the same records. Live traffic can lose old records and add new
	// ones between calls.
	Scan func(first int, take func(n int, r *dissect.Record) bool) error
	// Live returns the state of live traffic. It is nil for captures.
	Live func() Live
	// Start returns the time of the first frame. It is valid once Scan has
	// called take.
	Start func() time.Time
	// Compile makes a filter from an expression. Only one goroutine at a time
	// uses the filter. An error may be a [*report.FilterError].
	Compile canvas.Compiler
	// Complete returns continuations of an unfinished expression. It may be
	// nil.
	Complete func(begun string) []string
	// Column returns a function that returns the value of a column, such as
	// fields.speed. Only one goroutine at a time uses the function. Column is
	// nil if there are no columns.
	Column func(name string) (func(*dissect.Record) string, error)
	// Equal returns an expression for the value of a field. The name begins
	// with the name of the message.
	Equal func(name string, f *decode.Field) string
	// Marks are the marks of earlier sessions. Keep saves all marks. If Keep is
	// nil, marks are lost when the browser ends, and Why is the reason to show.
	Marks []Mark
	Keep  func([]Mark) error
	Why   string
	// Save writes the frames that frames passes to add to a capture. It returns
	// a description of what it has done.
	Save func(name string, frames func(add func(frame int)) error) (done string, err error)
	// Command returns a command that decodes the message of a record.
	Command func(*dissect.Record) string
	// Copy copies text to the clipboard of the system, in addition to the
	// clipboard of the terminal. It is nil if the system has none.
	Copy func(text string)
}

// Live is the state of live traffic.
type Live struct {
	Gone  int    // number of the oldest records that were dropped to limit memory
	Lost  uint64 // packets lost because the system or this program was too slow
	Ended bool   // no more packets will arrive
}

// A Browser shows messages on a terminal.
type Browser struct {
	opts Options
	scan sync.Mutex // held while the captures are read
	canvas.Program
}

// New returns a browser.
func New(o Options) *Browser { return &Browser{opts: o} }

// Grow tells the browser that live traffic has grown.
func (b *Browser) Grow() { b.Send(grown{}) }

// framesPerSecond is the maximum rate at which the screen is drawn.
const framesPerSecond = 30

// Run shows the browser until the user quits or Stop is called. It returns the
// error that ended the reading of the captures, which may occur after the last
// message. Run reads keys from in, draws on the terminal out, and restores the
// terminal at the end.
func (b *Browser) Run(in io.Reader, out io.Writer) error {
	m := newModel(b)
	defer func() {
		m.cancel()
		b.scan.Lock() // waits until no goroutine reads the captures
		defer b.scan.Unlock()
	}()
	if err := b.Program.Run(m, in, out, framesPerSecond); err != nil {
		return err
	}
	return m.damage
}
