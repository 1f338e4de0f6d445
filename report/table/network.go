package table

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
)

// Columns after which names are cut.
const (
	linkPlayerWidth = 20
	shipNameWidth   = 30
	leastShipName   = 2 // however narrow the terminal is
)

// Networks wider than a terminal, or on one with fewer columns than this, are
// shown as a block for each player.
const leastNetwork = 120

// worstMoments is how many bad moments are listed.
const worstMoments = 8

// Network writes the measurements: a verdict on each player's connection, the
// worst moments, and tables of the traffic and delays of each side and of the
// updates of each ship. Where tables are too wide there is a block for each
// player.
func Network(w io.Writer, m *measure.Meter, o Options) error {
	n := networkTables{w: w, o: o, theme: newTheme(o.Color), more: signsOf(o).more}
	links, ships := m.Links(), m.Ships()
	for i := range links {
		n.hosts = n.hosts || links[i].Host != links[0].Host
		if n.o.Start.IsZero() {
			n.o.Start = links[i].First // of the first link, for want of a better one
		}
	}
	var b bytes.Buffer
	n.w = &b
	if len(links) > 0 {
		n.verdicts(links)
		n.worst(m.Worst(worstMoments))
		b.WriteByte('\n')
	}
	b.Write(appendGivenUp(nil, m.GivenUp(), len(links), len(ships)))
	if len(links) == 0 {
		_, err := w.Write(b.Bytes())
		return err
	}
	top := b.Len()
	if err := n.tables(links, ships); err != nil {
		return err
	}
	if o.Width > 0 && (o.Width < leastNetwork || n.widths.widest(b.Bytes()[top:]) > o.Width) {
		b.Truncate(top)
		if err := n.blocks(links, ships); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// tables writes a row for each link and ship.
func (n *networkTables) tables(links []measure.Link, ships []measure.Ship) error {
	if err := n.traffic(links); err != nil {
		return err
	}
	if err := n.timing(links); err != nil || len(ships) == 0 {
		return err
	}
	return n.ships(ships)
}

// heading begins a part of the report.
func (n *networkTables) heading(text string) {
	if n.begun {
		_, _ = io.WriteString(n.w, "\n") // to a buffer
	}
	n.begun = true
	fmt.Fprintf(n.w, "%s\n", n.theme.append(nil, []byte(text), green))
}

// label returns the name of a player, or else the address.
func (n *networkTables) label(player string, client netip.AddrPort) string {
	if player == "" {
		return client.String()
	}
	return n.name(player, linkPlayerWidth)
}

// gradeStyles are the looks of the grades.
var gradeStyles = [...]style{measure.Good: green, measure.Fair: yellow, measure.Poor: red}

// verdicts writes a line for each player.
func (n *networkTables) verdicts(links []measure.Link) {
	n.heading("Connections")
	for _, q := range measure.Qualities(links) {
		text := measure.Words(q.RTT, q.Lost, q.Resent)
		if q.Reliable > 0 && q.Resent > 0 {
			text += fmt.Sprintf(" (%.0f%%)", 100*float64(q.Resent)/float64(q.Reliable))
		}
		fmt.Fprintf(n.w, "  %s: %s, %s\n", n.label(q.Player, q.Client), n.theme.append(nil, []byte(q.Grade.String()), gradeStyles[q.Grade]), text)
	}
}

// worst lists the worst moments.
func (n *networkTables) worst(all []measure.Moment) {
	if len(all) == 0 {
		return
	}
	n.heading("Worst moments (UTC, and since the first frame)")
	for i := range all {
		k := &all[i]
		since := int64(max(k.At.Sub(n.o.Start), 0) / time.Second)
		line := fmt.Sprintf("  %s  %02d:%02d:%02d  %s  ", k.At.UTC().Format(time.TimeOnly),
			since/3600, since/60%60, since%60, report.Way(k.Dir, n.label(k.Player, k.Client), n.o.ASCII))
		text := n.moment(k, shipNameWidth)
		if over := n.widths.of([]byte(line+text)) - n.o.Width; n.o.Width > 0 && over > 0 {
			ship := min(n.widths.of([]byte(k.Object)), shipNameWidth)
			text = n.moment(k, max(ship-over, leastShipName))
		}
		fmt.Fprintf(n.w, "%s%s\n", line, text)
	}
}

// moment describes a bad moment, with the ship's name cut to a width.
func (n *networkTables) moment(k *measure.Moment, ship int) string {
	switch k.Trouble {
	case measure.Silent:
		return "silent for " + measure.Millis(k.Length)
	case measure.Slow:
		return "acknowledged after " + measure.Millis(k.Length)
	case measure.NoUpdates:
	}
	name := "a ship"
	if k.Object != "" {
		name = n.name(k.Object, ship)
	}
	return "no update of " + name + " for " + measure.Millis(k.Length)
}

// blocks writes a table for each player, with a column for each direction.
func (n *networkTables) blocks(links []measure.Link, ships []measure.Ship) error {
	for i := 0; i < len(links); {
		first := &links[i]
		sides := links[i : i+1]
		if i+1 < len(links) && links[i+1].Host == first.Host && links[i+1].Client == first.Client {
			sides = links[i : i+2]
		}
		i += len(sides)
		title := n.label(first.Player, first.Client)
		if first.Player != "" {
			title += ", " + first.Client.String()
		}
		if n.hosts {
			title += ", host " + first.Host.String()
		}
		n.heading(title)
		if err := n.block(sides, ships); err != nil {
			return err
		}
	}
	return nil
}

// block writes the measurements of a player.
func (n *networkTables) block(sides []measure.Link, ships []measure.Ship) error {
	head := []string{""}
	var columns [][]string
	for i := range sides {
		head = append(head, report.Way(sides[i].Dir, "", n.o.ASCII))
		columns = append(columns, append(n.trafficCells(&sides[i]), n.timingCells(&sides[i])...))
	}
	var rows [][]string
	for k, name := range slices.Concat(trafficHeads, timingHeads) {
		row := []string{name}
		for _, c := range columns {
			row = append(row, c[k])
		}
		rows = append(rows, row)
	}
	if err := grid(n.w, n.o, head, rows, 1); err != nil {
		return err
	}
	rows = nil
	for i := range ships {
		s := &ships[i]
		if s.Host == sides[0].Host && s.Client == sides[0].Client {
			name := s.Name
			if name == "" {
				name = string(display.AppendHex(nil, uint64(s.Object), 8))
			}
			const numbers = 61 // columns of the others
			cells := shipCells(s)
			rows = append(rows, append([]string{report.Way(s.Dir, "", n.o.ASCII), n.name(name, max(min(shipNameWidth, n.o.Width-numbers), 10))}, cells...))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := n.w.Write([]byte("\n")); err != nil {
		return err
	}
	return grid(n.w, n.o, append([]string{"", "ship"}, shipHeads...), rows, 2)
}

// appendGivenUp appends the number of links and ships measured, and the
// evictions.
func appendGivenUp(dst []byte, g measure.GivenUp, links, ships int) []byte {
	dst = append(dst, "links     "...)
	dst = strconv.AppendInt(dst, int64(links), 10)
	dst = append(dst, "\nstreams   "...)
	dst = strconv.AppendInt(dst, int64(ships), 10)
	dst = append(dst, " of ship updates\n"...)
	sep := "given up  "
	for _, l := range []struct {
		n    int64
		what string
	}{
		{g.Links, " {link|links}, of more than " + count(measure.MaxLinks)},
		{g.Ships, " {stream|streams}, of such links or of more than " + count(measure.MaxShips)},
		{g.Outstanding, " {message|messages}, before an acknowledgement came"},
		{g.Undirected, " {message|messages} of an unknown sender"},
	} {
		if l.n > 0 {
			dst = append(dst, sep...)
			dst = append(strconv.AppendInt(dst, l.n, 10), plural.Form(l.n, l.what)...)
			sep = "\n          "
		}
	}
	if sep[0] == '\n' {
		dst = append(dst, '\n')
	}
	return dst
}

type networkTables struct {
	w      io.Writer
	o      Options
	theme  *theme
	widths widths
	more   string
	hosts  bool // there are several
	begun  bool // something is written
}

// head returns the heads of a table after those of host, client and direction.
func (n *networkTables) head(heads ...string) []string {
	out := []string{"client", "direction"}
	if n.hosts {
		out = append([]string{"host"}, out...)
	}
	return append(out, heads...)
}

// row returns a row of a table.
func (n *networkTables) row(host, client netip.AddrPort, player string, dir dissect.Dir, cells ...string) []string {
	if player == "" {
		player = "client"
	}
	out := []string{client.String(), report.Way(dir, n.name(player, linkPlayerWidth), n.o.ASCII)}
	if n.hosts {
		out = append([]string{host.String()}, out...)
	}
	return append(out, cells...)
}

// grid draws a table with a number of text columns after those of host, client
// and direction.
func (n *networkTables) grid(head []string, rows [][]string, left int) error {
	if _, err := n.w.Write([]byte("\n")); err != nil {
		return err
	}
	if n.hosts {
		left++
	}
	return grid(n.w, n.o, head, rows, 2+left)
}

// name returns text from the network, escaped and cut.
func (n *networkTables) name(s string, width int) string {
	return n.widths.brief(s, width, n.more)
}

// bad returns a count that should be 0.
func (n *networkTables) bad(c int64, look style) string {
	if c == 0 {
		return "0"
	}
	return string(n.theme.append(nil, []byte(count(c)), look))
}

// The heads of the tables after those of client and direction.
var (
	trafficHeads = []string{"datagrams", "bytes", "messages", "reliable", "resent data", "resent control", "duplicates", "lost", "late", "acks"}
	timingHeads  = []string{"from s", "to s", "silent s", "round trips", "least ms", "median ms", "95% ms", "most ms", "keepalives", "every s", "most s"}
	shipHeads    = []string{"updates", "per s", "every ms", "jitter ms", "longest ms"}
)

func (n *networkTables) traffic(links []measure.Link) error {
	rows := [][]string{}
	for i := range links {
		l := &links[i]
		rows = append(rows, n.row(l.Host, l.Client, l.Player, l.Dir, n.trafficCells(l)...))
	}
	return n.grid(n.head(trafficHeads...), rows, 0)
}

func (n *networkTables) trafficCells(l *measure.Link) []string {
	return []string{
		count(l.Datagrams), count(l.Bytes), count(l.Messages), count(l.Reliable()),
		n.bad(l.Data.Repeated, yellow), n.bad(l.Control.Repeated, yellow), n.bad(l.Duplicates(), yellow), n.bad(l.Lost(), red), n.bad(l.Late(), yellow), count(l.Acks),
	}
}

func (n *networkTables) timing(links []measure.Link) error {
	rows := [][]string{}
	for i := range links {
		l := &links[i]
		rows = append(rows, n.row(l.Host, l.Client, l.Player, l.Dir, n.timingCells(l)...))
	}
	return n.grid(n.head(timingHeads...), rows, 0)
}

func (n *networkTables) timingCells(l *measure.Link) []string {
	measured, spaced := l.RTT.N > 0, l.KeepaliveMean > 0
	return []string{
		n.seconds(l.First), n.seconds(l.Last), inSeconds(l.Silence, l.Datagrams > 1 && !l.First.IsZero()),
		count(l.RTT.N), inMillis(l.RTT.Min, measured), inMillis(l.RTT.Median, measured), inMillis(l.RTT.P95, measured), inMillis(l.RTT.Max, measured),
		count(l.Keepalives), inSeconds(l.KeepaliveMean, spaced), inSeconds(l.KeepaliveMax, spaced),
	}
}

func (n *networkTables) ships(ships []measure.Ship) error {
	rows := [][]string{}
	for i := range ships {
		s := &ships[i]
		cells := append([]string{string(display.AppendHex(nil, uint64(s.Object), 8)), n.name(s.Name, shipNameWidth)}, shipCells(s)...)
		rows = append(rows, n.row(s.Host, s.Client, s.Player, s.Dir, cells...))
	}
	return n.grid(n.head(append([]string{"object", "ship"}, shipHeads...)...), rows, 2)
}

func shipCells(s *measure.Ship) []string {
	rate := "-"
	if s.Rate > 0 {
		rate = strconv.FormatFloat(s.Rate, 'f', 2, 64)
	}
	return []string{count(s.Updates), rate, inMillis(s.Mean, s.Intervals > 0), inMillis(s.Jitter, s.Intervals > 1), inMillis(s.Longest, s.Intervals > 0)}
}

// seconds returns a time as seconds after the start.
func (n *networkTables) seconds(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return inSeconds(t.Sub(n.o.Start), true)
}

// inSeconds returns a time in seconds, if there is one.
func inSeconds(d time.Duration, ok bool) string {
	if !ok {
		return "-"
	}
	return strconv.FormatFloat(d.Round(time.Millisecond).Seconds(), 'f', 3, 64)
}

// inMillis returns a time in milliseconds, if there is one.
func inMillis(d time.Duration, ok bool) string {
	if !ok {
		return "-"
	}
	return strconv.FormatFloat(float64(d)/1e6, 'f', 2, 64)
}
