package table

import (
	"io"
	"net/netip"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
)

// Columns after which names are cut.
const (
	linkPlayerWidth = 20
	shipNameWidth   = 30
)

// Network writes the measurements as tables: the traffic and delays of each
// side, and the updates of each ship.
func Network(w io.Writer, m *measure.Meter, o Options) error {
	n := networkTables{w: w, o: o, theme: newTheme(o.Color), more: unicodeSigns.more}
	if o.ASCII {
		n.more = asciiSigns.more
	}
	links, ships := m.Links(), m.Ships()
	for i := range links {
		n.hosts = n.hosts || links[i].Host != links[0].Host
	}
	if _, err := w.Write(appendGivenUp(nil, m.GivenUp(), len(links), len(ships))); err != nil || len(links) == 0 {
		return err
	}
	if err := n.traffic(links); err != nil {
		return err
	}
	if err := n.timing(links); err != nil || len(ships) == 0 {
		return err
	}
	return n.ships(ships)
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
		{g.Links, " links, of more than " + count(measure.MaxLinks)},
		{g.Ships, " streams, of such links or of more than " + count(measure.MaxShips)},
		{g.Outstanding, " messages, before an acknowledgement came"},
		{g.Undirected, " messages of an unknown sender"},
	} {
		if l.n > 0 {
			dst = append(dst, sep...)
			dst = append(strconv.AppendInt(dst, l.n, 10), l.what...)
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
}

// head returns the heads of a table after those of player, host and client.
func (n *networkTables) head(heads ...string) []string {
	out := []string{"client", "player", "dir"}
	if n.hosts {
		out = append([]string{"host"}, out...)
	}
	return append(out, heads...)
}

// row returns a row of a table.
func (n *networkTables) row(host, client netip.AddrPort, player string, dir dissect.Dir, cells ...string) []string {
	out := []string{client.String(), n.name(player, linkPlayerWidth), dir.String()}
	if n.hosts {
		out = append([]string{host.String()}, out...)
	}
	return append(out, cells...)
}

// grid draws a table with a number of text columns after those of player, host
// and client.
func (n *networkTables) grid(head []string, rows [][]string, left int) error {
	if _, err := n.w.Write([]byte("\n")); err != nil {
		return err
	}
	if n.hosts {
		left++
	}
	return grid(n.w, n.o, head, rows, 3+left)
}

// name returns text from the network, escaped and cut.
func (n *networkTables) name(s string, width int) string {
	b := report.AppendEscaped(nil, s)
	if k, cut := n.widths.cut(b, width, n.more); cut {
		b = append(b[:k], n.more...)
	}
	return string(b)
}

// bad returns a count that should be 0.
func (n *networkTables) bad(c int64, look style) string {
	if c == 0 {
		return "0"
	}
	return string(n.theme.append(nil, []byte(count(c)), look))
}

func (n *networkTables) traffic(links []measure.Link) error {
	rows := [][]string{}
	for i := range links {
		l := &links[i]
		rows = append(rows, n.row(l.Host, l.Client, l.Player, l.Dir,
			count(l.Datagrams), count(l.Bytes), count(l.Messages), count(l.Reliable()),
			n.bad(l.Data.Repeated, yellow), n.bad(l.Control.Repeated, yellow), n.bad(l.Duplicates(), yellow), n.bad(l.Lost(), red), n.bad(l.Late(), yellow), count(l.Acks)))
	}
	return n.grid(n.head("datagrams", "bytes", "messages", "reliable", "resent data", "resent control", "duplicates", "lost", "late", "acks"), rows, 0)
}

func (n *networkTables) timing(links []measure.Link) error {
	rows := [][]string{}
	for i := range links {
		l := &links[i]
		measured, spaced := l.RTT.N > 0, l.KeepaliveMean > 0
		rows = append(rows, n.row(l.Host, l.Client, l.Player, l.Dir,
			n.seconds(l.First), n.seconds(l.Last), inSeconds(l.Silence, l.Datagrams > 1 && !l.First.IsZero()),
			count(l.RTT.N), inMillis(l.RTT.Min, measured), inMillis(l.RTT.Median, measured), inMillis(l.RTT.P95, measured), inMillis(l.RTT.Max, measured),
			count(l.Keepalives), inSeconds(l.KeepaliveMean, spaced), inSeconds(l.KeepaliveMax, spaced)))
	}
	return n.grid(n.head("from s", "to s", "silent s", "round trips", "least ms", "median ms", "95% ms", "most ms", "keepalives", "every s", "most s"), rows, 0)
}

func (n *networkTables) ships(ships []measure.Ship) error {
	rows := [][]string{}
	for i := range ships {
		s := &ships[i]
		rate := "-"
		if s.Rate > 0 {
			rate = strconv.FormatFloat(s.Rate, 'f', 2, 64)
		}
		rows = append(rows, n.row(s.Host, s.Client, s.Player, s.Dir,
			string(appendHex(nil, uint64(s.Object), 8)), n.name(s.Name, shipNameWidth), count(s.Updates), rate,
			inMillis(s.Mean, s.Intervals > 0), inMillis(s.Jitter, s.Intervals > 1), inMillis(s.Longest, s.Intervals > 0)))
	}
	return n.grid(n.head("object", "ship", "updates", "per s", "every ms", "jitter ms", "longest ms"), rows, 2)
}

// seconds returns a time as seconds after the start.
func (n *networkTables) seconds(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	if n.o.Start.IsZero() {
		n.o.Start = t // of the first link, for want of a better one
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
