package dashboard

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/report"
)

// play gives the records of a capture to the dashboard.
func play(t *testing.T, d *Dashboard, name string) {
	t.Helper()
	src, err := capture.OpenAll([]string{filepath.Join(fixtures.Dir(), "captures", name)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	p := dissect.New(dissect.Config{})
	for {
		g, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Push(g, d.Record); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(d.Record); err != nil {
		t.Fatal(err)
	}
	d.Close()
}

func screen(m *model, width, height int) string {
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return m.View().Content
}

// press sends keys: names of special ones, or text.
func press(m *model, keys ...string) (last tea.Cmd) {
	special := map[string]rune{"tab": tea.KeyTab, "enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown}
	for _, k := range keys {
		if code, ok := special[k]; ok {
			_, last = m.Update(tea.KeyPressMsg{Code: code})
			continue
		}
		if k == "ctrl+c" {
			_, last = m.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
			continue
		}
		for _, r := range k {
			_, last = m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return last
}

func quits(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	_, ok := cmd().(tea.QuitMsg)
	return ok
}

// A tape makes records by hand.
type tape struct {
	d       *Dashboard
	number  int
	at      time.Time
	players map[netip.AddrPort]*dissect.Player
}

var (
	host  = netip.MustParseAddrPort("10.0.0.1:22101")
	kirk  = netip.MustParseAddrPort("10.0.0.2:1001")
	spock = netip.MustParseAddrPort("10.0.0.3:1002")
	began = time.Date(2002, 3, 1, 20, 0, 0, 0, time.UTC)
)

// from passes a game message in its own datagram to the dashboard.
func (p *tape) from(src, dst netip.AddrPort, r dissect.Record) {
	p.number++
	r.Datagram = &dissect.Datagram{Number: p.number, Time: p.at, Src: src, Dst: dst, Payload: make([]byte, 20), Full: 20}
	r.Dir = dissect.ToHost
	if src == host {
		r.Dir = dissect.FromHost
	}
	if client := src; r.Client != "" {
		if src == host {
			client = dst
		}
		if client == spock {
			r.Client, r.ClientID = "Spock", 3
		}
		if p.players == nil {
			p.players = map[netip.AddrPort]*dissect.Player{}
		}
		if p.players[client] == nil {
			p.players[client] = &dissect.Player{Name: r.Client, ID: r.ClientID, Slot: -1, Team: -1, Addr: client}
		}
		r.Player = p.players[client]
	}
	if r.Payload == nil && r.Transport.Type == 0 && r.Kind == dissect.KindMessage {
		r.Payload, r.Transport.Type = []byte{0x2C}, transport.Standard
	}
	p.d.Record(&r)
}

func chatOf(id uint8, name string, sender int32, text string) dissect.Record {
	return dissect.Record{
		Client: wire.Untrusted(name), ClientID: id, Payload: append([]byte{0x2C, 0, 0, 0, 0}, text...), Transport: transport.Header{Type: transport.Standard},
		Message: &msg.Chat{Sender: sender, Text: []byte(text)},
	}
}

func lineWith(t *testing.T, text, part string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return strings.TrimRight(line, "\n")
		}
	}
	t.Fatalf("no line with %q in\n%s", part, text)
	return ""
}

func TestLayout(t *testing.T) {
	full := New(Options{Title: "battle_mix.pcap.gz", Compile: func(string) (func(*dissect.Record) bool, error) {
		return nil, errors.New(strings.Repeat("no such field ", 20))
	}})
	play(t, full, "battle_mix.pcap.gz")
	full.SetDrops(1e12, 1e9)
	colored := New(Options{Title: strings.Repeat("Ж字", 90), Color: true})
	ascii := New(Options{Title: strings.Repeat("Ж字", 90), ASCII: true})
	for _, d := range []*Dashboard{colored, ascii} {
		tp := tape{d: d, at: began}
		for i := range 100 {
			src := netip.AddrPortFrom(netip.MustParseAddr("fd00:1234:5678:9abc:def0:1234:5678:9abc"), uint16(50000+i))
			tp.from(src, host, chatOf(uint8(i+2), "字字字字字字字字字字字字字字\x1b[2J", int32(i), strings.Repeat("字\u0301é👩‍🚀", 99)))
		}
	}
	empty := New(Options{})
	views := map[string]func() *model{
		"empty":   func() *model { return newModel(empty) },
		"full":    func() *model { return newModel(full) },
		"colored": func() *model { return newModel(colored) },
		"ascii":   func() *model { return newModel(ascii) },
		"help":    func() *model { m := newModel(full); press(m, "?"); return m },
		"asking":  func() *model { m := newModel(full); press(m, "/", strings.Repeat("字x", 80), "enter"); return m },
		"zoomed":  func() *model { m := newModel(colored); press(m, "3z", "up", "up"); return m },
		"links":   func() *model { m := newModel(full); press(m, "4"); return m },
		"ships":   func() *model { m := newModel(full); press(m, "5z"); return m },
	}
	for name, view := range views {
		m := view()
		for _, width := range []int{1, 2, 10, 20, 21, 40, 79, 80, 100, 119, 120, 200} {
			for _, height := range []int{1, 2, 3, 5, 7, 8, 10, 11, 12, 13, 24, 50} {
				lines := strings.Split(screen(m, width, height), "\n")
				if len(lines) != height {
					t.Errorf("%s %dx%d: %d lines", name, width, height, len(lines))
				}
				for i, line := range lines {
					if n := lipgloss.Width(line); n > width {
						t.Errorf("%s %dx%d: line %d is %d wide: %q", name, width, height, i, n, line)
					}
					if name != "colored" && name != "zoomed" && strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7F }) {
						t.Errorf("%s %dx%d: control characters in line %d: %q", name, width, height, i, line)
					}
					if name == "ascii" && report.ASCII(line) != line {
						t.Errorf("%s %dx%d: line %d is not ASCII: %q", name, width, height, i, line)
					}
					if strings.Contains(line, "\x1b[2J") {
						t.Errorf("%s %dx%d: line %d clears the screen", name, width, height, i)
					}
				}
			}
		}
	}
}

// The pane in the middle shows the measurements of stats --network.
func TestLinksAndShips(t *testing.T) {
	d := New(Options{Title: "battle_mix.pcap.gz"})
	play(t, d, "battle_mix.pcap.gz")
	m := newModel(d)
	fields := func(text, part string) []string { return strings.Fields(lineWith(t, text, part)) }

	press(m, "4")
	small := screen(m, 80, 24)
	for _, want := range []string{"▸▾Links 8", "Players 4", "Events and chat", "silence", "alive", "gap"} {
		lineWith(t, small, want)
	}
	press(m, "z")
	large := screen(m, 200, 70)
	for _, l := range d.s.meter.Links() {
		row := fmt.Sprint(fields(large, fmt.Sprintf("%-10s %s", l.Player, report.Way(l.Dir, "", false))))
		rtt, _ := millis(m, l.RTT.Median)
		most, _ := millis(m, l.RTT.Max)
		for _, want := range []string{rtt, most, fmt.Sprintf(" %d %d %d %d ", l.Both().Repeated, l.Both().Duplicates, l.Both().Lost, l.Both().Late), short(l.Silence), l.Client.String()} {
			if !strings.Contains(row, want) {
				t.Errorf("%s %s: got %s, want %s", l.Player, l.Dir, row, want)
			}
		}
	}
	press(m, "ss") // by retransmissions: Bot3's link has most
	if lines := strings.Split(screen(m, 80, 24), "\n"); !strings.Contains(lines[2], "▾resent") || !strings.Contains(lines[3], "Bot3       host →") {
		t.Errorf("not sorted:\n%s", strings.Join(lines, "\n"))
	}

	press(m, "z5")
	lineWith(t, screen(m, 80, 24), "▸▾Ships 24")
	press(m, "z")
	large = screen(m, 200, 50)
	for _, s := range d.s.meter.Ships() {
		row := fmt.Sprint(fields(large, fmt.Sprintf("%-19s %-10s %s", s.Name, s.Player, report.Way(s.Dir, "", false))))
		every, _ := millis(m, s.Mean)
		jitter, _ := millis(m, s.Jitter)
		longest, _ := millis(m, s.Longest)
		if want := fmt.Sprintf(" %s %s %s %s %d ", rate(s.Rate), every, jitter, longest, s.Updates); !strings.Contains(row, want) {
			t.Errorf("%s to %s: got %s, want %s", s.Name, s.Player, row, want)
		}
	}

	// The tab key visits the visible panes.
	press(m, "esc", "tab")
	lineWith(t, screen(m, 80, 24), "▸Events and chat")
	press(m, "tab", "tab")
	lineWith(t, screen(m, 80, 24), "▸▾Ships 24")
	press(m, "2")
	lineWith(t, screen(m, 80, 24), "▸Opcodes by rate")
}

// The expected counts are in battle_mix.truth.json.
func TestCapture(t *testing.T) {
	d := New(Options{Title: "battle_mix.pcap.gz"})
	play(t, d, "battle_mix.pcap.gz")
	m := newModel(d)
	small := screen(m, 80, 24)
	lineWith(t, small, "00:01:24  end of capture")
	lineWith(t, small, "13,272 packets  33,914 messages")
	for _, want := range []string{"Players 4", "Bot0", "Bot1", "Bot2", "Bot3", "(left)", "msg/s", "silent", "resent", "RTT", "Opcodes by rate", "1C StateUpdate", "Events and chat", "Bot1 leaves", "? help"} {
		lineWith(t, small, want)
	}
	large := screen(m, 200, 70)
	for _, want := range []string{"address", "127.0.0.13:39240", "silence", "lost", "Bot0 joins", "Bot0 cloaks", "map Multi3, 8 players, 1 minute, 50 kills", "Bot1 enters in a Keldon", "Bot2 destroys Bot1's Keldon with torpedo", "k/d", "score", " 0/0 ", "Draw: the teams were equal"} {
		lineWith(t, large, want)
	}
	if n := strings.Count(large, "Bot1 leaves"); n != 1 {
		t.Errorf("Bot1 leaves %d times", n)
	}
}

func TestEscapes(t *testing.T) {
	d := New(Options{Title: "evil\x1b]0;x\a"})
	tp := tape{d: d, at: began}
	tp.from(kirk, host, chatOf(2, "K\x1b[31mirk\u202e", 2, "\x1b]0;owned\a\r\nhello\xff"))
	text := screen(newModel(d), 119, 30)
	if strings.ContainsAny(text, "\x1b\a\r\u202e") {
		t.Errorf("it came through: %q", text)
	}
	lineWith(t, text, `K\x1b[31mirk\u{202e}: \x1b]0;owned\x07\x0d\x0ahelloÿ`)
	lineWith(t, text, `evil\x1b]0;x\x07`)
}

func TestRates(t *testing.T) {
	now := time.Unix(0, 0)
	d := New(Options{Now: func() time.Time { return now }})
	tp := tape{d: d}
	for ms := 0; ms < 10_000; ms += 100 {
		tp.at = began.Add(time.Duration(ms) * time.Millisecond)
		tp.from(kirk, host, dissect.Record{Client: "Kirk", ClientID: 2, Payload: []byte{0x1C}, Transport: transport.Header{Type: transport.Standard}})
	}
	m := newModel(d)
	if s := m.snap; s.messageRate != 10 || s.byteRate != 200 || s.kinds[0].rate != 10 || s.players[0].up.Rate.Messages < 9 || s.players[0].up.Rate.Messages > 10.5 {
		t.Errorf("rates are %v, %v B/s, %v, player %v; want 10, 200, 10, 10", s.messageRate, s.byteRate, s.kinds[0].rate, s.players[0].up.Rate.Messages)
	}
	text := screen(m, 80, 24)
	if row := lineWith(t, text, "1C unknown"); !strings.Contains(row, "     100    10.0 ") || !strings.Contains(row, "█████████") {
		t.Errorf("row %q", row)
	}
	lineWith(t, text, "00:00:09  live")

	// Nothing comes for ten seconds.
	now = now.Add(10 * time.Second)
	m.Update(tick{})
	if s := m.snap; s.messageRate != 0 || s.players[0].up.Rate.Messages != 0 {
		t.Errorf("rates are %v, player %v; want 0", s.messageRate, s.players[0].up.Rate.Messages)
	}
	if row := lineWith(t, screen(m, 80, 24), "Kirk"); !strings.Contains(row, " 10s") {
		t.Errorf("silent for 10 s is not shown: %q", row)
	}
	lineWith(t, screen(m, 80, 24), "00:00:19  live")

	// At the end of the capture time stands still.
	d.Close()
	now = now.Add(time.Hour)
	m.Update(tick{})
	lineWith(t, screen(m, 80, 24), "00:00:19  end of capture")
	m.d.Close()
}

func TestSeries(t *testing.T) {
	var s series
	for _, sec := range []int64{-3, -2, -2, 0, 200, 201, 201, 150, 199} {
		s.add(sec, 1)
	}
	for sec, want := range map[int64]uint32{-3: 0, 0: 0, 150: 1, 199: 1, 200: 1, 201: 2, 202: 0, 137: 0} {
		if got := s.at(sec); got != want {
			t.Errorf("second %d has %d, want %d", sec, got, want)
		}
	}
	if got := s.rate(202, 0); got != 4.0/5 {
		t.Errorf("rate %v", got)
	}
	s.add(1, 7) // another capture
	if s.total != 16 || s.at(1) != 7 || s.at(201) != 0 || s.rate(1, 1) != 7 {
		t.Errorf("after going back: %+v", s)
	}
	if h := s.history(2); len(h) != span-1 || h[span-2] != 7 {
		t.Errorf("history %v", h)
	}
}

func TestCopies(t *testing.T) {
	d := New(Options{})
	tp := tape{d: d, at: began}
	say := func() { tp.from(kirk, host, chatOf(2, "Kirk", 2, "gg")) }
	echoes := func() {
		r := chatOf(2, "Kirk", 2, "gg")
		r.CopyOf = tp.number
		tp.from(host, kirk, r)
		tp.from(host, spock, r)
	}
	say()
	echoes()
	if n := len(d.s.events); n != 1 {
		t.Errorf("%d lines for one", n)
	}
	say()
	say()
	echoes()
	echoes()
	if n := len(d.s.events); n != 3 {
		t.Errorf("%d lines for three", n)
	}
}

func TestEvents(t *testing.T) {
	d := New(Options{})
	tp := tape{d: d, at: began}
	control := func(kind transport.Type, m decode.Message) dissect.Record {
		return dissect.Record{Client: "Kirk", ClientID: 2, Transport: transport.Header{Type: kind}, Payload: nil, Message: m}
	}
	n := byte(0)
	game := func(m decode.Message) dissect.Record {
		n++
		return dissect.Record{Client: "Kirk", ClientID: 2, Payload: []byte{0xFE, n}, Transport: transport.Header{Type: transport.Standard}, Message: m}
	}
	ship := wire.FirstObject(1)
	tp.from(host, kirk, control(transport.Connect, &transport.Accept{ID: 2}))
	tp.players[kirk].Slot = 1
	tp.from(host, kirk, game(&msg.Settings{Slot: 1, Mission: []byte("Mission1")}))
	tp.from(host, kirk, game(&msg.MissionInit{PlayerLimit: 8, System: 3, TimeLimit: 255, FragLimit: 1}))
	tp.from(host, kirk, game(&msg.MissionInit{PlayerLimit: 8, System: 3, TimeLimit: 255, FragLimit: 1}))
	for range 2 {
		tp.from(host, kirk, game(&msg.PlayerAnnounce{Event: event.Event{Code: event.CodeNewPlayerInGame, Player: 2}}))
	}
	tp.from(kirk, host, game(&msg.ObjectCreateTeam{Slot: 1, Player: 2, Object: msg.Object{ID: ship, Species: 1, Name: []byte("Kirk")}}))
	for _, on := range []bool{false, true, true, false} {
		tp.from(kirk, host, game(&msg.StateUpdate{Object: ship, Flags: msg.DirtyCloak, Cloak: on}))
		tp.from(host, spock, game(&msg.StateUpdate{Object: ship, Flags: msg.DirtyCloak, Cloak: !on})) // an old one
	}
	if p := newModel(d).snap.players; p[0].Slot != 1 || p[0].ship == "" || strings.Contains(p[0].ship, "(") {
		t.Errorf("players %+v", p)
	}
	tp.from(host, kirk, game(&msg.HostEvent{Event: event.Event{Class: event.ClassExploding, Code: event.CodeObjectExploding, Dest: ship, FiringPlayer: 3}}))
	if p := newModel(d).snap.players; !strings.HasSuffix(p[0].ship, "(lost)") {
		t.Errorf("ship %q", p[0].ship)
	}
	tp.from(host, kirk, game(&msg.ScoreChange{Killer: 3, Kills: 1, Score: 50, Victim: 2, Deaths: 1}))
	tp.from(host, kirk, game(&msg.ScoreChange{Victim: 2, Deaths: 12}))
	for range 3 {
		tp.from(kirk, host, dissect.Record{Kind: dissect.KindMalformed, Status: dissect.StatusMalformed, Err: errors.New("bad\x1b[m")})
	}
	tp.from(kirk, host, control(transport.Disconnect, &transport.Goodbye{ID: 2}))
	tp.from(host, spock, control(transport.Disconnect, &transport.Goodbye{ID: 2}))
	tp.from(host, spock, control(transport.Disconnect, &transport.Goodbye{ID: 1}))
	var got []string
	for _, e := range d.s.events {
		got = append(got, fmt.Sprintf("%s %d %s", e.Kind, e.Times, e.Text.Raw()))
	}
	want := []string{
		"join 0 Kirk joins",
		"match 0 mission Mission1",
		"match 0 map Multi3, 8 players, 1 kill",
		"spawn 0 Kirk enters in an Akira",
		"cloak 0 Kirk cloaks",
		"decloak 0 Kirk decloaks",
		"kill 0 Spock destroys Kirk's Akira",
		"error 3 10.0.0.2:1001: malformed data: bad\x1b[m",
		"leave 0 Kirk leaves",
		"match 0 the host closes the game",
		"match 0 Unknown: Spock led", // the capture begins after Spock came
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if p := newModel(d).snap.players; !slices.ContainsFunc(p, func(p player) bool { return p.Name == "Kirk" && p.gone() && p.Deaths == 1 }) {
		t.Errorf("%+v: Kirk has not left", p)
	}
}

func TestBounds(t *testing.T) {
	d := New(Options{})
	tp := tape{d: d, at: began}
	for i := range 3000 {
		src := netip.AddrPortFrom(kirk.Addr(), uint16(i))
		to := netip.AddrPortFrom(host.Addr(), uint16(i%100))
		r := chatOf(uint8(i), strings.Repeat("n", 1000), int32(i), strings.Repeat("字", 5000))
		tp.from(src, to, r)
		r.Message = &msg.StateUpdate{Object: wire.ObjectID(i), Flags: msg.DirtyCloak, Cloak: true}
		tp.from(kirk, host, r)
		tp.at = tp.at.Add(time.Millisecond)
	}
	s := d.snapshot()
	if len(s.players) != maxPlayers || s.hidden == 0 || len(s.events) != maxEvents {
		t.Errorf("%d players and %d more, %d events", len(s.players), s.hidden, len(s.events))
	}
	for _, e := range s.events {
		if len([]rune(e.Text)) > maxText+2*maxName {
			t.Errorf("a text of %d characters", len(e.Text))
		}
	}
}

func TestKeys(t *testing.T) {
	now := time.Unix(0, 0)
	d := New(Options{Now: func() time.Time { return now }, Compile: func(expr string) (func(*dissect.Record) bool, error) {
		if expr == "kirk" {
			return func(r *dissect.Record) bool { return r.Client == "Kirk" }, nil
		}
		return nil, errors.New("what is " + expr)
	}})
	tp := tape{d: d, at: began}
	for i := range 30 {
		tp.from(kirk, host, chatOf(2, "Kirk", 2, fmt.Sprint("line ", i, ".")))
	}
	m := newModel(d)
	screen(m, 80, 24)
	for _, k := range []string{"q", "ctrl+c", "?q"} {
		if m := newModel(d); !quits(press(m, k)) {
			t.Errorf("%s does not quit", k)
		}
	}

	press(m, "?")
	lineWith(t, screen(m, 80, 24), "this help")
	press(m, "x")
	lineWith(t, screen(m, 80, 24), "Events and chat")

	// Pause: the screen stands still, and catches up when it goes on.
	press(m, " ")
	tp.from(spock, host, chatOf(3, "Spock", 3, "fascinating"))
	m.Update(tick{})
	text := screen(m, 80, 24)
	lineWith(t, text, "PAUSED")
	if strings.Contains(text, "fascinating") {
		t.Error("it goes on in the pause")
	}
	press(m, "p")
	if text = screen(m, 80, 24); !strings.Contains(text, "fascinating") || strings.Contains(text, "PAUSED") {
		t.Errorf("it does not go on:\n%s", text)
	}

	// Focus, zoom and scrolling.
	press(m, "3z", "home")
	text = screen(m, 80, 24)
	lineWith(t, text, "newer below")
	lineWith(t, text, "line 0.")
	press(m, "end")
	if text = screen(m, 80, 24); strings.Contains(text, "line 0.") || !strings.Contains(text, "fascinating") {
		t.Errorf("not at the end:\n%s", text)
	}
	press(m, "up", "up", "pgup", "pgdown", "down", "down", "down")
	lineWith(t, screen(m, 80, 24), "fascinating")
	press(m, "esc", "tab")
	lineWith(t, screen(m, 80, 24), "▸Players")
	press(m, "2ss")
	lineWith(t, screen(m, 80, 24), "▸Opcodes by name")
	press(m, "1s")
	lineWith(t, screen(m, 80, 24), "▾Players")
	press(m, "s")
	lineWith(t, screen(m, 80, 24), "▾msg/s")
	for range playerOrders {
		press(m, "s")
		screen(m, 200, 24)
	}

	// Filters.
	press(m, "/", "borg", "enter")
	text = screen(m, 80, 24)
	lineWith(t, text, "what is borg")
	lineWith(t, text, "filter: borg")
	if v := m.View(); v.Cursor == nil || v.Cursor.X != len("filter: borg") || v.Cursor.Y != 23 {
		t.Errorf("cursor %+v", v.Cursor)
	}
	press(m, "esc")
	if text = screen(m, 80, 24); strings.Contains(text, "borg") {
		t.Errorf("not cancelled:\n%s", text)
	}
	press(m, "/", "kirk", "enter")
	tp.from(kirk, host, chatOf(2, "Kirk", 2, "wanted"))
	tp.from(spock, host, chatOf(3, "Spock", 3, "not wanted"))
	m.Update(tick{})
	text = screen(m, 80, 24)
	lineWith(t, text, "1 packet  1 message")
	lineWith(t, text, "filter kirk")
	lineWith(t, text, "Kirk: wanted")
	if strings.Contains(text, "not wanted") {
		t.Error("the filter lets everything through")
	}
	press(m, "/")
	for range "kirk" {
		m.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	press(m, "enter")
	if text = screen(m, 80, 24); strings.Contains(text, "filter kirk") {
		t.Errorf("the filter stays:\n%s", text)
	}
	bare := newModel(New(Options{}))
	press(bare, "/")
	lineWith(t, screen(bare, 80, 24), "no filters")
}

// A clock is moved by those who sleep.
type tester struct {
	mu sync.Mutex
	t  time.Time
}

func (c *tester) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }

func (c *tester) sleep(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.t = c.t.Add(d) }

func TestPacer(t *testing.T) {
	c := &tester{t: time.Unix(1000, 0)}
	p := NewPacer(2, c.now, c.sleep)
	took := func(at time.Duration) time.Duration {
		before := c.now()
		p.Wait(began.Add(at))
		return c.now().Sub(before)
	}
	check := func(what string, got, want time.Duration) {
		t.Helper()
		if d := got - want; d < -time.Millisecond || d > time.Millisecond {
			t.Errorf("%s took %v, want %v", what, got, want)
		}
	}
	check("the first", took(0), 0)
	check("10 s at double speed", took(10*time.Second), 5*time.Second)
	p.SetSpeed(1)
	check("1 s", took(11*time.Second), time.Second)
	c.sleep(300 * time.Millisecond)
	check("1 s, late", took(12*time.Second), 700*time.Millisecond)
	check("the past", took(11*time.Second), 0)
	check("a day later", took(24*time.Hour), 0)
	check("1 s after that", took(24*time.Hour+time.Second), time.Second)
	check("the next capture", took(0), 0)
	check("1 s after that", took(time.Second), time.Second)
	p.Wait(time.Time{})

	naps := 0
	p.sleep = func(d time.Duration) {
		c.sleep(d)
		if naps++; naps == 10 {
			p.SetPaused(false)
		}
	}
	p.SetPaused(true)
	if got := p.Position(); !got.Equal(began.Add(time.Second)) {
		t.Errorf("position %v", got)
	}
	check("a pause", took(2*time.Second), 10*nap+time.Second)
	p.SetSpeed(1e9)
	if p.Speed() != fastest {
		t.Errorf("speed %v", p.Speed())
	}
	p.SetSpeed(1)
	p.Stop()
	check("after the end", took(time.Minute), 0)
}

// With a pacer, pause and speed control the recording.
func TestPace(t *testing.T) {
	c := &tester{t: time.Unix(1000, 0)}
	p := NewPacer(1, c.now, c.sleep)
	d := New(Options{Now: c.now, Pacer: p})
	m := newModel(d)
	lineWith(t, screen(m, 80, 24), "speed 1 ")
	press(m, "++")
	lineWith(t, screen(m, 80, 24), "speed 4 ")
	press(m, "-")
	lineWith(t, screen(m, 80, 24), "speed 2 ")
	tp := tape{d: d, at: began}
	p.Wait(began)
	tp.from(kirk, host, chatOf(2, "Kirk", 2, "hello"))
	c.sleep(10 * time.Second)
	m.Update(tick{})
	lineWith(t, screen(m, 80, 24), "00:00:20  speed 2")
	press(m, " ")
	c.sleep(10 * time.Second)
	m.Update(tick{})
	lineWith(t, screen(m, 80, 24), "00:00:20  PAUSED")
}

// TestRun runs the program without a terminal.
func TestRun(t *testing.T) {
	for _, way := range []string{"q", "stop", "stopped"} {
		d := New(Options{Title: way, Now: time.Now})
		in, keys := io.Pipe()
		ended := make(chan error, 1)
		if way == "stopped" {
			d.Stop()
		}
		go func() { ended <- d.Run(in, io.Discard) }()
		var reader sync.WaitGroup
		reader.Go(func() {
			tp := tape{d: d, at: began}
			for {
				r := chatOf(2, "Kirk", 2, "hello")
				r.Datagram = &dissect.Datagram{Number: 1, Time: tp.at, Src: kirk, Dst: host}
				if d.Record(&r) != nil {
					return
				}
				d.SetDrops(1, 0)
				time.Sleep(time.Millisecond)
			}
		})
		switch way {
		case "q":
			go keys.Write([]byte("?q"))
		case "stop":
			time.Sleep(50 * time.Millisecond)
			d.Stop()
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v", way, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it goes on", way)
		}
		reader.Wait()
		if err := d.Record(&dissect.Record{}); !errors.Is(err, ErrQuit) {
			t.Errorf("%s: a record after the end: %v", way, err)
		}
		keys.Close()
	}
}

func BenchmarkRecord(b *testing.B) {
	d := New(Options{Now: time.Now})
	g := &dissect.Datagram{Number: 1, Time: began, Src: kirk, Dst: host, Payload: make([]byte, 20)}
	r := chatOf(2, "Kirk", 2, "hello")
	r.Dir, r.Datagram, r.Payload = dissect.ToHost, g, []byte{0x1C}
	r.Message = &msg.StateUpdate{Object: 1, Flags: msg.DirtyCloak}
	b.ReportAllocs()
	for b.Loop() {
		g.Number++
		g.Time = g.Time.Add(time.Millisecond)
		d.Record(&r)
	}
}

func BenchmarkView(b *testing.B) {
	d := New(Options{Color: true})
	tp := tape{d: d, at: began}
	for i := range 100 {
		tp.from(netip.AddrPortFrom(kirk.Addr(), uint16(i)), host, chatOf(uint8(i), "Kirk", 2, "hello"))
	}
	m := newModel(d)
	b.ReportAllocs()
	for b.Loop() {
		m.Update(tick{})
		screen(m, 200, 50)
	}
}
