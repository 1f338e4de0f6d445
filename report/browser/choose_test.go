package browser

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/filter"
	"github.com/bcdissect/bcdissect/report/table"
)

// A new filter begins empty, and the one in effect is the last of the history,
// also the one of the command line.
func TestNewFilter(t *testing.T) {
	o := scanner(t, "stock_client.pcap")
	o.Filter = "Chat"
	m := opened(t, o, 100, 30)
	press(m, "Y")
	if m.Input.Value() != "" {
		t.Errorf("the new filter begins with %q", m.Input.Value())
	}
	line(t, m, "filter:  (up: Chat)")
	press(m, "up")
	if m.Input.Value() != "Chat" {
		t.Errorf("the filter before was %q", m.Input.Value())
	}
	press(m, " or Settings", "enter")
	line(t, m, "filter Chat or Settings")
	press(m, "Y", "enter") // all messages
	lacks(t, m, "filter Chat")
}

// e and E go through the messages with an error, a note or undecoded bytes, and
// through no others.
func TestNextProblem(t *testing.T) {
	o := scanner(t, "battle_mix.pcap.gz")
	teller := table.NewTeller()
	var want []int
	for i, r := range records(t, o) {
		if len(r.Rest) > 0 || len(teller.Remarks(r)) > 0 {
			want = append(want, i)
		}
	}
	if len(want) < 20 {
		t.Fatalf("%d problems", len(want))
	}
	m := opened(t, o, 100, 30)
	for _, row := range want[:6] {
		if press(m, "e"); m.cursor != row {
			t.Fatalf("at %d, want %d", m.cursor, row)
		}
	}
	press(m, "G")
	for _, row := range want[:1] {
		if press(m, "e"); m.cursor != row {
			t.Fatalf("at %d, want %d", m.cursor, row)
		}
	}
	if !strings.Contains(m.said, "beginning") {
		t.Errorf("%q", m.said)
	}
	if press(m, "E"); m.cursor != want[len(want)-1] {
		t.Errorf("back at %d", m.cursor)
	}
	press(m, "YTorpedoFire and not notes", "enter", "e")
	line(t, m, "the list has no message with an error, a note or undecoded bytes")
}

// For each field of each kind of message, = proposes a filter that compiles and
// finds the message, and C shows a column with the field's value.
func TestFieldUnderCursor(t *testing.T) {
	filters := map[string]bool{}
	for _, capture := range []string{"stock_client.pcap", "networked_battle.pcap", "gamespy.pcap", "forged_small.pcap", "opcode_tour.pcap"} {
		o := scanner(t, capture)
		o.Equal = filter.Equal
		o.Compile = func(string) (func(*dissect.Record) bool, error) { return nil, nil }
		m := opened(t, o, 120, 40)
		for _, r := range records(t, o) {
			m.choose(r)
			for i := range m.rows {
				m.field = i
				is := fieldName(m.part(), r)
				if filters[is] {
					continue
				}
				filters[is] = true
				expr := m.valueFilter(r)
				f, err := filter.Compile(expr, nil)
				if err != nil {
					t.Errorf("%s, frame %d: %s: %v", capture, r.Datagram.Number, expr, err)
				} else if !f.Match(r) {
					t.Errorf("%s, frame %d: %s is false of its message", capture, r.Datagram.Number, expr)
				}
			}
		}
	}
	if len(filters) < 200 {
		t.Errorf("%d fields", len(filters))
	}
}

// fieldName distinguishes the fields of one kind of message from the fields of
// others.
func fieldName(p *part, r *dissect.Record) string {
	if r.Spec == nil {
		return kindOf(r) + "/" + p.path
	}
	return r.Spec.Name + "/" + elements.ReplaceAllString(p.path, "")
}

