package browser

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/report/internal/canvas"
	"github.com/bcdissect/bcdissect/report/table"
)

// A pane is a part of the screen.
type pane int

const (
	messages pane = iota
	fields
	hex
	panes // number of panes
)

// Questions that only the browser asks.
const (
	askText  canvas.Question = "search: "
	askFrame canvas.Question = "go to frame: "
	askNote  canvas.Question = "note: "
	askSave  canvas.Question = "save as: "
)

// model is the program that runs on the terminal.
type model struct {
	canvas.Screen

	b    *Browser
	zone *time.Location

	focus   pane
	zoomed  bool
	help    int  // line of the help at the top of the screen, -1 for no help
	command bool // the copied command is shown

	// The state of the list.
	job           *job
	of            selection
	index         *index // nil until the first listing is complete
	listing       bool
	read, matched int // number of records in the listing so far
	win           *window
	cursor, top   int // row numbers
	shift         int // number of columns hidden on the left
	anchor        int // record to return to after a listing, -1 for none
	wanted        func(*dissect.Record) bool
	tries         int   // number of windows read since the last key
	form          int   // format of times, an index of forms
	damage        error // the error that ended the captures
	failed        bool  // damage has been shown

	// The state of the message in the cursor's row.
	rec      *dissect.Record
	recRow   int
	parts    parts
	rows     []int // indexes of the parts that no closed group hides
	field    int   // the chosen row, an index of rows
	path     string
	closed   map[string]bool // paths of the closed groups
	fieldTop int
	byteAt   int // offset of the chosen byte in the message
	byteTop  int // first visible line of bytes

	// The state of the question.
	said    string // text about the effect of the last key
	offers  []string
	offered int
	begun   string // the answer before the first suggestion
	history map[canvas.Question][]string
	past    int // number of entries back in the history
	text    string
	back    bool   // the last search went backwards
	none    string // text to show if the search finds nothing
	copied  string

	marks   map[place]string // notes of the marked messages
	noted   place            // the message for whose note the user is asked
	columns []column
	live    Live
	grew    bool // live traffic has grown since the list was read

	sinks  map[sinkKey]*table.Sink
	teller *table.Teller
}

// A sinkKey identifies the format in which a sink writes lines.
type sinkKey struct {
	width int
	color bool
	form  int
}

// forms are the formats of times that a key switches between.
var forms = [...]table.Times{table.Relative, table.Clock, table.UTCDate, table.Delta, table.Epoch}

func newModel(b *Browser) *model {
	m := &model{
		Screen: canvas.NewScreen(canvas.New(b.opts.Color, b.opts.ASCII), 4096),
		b:      b, zone: time.Local, help: -1, anchor: -1, closed: map[string]bool{}, history: map[canvas.Question][]string{}, teller: table.NewTeller(),
		marks: map[place]string{},
	}
	for _, k := range b.opts.Marks[:min(len(b.opts.Marks), MaxMarks)] {
		m.marks[place{k.Frame, k.Message}] = k.Note
	}
	return m
}

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd {
	var s selection
	if expr := m.b.opts.Filter; expr != "" {
		if keep, ok := m.Compile(m.b.opts.Compile, expr); ok {
			s.expr, s.match = expr, keep
		}
		m.Column = -1 // no question is open
		m.remember(canvas.AskFilter, expr)
	}
	m.of = s
	return m.list(s)
}

// Update implements [tea.Model].
func (m *model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	cmd, done := m.Handle(message)
	if done {
		return m, cmd
	}
	switch msg := message.(type) {
	case tea.WindowSizeMsg:
		m.sinks, m.tries = nil, 0
	case tea.KeyPressMsg:
		m.tries = 0
		cmd = m.key(msg)
	case tea.MouseWheelMsg:
		m.tries = 0
		m.wheel(msg.Mouse())
	case tea.MouseClickMsg:
		m.tries = 0
		m.click(msg.Mouse())
	case grown:
		m.grew = m.b.opts.Live != nil
	case result:
		if msg.job != m.job {
			break
		}
		if msg.last {
			m.job = nil
		} else {
			cmd = msg.job.wait
		}
		msg.take()
	}
	return m, tea.Batch(cmd, m.settle())
}

