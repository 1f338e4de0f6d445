package browser

import (
	"bytes"
	"strings"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/internal/canvas"
	"github.com/bcdissect/bcdissect/report/table"
)

// A separate goroutine reads the captures, one job at a time. A new job cancels
// the previous one.

// A job is one reading of the captures.
type job struct {
	stopped atomic.Bool
	done    chan struct{} // closed when stopped
	out     chan tea.Msg
}

// Limits of a window.
const (
	windowRows  = 2048
	windowBytes = 24 << 20
	rowBytes    = 6 << 10 // memory of a record in addition to its bytes
)

// A window is a part of the list.
type window struct {
	from int // row of the first record
	rows []*dissect.Record
	size int
}

// has returns the record of a row, or nil if the window does not contain it.
func (w *window) has(row int) *dissect.Record {
	if w == nil || row < w.from || row >= w.from+len(w.rows) {
		return nil
	}
	return w.rows[row-w.from]
}

// add appends a record. It reports whether there is room for more.
func (w *window) add(r *dissect.Record) bool {
	c := r.Clone()
	w.rows = append(w.rows, c)
	w.size += sizeOf(c)
	return len(w.rows) < windowRows && w.size < windowBytes
}

// sizeOf returns the memory that a record takes, in bytes.
func sizeOf(r *dissect.Record) int {
	n := rowBytes + 2*len(r.Bytes) + 3*len(r.Payload)
	if r.Datagram != nil {
		n += len(r.Datagram.Payload)
	}
	return n
}

// A selection chooses the messages of the list.
type selection struct {
	expr   string
	match  func(*dissect.Record) bool // nil for all messages
	follow follow
	marked map[place]string // only these messages, nil for all
}

// has reports whether a record is in the list.
func (s *selection) has(v *decode.Viewer, r *dissect.Record) bool {
	if s.marked != nil {
		if _, ok := s.marked[placeOf(r)]; !ok {
			return false
		}
	}
	return s.follow.has(v, r) && (s.match == nil || s.match(r))
}

// A result is the result of a job. The program ignores it if another job has
// begun since.
type result struct {
	job  *job
	take func()
	last bool
}

// begin cancels the current job and begins another one.
func (m *model) begin(work func(*job)) tea.Cmd {
	m.cancel()
	j := &job{done: make(chan struct{}), out: make(chan tea.Msg, 1)}
	m.job = j
	go func() {
		defer close(j.out)
		defer func() {
			if v := recover(); v != nil {
				j.send(canvas.Fault{Value: v})
			}
		}()
		m.b.scan.Lock()
		defer m.b.scan.Unlock()
		if !j.stopped.Load() {
			work(j)
		}
	}()
	return j.wait
}

// cancel cancels the current job.
func (m *model) cancel() {
	if m.job != nil && !m.job.stopped.Swap(true) {
		close(m.job.done)
		m.grew = m.b.opts.Live != nil // the job may have been adding new live traffic
	}
	m.job = nil
}

// wait returns the next result of the job.
func (j *job) wait() tea.Msg {
	if msg, ok := <-j.out; ok {
		return msg
	}
	return nil
}

// tell passes a result to the program.
func (j *job) tell(last bool, take func()) { j.send(result{j, take, last}) }

func (j *job) send(msg tea.Msg) {
	select {
	case j.out <- msg:
	case <-j.done:
	}
}

// progressEvery is the number of records after which a listing reports its
// progress.
const progressEvery = 1 << 16

// list begins a listing.
func (m *model) list(s selection) tea.Cmd {
	m.listing, m.read, m.matched = true, 0, 0
	scan := m.b.opts.Scan
	return m.begin(func(j *job) {
		x, w := new(index), new(window)
		room := true
		var v decode.Viewer
		err := scan(0, func(n int, r *dissect.Record) bool {
			shown := s.has(&v, r)
			x.add(n, shown, r.Datagram)
			full := shown && room && !w.add(r)
			room = room && !full
			if read, matched := x.seen, x.shown; full || read%progressEvery == 0 {
				j.tell(false, func() {
					m.read, m.matched = read, matched
					if m.index == nil && full {
						m.win = w
					}
				})
			}
			return !j.stopped.Load()
		})
		j.tell(true, func() { m.listed(s, x, w, err) })
	})
}

// load begins to read a window that starts at a row.
func (m *model) load(from int) tea.Cmd {
	x := m.index
	scan := m.b.opts.Scan
	first := x.record(from)
	return m.begin(func(j *job) {
		w := &window{from: -1}
		more := true
		err := scan(first, func(n int, r *dissect.Record) bool {
			if w.from < 0 { // live traffic was dropped, so the window starts later
				w.from = x.row(n)
			}
			more = !x.has(n) || w.add(r)
			more = more && n+1 < x.total && !j.stopped.Load()
			return more
		})
		w.from = max(w.from, 0)
		j.tell(true, func() { m.loaded(w, more, err) })
	})
}

// seek begins to search for a record of the list, forwards or backwards from
// the cursor's row. At the end it continues from the other end.
func (m *model) seek(is func(*dissect.Record) bool, back bool) tea.Cmd {
	x := m.index
	scan := m.b.opts.Scan
	now := -1
	if x.shown > 0 {
		now = x.record(m.cursor)
	}
	return m.begin(func(j *job) {
		// look returns the first or the last matching record in a part of the
		// captures.
		look := func(from, to int) int {
			at := -1
			if from >= to {
				return at
			}
			_ = scan(from, func(n int, r *dissect.Record) bool { // the listing has reported the error
				if n < to && x.has(n) && is(r) {
					at = n
				}
				return n+1 < to && (at < 0 || back) && !j.stopped.Load()
			})
			return at
		}
		record, wrapped := -1, false
		if back {
			record = look(0, now)
		} else {
			record = look(now+1, x.total)
		}
		if record < 0 {
			wrapped = true
			if back {
				record = look(now, x.total)
			} else {
				record = look(0, now+1)
			}
		}
		j.tell(true, func() { m.found(record, wrapped, back) })
	})
}

// search begins to search for text in the lines of the list.
func (m *model) search(text string, back bool) tea.Cmd {
	sink := table.New(nil, table.Options{ASCII: m.b.opts.ASCII, Start: m.b.opts.Start(), Times: m.times(), Zone: m.zone})
	has := finder(text)
	return m.seek(func(r *dissect.Record) bool { return has(sink.Line(r)) }, back)
}

// finder returns a function that searches a line for text. Lower-case letters
// also match upper-case ones.
func finder(text string) func(line string) bool {
	if strings.ToLower(text) != text {
		return func(line string) bool { return strings.Contains(line, text) }
	}
	want := []byte(text)
	return func(line string) bool {
		return strings.Contains(line, text) || bytes.Contains(bytes.ToLower([]byte(line)), want)
	}
}
