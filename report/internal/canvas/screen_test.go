package canvas

import (
	"errors"
	"io"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// A faulty model panics in one of its methods, or in its command.
type faulty struct {
	Screen

	where string
}

var errFault = errors.New("index out of range")

func (m *faulty) fail(where string) tea.Msg {
	if m.where == where {
		panic(errFault)
	}
	return nil
}

func (m *faulty) Init() tea.Cmd {
	return Guard(func() tea.Msg { return m.fail("command") })
}

func (m *faulty) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd, _ := m.Handle(msg)
	m.fail("update")
	return m, cmd
}

func (m *faulty) View() tea.View {
	if m.Width != 80 { // not before the terminal is set up
		m.fail("view")
	}
	return m.Draw([]string{"text"}, 0)
}

// After a panic the terminal is restored, and the caller of Run receives the
// panic and reports it. Nothing else is written.
func TestPanicRestoresTerminal(t *testing.T) {
	for _, where := range []string{"update", "view", "command"} {
		keys, _ := io.Pipe()
		var out strings.Builder
		fault := func() (fault error) {
			defer func() { fault, _ = recover().(error) }()
			return new(Program).Run(&faulty{NewScreen(New(false, false), 10), where}, keys, &out, 10)
		}()
		if !errors.Is(fault, errFault) {
			t.Errorf("%s: Run ends with %v", where, fault)
		}
		const on, off = "\x1b[?1049h", "\x1b[?1049l"
		if text := out.String(); strings.LastIndex(text, off) < strings.LastIndex(text, on) || strings.Contains(text, "goroutine") {
			t.Errorf("%s: the terminal stays as it is: %q", where, text)
		}
	}
}