// settle scrolls so that the cursor is visible, and begins to read rows that
// are missing.
func (m *model) settle() tea.Cmd {
	n := m.count()
	m.cursor = min(max(m.cursor, 0), max(n-1, 0))
	page := m.page(messages)
	m.top = min(max(m.top, m.cursor-page+1), m.cursor)
	m.top = max(min(m.top, n-page), 0)
	m.choose(m.win.has(m.cursor))
	page = m.page(fields)
	m.fieldTop = max(min(min(max(m.fieldTop, m.field-page+1), m.field), len(m.rows)-page), 0)
	m.byteTop = max(min(m.byteTop, (len(m.parts.bytes)+perRow-1)/perRow-m.page(hex)), 0)
	page = m.page(messages)
	switch {
	case m.index == nil || m.job != nil:
		return nil
	case m.grew:
		return m.grow()
	case m.index.shown == 0:
		return nil
	}
	last := min(m.top+page, n) - 1
	if m.win.has(m.top) != nil && m.win.has(last) != nil && m.win.has(m.cursor) != nil {
		if m.ahead(page, n) {
			return m.load(max(m.top-(windowRows-page)/2, 0))
		}
		return nil
	}
	m.tries++
	switch m.tries {
	case 1:
		return m.load(max(m.top-(windowRows-page)/2, 0))
	case 2: // the messages before it are too large
		return m.load(m.top)
	case 3:
		return m.load(m.cursor)
	}
	return nil // the visible messages do not all fit into a window
}

// ahead reports whether to read another window before the visible rows leave
// the current one.
func (m *model) ahead(page, n int) bool {
	const near = windowRows / 4
	from, to := m.win.from, m.win.from+len(m.win.rows)
	if to-from < windowRows { // the messages are large, or the window has all of them
		return false
	}
	return from > 0 && m.top-from < near || to < n && to-m.top-page < near
}

// count returns the number of rows in the list.
func (m *model) count() int {
	switch {
	case m.index != nil:
		return m.index.shown
	case m.win != nil:
		return len(m.win.rows)
	}
	return 0
}

// listed sets the complete index and the first rows of the list.
func (m *model) listed(s selection, x *index, w *window, err error) {
	m.listing = false
	m.index, m.win, m.of = x, w, s
	m.rec, m.tries = nil, 0
	if m.anchor >= 0 {
		at := m.cursor - m.top
		m.cursor = min(m.index.row(m.anchor), max(m.index.shown-1, 0))
		m.top = max(m.cursor-at, 0)
		m.anchor = -1
	}
	m.tell(err)
}

// tell shows an error of reading, but only once.
func (m *model) tell(err error) {
	if err != nil && !m.failed {
		m.damage, m.failed = err, true
		m.Reason = clean(err.Error())
	}
}

// loaded sets another window. The argument short tells that the captures ended
// too early.
func (m *model) loaded(w *window, short bool, err error) {
	m.win = w
	if r := m.win.has(m.cursor); r != nil && m.cursor == m.recRow && m.rec != nil {
		m.rec = r // the same message
	}
	m.tell(err)
	if is := m.wanted; is != nil { // the first wanted message after a waypoint
		m.wanted = nil
		row := m.win.from
		for _, r := range m.win.rows {
			if is(r) {
				break
			}
			row++
		}
		m.cursor = row
		m.top = max(row-m.page(messages)/2, 0)
	}
	if short && m.b.opts.Live == nil {
		m.Reason = "the captures have changed, and cannot be read as before"
		m.index.shown = min(m.index.shown, m.win.from+len(m.win.rows))
	}
}

