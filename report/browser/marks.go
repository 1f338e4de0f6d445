package browser

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/bcdissect/bcdissect/dissect"
)

// A Mark is a mark of the user on a message, with an optional note.
type Mark struct {
	Frame   int    `json:"frame"`
	Message int    `json:"message"` // index of the message in the frame
	Note    string `json:"note,omitempty"`
}

// Limits of marks.
const (
	MaxMarks = 10_000
	MaxNote  = 500 // characters
)

// A place is a frame number and the index of a message in the frame.
type place struct{ frame, part int }

func placeOf(r *dissect.Record) place { return place{r.Datagram.Number, r.Part} }

// markMessage marks the message in the cursor's row, or removes its mark and
// note.
func (m *model) markMessage() {
	r := m.record()
	if r == nil {
		return
	}
	at := placeOf(r)
	if _, marked := m.marks[at]; marked {
		delete(m.marks, at)
		m.keep("mark removed")
		return
	}
	m.set(at, "", "marked")
}

// annotate asks for a note about the message in the cursor's row.
func (m *model) annotate() tea.Cmd {
	r := m.record()
	if r == nil {
		return nil
	}
	m.noted = placeOf(r)
	return m.ask(askNote, m.marks[m.noted])
}

// note marks the message for which the user was asked with a note. The note may
// be empty.
func (m *model) note(text string) {
	text = string([]rune(text)[:min(len([]rune(text)), MaxNote)])
	m.set(m.noted, text, "noted")
}

// set marks a message.
func (m *model) set(at place, note, done string) {
	if _, old := m.marks[at]; !old && len(m.marks) >= MaxMarks {
		m.Reason = fmt.Sprintf("there are %d marks already, the most there can be", MaxMarks)
		return
	}
	m.marks[at] = note
	m.keep(done)
}

// keep saves the marks and shows the text done, or an error.
func (m *model) keep(done string) {
	if m.b.opts.Keep == nil {
		m.said = done
		if m.b.opts.Why != "" {
			m.said += "; " + clean(m.b.opts.Why)
		}
		return
	}
	if err := m.b.opts.Keep(m.allMarks()); err != nil {
		m.Reason = "marks are not saved: " + clean(err.Error())
		return
	}
	m.said = done
}

// allMarks returns the marks in the order of the messages.
func (m *model) allMarks() []Mark {
	var all []Mark
	for at, note := range m.marks {
		all = append(all, Mark{at.frame, at.part, note})
	}
	slices.SortFunc(all, func(a, b Mark) int { return cmp.Or(cmp.Compare(a.Frame, b.Frame), cmp.Compare(a.Message, b.Message)) })
	return all
}

// onlyMarked shows only marked messages in the list, or all messages again.
func (m *model) onlyMarked() tea.Cmd {
	if m.busy() {
		return nil
	}
	s := m.of
	switch {
	case s.marked != nil:
		s.marked = nil
	case len(m.marks) == 0:
		m.Reason = "no message is marked; m marks one"
		return nil
	default:
		s.marked = maps.Clone(m.marks)
	}
	return m.relist(s)
}

// nextMark moves the cursor to the next marked message of the list, or to the
// previous one.
func (m *model) nextMark(back bool) tea.Cmd {
	marks := maps.Clone(m.marks)
	return m.next("marked message", back, func(r *dissect.Record) bool { _, ok := marks[placeOf(r)]; return ok })
}

// nextProblem moves the cursor to the next message of the list that was not
// completely decoded or has a note, or to the previous one.
func (m *model) nextProblem(back bool) tea.Cmd {
	return m.next("message with an error, a note or undecoded bytes", back, (*dissect.Record).Problem)
}

// next moves the cursor to the next message for which is returns true, or to
// the previous one.
func (m *model) next(what string, back bool, is func(*dissect.Record) bool) tea.Cmd {
	if m.busy() {
		return nil
	}
	m.said, m.none = "searching the next "+what, "the list has no "+what
	return m.seek(is, back)
}
