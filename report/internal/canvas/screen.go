package canvas

import (
	"errors"
	"io"
	"strings"
	"sync"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
)

// A Program runs on a whole terminal. The zero value is ready to use.
type Program struct {
	mu      sync.Mutex
	tea     *tea.Program
	stopped bool
}

// Run shows a model until the user quits or Stop is called. It draws at most
// fps times a second. Keys come from in, and out is the terminal. Run restores
// the terminal at the end, even if the model panics. The panic continues, so
// that the command can report it.
func (p *Program) Run(m tea.Model, in io.Reader, out io.Writer, fps int) error {
	t := tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(out), tea.WithFPS(fps), tea.WithoutCatchPanics())
	p.mu.Lock()
	stopped := p.stopped
	if !stopped {
		p.tea = t // from now on Stop can send to the program
	}
	p.mu.Unlock()
	if stopped {
		return nil
	}
	defer p.Stop()
	ended := false
	defer func() {
		if !ended {
			_ = t.ReleaseTerminal() // the panic is more important than this error
		}
	}()
	_, err := t.Run()
	ended = true
	if errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// Stop ends Run. If Run has not begun, it will return at once.
func (p *Program) Stop() {
	p.mu.Lock()
	p.stopped = true
	t := p.tea
	p.mu.Unlock()
	if t != nil {
		t.Quit() // does not wait, and does nothing after the program has ended
	}
}

// Send sends a message to the model while the program runs.
func (p *Program) Send(msg tea.Msg) {
	p.mu.Lock()
	t := p.tea
	p.mu.Unlock()
	if t != nil {
		t.Send(msg) // does nothing after the program has ended
	}
}

// Stopped reports whether Stop was called or the program has ended.
func (p *Program) Stopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
}

// A Fault is a panic of another goroutine. Handle panics with its value, since
// Run can restore the terminal there.
type Fault struct{ Value any }

// Guard returns a command that converts a panic of cmd to a message.
func Guard(cmd tea.Cmd) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if v := recover(); v != nil {
				msg = Fault{v}
			}
		}()
		return cmd()
	}
}

// A Question is a question for the user: the text before the answer.
type Question string

// Questions of several programs.
const (
	Nothing   Question = ""
	AskFilter Question = "filter: "
	AskTime   Question = "go to time: "
)

// A Screen is the state that full-screen programs share: the size, and the
// question that the user is answering in the last line.
type Screen struct {
	Look

	Width, Height int
	Asking        Question
	Input         textinput.Model
	Reason        string // reason that the answer is wrong, or that a key has no effect
	Column        int    // column of the mistake in the answer, -1 for none
}

// NewScreen returns a screen. The limit is the maximum length of answers.
func NewScreen(l Look, limit int) Screen {
	s := Screen{Look: l, Width: 80, Height: 24, Column: -1, Input: textinput.New()}
	s.Input.Prompt = ""
	s.Input.CharLimit = limit
	s.Input.KeyMap.Paste.SetEnabled(false) // it would run other programs, and terminals have their own paste
	s.Input.SetVirtualCursor(false)
	s.Input.SetStyles(textinput.Styles{})
	return s
}

// Handle handles messages that mean the same in all programs: the size, pasted
// text, and the keys that interrupt. If there is nothing more to do, done is
// true.
func (s *Screen) Handle(message tea.Msg) (cmd tea.Cmd, done bool) {
	switch msg := message.(type) {
	case Fault:
		panic(msg.Value)
	case tea.WindowSizeMsg:
		s.Width, s.Height = msg.Width, msg.Height
	case tea.PasteMsg:
		if s.Asking != Nothing {
			return s.Edit(msg), true
		}
	case tea.KeyPressMsg:
		switch msg.String() {
		case "ctrl+c":
			return tea.Quit, true
		case "ctrl+z":
			return tea.Suspend, true
		}
	}
	return nil, false
}

// Ask asks the user a question and suggests an answer.
func (s *Screen) Ask(q Question, proposed string) tea.Cmd {
	s.Asking, s.Reason, s.Column = q, "", -1
	s.Propose(proposed)
	return s.Input.Focus()
}

// Propose replaces the answer.
func (s *Screen) Propose(text string) {
	s.Input.SetValue(text)
	s.Input.CursorEnd()
}

// Dismiss ends the question.
func (s *Screen) Dismiss() {
	s.Asking, s.Reason, s.Column = Nothing, "", -1
	s.Input.Blur()
}