// found handles the result of a search. A record of -1 means that nothing was
// found.
func (m *model) found(record int, wrapped, back bool) {
	m.tries = 0
	switch {
	case record < 0:
		m.Reason = m.none
		return
	case wrapped && back:
		m.said = "found from the end on"
	case wrapped:
		m.said = "found from the beginning on"
	default:
		m.said = ""
	}
	m.goTo(m.index.row(record))
}

// goTo moves the cursor to a row. If the row is not visible, it appears in the
// middle.
func (m *model) goTo(row int) {
	page := m.page(messages)
	if row < m.top || row >= m.top+page {
		m.top = max(row-page/2, 0)
	}
	m.cursor = row
}

// choose shows the details of a record.
func (m *model) choose(r *dissect.Record) {
	if r == m.rec {
		return
	}
	m.rec, m.recRow = r, m.cursor
	m.parts, m.rows, m.field, m.fieldTop, m.byteTop, m.byteAt = parts{}, nil, 0, 0, 0, 0
	if r == nil {
		return
	}
	m.parts = partsOf(m.teller, r, m.b.opts.ASCII)
	m.unfold()
	for i, at := range slices.Backward(m.rows) {
		if m.path != "" && m.parts.rows[at].path == m.path {
			m.field = i
		}
	}
	m.mark()
}

// unfold collects the rows that no closed group hides.
func (m *model) unfold() {
	m.rows = m.rows[:0]
	hidden := -1 // depth of the closed group
	for i := range m.parts.rows {
		p := &m.parts.rows[i]
		if hidden >= 0 && p.Depth > hidden && p.field {
			continue
		}
		hidden = -1
		m.rows = append(m.rows, i)
		if p.Group && m.closed[p.path] {
			hidden = p.Depth
		}
	}
	m.field = min(m.field, max(len(m.rows)-1, 0))
}

// part returns the chosen part of the message, or nil.
func (m *model) part() *part {
	if m.field >= len(m.rows) {
		return nil
	}
	return &m.parts.rows[m.rows[m.field]]
}

// marked returns the bytes of the chosen part.
func (m *model) marked() (off, end int) {
	if p := m.part(); p != nil {
		return p.from, p.to
	}
	return 0, 0
}

// mark scrolls so that the bytes of the chosen part are visible.
func (m *model) mark() {
	if off, end := m.marked(); off < end {
		m.byteAt = off
		m.reveal()
	}
}

// reveal scrolls so that the chosen byte is visible.
func (m *model) reveal() {
	line, page := m.byteAt/perRow, m.page(hex)
	m.byteTop = min(max(m.byteTop, line-page+1), line)
}

// seize chooses the smallest part that contains the chosen byte.
func (m *model) seize() {
	best, size := -1, 0
	for i, at := range m.rows {
		p := &m.parts.rows[at]
		if p.from <= m.byteAt && m.byteAt < p.to && (best < 0 || p.to-p.from <= size) {
			best, size = i, p.to-p.from
		}
	}
	if best >= 0 {
		m.field = best
		m.path = m.part().path
	}
	m.reveal()
}

// sink returns a sink for lines of a width.
func (m *model) sink(width int, color bool) *table.Sink {
	k := sinkKey{width, color, m.form}
	if s := m.sinks[k]; s != nil {
		return s
	}
	var start time.Time
	if m.b.opts.Start != nil {
		start = m.b.opts.Start()
	}
	s := table.New(nil, table.Options{
		Color: color, ASCII: m.b.opts.ASCII, Width: width, Start: start, Times: m.times(), Zone: m.zone,
	})
	if m.sinks == nil {
		m.sinks = map[sinkKey]*table.Sink{}
	}
	m.sinks[k] = s
	return s
}

func (m *model) times() table.Times { return forms[m.form] }

func (m *model) edit(msg tea.Msg) tea.Cmd {
	m.offers = nil
	return m.Edit(msg)
}

