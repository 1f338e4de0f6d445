// Not part of the library: package browser shows the messages of captures on a
// whole terminal: a list, the fields of one message, and its bytes.
// docs/browse.md describes the screen and the keys.
//
// It holds neither the capture nor its messages, but an index of about a bit a
// message, and a window of the list. To show another part it reads the capture
// again. Live traffic grows and loses its oldest messages meanwhile. Text from the
// network is escaped.
package browser

import (
	"io"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/internal/canvas"
)

// Options set the look of the browser and its source.
type Options struct {
	Title  string // the source: a file
	Color  bool   // by ANSI sequences
	ASCII  bool   // no arrows and ellipses
	Filter string // the first filter, which Compile accepts

	// Scan reads the records from number first on, counted from 0, and passes them
	// to take with their numbers until that returns false. Every call yields the
	// same records; those of live traffic may be dropped later, and others follow.
	Scan func(first int, take func(n int, r *dissect.Record) bool) error
	// Live returns the state of live traffic; nil for captures.
	Live func() Live
	// Start returns the time of the first frame, once Scan has called take.
	Start func() time.Time
	// Compile makes a filter of an expression. The filter is used by one
	// goroutine at a time. An error may be a [*report.FilterError].
	Compile canvas.Compiler
	// Complete returns continuations of an unfinished expression; nil for none.
	Complete func(begun string) []string
	// Column returns a function that returns the value of a column, such as fields.speed.
	// It is used by one goroutine at a time. Nil for no columns.
	Column func(name string) (func(*dissect.Record) string, error)
	// Equal returns an expression for the value of a field, whose name begins with
	// that of the message.
	Equal func(name string, f *decode.Field) string
	// Marks are the marks of earlier, and Keep saves all of them. With Keep nil they
	// last as long as the browser, and Why tells the user the reason.
	Marks []Mark
	Keep  func([]Mark) error
	Why   string
	// Save writes the frames that it gets from frames to a capture, and returns what
	// it has done in words.
	Save func(name string, frames func(add func(frame int)) error) (done string, err error)
	// Command returns a command that decodes the message of a record.
	Command func(*dissect.Record) string
	// Copy puts text on the clipboard if the system has one, besides the
	// terminal's; nil for none.
	Copy func(text string)
}

// Live is the state of live traffic.
type Live struct {
	Gone  int    // records dropped, the oldest, to bound the memory
	Lost  uint64 // packets that the system or this program was too slow for
	Ended bool   // no more packets come
}

// A Browser is a program on a terminal.
type Browser struct {
	opts Options
	scan sync.Mutex // held while the captures are read
	canvas.Program
}

// New returns a browser.
func New(o Options) *Browser { return &Browser{opts: o} }

// Grow tells the browser that there is more live traffic.
func (b *Browser) Grow() { b.Send(grown{}) }

// framesPerSecond is how often the screen is drawn at most.
const framesPerSecond = 30

// Run shows the browser until the user quits or Stop is called. It returns the
// error that ended the reading of the captures, which may come after all
// messages. Keys come from in; out is the terminal, which Run leaves as it was.
func (b *Browser) Run(in io.Reader, out io.Writer) error {
	m := newModel(b)
	defer func() {
		m.cancel()
		b.scan.Lock() // until nothing reads any more
		defer b.scan.Unlock()
	}()
	if err := b.Program.Run(m, in, out, framesPerSecond); err != nil {
		return err
	}
	return m.damage
}
