package browser

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report/internal/canvas"
)

// grown is the message that live traffic has grown.
type grown struct{}

// An addition is a record of live traffic that is to be added to the index.
type addition struct {
	n        int
	shown    bool
	datagram dissect.Datagram // only number and time are set
}

// maxAdditions is the maximum number of records that one reading adds to the
// list.
const maxAdditions = 1 << 16

// grow begins to add the new live traffic to the list.
func (m *model) grow() tea.Cmd {
	m.grew = false
	first, s := m.index.total, m.of
	scan := m.b.opts.Scan
	return m.begin(func(j *job) {
		var all []addition
		w := new(window)
		room := true
		var v decode.Viewer
		err := scan(first, func(n int, r *dissect.Record) bool {
			a := addition{n: n, shown: s.has(&v, r)}
			a.datagram.Number, a.datagram.Time = r.Datagram.Number, r.Datagram.Time
			if a.shown && room {
				room = w.add(r)
			}
			all = append(all, a)
			return len(all) < maxAdditions && !j.stopped.Load()
		})
		j.tell(true, func() { m.added(all, w, err) })
	})
}

// added appends new records to the list and removes dropped records from its
// beginning. The cursor stays on its message. If it was on the last row, it
// moves to the new last row, unless the user reads fields or answers a
// question.
func (m *model) added(all []addition, w *window, err error) {
	atEnd := m.cursor >= m.index.shown-1 && m.focus == messages && m.Asking == canvas.Nothing
	end := m.win.from + len(m.win.rows)
	joins := end == m.index.shown
	for _, a := range all {
		m.index.add(a.n, a.shown, &a.datagram)
	}
	m.grew = m.grew || len(all) == maxAdditions
	if joins {
		m.win.rows = append(m.win.rows, w.rows...)
		m.win.size += w.size
	}
	m.live = m.b.opts.Live()
	if rows := m.index.drop(m.live.Gone); rows > 0 {
		m.cursor, m.top = max(m.cursor-rows, 0), max(m.top-rows, 0)
		m.recRow -= rows
		m.win.from -= rows
	}
	m.win.trim()
	if atEnd {
		m.cursor = max(m.index.shown-1, 0)
	}
	m.tries = 0
	m.tell(err)
}

// trim removes the first rows of a window that is too large or begins before
// the list.
func (w *window) trim() {
	drop := max(-w.from, 0)
	for drop < len(w.rows) && (len(w.rows)-drop > windowRows || w.size > windowBytes) {
		w.size -= sizeOf(w.rows[drop])
		drop++
	}
	drop = min(drop, len(w.rows))
	w.rows = append(w.rows[:0:0], w.rows[drop:]...)
	w.from += drop
}

// liveTitle returns the part of the first line about live traffic.
func (m *model) liveTitle() string {
	text := ""
	if m.live.Gone > 0 {
		text += ", the first " + plural.Thousands(m.live.Gone) + " dropped"
	}
	if m.live.Lost > 0 {
		text += fmt.Sprintf(", %s lost", plural.Count(m.live.Lost, "packet"))
	}
	if m.live.Ended {
		text += ", ended"
	}
	return text
}