// key handles a key.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case m.Asking != canvas.Nothing:
		return m.answer(k, name)
	case m.help >= 0:
		m.helpKey(name)
		return nil
	case m.command:
		m.command = false
		if name == "esc" || name == "enter" || name == "q" {
			return nil
		}
	}
	m.Reason, m.said = "", ""
	switch obey, change := commands[name], changes[name]; {
	case obey != nil:
		return obey(m)
	case change != nil:
		change(m)
	default:
		m.move(name)
	}
	return nil
}

// changes are the keys that change what the screen shows, in all panes.
var changes = map[string]func(*model){
	"?":         func(m *model) { m.help = 0 },
	"f1":        func(m *model) { m.help = 0 },
	"C":         (*model).fieldAsColumn,
	"m":         (*model).markMessage,
	"T":         func(m *model) { m.form = (m.form + 1) % len(forms) },
	"z":         func(m *model) { m.zoomed = !m.zoomed },
	"tab":       func(m *model) { m.focus = (m.focus + 1) % panes },
	"shift+tab": func(m *model) { m.focus = (m.focus + panes - 1) % panes },
	"1":         func(m *model) { m.focus = messages },
	"2":         func(m *model) { m.focus = fields },
	"3":         func(m *model) { m.focus = hex },
	"esc":       (*model).escape,
}

// commands are the keys that ask a question or begin to read, in all panes.
var commands = map[string]func(*model) tea.Cmd{
	"q":       func(m *model) tea.Cmd { m.cancel(); return tea.Quit },
	"Y":       (*model).askFilter,
	"&":       (*model).askFilter,
	"F":       (*model).askFilter,
	"=":       (*model).fieldAsFilter,
	"/":       func(m *model) tea.Cmd { return m.ask(askText, "") },
	":":       func(m *model) tea.Cmd { return m.ask(askFrame, "") },
	"ctrl+g":  func(m *model) tea.Cmd { return m.ask(askFrame, "") },
	"t":       func(m *model) tea.Cmd { return m.ask(canvas.AskTime, "") },
	"n":       func(m *model) tea.Cmd { return m.again(m.back) },
	"N":       func(m *model) tea.Cmd { return m.again(!m.back) },
	"shift+n": func(m *model) tea.Cmd { return m.again(!m.back) },
	"e":       func(m *model) tea.Cmd { return m.nextProblem(false) },
	"E":       func(m *model) tea.Cmd { return m.nextProblem(true) },
	"p":       (*model).followPlayer,
	"o":       (*model).followObject,
	"a":       (*model).annotate,
	"M":       (*model).onlyMarked,
	"]":       func(m *model) tea.Cmd { return m.nextMark(false) },
	"[":       func(m *model) tea.Cmd { return m.nextMark(true) },
	"w":       (*model).askSave,
	"c":       (*model).copy,
	"y":       (*model).copy,
}

// askFilter asks for a new filter. The current filter is the last entry of the
// history.
func (m *model) askFilter() tea.Cmd { return m.ask(canvas.AskFilter, "") }

// escape returns to the list, closes the only pane shown, or stops a search.
func (m *model) escape() {
	switch {
	case m.zoomed:
		m.zoomed = false
	case m.job != nil && m.index != nil:
		m.cancel()
		m.listing, m.anchor, m.wanted = false, -1, nil
		m.said = "stopped"
	default:
		m.focus = messages
	}
}