func TestFieldAsFilter(t *testing.T) {
	o := scanner(t, "stock_client.pcap")
	o.Equal = filter.Equal
	m := opened(t, o, 100, 40)
	press(m, "YChat", "enter", "2")
	m.pick(slices.IndexFunc(m.rows, func(at int) bool { return m.parts.rows[at].Name == "text" }))
	press(m, "=")
	text := strings.Trim(m.part().Value, `"`)
	if want := fmt.Sprintf("Chat.text == %q", text); m.Input.Value() != want || text == "" {
		t.Fatalf("%q, want %q", m.Input.Value(), want)
	}
	press(m, "enter")
	line(t, m, "filter Chat.text")
	if m.count() == 0 {
		t.Error("nothing matches")
	}
	press(m, "1", "=") // on the first row, which is not a field
	m.pick(0)
	if press(m, "esc", "="); m.Input.Value() != "name == Chat" {
		t.Errorf("%q", m.Input.Value())
	}
}

func TestColumns(t *testing.T) {
	o := scanner(t, "stock_client.pcap")
	asked := ""
	o.Column = func(name string) (func(*dissect.Record) string, error) {
		asked = name
		return func(r *dissect.Record) string { return fmt.Sprintf("<%d>", r.Datagram.Number) }, nil
	}
	m := opened(t, o, 120, 40)
	press(m, "YStateUpdate.subsystems", "enter", "2", "C")
	line(t, m, "choose a field of the message first")
	m.pick(slices.IndexFunc(m.rows, func(at int) bool { return m.parts.rows[at].Name == "condition" }))
	press(m, "C")
	if asked != "fields.subsystems.entries.condition" {
		t.Errorf("the column is %q", asked)
	}
	if head := line(t, m, "Messages"); !strings.HasSuffix(head, "  subsystems.entries.cond…") {
		t.Error(head)
	}
	if row := line(t, m, "▸"+m.sinkFrame()); !strings.HasSuffix(row, fmt.Sprintf("  <%d>", m.frame())) {
		t.Error(row)
	}
	fits(t, m, 120, 40, false)
	fits(t, m, 30, 20, false) // the line has no room for it
	send(m, tea.WindowSizeMsg{Width: 120, Height: 40})
	press(m, "C")
	lacks(t, m, "<")
	line(t, m, "column subsystems.entries.condition removed")
	for i := range maxColumns {
		m.columns = append(m.columns, column{name: fmt.Sprint(i), value: func(*dissect.Record) string { return "" }})
	}
	press(m, "C")
	line(t, m, "there are 8 columns")
	m.columns = nil
	m.b.opts.Column = func(string) (func(*dissect.Record) string, error) { return nil, errors.New("no \x1b column") }
	press(m, "C")
	line(t, m, `no \x1b column`)
}

// sinkFrame returns the frame at hand as the list has it.
func (m *model) sinkFrame() string { return fmt.Sprintf("%5d", m.frame()) }

// Marks and notes are saved without delay, shown, found and listed. Marks of
// earlier sessions are loaded.
func TestMarks(t *testing.T) {
	o := scanner(t, "stock_client.pcap")
	var kept []Mark
	o.Keep = func(all []Mark) error { kept = all; return nil }
	m := opened(t, o, 130, 40)
	all := m.count()
	press(m, ":40", "enter", "m", ":9", "enter", "a")
	m.cursor = 0 // live traffic may move it meanwhile
	send(m, nil)
	press(m, "a lag here", "enter")
	want := []Mark{{Frame: 9, Message: 0, Note: "a lag here"}, {Frame: 40, Message: 0}}
	if !slices.Equal(kept, want) {
		t.Fatalf("kept %v, want %v", kept, want)
	}
	press(m, ":9", "enter")
	line(t, m, "✓     9 ")
	line(t, m, "note: a lag here")
	press(m, "]")
	if m.frame() != 40 {
		t.Errorf("the next mark is in frame %d", m.frame())
	}
	line(t, m, "✓    40 ")
	lacks(t, m, "note: ")
	if press(m, "["); m.frame() != 9 {
		t.Errorf("the mark before is in frame %d", m.frame())
	}
	press(m, "M")
	if m.count() != 2 {
		t.Errorf("%d marked messages", m.count())
	}
	if row := line(t, m, "✓     9 "); !strings.HasSuffix(row, "  a lag here") {
		t.Error(row)
	}
	press(m, "M", "m")
	if m.count() != all || len(kept) != 1 {
		t.Errorf("%d messages, %d marks", m.count(), len(kept))
	}

	o.Marks = []Mark{{Frame: 9, Note: "\x1b[2J\u202e" + strings.Repeat("x", 3*MaxNote)}}
	o.Keep = func([]Mark) error { return errors.New("disk\x07 full") }
	m = opened(t, o, 100, 30)
	press(m, "]")
	line(t, m, `note: \x1b[2J\u{202e}x`)
	press(m, "j", "m")
	line(t, m, `marks are not saved: disk\x07 full`)
	o.Keep, o.Why = nil, "because"
	m = opened(t, o, 100, 30)
	press(m, "m")
	line(t, m, "marked; because")
	for i := range MaxMarks {
		m.marks[place{1000 + i, 0}] = ""
	}
	press(m, "j", "m")
	line(t, m, "there are 10000 marks already")
	press(m, "M", "m", "M") // hides nothing that is not marked
}

