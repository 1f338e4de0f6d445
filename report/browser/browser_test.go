package browser

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/filter"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/table"
)

// scanner reads a fixture.
func scanner(tb testing.TB, capture string) Options {
	tb.Helper()
	var datagrams []dissect.Datagram
	stats := recorded.Datagrams(tb, capture, func(d *dissect.Datagram) {
		c := *d
		c.Payload = bytes.Clone(d.Payload)
		datagrams = append(datagrams, c)
	})
	start := stats.FirstTime
	return Options{
		Title: capture, Start: func() time.Time { return start },
		Scan: func(first int, take func(int, *dissect.Record) bool) error {
			p := dissect.New(dissect.Config{})
			n := 0
			emit := func(r *dissect.Record) error {
				if n++; n > first && !take(n-1, r) {
					return errStop
				}
				return nil
			}
			for i := range datagrams {
				if err := p.Push(&datagrams[i], emit); err != nil {
					return ended(err)
				}
			}
			return ended(p.Flush(emit))
		},
		Compile: func(expr string) (func(*dissect.Record) bool, error) {
			f, err := filter.Compile(expr, nil)
			if bad := (*filter.Error)(nil); errors.As(err, &bad) {
				return nil, &report.FilterError{Text: bad.Reason(), Column: bad.Column - 1}
			}
			if err != nil {
				return nil, err
			}
			f.Start = start
			return f.Match, nil
		},
		Complete: func(begun string) []string { return filter.Complete(begun, nil) },
		Command:  func(r *dissect.Record) string { return fmt.Sprintf("decode %x", r.Bytes) },
	}
}

var errStop = errors.New("enough")

// ended returns the error of a scan that was not just stopped.
func ended(err error) error {
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// opened returns a browser that has read everything.
func opened(tb testing.TB, o Options, width, height int) *model {
	tb.Helper()
	m := newModel(New(o))
	m.zone = time.UTC
	drain(m, m.Init())
	send(m, tea.WindowSizeMsg{Width: width, Height: height})
	return m
}

// send gives the model a message, and obeys its commands to the last.
func send(m *model, msg tea.Msg) {
	_, cmd := m.Update(msg)
	drain(m, cmd)
}

func drain(m *model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil, tea.QuitMsg, tea.SuspendMsg:
	case tea.BatchMsg:
		for _, c := range msg {
			drain(m, c)
		}
	default:
		send(m, msg)
	}
}

var special = map[string]rune{
	"tab": tea.KeyTab, "enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
	"home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "backspace": tea.KeyBackspace,
}