// move handles a movement key in the pane that has the focus.
func (m *model) move(key string) {
	switch m.focus {
	case messages:
		switch key {
		case "left", "h":
			m.shift = max(m.shift-m.Width/4, 0)
			return
		case "right", "l":
			m.shift = min(m.shift+m.Width/4, maxShift)
			return
		case "enter":
			m.focus = fields
			return
		}
		m.cursor = min(max(m.cursor+canvas.Scroll(key, m.page(messages)), 0), max(m.count()-1, 0))
	case fields:
		switch key {
		case "left", "h":
			m.fold(true)
			return
		case "right", "l":
			m.fold(false)
			return
		case "enter":
			if p := m.part(); p != nil && p.Group {
				m.fold(!m.closed[p.path])
			}
			return
		}
		m.pick(m.field + canvas.Scroll(key, m.page(fields)))
	case hex, panes:
		var by int
		switch key {
		case "left", "h":
			by = -1
		case "right", "l":
			by = 1
		default:
			by = perRow * canvas.Scroll(key, m.page(hex))
		}
		if to := m.byteAt + by; by > perRow || by < -perRow { // at most to the first or last byte
			m.byteAt = min(max(to, 0), max(len(m.parts.bytes)-1, 0))
		} else if to >= 0 && to < len(m.parts.bytes) {
			m.byteAt = to
		}
		m.seize()
	}
}

// maxShift is the maximum number of columns hidden on the left.
const maxShift = 4000

// pick chooses a row of the fields.
func (m *model) pick(row int) {
	m.field = min(max(row, 0), max(len(m.rows)-1, 0))
	if p := m.part(); p != nil {
		m.path = p.path
	}
	m.mark()
}

// fold closes or opens the chosen group, or chooses the group that contains the
// chosen row.
func (m *model) fold(shut bool) {
	p := m.part()
	if p == nil || !p.field {
		return
	}
	switch {
	case p.Group && m.closed[p.path] != shut:
		m.closed[p.path] = shut
		m.unfold()
	case shut && p.outer >= 0:
		m.pick(slices.Index(m.rows, p.outer))
	}
	if len(m.closed) > maxClosed {
		clear(m.closed)
	}
}

// maxClosed is the maximum number of closed groups that are remembered.
const maxClosed = 1000

// again repeats the last search.
func (m *model) again(back bool) tea.Cmd {
	switch {
	case m.text == "":
		m.Reason = "nothing was searched for; / searches"
		return nil
	case m.busy():
		return nil
	}
	m.said, m.none = "searching "+clean(m.text), "no line has "+clean(m.text)
	return m.search(m.text, back)
}

// busy reports whether the list is incomplete. If so, it shows a text for the
// user.
func (m *model) busy() bool {
	if m.index != nil && !m.listing {
		return false
	}
	m.Reason = "the captures are still being read"
	return true
}

// record returns the message in the cursor's row. If there is none, it shows a
// text for the user and returns nil.
func (m *model) record() *dissect.Record {
	if m.rec == nil {
		m.Reason = "there is no message"
	}
	return m.rec
}

// followPlayer restricts the list to the player of the chosen message, or ends
// the restriction.
func (m *model) followPlayer() tea.Cmd {
	if m.busy() {
		return nil
	}
	if m.of.follow.label != "" {
		return m.following(follow{})
	}
	r := m.record()
	if r == nil {
		return nil
	}
	return m.following(playerOf(r))
}

// followObject restricts the list to the object in the chosen field, or else to
// the first object in the message. If the list is already restricted, it ends
// the restriction.
func (m *model) followObject() tea.Cmd {
	if m.busy() || m.of.follow.label != "" {
		return m.followPlayer()
	}
	r := m.record()
	if r == nil {
		return nil
	}
	id := wire.ObjectID(0)
	if p := m.part(); p != nil && m.focus == fields {
		id = p.Object
	}
	for i := 0; i < len(m.parts.rows) && id == 0; i++ {
		id = m.parts.rows[i].Object
	}
	if id == 0 {
		m.Reason = "the message names no object"
		return nil
	}
	return m.following(objectOf(r, id))
}

// following begins a listing that is restricted to f.
func (m *model) following(f follow) tea.Cmd {
	s := m.of
	s.follow = f
	return m.relist(s)
}

// relist begins a listing and keeps the cursor on its message.
func (m *model) relist(s selection) tea.Cmd {
	if m.index != nil && m.index.shown > 0 && m.anchor < 0 {
		m.anchor = m.index.record(m.cursor)
	}
	return m.list(s)
}

