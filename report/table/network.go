package table

import (
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
)

// Widths to which names are cut, in columns.
const (
	linkPlayerWidth = 20
	shipNameWidth   = 30
	leastShipName   = 2 // minimum on narrow terminals
)

// leastNetwork is the minimum width of a terminal for the tables. On a narrower
// terminal, or if the tables are wider than the terminal, each player has a
// block.
const leastNetwork = 120

// worstMoments is the number of bad moments to list.
const worstMoments = 8

// Network writes the measurements: a verdict on each player's connection, the
// worst moments, and tables of the traffic and delays of each side and of the
// updates of each ship. If the tables are too wide, each player has a block
// instead.
func Network(w io.Writer, m *measure.Meter, o Options) error {
	n := networkTables{page: newPage(o)}
	links, ships := m.Links(), m.Ships()
	for i := range links {
		n.hosts = n.hosts || links[i].Host != links[0].Host
		if n.o.Start.IsZero() {
			n.o.Start = links[i].First // no start was given, so times count from the first link
		}
	}
	if len(links) > 0 {
		n.verdicts(links)
		n.worst(m.Worst(worstMoments))
		n.printf("\n")
	}
	n.givenUp(m.GivenUp(), len(links), len(ships))
	if len(links) == 0 {
		return n.flush(w)
	}
	top := n.b.Len()
	n.tables(links, ships)
	if o.Width > 0 && (o.Width < leastNetwork || n.widths.widest(n.b.Bytes()[top:]) > o.Width) {
		n.b.Truncate(top)
		n.blocks(links, ships)
	}
	return n.flush(w)
}

// tables writes a row for each link and ship.
func (n *networkTables) tables(links []measure.Link, ships []measure.Ship) {
	n.links(links, trafficHeads, n.trafficCells)
	n.links(links, timingHeads, n.timingCells)
	if len(ships) > 0 {
		n.ships(ships)
	}
}

// heading begins a part of the report.
func (n *networkTables) heading(text string) {
	if n.begun {
		n.printf("\n")
	}
	n.begun = true
	n.printf("%s\n", n.paint(text, green))
}

// label returns the name of a player, or the address if the name is unknown.
func (n *networkTables) label(player wire.Untrusted, client netip.AddrPort) string {
	if player == "" {
		return client.String()
	}
	return n.brief(player, linkPlayerWidth)
}

// gradeStyles are the styles of the grades.
var gradeStyles = [...]style{measure.Good: green, measure.Fair: yellow, measure.Poor: red}

// verdicts writes a line for each player.
func (n *networkTables) verdicts(links []measure.Link) {
	n.heading("Connections")
	for _, q := range measure.Qualities(links) {
		n.printf("  %s: %s, %s\n", n.label(q.Player, q.Client), n.paint(q.Grade.String(), gradeStyles[q.Grade]), q.String())
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
			ship := min(n.widths.of([]byte(k.Object.Raw())), shipNameWidth)
			text = n.moment(k, max(ship-over, leastShipName))
		}
		n.printf("%s%s\n", line, text)
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
		name = n.brief(k.Object, ship)
	}
	return "no update of " + name + " for " + measure.Millis(k.Length)
}

// blocks writes a table for each player, with a column for each direction.
func (n *networkTables) blocks(links []measure.Link, ships []measure.Ship) {
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
		n.block(sides, ships)
	}
}

// block writes the measurements of a player.
func (n *networkTables) block(sides []measure.Link, ships []measure.Ship) {
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
	n.grid(head, rows, 1)
	rows = nil
	for i := range ships {
		s := &ships[i]
		if s.Host == sides[0].Host && s.Client == sides[0].Client {
			name := s.Name
			if name == "" {
				name = wire.Untrusted(display.AppendHex(nil, uint64(s.Object), 8))
			}
			const numbers = 61 // columns that the other cells need
			cells := shipCells(s)
			rows = append(rows, append([]string{report.Way(s.Dir, "", n.o.ASCII), n.brief(name, max(min(shipNameWidth, n.o.Width-numbers), 10))}, cells...))
		}
	}
	if len(rows) > 0 {
		n.printf("\n")
		n.grid(append([]string{"", "ship"}, shipHeads...), rows, 2)
	}
}

// givenUp writes the number of links and ships measured, and the evictions.
func (n *networkTables) givenUp(g measure.GivenUp, links, ships int) {
	n.printf("links     %d\nstreams   %d of ship updates\n", links, ships)
	head := "given up"
	for _, l := range []struct {
		n    int64
		what string
	}{
		{g.Links, "{link|links}, of more than " + count(measure.MaxLinks)},
		{g.Ships, "{stream|streams}, of such links or of more than " + count(measure.MaxShips)},
		{g.Outstanding, "{message|messages}, before an acknowledgement came"},
		{g.Undirected, "{message|messages} of an unknown sender"},
	} {
		if l.n > 0 {
			n.printf("%-8s  %d %s\n", head, l.n, plural.Form(l.n, l.what))
			head = ""
		}
	}
}