// press sends keys: names of special ones, or text.
func press(m *model, keys ...string) {
	for _, k := range keys {
		if code, ok := special[k]; ok {
			send(m, tea.KeyPressMsg{Code: code})
			continue
		}
		for _, r := range k {
			send(m, tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

func screen(m *model) string { return m.View().Content }

// line returns the first line of the screen with a text.
func line(tb testing.TB, m *model, text string) string {
	tb.Helper()
	for l := range strings.Lines(screen(m)) {
		if strings.Contains(l, text) {
			return strings.TrimRight(l, " \n")
		}
	}
	tb.Fatalf("no %q on the screen:\n%s", text, screen(m))
	return ""
}

func lacks(tb testing.TB, m *model, text string) {
	tb.Helper()
	if strings.Contains(screen(m), text) {
		tb.Errorf("%q is on the screen:\n%s", text, screen(m))
	}
}

// records returns copies of all records of a capture.
func records(tb testing.TB, o Options) (all []*dissect.Record) {
	tb.Helper()
	if err := o.Scan(0, func(_ int, r *dissect.Record) bool { all = append(all, r.Clone()); return true }); err != nil {
		tb.Fatal(err)
	}
	return all
}

// The line of chat of the real game that documents know (frame 73) is found,
// shown with its fields, and its text's bytes are marked.
func TestMessage(t *testing.T) {
	m := opened(t, scanner(t, "stock_replay.pcap"), 100, 30)
	press(m, "/good for you", "enter")
	if row := line(t, m, "▸   73"); !strings.Contains(row, `Cady2 → host    Chat             Cady2  "everything good for you?"`) {
		t.Error(row)
	}
	press(m, "enter", "G")
	if row := line(t, m, "▸+5..31"); !strings.HasSuffix(row, `text    "everything good for you?"`) {
		t.Error(row)
	}
	for _, want := range []string{
		" 0000  32 24 80 79 00 2c 03 00  00 00[18 00 65 76 65 72] 2$.y.,......ever",
		" 0010 [79 74 68 69 6e 67 20 67  6f 6f 64 20 66 6f 72 20] ything good for",
		" 0020 [79 6f 75 3f]                                      you?",
	} {
		if row := line(t, m, want[:5]); row != want {
			t.Errorf("got\n%s\nwant\n%s", row, want)
		}
	}
}

// Every line of the list is the one that read prints, from the first to the last.
func TestListIsRead(t *testing.T) {
	o := scanner(t, "networked_battle.pcap")
	var want bytes.Buffer
	sink := table.New(&want, table.Options{Width: 99, Start: o.Start(), Zone: time.UTC})
	if err := o.Scan(0, func(_ int, r *dissect.Record) bool { return sink.Record(r) == nil }); err != nil {
		t.Fatal(err)
	}
	_ = sink.Close()
	var got strings.Builder
	m := opened(t, o, 100, 30)
	page := m.page(messages)
	for {
		lines := strings.Split(screen(m), "\n")[2 : 2+page]
		for _, l := range lines {
			l = strings.TrimPrefix(strings.Replace(l, "▸", " ", 1), " ")
			got.WriteString(strings.TrimRight(l, " ") + "\n")
		}
		if m.top+2*page > m.count() {
			break
		}
		m.cursor, m.top = m.top+page, m.top+page
		send(m, nil)
	}
	lines := strings.SplitAfter(want.String(), "\n")
	for i, l := range slices.Collect(strings.Lines(got.String())) {
		if l != strings.TrimRight(lines[i], " \n")+"\n" {
			t.Fatalf("row %d:\n%s%s", i, l, lines[i])
		}
	}
	if n := strings.Count(got.String(), "\n"); n < m.count()-page || n > m.count() || m.count() != len(lines)-1 {
		t.Errorf("%d rows of %d were compared with %d lines", n, m.count(), len(lines)-1)
	}
}

// The position of each field is the position of its bytes in the message,
// whether the message came in one piece or in fragments.
func TestFieldPlaces(t *testing.T) {
	checked := 0
	paths := slices.Concat(fixtures.Glob(t, "captures/*.pcap"), fixtures.Glob(t, "captures/*.pcap.gz"))
	for _, path := range paths {
		teller := table.NewTeller()
		name := filepath.Base(path)
		recorded.Records(t, name, dissect.Config{}, func(r *dissect.Record) {
			p := partsOf(teller, r, false)
			var w decode.Viewer
			v := places{t: t, p: &p, r: r}
			v.rest = slices.DeleteFunc(slices.Clone(p.rows), func(p part) bool { return !p.field || p.Group || p.Name == "opcode" || p.Name == "residue" })
			r.Visit(&w, &v)
			checked += v.n
		})
	}
	if checked < 100_000 {
		t.Errorf("%d fields were checked", checked)
	}
}

type places struct {
	t    *testing.T
	p    *parts
	r    *dissect.Record
	rest []part
	n    int
}

func (v *places) Begin(*decode.Group) {}
func (v *places) End(*decode.Group)   {}

func (v *places) Field(f *decode.Field) {
	part := v.rest[0]
	v.rest = v.rest[1:]
	if part.Name != f.Name {
		v.t.Fatalf("%s where %s was expected", part.Name, f.Name)
	}
	if f.Off >= f.End {
		return
	}
	v.n++
	body := v.r.Payload
	if body == nil {
		body = v.r.Bytes[v.r.Transport.Size:]
	}
	if !bytes.Equal(v.p.bytes[part.Off:part.End], body[f.Off:f.End]) {
		v.t.Fatalf("frame %d, %s: % x where % x was expected", v.r.Datagram.Number, f.Name, v.p.bytes[part.Off:part.End], body[f.Off:f.End])
	}
}

func TestFilter(t *testing.T) {
	o := scanner(t, "stock_client.pcap")
	match, err := o.Compile("Chat")
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, r := range records(t, o) {
		if match(r) {
			want++
		}
	}
	m := opened(t, o, 100, 30)
	all := m.count()
	press(m, "YChat", "enter")
	if m.count() != want || want == 0 || want == all {
		t.Fatalf("%d rows, want %d of %d", m.count(), want, all)
	}
	line(t, m, "filter Chat")
	line(t, m, fmt.Sprintf("1 of %d (%d messages)", want, all))
	// The message at hand stays when the filter goes.
	press(m, "jj")
	frame := m.frame()
	press(m, "Y", "backspace", "backspace", "backspace", "backspace", "enter")
	if m.count() != all || m.frame() != frame || m.rec.Spec.Name != "Chat" {
		t.Errorf("%d rows, frame %d, want %d and %d", m.count(), m.frame(), all, frame)
	}
	press(m, "Yname == Chat and frame == 1", "enter")
	line(t, m, "no message matches")
	if press(m, "jGgkz"); m.rec != nil {
		t.Error("there is a message at hand")
	}
}

func TestFilterMistake(t *testing.T) {
	m := opened(t, scanner(t, "stock_client.pcap"), 100, 30)
	all := m.count()
	press(m, "YChat and Chat.txt", "enter")
	lines := strings.Split(screen(m), "\n")
	bar, below := lines[len(lines)-2], lines[len(lines)-1]
	if at := strings.Index(bar, "Chat.txt"); at < 0 || strings.Index(below, "^") != at && strings.Index(below, "^") != at+len("Chat.") {
		t.Errorf("the caret is wrong:\n%s\n%s", bar, below)
	}
	if !strings.Contains(lines[len(lines)-3], "Chat") {
		t.Errorf("no reason: %s", lines[len(lines)-3])
	}
	press(m, "esc")
	if m.count() != all || m.of.expr != "" || strings.Contains(screen(m), "filter") && !strings.Contains(screen(m), "Y filter") {
		t.Error("the mistake has become the filter")
	}
}

func TestCompletion(t *testing.T) {
	m := opened(t, scanner(t, "join_flow.pcap"), 100, 30)
	press(m, "YTorpedoF", "tab")
	if got := m.Input.Value(); got != "TorpedoFire" {
		t.Errorf("completed to %q", got)
	}
	press(m, ".tar", "tab") // target and fields below it
	if got := m.Input.Value(); !strings.HasPrefix(got, "TorpedoFire.target") {
		t.Errorf("completed to %q", got)
	}
	press(m, "esc", "Ydir == ", "tab")
	first := m.Input.Value()
	line(t, m, "c2s  s2c")
	press(m, "tab")
	if second := m.Input.Value(); first == second || !strings.HasPrefix(second, "dir == ") {
		t.Errorf("%q after %q", second, first)
	}
}

func TestHistory(t *testing.T) {
	m := opened(t, scanner(t, "stock_client.pcap"), 100, 30)
	press(m, "YChat", "enter", "Y", "up", "down")
	if m.Input.Value() != "" {
		t.Errorf("below the history is %q", m.Input.Value())
	}
	press(m, "seq > 3", "enter", "Y", "up", "up")
	if m.Input.Value() != "Chat" {
		t.Errorf("two back is %q", m.Input.Value())
	}
	press(m, "up", "down")
	if m.Input.Value() != "seq > 3" {
		t.Errorf("one on is %q", m.Input.Value())
	}
}

func TestFollow(t *testing.T) {
	o := scanner(t, "networked_battle.pcap")
	all := records(t, o)
	m := opened(t, o, 100, 30)
	press(m, "Yplayer_name == \"Bot1\" and StateUpdate", "enter", "p")
	line(t, m, "player Bot1")
	press(m, "Y")
	m.Input.SetValue("")
	press(m, "enter")
	want := 0
	conversation, player := m.rec.Conversation, m.rec.Player.Index
	for _, r := range all {
		if r.Player == nil && r.Conversation == conversation || r.Player != nil && r.Player.Index == player {
			want++
		}
	}
	if m.count() != want || want < 100 || want == len(all) {
		t.Errorf("%d messages of the player, want %d", m.count(), want)
	}
	press(m, "p")
	if m.count() != len(all) {
		t.Errorf("%d messages afterwards, want %d", m.count(), len(all))
	}

	press(m, "YStateUpdate", "enter", "o", "Y")
	m.Input.SetValue("")
	press(m, "enter")
	id := m.of.follow.object
	want = 0
	for _, r := range all {
		var w decode.Viewer
		if r.NamesObject(&w, id) {
			want++
		}
	}
	if m.count() != want || want < 100 || want == len(all) {
		t.Errorf("%d messages of object %x, want %d", m.count(), id, want)
	}
	line(t, m, fmt.Sprintf("object 0x%08X (", uint32(id)))
}

func TestSearch(t *testing.T) {
	o := scanner(t, "stock_client.pcap")
	var hits []int
	sink := table.New(nil, table.Options{Start: o.Start(), Zone: time.UTC})
	for i, r := range records(t, o) {
		if strings.Contains(strings.ToLower(sink.Line(r)), "chat ") {
			hits = append(hits, i)
		}
	}
	if len(hits) < 3 {
		t.Fatalf("%d lines", len(hits))
	}
	m := opened(t, o, 100, 30)
	press(m, "/chat ", "enter")
	for i, want := range append(hits[1:], hits[0], hits[1]) {
		if i == 0 && m.cursor != hits[0] {
			t.Fatalf("at %d, want %d", m.cursor, hits[0])
		}
		if press(m, "n"); m.cursor != want {
			t.Fatalf("at %d, want %d", m.cursor, want)
		}
		if wraps := want == hits[0]; strings.Contains(m.said, "beginning") != wraps {
			t.Errorf("row %d: %q", want, m.said)
		}
	}
	for _, want := range []int{hits[0], hits[len(hits)-1], hits[len(hits)-2]} {
		if press(m, "N"); m.cursor != want {
			t.Fatalf("back at %d, want %d", m.cursor, want)
		}
	}
	press(m, "/CHAT ", "enter")
	line(t, m, "no line has CHAT")
	press(m, "YStateUpdate", "enter", "/chat ", "enter")
	line(t, m, "no line has chat") // since none of the list has
}

func TestGoTo(t *testing.T) {
	o := scanner(t, "networked_battle.pcap")
	all := records(t, o)
	m := opened(t, o, 100, 30)
	for _, frame := range []int{2000, 1, 4145, 77, 3001} {
		press(m, fmt.Sprintf(":%d", frame), "enter")
		want := slices.IndexFunc(all, func(r *dissect.Record) bool { return r.Datagram.Number >= frame })
		if m.cursor != want {
			t.Errorf("frame %d: row %d, want %d", frame, m.cursor, want)
		}
	}
	press(m, "t0:10", "enter")
	to := o.Start().Add(10 * time.Second)
	if want := slices.IndexFunc(all, func(r *dissect.Record) bool { return !r.Datagram.Time.Before(to) }); m.cursor != want || want < 100 {
		t.Errorf("row %d, want %d", m.cursor, want)
	}
	press(m, "tx", "enter")
	line(t, m, "a time is hours:minutes:seconds")
	press(m, "esc", ":1.5", "enter")
	line(t, m, "a frame is a number")
}

// Fields close and open, and the bytes of a closed group are the bytes of its
// fields.
func TestFields(t *testing.T) {
	m := opened(t, scanner(t, "stock_client.pcap"), 100, 40)
	press(m, "YStateUpdate.subsystems", "enter", "2")
	group := slices.IndexFunc(m.rows, func(at int) bool { return m.parts.rows[at].Name == "subsystems" })
	if group < 0 {
		t.Fatal("no group")
	}
	m.pick(group)
	open := len(m.rows)
	press(m, "left")
	if len(m.rows) >= open || m.part().Name != "subsystems" {
		t.Errorf("%d rows after %d", len(m.rows), open)
	}
	off, end := m.marked()
	if p := m.parts; end != len(p.bytes) || off <= p.at || off >= end {
		t.Errorf("bytes %d to %d of %d are marked", off, end, len(p.bytes))
	}
	press(m, "1", "j", "2")
	if m.part().Name != "subsystems" {
		t.Errorf("%s is chosen in the next message", m.part().Name)
	}
	press(m, "right", "G")
	var around []string
	for range 6 {
		press(m, "left")
		around = append(around, m.part().Name)
	}
	if want := []string{"[4]", "[4]", "entries", "entries", "subsystems", "subsystems"}; !slices.Equal(around, want) {
		t.Errorf("around the last field are %q, want %q", around, want)
	}
}

// Without colours brackets mark the bytes, which a field or a byte chooses.
func TestBytes(t *testing.T) {
	m := opened(t, scanner(t, "stock_client.pcap"), 100, 40)
	press(m, "YChat", "enter", "2")
	at := slices.IndexFunc(m.rows, func(at int) bool { return m.parts.rows[at].Name == "text" })
	m.pick(at)
	off, end := m.marked()
	if text := m.rec.Payload[5:]; !bytes.Equal(m.rec.Bytes[off:end], text) { // after opcode and sender
		t.Fatalf("%d to %d are marked", off, end)
	}
	row := line(t, m, "0000  ")
	open, shut := strings.Index(row, "["), strings.Index(row, "]")
	if hex := fmt.Sprintf("% x", m.rec.Bytes[off:min(end, 16)]); open < 0 || shut < open || strings.ReplaceAll(row[open+1:shut], "  ", " ") != hex {
		t.Errorf("%s is marked, not %s", row, hex)
	}
	press(m, "3", "home")
	if m.byteAt != 0 || m.part().field {
		t.Errorf("byte %d is of %s", m.byteAt, m.part().Name)
	}
	for range m.parts.at {
		press(m, "right")
	}
	if m.part().Name != "opcode" {
		t.Errorf("byte %d is of %s", m.byteAt, m.part().Name)
	}
}

func TestMouse(t *testing.T) {
	m := opened(t, scanner(t, "networked_battle.pcap"), 150, 40)
	areas := m.areas()
	send(m, tea.MouseClickMsg{X: 10, Y: areas[messages].y + 4, Button: tea.MouseLeft})
	if m.cursor != 3 || m.focus != messages {
		t.Errorf("row %d", m.cursor)
	}
	for range 5 {
		send(m, tea.MouseWheelMsg{X: 10, Y: areas[messages].y + 4, Button: tea.MouseWheelDown})
	}
	if m.cursor != 18 || m.top != 15 {
		t.Errorf("row %d, the first is %d", m.cursor, m.top)
	}
	send(m, tea.MouseWheelMsg{X: 10, Y: areas[messages].y + 4, Button: tea.MouseWheelUp})
	if m.cursor != 15 || m.top != 12 {
		t.Errorf("row %d, the first is %d", m.cursor, m.top)
	}
	h := areas[hex]
	send(m, tea.MouseClickMsg{X: h.x + 1 + 4 + 2, Y: h.y + 1, Button: tea.MouseLeft})
	if m.focus != hex || m.byteAt != 0 {
		t.Errorf("byte %d", m.byteAt)
	}
	send(m, tea.MouseClickMsg{X: h.x + 1 + 4 + 2 + 3*m.parts.at, Y: h.y + 1, Button: tea.MouseLeft})
	if m.byteAt != m.parts.at {
		t.Errorf("byte %d, want %d", m.byteAt, m.parts.at)
	}
}

func TestCopy(t *testing.T) {
	o := scanner(t, "stock_client.pcap")
	var native string
	o.Copy = func(text string) { native = text }
	m := opened(t, o, 60, 24)
	press(m, "YChat", "enter", "c")
	if want := fmt.Sprintf("decode %x", m.rec.Bytes); m.copied != want || native != want {
		t.Errorf("%q and %q, want %q", m.copied, native, want)
	}
	line(t, m, "decode 32")
	press(m, "j")
	lacks(t, m, "decode 32")
}

// Any size has lines that fit, with and without colours.
func TestSizes(t *testing.T) {
	for _, color := range []bool{false, true} {
		o := scanner(t, "stock_client.pcap")
		o.Color = color
		m := opened(t, o, 80, 24)
		for _, keys := range []string{"", "Y", "2", "3", "z", "?"} {
			press(m, keys)
			for _, width := range []int{0, 1, 2, 3, 4, 9, 20, 21, 40, 60, 79, 80, 99, 100, 119, 120, 121, 200} {
				for _, height := range []int{0, 1, 2, 3, 5, 6, 13, 14, 15, 24, 50} {
					fits(t, m, width, height, color)
				}
			}
			press(m, "esc")
		}
	}
}

// fits checks a screen of a size.
func fits(t *testing.T, m *model, width, height int, color bool) {
	t.Helper()
	send(m, tea.WindowSizeMsg{Width: width, Height: height})
	shown := screen(m)
	if width == 0 || height == 0 {
		if shown != "" {
			t.Errorf("%q on a terminal of %dx%d", shown, width, height)
		}
		return
	}
	lines := strings.Split(shown, "\n")
	if len(lines) != height {
		t.Errorf("%d lines on a terminal of %d x %d", len(lines), width, height)
	}
	for _, l := range lines {
		if w := lipgloss.Width(l); w > width {
			t.Errorf("%d columns on a terminal of %d: %q", w, width, l)
		}
		if !color && strings.ContainsFunc(l, unicode.IsControl) {
			t.Errorf("a control character: %q", l)
		}
	}
}

// spoken returns a source of chat lines.
func spoken(n int, text func(i int) string) Options {
	start := time.Date(2002, 3, 1, 20, 0, 0, 0, time.UTC)
	o := Options{Title: "spoken", Start: func() time.Time { return start }}
	o.Scan = func(first int, take func(int, *dissect.Record) bool) error {
		d := dissect.Datagram{Src: netip.MustParseAddrPort("10.0.0.2:1001"), Dst: netip.MustParseAddrPort("10.0.0.1:22101")}
		for i := first; i < n; i++ {
			d.Number, d.Time = i+1, start.Add(time.Duration(i)*time.Millisecond)
			r := dissect.Record{Datagram: &d, Kind: dissect.KindMalformed, Status: dissect.StatusMalformed, Client: wire.Untrusted(text(i)), Bytes: []byte(text(i)), Err: errors.New(text(i)), Conversation: 1}
			if !take(i, &r) {
				return nil
			}
		}
		return nil
	}
	o.Compile = func(string) (func(*dissect.Record) bool, error) {
		return func(r *dissect.Record) bool { return r.Datagram.Number%2 == 0 }, nil
	}
	return o
}

// Text of hostile players does nothing to the terminal.
func TestHostileText(t *testing.T) {
	evil := "\x1b[2J\x07\u202E\r\n\x9b31m\xff" + strings.Repeat("宽", 300)
	o := spoken(100, func(int) string { return evil })
	o.Title, o.Filter = evil, ""
	o.Command = func(*dissect.Record) string { return "decode 00" }
	m := opened(t, o, 80, 24)
	press(m, "p")
	for _, keys := range []string{"", "2", "3", "z", "/\x1b", "esc", "c"} {
		press(m, keys)
		for _, l := range strings.Split(screen(m), "\n") {
			if strings.ContainsFunc(l, func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' }) || strings.Contains(l, "\xff") || lipgloss.Width(l) > 80 {
				t.Fatalf("%q", l)
			}
		}
	}
	line(t, m, `\x1b[2J\x07\u{202e}`)
}

// The browser holds an index and a window, whatever the captures hold.
func TestMemory(t *testing.T) {
	const total = 2_000_000
	text := "x"
	o := spoken(total, func(int) string { return text })
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := opened(t, o, 80, 24)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if m.count() != total {
		t.Fatalf("%d rows", m.count())
	}
	// There is a bit for each message and a mark for every 1024. A growing
	// slice has room for a quarter more.
	const most = (total/8 + total/64) * 5 / 4
	if n := 8*cap(m.index.bits) + 16*cap(m.index.waypoints); n > most+4096 {
		t.Errorf("the index of %d messages has %d bytes, more than %d", total, n, most)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > most+16<<20 {
		t.Errorf("the browser holds %d bytes", grown)
	}
	press(m, "G")
	line(t, m, "2000000 ")
	press(m, "pgup", "pgup", "g", "end", "up", "Ywhatever", "enter")
	if m.count() != total/2 || len(m.win.rows) > windowRows {
		t.Errorf("%d rows, %d of them held", m.count(), len(m.win.rows))
	}
	runtime.KeepAlive(m)

	// A window of large messages has fewer.
	text = strings.Repeat("y", 60_000)
	m = opened(t, spoken(5000, func(int) string { return text }), 80, 24)
	for _, key := range []string{"G", "g", "G", "pgup"} {
		press(m, key)
		if m.win.size > windowBytes+200_000 || m.win.has(m.cursor) == nil {
			t.Errorf("%s: %d bytes are held, row %d of %d to %d", key, m.win.size, m.cursor, m.win.from, m.win.from+len(m.win.rows))
		}
	}
}

// Captures that have become shorter meanwhile are no reason to wait for ever.
func TestChanged(t *testing.T) {
	n := 50_000
	o := spoken(n, func(int) string { return "x" })
	whole := o.Scan
	left := n
	o.Scan = func(first int, take func(int, *dissect.Record) bool) error {
		return whole(first, func(n int, r *dissect.Record) bool { return n < left && take(n, r) })
	}
	m := opened(t, o, 80, 24)
	left = 100
	press(m, "G")
	line(t, m, "the captures have changed")
	press(m, "g", "j", "pgdown", "G")
}

// An error of the captures is shown below the messages before it.
func TestDamage(t *testing.T) {
	o := spoken(10, func(int) string { return "x" })
	whole := o.Scan
	o.Scan = func(first int, take func(int, *dissect.Record) bool) error {
		_ = whole(first, take)
		return errors.New("cut.pcap: ends inside frame 11")
	}
	m := opened(t, o, 80, 24)
	line(t, m, "cut.pcap: ends inside frame 11")
	line(t, m, "1 of 10 messages")
	if m.damage == nil {
		t.Error("the error is forgotten")
	}
	press(m, "j")
	lacks(t, m, "cut.pcap")
}

// Keys are obeyed while the captures are read, and end that.
func TestStop(t *testing.T) {
	o := spoken(1<<30, func(int) string { return "x" })
	m := newModel(New(o))
	m.Update(m.Init()()) // the first rows
	line(t, m, "reading, ")
	for _, k := range "jjn" {
		m.Update(tea.KeyPressMsg{Code: k, Text: string(k)})
	}
	if m.cursor != 2 {
		t.Errorf("row %d", m.cursor)
	}
	line(t, m, "nothing was searched for")
	for _, k := range "po" {
		m.Update(tea.KeyPressMsg{Code: k, Text: string(k)})
		line(t, m, "still being read")
	}
	m.Update(tea.KeyPressMsg{Code: 'q', Text: "q"})
	m.b.scan.Lock() // only possible if nothing reads any more
	defer m.b.scan.Unlock()
}

// The index agrees with a list of booleans.
func TestIndex(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, share := range []float64{0, 0.001, 0.3, 1} {
		for _, n := range []int{0, 1, 63, 64, 511, 512, 513, 5000} {
			x := new(index)
			var rows []int
			for i := range n {
				shown := random.Float64() < share
				if shown {
					rows = append(rows, i)
				}
				x.add(i, shown, &dissect.Datagram{Number: i, Time: time.Unix(int64(i), 0)})
			}
			if x.shown != len(rows) || x.total != n {
				t.Fatalf("%d of %d, want %d of %d", x.shown, x.total, len(rows), n)
			}
			for row, record := range rows {
				if got := x.record(row); got != record {
					t.Fatalf("row %d is record %d, want %d", row, got, record)
				}
			}
			row := 0
			for i := range n + 2 {
				if got := x.row(i); got != row {
					t.Fatalf("record %d is row %d, want %d", i, got, row)
				}
				if has := row < len(rows) && rows[row] == i; has != x.has(i) {
					t.Fatalf("record %d: %t", i, !has)
				} else if has {
					row++
				}
			}
		}
	}
}

// A fault while captures are read reaches the caller of Run, which reports it.
func TestPanicOfReading(t *testing.T) {
	o := scanner(t, "stock_client.pcap")
	o.Scan = func(int, func(int, *dissect.Record) bool) error { panic(errStop) }
	keys, _ := io.Pipe()
	defer func() {
		if fault, _ := recover().(error); !errors.Is(fault, errStop) {
			t.Errorf("Run ends with %v", fault)
		}
	}()
	t.Errorf("Run returns %v", New(o).Run(keys, io.Discard))
}