// copy copies a command that decodes the chosen message.
func (m *model) copy() tea.Cmd {
	r := m.record()
	if r == nil || m.b.opts.Command == nil {
		return nil
	}
	if len(r.Bytes)+len(r.Payload) == 0 {
		m.Reason = "this row has no bytes to decode"
		return nil
	}
	m.copied = m.b.opts.Command(r)
	m.command = true
	text, native := m.copied, m.b.opts.Copy
	if native == nil {
		return tea.SetClipboard(text)
	}
	return tea.Batch(tea.SetClipboard(text), canvas.Guard(func() tea.Msg { native(text); return nil }))
}

// ask asks the user a question and suggests an answer.
func (m *model) ask(q canvas.Question, proposed string) tea.Cmd {
	m.offers, m.past = nil, 0
	return m.Ask(q, proposed)
}

// maxHistory is the maximum number of remembered answers.
const maxHistory = 100

// remember adds an answer to the history of a question.
func (m *model) remember(q canvas.Question, text string) {
	h := m.history[q]
	if text == "" || len(h) > 0 && h[len(h)-1] == text {
		return
	}
	if len(h) == maxHistory {
		h = h[1:]
	}
	m.history[q] = append(h, text)
}

// recall shows an answer of the history. The argument by is the number of
// entries to go back.
func (m *model) recall(by int) {
	h := m.history[m.Asking]
	past := min(max(m.past+by, 0), len(h))
	if past == m.past {
		return
	}
	m.past = past
	text := ""
	if past > 0 {
		text = h[len(h)-past]
	}
	m.Propose(text)
	m.Column, m.Reason, m.offers = -1, "", nil
}

// answer handles a key while the user writes an answer.
func (m *model) answer(k tea.KeyPressMsg, name string) tea.Cmd {
	switch name {
	case "esc":
		m.Dismiss()
		return nil
	case "enter":
		return m.answered(m.Input.Value())
	case "tab":
		m.complete(1)
		return nil
	case "shift+tab":
		m.complete(-1)
		return nil
	case "up", "ctrl+p":
		m.recall(1)
		return nil
	case "down", "ctrl+n":
		m.recall(-1)
		return nil
	}
	return m.edit(k)
}

// complete completes the word before the cursor, or shows the next suggestion.
func (m *model) complete(by int) {
	if m.Asking != canvas.AskFilter || m.b.opts.Complete == nil {
		return
	}
	value := []rune(m.Input.Value())
	at := min(m.Input.Position(), len(value))
	if len(m.offers) == 0 {
		m.begun = string(value[:at])
		m.offers = m.b.opts.Complete(m.begun)
		if len(m.offers) == 0 {
			m.Reason = "no completions here"
			return
		}
		m.offered = -1
		if common := commonStart(m.offers); len(common) > len(m.begun) {
			m.put(common, value[at:])
			if len(m.offers) > 1 {
				return
			}
			m.offers = nil
			return
		}
		if by < 0 {
			m.offered = 0
		}
	}
	m.offered = (m.offered + by + len(m.offers)) % len(m.offers)
	m.put(m.offers[m.offered], value[at:])
}

// put replaces the answer up to the cursor.
func (m *model) put(begin string, end []rune) {
	m.Input.SetValue(begin + string(end))
	m.Input.SetCursor(len([]rune(begin)))
	m.Reason, m.Column = "", -1
}

// commonStart returns the longest common prefix of texts.
func commonStart(all []string) string {
	common := all[0]
	for _, s := range all[1:] {
		for !strings.HasPrefix(s, common) {
			common = common[:len(common)-1]
		}
	}
	return strings.ToValidUTF8(common, "")
}