type networkTables struct {
	page

	hosts bool // there are several hosts
	begun bool // something has been written
}

// row returns a row of a table.
func (n *networkTables) row(host, client netip.AddrPort, player wire.Untrusted, dir dissect.Dir, cells ...string) []string {
	if player == "" {
		player = "client"
	}
	out := []string{client.String(), report.Way(dir, n.brief(player, linkPlayerWidth), n.o.ASCII)}
	if n.hosts {
		out = append([]string{host.String()}, out...)
	}
	return append(out, cells...)
}

// rows draws a table. The columns host, client and direction are followed by
// left columns with text.
func (n *networkTables) rows(heads []string, rows [][]string, left int) {
	head := append([]string{"client", "direction"}, heads...)
	if n.hosts {
		head = append([]string{"host"}, head...)
		left++
	}
	n.printf("\n")
	n.grid(head, rows, 2+left)
}

// bad returns a count that should be 0, styled if it is not.
func (n *networkTables) bad(c int64, look style) string {
	if c == 0 {
		return "0"
	}
	return n.paint(count(c), look)
}

// Headings of the tables, after the columns client and direction.
var (
	trafficHeads = []string{"datagrams", "bytes", "messages", "reliable", "resent data", "resent control", "duplicates", "lost", "late", "acks"}
	timingHeads  = []string{"from s", "to s", "silent s", "round trips", "least ms", "median ms", "95% ms", "most ms", "keepalives", "every s", "most s"}
	shipHeads    = []string{"updates", "per s", "every ms", "jitter ms", "longest ms"}
)

// links draws a table of figures of each link.
func (n *networkTables) links(links []measure.Link, heads []string, cells func(*measure.Link) []string) {
	rows := [][]string{}
	for i := range links {
		l := &links[i]
		rows = append(rows, n.row(l.Host, l.Client, l.Player, l.Dir, cells(l)...))
	}
	n.rows(heads, rows, 0)
}

func (n *networkTables) trafficCells(l *measure.Link) []string {
	return []string{
		count(l.Datagrams), count(l.Bytes), count(l.Messages), count(l.Both().Reliable),
		n.bad(l.Data.Repeated, yellow), n.bad(l.Control.Repeated, yellow), n.bad(l.Both().Duplicates, yellow), n.bad(l.Both().Lost, red), n.bad(l.Both().Late, yellow), count(l.Acks),
	}
}

func (n *networkTables) timingCells(l *measure.Link) []string {
	measured, spaced := l.RTT.N > 0, l.KeepaliveMean > 0
	return []string{
		n.seconds(l.First), n.seconds(l.Last), inSeconds(l.Silence, l.Datagrams > 1 && !l.First.IsZero()),
		count(l.RTT.N), inMillis(l.RTT.Min, measured), inMillis(l.RTT.Median, measured), inMillis(l.RTT.P95, measured), inMillis(l.RTT.Max, measured),
		count(l.Keepalives), inSeconds(l.KeepaliveMean, spaced), inSeconds(l.KeepaliveMax, spaced),
	}
}

func (n *networkTables) ships(ships []measure.Ship) {
	rows := [][]string{}
	for i := range ships {
		s := &ships[i]
		cells := append([]string{string(display.AppendHex(nil, uint64(s.Object), 8)), n.brief(s.Name, shipNameWidth)}, shipCells(s)...)
		rows = append(rows, n.row(s.Host, s.Client, s.Player, s.Dir, cells...))
	}
	n.rows(append([]string{"object", "ship"}, shipHeads...), rows, 2)
}

func shipCells(s *measure.Ship) []string {
	rate := "-"
	if s.Rate > 0 {
		rate = strconv.FormatFloat(s.Rate, 'f', 2, 64)
	}
	return []string{count(s.Updates), rate, inMillis(s.Mean, s.Intervals > 0), inMillis(s.Jitter, s.Intervals > 1), inMillis(s.Longest, s.Intervals > 0)}
}

// seconds returns t as seconds since the start.
func (n *networkTables) seconds(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return inSeconds(t.Sub(n.o.Start), true)
}

// inSeconds returns d in seconds if ok is set.
func inSeconds(d time.Duration, ok bool) string {
	if !ok {
		return "-"
	}
	return strconv.FormatFloat(d.Round(time.Millisecond).Seconds(), 'f', 3, 64)
}

// inMillis returns d in milliseconds if ok is set.
func inMillis(d time.Duration, ok bool) string {
	if !ok {
		return "-"
	}
	return strconv.FormatFloat(float64(d)/1e6, 'f', 2, 64)
}