func TestNoMarks(t *testing.T) {
	m := opened(t, scanner(t, "stock_client.pcap"), 100, 30)
	press(m, "M")
	line(t, m, "no message is marked")
	press(m, "]")
	line(t, m, "the list has no marked message")
	press(m, "Yframe == 0", "enter", "m", "a", "=", "C")
	line(t, m, "there is no message")
}

// The key w saves the frames of the list, including those with fragments.
func TestSave(t *testing.T) {
	o := scanner(t, "stock_client.pcap")
	var name string
	var frames map[int]bool
	fails := errors.New("no room\x07")
	o.Save = func(to string, each func(add func(int)) error) (string, error) {
		name, frames = to, map[int]bool{}
		if err := each(func(n int) { frames[n] = true }); err != nil {
			return "", err
		}
		if to == "full" {
			return "", fails
		}
		return "3 frames\x1b", nil
	}
	match, err := o.Compile("len(payload) > 400")
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]bool{}
	fragments := 0
	for _, r := range records(t, o) {
		if match(r) {
			want[r.Datagram.Number] = true
			for _, n := range r.Pieces {
				want[n] = true
				fragments++
			}
		}
	}
	if fragments == 0 {
		t.Fatal("no message in fragments")
	}
	m := opened(t, o, 100, 30)
	press(m, "Ylen(payload) > 400", "enter", "wa b.pcapng", "enter")
	if name != "a b.pcapng" || !maps.Equal(frames, want) {
		t.Errorf("%s: %v, want %v", name, frames, want)
	}
	line(t, m, `3 frames\x1b`)
	press(m, "wfull", "enter")
	line(t, m, `no room\x07`)
	press(m, "w", "enter")
	line(t, m, "give the name of a new file")
	press(m, "esc", "Yframe == 0", "enter", "w")
	line(t, m, "there are no messages to save")
}

// liveSource returns live traffic of which a part is there.
func liveSource(total int) (o Options, there, gone *int) {
	there, gone = new(int), new(int)
	o = spoken(total, func(i int) string { return fmt.Sprint("line ", i) })
	whole := o.Scan
	o.Scan = func(first int, take func(int, *dissect.Record) bool) error {
		return whole(max(first, *gone), func(n int, r *dissect.Record) bool { return n < *there && take(n, r) })
	}
	o.Live = func() Live { return Live{Gone: *gone, Lost: uint64(*gone / 1000)} }
	return o, there, gone
}