// answered handles an answer.
func (m *model) answered(text string) tea.Cmd {
	switch m.Asking {
	case canvas.AskFilter:
		return m.apply(text)
	case askText:
		m.Dismiss()
		if text != "" {
			m.text, m.back = text, false
			m.remember(askText, text)
		}
		return m.again(false)
	case askFrame:
		return m.goToFrame(text)
	case canvas.AskTime:
		return m.goToTime(text)
	case askNote:
		m.Dismiss()
		m.note(text)
	case askSave:
		return m.save(text)
	case canvas.Nothing:
	}
	return nil
}

// goToFrame moves the cursor to the first message of a frame, or of the next
// frame.
func (m *model) goToFrame(text string) tea.Cmd {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 {
		m.Reason = "a frame is a number; t goes to a time"
		return nil
	}
	m.Dismiss()
	return m.jump(func(k waypoint) bool { return k.frame < n }, func(r *dissect.Record) bool { return r.Datagram.Number >= n })
}

// goToTime moves the cursor to the first message at or after a time since the
// beginning.
func (m *model) goToTime(text string) tea.Cmd {
	since, err := canvas.Since(text)
	if err != nil {
		m.Reason = err.Error()
		return nil
	}
	m.Dismiss()
	to := m.b.opts.Start().Add(since)
	return m.jump(func(k waypoint) bool { return k.at < packet.Nanos(to) }, func(r *dissect.Record) bool { return !r.Datagram.Time.Before(to) })
}

// jump moves the cursor to the first wanted message of the list. It searches
// from the last waypoint for which before is true.
func (m *model) jump(before func(waypoint) bool, wanted func(*dissect.Record) bool) tea.Cmd {
	if m.busy() {
		return nil
	}
	if m.index.shown == 0 {
		m.Reason = "there are no messages"
		return nil
	}
	m.wanted = wanted
	return m.load(min(m.index.row(m.index.before(before)), m.index.shown-1))
}

// apply makes an expression the filter. If the expression is wrong, it shows
// the error.
func (m *model) apply(expr string) tea.Cmd {
	match, ok := m.Compile(m.b.opts.Compile, expr)
	if !ok {
		return nil
	}
	if match == nil {
		expr = ""
	}
	m.remember(canvas.AskFilter, expr)
	m.Dismiss()
	s := m.of
	s.expr, s.match = expr, match
	return m.relist(s)
}

// wheel scrolls the pane under the pointer.
func (m *model) wheel(e tea.Mouse) {
	by := 3
	switch e.Button {
	case tea.MouseWheelUp:
		by = -by
	case tea.MouseWheelDown:
	default:
		return
	}
	if m.help >= 0 {
		m.help = max(m.help+by, 0)
		return
	}
	for _, a := range m.areas() {
		if !a.has(e.X, e.Y) {
			continue
		}
		switch a.pane {
		case messages:
			m.cursor = min(max(m.cursor+by, 0), max(m.count()-1, 0))
			m.top = max(m.top+by, 0)
		case fields:
			m.pick(m.field + by)
		default:
			m.byteTop = max(m.byteTop+by, 0)
		}
	}
}

// click chooses the item under the pointer.
func (m *model) click(e tea.Mouse) {
	if e.Button != tea.MouseLeft || m.help >= 0 {
		return
	}
	m.command = false
	for _, a := range m.areas() {
		if !a.has(e.X, e.Y) {
			continue
		}
		m.focus = a.pane
		row := e.Y - a.y - 1
		if row < 0 {
			return
		}
		switch a.pane {
		case messages:
			if m.top+row < m.count() {
				m.cursor = m.top + row
			}
		case fields:
			if m.fieldTop+row < len(m.rows) {
				again := m.field == m.fieldTop+row
				m.pick(m.fieldTop + row)
				if p := m.part(); again && p.Group {
					m.fold(!m.closed[p.path])
				}
			}
		default:
			if at := m.byteUnder(e.X-a.x, m.byteTop+row); at >= 0 {
				m.byteAt = at
				m.seize()
			}
		}
	}
}

// clean cleans text from the network or the user for a line of the screen.
func clean[T ~string](s T) string { return canvas.Clean(s, 2000) }