// Edit changes the answer.
func (s *Screen) Edit(msg tea.Msg) (cmd tea.Cmd) {
	s.Input, cmd = s.Input.Update(msg)
	s.Column, s.Reason = -1, ""
	return cmd
}

// A Compiler makes a filter from an expression. An error may be a
// [*report.FilterError].
type Compiler func(expr string) (func(*dissect.Record) bool, error)

// Compile makes a filter from the answer. It returns nil for an empty answer.
// If the answer is wrong, Compile sets Reason and moves the cursor to the
// mistake.
func (s *Screen) Compile(compile Compiler, expr string) (keep func(*dissect.Record) bool, ok bool) {
	if strings.TrimSpace(expr) == "" {
		return nil, true
	}
	keep, err := compile(expr)
	if err == nil {
		return keep, true
	}
	s.Reason = Clean(err.Error(), maxReason)
	if at := (*report.FilterError)(nil); errors.As(err, &at) {
		s.Column = at.Column
		s.Input.SetCursor(at.Column)
	}
	return nil, false
}

// maxReason is the maximum number of characters of an error, which may quote
// the expression.
const maxReason = 2000

// Question returns the line with the question and the answer.
func (s *Screen) Question() string {
	s.Input.SetWidth(max(s.Width-len(s.Asking)-1, 1))
	return s.Row(s.Width).Add(Accent, string(s.Asking)).Add(Plain, s.Input.View()).String()
}

// Draw returns the view of lines. The line of a question is above lines before
// the last.
func (s *Screen) Draw(lines []string, above int) tea.View {
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	if c := s.Input.Cursor(); c != nil && s.Asking != Nothing && s.Height > 0 {
		c.X = min(c.X+len(s.Asking), max(s.Width-1, 0))
		c.Y = s.Height - 1 - above
		v.Cursor = c
	}
	return v
}

// Bar returns the first line: a name and, to the right of it, a text. At least
// the first least columns of the name are shown.
func (s *Screen) Bar(name, right string, least int) string {
	name = s.Cut(name, max(s.Width-len(right)-1, least))
	return s.Row(s.Width).Add(Bar, name).Fill(Bar, s.Width-len(right)).Add(Bar, right).Fill(Bar, s.Width).String()
}

// Help returns room lines of help. Each has keys and, from a column on, their
// meaning. A line without keys is text.
func (s *Screen) Help(text [][2]string, column, room int) []string {
	var out []string
	for _, k := range text[:min(len(text), max(room, 0))] {
		r := s.Row(s.Width).Add(Plain, " ")
		if k[0] != "" {
			r.Add(Accent, s.Pad(k[0], column, false)).Add(Plain, " ")
		}
		out = append(out, r.Add(Plain, k[1]).String())
	}
	return out
}

// Scroll returns the number of rows by which a key scrolls a list with page
// visible rows. [Far] means to the end.
func Scroll(key string, page int) int {
	switch key {
	case "up", "k", "ctrl+p":
		return -1
	case "down", "j", "ctrl+n":
		return 1
	case "pgup", "b", "ctrl+b":
		return -page
	case "pgdown", "f", "ctrl+f", "space", " ":
		return page
	case "u", "ctrl+u":
		return -max(page/2, 1)
	case "d", "ctrl+d":
		return max(page/2, 1)
	case "home", "g", "<":
		return -Far
	case "end", "G", ">", "shift+g":
		return Far
	}
	return 0
}

// Far is more than the number of rows in any list.
const Far = 1 << 30

// Exactly returns the first n lines. If there are fewer, it appends empty
// lines.
func Exactly(lines []string, n int) []string {
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines[:n]
}

// SideBySide draws the lines right next to the lines left, starting at a column.
func SideBySide(left, right []string, column int) {
	for i, line := range right {
		left[i] += strings.Repeat(" ", max(column-Width(left[i]), 0)) + line
	}
}

// Head begins the title line of a pane.
func (l *Look) Head(width int, focused bool) (*Row, Style) {
	st, mark := Title, " "
	if focused {
		st, mark = Active, l.Mark
	}
	return l.Row(width).Add(st, mark), st
}

// Clean escapes text from the network or the user for a line. It keeps at most
// limit characters.
func Clean[T ~string](s T, limit int) string {
	n := 0
	for i := range s {
		if n == limit {
			s = s[:i]
			break
		}
		n++
	}
	return wire.Untrusted(s).String()
}