// Live traffic appears at the end of the list, which follows it while the last row
// is chosen. Dropped messages leave the list at its beginning.
func TestLive(t *testing.T) {
	o, there, gone := liveSource(20_000)
	m := opened(t, o, 100, 30)
	line(t, m, "no traffic of the game so far")
	grow := func(n int) { *there = n; send(m, grown{}) }
	grow(10)
	line(t, m, "10 of 10 messages")
	line(t, m, "▸   10 ")
	grow(200)
	line(t, m, "200 of 200 messages")
	line(t, m, "▸  200 ")
	press(m, "k", "k")
	grow(300)
	line(t, m, "198 of 300 messages")
	line(t, m, "▸  198 ")
	press(m, "G", "2")
	grow(310)
	line(t, m, "300 of 310 messages") // its fields are read
	press(m, "1", "G", ":")
	grow(320)
	line(t, m, "310 of 320 messages") // a question is open
	press(m, "esc", ":198", "enter")

	*gone = 150
	grow(400)
	line(t, m, "48 of 250 (400 messages), the first 150 dropped ")
	line(t, m, "▸  198 ")
	press(m, "g")
	line(t, m, "▸  151 ")
	*gone = 5000
	grow(12_000)
	line(t, m, "1 of 7,000 (7,400 messages), the first 5,000 dropped, 5 packets lost")
	line(t, m, "▸ 5001 ")
	press(m, "Yeven", "enter")
	line(t, m, "3,500 (7,000 messages), the first 5,000 dropped")
	*gone = 6001
	grow(13_000)
	line(t, m, "of 3,500 (8,000 messages)")
	press(m, "g")
	line(t, m, "▸ 6002 ")
	press(m, "G")
	line(t, m, "▸13000 ")
	if x := m.index; x.base > 6001 || x.base < 6001-waypointEvery || len(x.bits)*64 > 13_000-x.base+64 || len(m.win.rows) > windowRows {
		t.Errorf("the index has %d words from %d on, the window %d rows", len(x.bits), x.base, len(m.win.rows))
	}
	fits(t, m, 100, 30, false)
	*gone = 13_000 // all of them
	grow(13_001)
	press(m, "Y", "enter")
	line(t, m, "1 of 1 message")
}

// Growth that another key stops goes on afterwards.
func TestGrowthGoesOn(t *testing.T) {
	o, there, _ := liveSource(5000)
	m := opened(t, o, 100, 30)
	*there = 5000
	_, _ = m.Update(grown{}) // begins to read
	press(m, "Yeven", "enter")
	line(t, m, "2,500 (5,000 messages)")
	if m.grew || m.job != nil {
		t.Error("there is more to do")
	}
}

// An index from which records were dropped agrees with a list of booleans.
func TestDrop(t *testing.T) {
	x := new(index)
	shown := func(n int) bool { return n%7 == 2 || n%64 == 0 }
	gone, now := 0, time.Unix(0, 0)
	for n := range 9000 {
		if n%11 != 5 { // some were not selected
			x.add(n, shown(n), &dissect.Datagram{Number: n, Time: now})
		}
		if n%500 != 499 {
			continue
		}
		want := 0
		for i := gone; i < n-300; i++ {
			if i%11 != 5 && shown(i) {
				want++
			}
		}
		if got := x.drop(n - 300); got != want {
			t.Fatalf("%d rows were dropped before record %d, want %d", got, n-300, want)
		}
		gone = n - 300
		row := 0
		for i := range n + 1 {
			is := i >= gone && i%11 != 5 && shown(i)
			if x.has(i) != is || x.row(i) != row {
				t.Fatalf("record %d: %t in row %d, want %t in %d", i, x.has(i), x.row(i), is, row)
			}
			if is {
				if x.record(row) != i {
					t.Fatalf("row %d is record %d, want %d", row, x.record(row), i)
				}
				row++
			}
		}
		if x.shown != row || len(x.bits) > 2*waypointEvery/64 || len(x.waypoints) > 3 {
			t.Fatalf("%d rows, want %d, in %d words", x.shown, row, len(x.bits))
		}
	}
	if x.drop(3) != 0 || x.drop(20_000) != x.row(20_000) && x.shown != 0 {
		t.Errorf("%d rows are left", x.shown)
	}
}
