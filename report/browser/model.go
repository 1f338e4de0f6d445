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
	panes // how many there are
)

// The questions that only the browser asks.
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
	help    int  // line of help at the top, -1 for none
	command bool // the copied command is shown

	// The list.
	job           *job
	of            selection
	index         *index // nil until the first listing is complete
	listing       bool
	read, matched int // of the listing so far
	win           *window
	cursor, top   int // rows
	shift         int // columns by which lines are shifted to the left
	anchor        int // record to come back to after a listing, -1 for none
	wanted        func(*dissect.Record) bool
	tries         int   // windows read since the last key
	form          int   // of times, an index of forms
	damage        error // that ended the captures
	failed        bool  // damage has been shown

	// The message in the cursor's row.
	rec      *dissect.Record
	recRow   int
	parts    parts
	rows     []int // of parts that no closed group hides
	field    int   // index of rows
	path     string
	closed   map[string]bool // groups
	fieldTop int
	byteAt   int // of the message
	byteTop  int // line

	// The question.
	said    string // effect of the last key
	offers  []string
	offered int
	begun   string // before the first offer
	history map[canvas.Question][]string
	past    int // entries of the history back
	text    string
	back    bool   // the last search went back
	none    string // what to say if the search finds nothing
	copied  string

	marks   map[place]string // with their notes
	noted   place            // of the note that is asked for
	columns []column
	live    Live
	grew    bool // there is more live traffic than in the list

	sinks  map[sinkKey]*table.Sink
	teller *table.Teller
}

// A sinkKey tells in which form a sink writes lines.
type sinkKey struct {
	width int
	color bool
	form  int
}

// forms are the forms of times that a key goes through.
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
		m.Column = -1 // nothing is asked
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

// settle brings the screen into agreement with the cursor, and begins to read
// the rows that it lacks.
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
	return nil // there is no room for all that is in sight
}

// ahead reports whether to read another window before the rows in sight leave
// this one.
func (m *model) ahead(page, n int) bool {
	const near = windowRows / 4
	from, to := m.win.from, m.win.from+len(m.win.rows)
	if to-from < windowRows { // of large messages, or all there are
		return false
	}
	return from > 0 && m.top-from < near || to < n && to-m.top-page < near
}

// count returns how many rows the list has.
func (m *model) count() int {
	switch {
	case m.index != nil:
		return m.index.shown
	case m.win != nil:
		return len(m.win.rows)
	}
	return 0
}

// listed takes a complete listing, and the first rows of its list.
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

// tell shows an error of reading, once.
func (m *model) tell(err error) {
	if err != nil && !m.failed {
		m.damage, m.failed = err, true
		m.Reason = clean(err.Error())
	}
}

// loaded takes another window. It is short if the captures have ended too early.
func (m *model) loaded(w *window, short bool, err error) {
	m.win = w
	if r := m.win.has(m.cursor); r != nil && m.cursor == m.recRow && m.rec != nil {
		m.rec = r // the same message
	}
	m.tell(err)
	if is := m.wanted; is != nil { // the first one after a waypoint
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

// found takes the result of a search, -1 for none.
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

// goTo moves the cursor to a row, in the middle if it is not in sight.
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

// unfold finds the rows that no closed group hides.
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

// mark brings the bytes of the chosen part into sight.
func (m *model) mark() {
	if off, end := m.marked(); off < end {
		m.byteAt = off
		m.reveal()
	}
}

// reveal brings the byte at hand into sight.
func (m *model) reveal() {
	line, page := m.byteAt/perRow, m.page(hex)
	m.byteTop = min(max(m.byteTop, line-page+1), line)
}

// seize chooses the smallest part with the byte at hand.
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

// key obeys a key.
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

// changes are the keys that change what the screen shows, whatever pane has the
// focus.
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

// commands are the keys that ask something, or begin to read, in all panes.
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

// askFilter asks for a new filter. The one in effect is the last of the history.
func (m *model) askFilter() tea.Cmd { return m.ask(canvas.AskFilter, "") }

// escape goes back: to the list, from one pane, from a search.
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

// move moves in the pane that has the focus.
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
		if to := m.byteAt + by; by > perRow || by < -perRow { // as far as there is
			m.byteAt = min(max(to, 0), max(len(m.parts.bytes)-1, 0))
		} else if to >= 0 && to < len(m.parts.bytes) {
			m.byteAt = to
		}
		m.seize()
	}
}

// maxShift bounds how far lines are shifted.
const maxShift = 4000

// pick chooses a row of the fields.
func (m *model) pick(row int) {
	m.field = min(max(row, 0), max(len(m.rows)-1, 0))
	if p := m.part(); p != nil {
		m.path = p.path
	}
	m.mark()
}

// fold closes or opens the group at hand, or goes to the one around.
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

// maxClosed bounds the closed groups that are remembered.
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

// busy reports whether there is no complete list, and says so.
func (m *model) busy() bool {
	if m.index != nil && !m.listing {
		return false
	}
	m.Reason = "the captures are still being read"
	return true
}

// record returns the record at hand; without one it says so.
func (m *model) record() *dissect.Record {
	if m.rec == nil {
		m.Reason = "there is no message"
	}
	return m.rec
}

// followPlayer follows the player of the message at hand, or ends that.
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

// followObject follows the object in the chosen field, else the first one in the
// message, or ends that.
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

// following lists only what is followed.
func (m *model) following(f follow) tea.Cmd {
	s := m.of
	s.follow = f
	return m.relist(s)
}

// relist begins a listing that keeps the message at hand.
func (m *model) relist(s selection) tea.Cmd {
	if m.index != nil && m.index.shown > 0 && m.anchor < 0 {
		m.anchor = m.index.record(m.cursor)
	}
	return m.list(s)
}

// copy copies a command that decodes the message at hand.
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

// ask asks the user for something, and proposes an answer.
func (m *model) ask(q canvas.Question, proposed string) tea.Cmd {
	m.offers, m.past = nil, 0
	return m.Ask(q, proposed)
}

// maxHistory bounds the answers that are remembered.
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

// recall shows an earlier answer, or a later one.
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

// answer takes a key while the user writes an answer.
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

// complete completes the word before the cursor, or takes the next offer.
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
			m.Reason = "nothing to offer here"
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

// commonStart returns the longest start that texts have in common.
func commonStart(all []string) string {
	common := all[0]
	for _, s := range all[1:] {
		for !strings.HasPrefix(s, common) {
			common = common[:len(common)-1]
		}
	}
	return strings.ToValidUTF8(common, "")
}

// answered obeys an answer.
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

// goToFrame goes to the first message of a frame, or after it.
func (m *model) goToFrame(text string) tea.Cmd {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 {
		m.Reason = "a frame is a number; t goes to a time"
		return nil
	}
	m.Dismiss()
	return m.jump(func(k waypoint) bool { return k.frame < n }, func(r *dissect.Record) bool { return r.Datagram.Number >= n })
}

// goToTime goes to the first message after a time since the beginning.
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

// jump goes to the first message of the list that is wanted; it comes after the
// last of the first waypoints that are before it.
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

// apply makes an expression the filter, unless there is something wrong with it.
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

// wheel scrolls the pane below the pointer.
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

// click chooses the item below the pointer.
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

// clean returns text from the network or the user for a line of the screen.
func clean[T ~string](s T) string { return canvas.Clean(s, 2000) }
