package dashboard

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/bcdissect/bcdissect/report/internal/canvas"
)

// A pane is a part of the screen.
type pane int

const (
	players pane = iota
	opcodes
	events
	links
	ships
	panes // number of panes
)

// Steps for moving in a recording.
const (
	step     = 10 * time.Second
	longStep = time.Minute
)

// model is the program that runs on the terminal. It shows a snapshot, which it
// updates several times a second.
type model struct {
	canvas.Screen

	d    *Dashboard
	look look

	snap   snapshot
	paused bool
	help   bool
	zoomed bool
	focus  pane
	middle pane       // the pane between players and events: opcodes, links or ships
	scroll [panes]int // rows from the top, but for events from the bottom
	sort   [panes]int // index of the order
	page   int        // number of rows in the focused pane

	filter string // the current filter
}

func newModel(d *Dashboard) *model {
	m := &model{Screen: canvas.NewScreen(canvas.New(d.opts.Color, d.opts.ASCII), 1000), d: d, look: newLook(d.opts), page: 1, middle: opcodes}
	m.snap = d.snapshot()
	return m
}

type tick struct{}

// next schedules the next refresh of the screen.
func next() tea.Cmd {
	return tea.Tick(time.Second/frames, func(time.Time) tea.Msg { return tick{} })
}

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd { return next() }

// Update implements [tea.Model].
func (m *model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	if cmd, done := m.Handle(message); done {
		return m, cmd
	}
	switch msg := message.(type) {
	case tick:
		if !m.paused || m.d.opts.Pacer != nil {
			m.snap = m.d.snapshot()
		}
		return m, next()
	case tea.KeyPressMsg:
		return m, m.key(msg)
	}
	return m, nil
}

// key handles a key.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case m.Asking != canvas.Nothing:
		return m.answer(k, name)
	case m.help:
		m.help = false
		if name == "q" {
			return tea.Quit
		}
		return nil
	}
	switch name {
	case "q":
		return tea.Quit
	case "?", "h", "f1":
		m.help = true
	case "space", " ", "p":
		m.pause()
	case "/":
		if m.d.opts.Compile == nil {
			m.Reason = "there are no filters here"
			return nil
		}
		return m.Ask(canvas.AskFilter, m.filter)
	case "t":
		if m.seekable() {
			return m.Ask(canvas.AskTime, "")
		}
	case "left":
		m.seek(m.snap.now.Add(-step))
	case "right":
		m.seek(m.snap.now.Add(step))
	case "shift+left", "<":
		m.seek(m.snap.now.Add(-longStep))
	case "shift+right", ">":
		m.seek(m.snap.now.Add(longStep))
	case "s":
		p := m.focus
		if p == events {
			p = players
		}
		m.sort[p]++
	case "z", "enter":
		m.zoomed = !m.zoomed
	case "tab":
		m.turn(1)
	case "shift+tab":
		m.turn(-1)
	case "1", "2", "3", "4", "5":
		m.focus = pane(name[0] - '1')
		if m.focus != players && m.focus != events {
			m.middle = m.focus
		}
	case "+", "=":
		m.hurry(2)
	case "-":
		m.hurry(0.5)
	case "esc":
		m.Reason, m.zoomed = "", false
	default:
		m.move(name)
	}
	return nil
}

// turn moves the focus by a number of visible panes, backwards if it is
// negative.
func (m *model) turn(by int) {
	there := []pane{players, m.middle, events}
	n := len(there)
	m.focus = there[(slices.Index(there, m.focus)+by+n)%n]
}

// pause stops or resumes the recording, or the screen if there is no recording.
func (m *model) pause() {
	m.paused = !m.paused
	if p := m.d.opts.Pacer; p != nil {
		p.SetPaused(m.paused)
	}
	m.snap = m.d.snapshot()
}

// hurry multiplies the speed of a recording by a factor.
func (m *model) hurry(factor float64) {
	if p := m.d.opts.Pacer; p != nil {
		p.SetSpeed(p.Speed() * factor)
		m.snap.speed = p.Speed()
	}
}

// move scrolls the focused pane. The limit is applied when the pane is drawn.
func (m *model) move(key string) {
	by := canvas.Scroll(key, m.page)
	if m.focus == events { // the last lines stay visible while new ones arrive
		by = -by
	}
	m.scroll[m.focus] = min(max(m.scroll[m.focus]+by, 0), m.most(m.focus))
}

// most returns the number of rows by which a pane can be scrolled.
func (m *model) most(p pane) int {
	return max(m.rows(p)-max(m.page, 1), 0)
}

// rows returns the number of rows of a pane, including rows that are not
// visible.
func (m *model) rows(p pane) int {
	switch p {
	case players:
		return len(m.snap.players)
	case opcodes:
		return len(m.snap.kinds)
	case links:
		return len(m.snap.links)
	case ships:
		return len(m.snap.ships)
	default:
		return len(m.snap.events)
	}
}

// answer handles a key while the user writes an answer.
func (m *model) answer(k tea.KeyPressMsg, name string) tea.Cmd {
	switch {
	case name == "esc":
		m.Dismiss()
	case name != "enter":
		return m.Edit(k)
	case m.Asking == canvas.AskTime:
		m.jump(m.Input.Value())
	default:
		m.apply(m.Input.Value())
	}
	return nil
}

// seekable reports whether there is a recording to move in. If not, it shows a
// text for the user.
func (m *model) seekable() bool {
	if m.d.opts.Pacer == nil {
		m.Reason = "only a recording that is read with --speed can be moved in"
		return false
	}
	return !m.snap.start.IsZero()
}

// seek moves to a time in the recording.
func (m *model) seek(to time.Time) {
	m.Reason = ""
	if !m.seekable() {
		return
	}
	if to.Before(m.snap.start) {
		to = m.snap.start
	}
	switch {
	case m.snap.closed && !to.Before(m.snap.now):
		m.Reason = "this is the end of the recording"
	case !m.d.opts.Pacer.Seek(m.snap.now, to):
		m.Reason = "the recording cannot be read again, so there is no way back"
	}
}

// jump moves to a time that the user has typed. The text is the time since the
// beginning, in the format of the screen or in seconds.
func (m *model) jump(text string) {
	since, err := canvas.Since(text)
	if err != nil {
		m.Reason = err.Error()
		return
	}
	m.Dismiss()
	m.seek(m.snap.start.Add(since))
}

// apply makes an expression the filter. If the expression is wrong, it shows
// the error.
func (m *model) apply(expr string) {
	keep, ok := m.Compile(m.d.opts.Compile, expr)
	if !ok {
		return
	}
	m.Dismiss()
	m.filter = strings.TrimSpace(expr)
	m.d.setFilter(keep)
	m.snap = m.d.snapshot()
}
