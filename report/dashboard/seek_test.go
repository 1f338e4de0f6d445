package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/report"
)

// A reader reads a tape of a line of chat a second as the program does: to go
// back, it reads again from the beginning if it must.
type reader struct {
	d     *Dashboard
	p     *Pacer
	begun int // times that it was read from the beginning
	next  int // second of the tape
}

// read reads the tape at its pace until something is so, or to its end.
func (r *reader) read(until func() bool) {
	for !until() && r.next <= 120 {
		r.p.Wait(began.Add(time.Duration(r.next) * time.Second))
		if r.p.Rewinds() {
			r.p.Rest()
			r.d.Restart()
			r.next = 0
			r.begun++
			continue
		}
		tp := tape{d: r.d, at: began.Add(time.Duration(r.next) * time.Second)}
		tp.from(kirk, host, chatOf(2, "Kirk", 2, fmt.Sprintf("line %d.", r.next)))
		r.next++
	}
}

// seconds reads until the clock has gone on.
func (r *reader) seconds(c *tester, n int) {
	end := c.now().Add(time.Duration(n) * time.Second)
	r.read(func() bool { return !c.now().Before(end) })
}

func TestSeek(t *testing.T) {
	c := &tester{t: time.Unix(1000, 0)}
	p := NewPacer(1, c.now, c.sleep)
	d := New(Options{Now: c.now, Pacer: p})
	m := newModel(d)
	r := &reader{d: d, p: p, begun: 1}
	at := func(line int, clock string) {
		t.Helper()
		m.Update(tick{})
		text := screen(m, 80, 24)
		lineWith(t, text, clock)
		lineWith(t, text, fmt.Sprintf("line %d.", line))
		if strings.Contains(text, fmt.Sprintf("line %d.", line+1)) {
			t.Errorf("it is further:\n%s", text)
		}
	}
	r.seconds(c, 20)
	at(20, "00:00:20")

	// Moving forwards does not wait, and skips no record.
	press(m, "right")
	before := c.now()
	r.read(func() bool { return r.next == 30 })
	if took := c.now().Sub(before); took != 0 || r.begun != 1 {
		t.Errorf("it took %v, and was read %d times", took, r.begun)
	}
	at(29, "00:00:30")
	r.seconds(c, 5)
	at(35, "00:00:35")

	// Back it is read again, up to the place, also in a pause.
	press(m, " ", "left")
	before = c.now()
	r.read(func() bool { return r.begun == 2 && r.next == 25 })
	if took := c.now().Sub(before); took != 0 {
		t.Errorf("it took %v", took)
	}
	at(24, "00:00:25  PAUSED")
	press(m, " ")
	r.seconds(c, 2)
	at(27, "00:00:27")

	// A minute, further than silence is waited for, and to a time.
	press(m, ">")
	r.seconds(c, 1)
	at(88, "00:01:28")
	for _, to := range []struct {
		text string
		line int
	}{{"00:00:40", 40}, {"1:10", 70}, {"0", 0}, {"15.0", 15}} {
		press(m, "t", to.text, "enter")
		r.seconds(c, 1)
		at(to.line+1, fmt.Sprintf("00:%02d:%02d", (to.line+1)/60, (to.line+1)%60))
	}
	press(m, "<")
	r.seconds(c, 1)
	at(1, "00:00:01")

	// It also works at the end of the recording.
	press(m, "t", "2:00", "enter")
	r.seconds(c, 5)
	_ = d.Close()
	m.Update(tick{})
	press(m, "right")
	lineWith(t, screen(m, 80, 24), "this is the end of the recording")
	p.sleep = func(time.Duration) { t.Fatal("it waits for ever") }
	press(m, "<")
	if !p.Rest() {
		t.Error("it is not read again")
	}
	p.sleep = c.sleep
	d.Restart()
	r.next = 0
	r.seconds(c, 1)
	at(61, "00:01:01")
}

func TestSeekRefused(t *testing.T) {
	m := newModel(New(Options{}))
	for _, key := range []string{"left", "right", "<", ">", "t"} {
		press(m, key)
		lineWith(t, screen(m, 80, 24), "only a recording that is read with --speed")
	}

	c := &tester{t: time.Unix(1000, 0)}
	p := NewPacer(1, c.now, c.sleep)
	p.OneWay()
	d := New(Options{Now: c.now, Pacer: p})
	r := &reader{d: d, p: p, begun: 1}
	r.seconds(c, 20)
	m = newModel(d)
	press(m, "left")
	lineWith(t, screen(m, 80, 24), "cannot be read again")
	if p.Rewinds() {
		t.Error("it is read again")
	}
	press(m, "right")
	r.seconds(c, 1)
	if r.next < 31 {
		t.Errorf("it does not go on: at %d", r.next)
	}
	for _, text := range []string{"soon", "1:2:3:4", "-1", "", "1e9", "NaN"} {
		press(m, "t", text, "enter")
		lineWith(t, screen(m, 80, 24), "a time is hours:minutes:seconds")
		press(m, "esc")
	}
	p.Stop()
	if p.Rest() {
		t.Error("a stopped pacer waits for a rewind")
	}
}

// The cursor goes to the mistake in a filter.
func TestFilterMistake(t *testing.T) {
	d := New(Options{Compile: func(string) (func(*dissect.Record) bool, error) {
		return nil, &report.FilterError{Text: "there is no field opcodee; did you mean opcode?", Column: 9}
	}})
	m := newModel(d)
	press(m, "/", "Chat and opcodee == 1", "enter")
	text := screen(m, 80, 24)
	lineWith(t, text, "did you mean opcode?")
	if v := m.View(); v.Cursor == nil || v.Cursor.X != len("filter: Chat and ") {
		t.Errorf("cursor %+v", v.Cursor)
	}
	m.Update(tea.KeyPressMsg{Code: 'x', Text: "x"})
	lineWith(t, screen(m, 80, 24), "filter: Chat and xopcodee")
}

// Ten lines of events stay, however many players and opcodes there are.
func TestEventLines(t *testing.T) {
	d := New(Options{})
	play(t, d, "battle_mix.pcap.gz")
	m := newModel(d)
	for _, size := range [][2]int{{80, 24}, {100, 30}, {120, 24}, {200, 50}} {
		for _, keys := range []string{"2", "4", "5", "1", "3"} {
			press(m, keys)
			lines := strings.Split(screen(m, size[0], size[1]), "\n")
			title := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "Events and chat") })
			if n := len(lines) - 1 - (title + 1); title < 0 || n < 10 {
				t.Errorf("%v, pane %s: %d lines of events", size, keys, n)
			}
		}
	}
}
