package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// An order sorts rows by a column.
type order[T any] struct {
	title string
	by    func(a, b *T) int
}

// playerOrders are the orders of players. The first is by slot, with the
// unknown slot -1 last.
var playerOrders = []order[player]{
	{"slot", func(a, b *player) int {
		return cmp.Or(first(!a.gone(), !b.gone()), first(a.linked, b.linked), cmp.Compare(uint(a.Slot), uint(b.Slot)), cmp.Compare(a.ID, b.ID))
	}},
	{"name", byName(func(p *player) string { return p.Name.String() })},
	{"msg/s", most(func(p *player) float64 { return p.up.Rate.Messages })},
	{"B/s", most(func(p *player) float64 { return p.up.Rate.Bytes })},
	{"silent", func(a, b *player) int { return b.up.Last.Compare(a.up.Last) }},
	{"resent", most((*player).resent)},
	{"RTT", most((*player).rtt)},
}

// kindOrders are the orders of opcodes. The last is the order of the snapshot.
var kindOrders = []order[kindRow]{
	{"rate", func(a, b *kindRow) int { return cmp.Or(cmp.Compare(b.rate, a.rate), cmp.Compare(b.total, a.total)) }},
	{"count", most(func(k *kindRow) int64 { return k.total })},
	{"name", byName(func(k *kindRow) string { return k.name })},
	{"opcode", func(_, _ *kindRow) int { return 0 }},
}

// most returns a comparison that sorts the largest values first.
func most[T any, V cmp.Ordered](value func(*T) V) func(a, b *T) int {
	return func(a, b *T) int { return cmp.Compare(value(b), value(a)) }
}

// byName returns a comparison that sorts by a text and ignores case.
func byName[T any](text func(*T) string) func(a, b *T) int {
	return func(a, b *T) int { return cmp.Compare(strings.ToLower(text(a)), strings.ToLower(text(b))) }
}

// sorted returns rows in the order that the user has chosen for a pane, and the
// name of the order. Equal rows stay in the order of the snapshot.
func sorted[T any](m *model, p pane, rows []T, orders []order[T]) ([]T, string) {
	o := orders[m.sort[p]%len(orders)]
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b T) int { return o.by(&a, &b) })
	return rows, o.title
}

// resent returns the number of retransmissions in both directions.
func (p *player) resent() int64 { return p.up.Both().Repeated + p.down.Both().Repeated }

// rtt returns the round-trip time, or 0 if nothing was measured. Each direction
// is measured from the place of the capture, so the sum of both does not depend
// on that place.
func (p *player) rtt() time.Duration { return packet.Sum(p.up.RTT.Median, p.down.RTT.Median) }

func (p *player) rtt95() time.Duration { return packet.Sum(p.up.RTT.P95, p.down.RTT.P95) }

// A column of a table with rows of a kind.
type column[T any] struct {
	title string
	width int
	right bool
	keep  int // columns with a lower number are dropped first if there is no room
	grow  int // maximum width
	value func(*model, *T) (string, style)
}

// known returns a function for a column that shows a value only if ok is true.
func known[T any](value func(*T) (text string, ok bool)) func(*model, *T) (string, style) {
	return func(m *model, row *T) (string, style) {
		if text, ok := value(row); ok {
			return text, plain
		}
		return m.look.none, faint
	}
}

// ofLink returns a function for a column that shows a value only for players
// with a connection.
func ofLink(value func(*player) string) func(*model, *player) (string, style) {
	return known(func(p *player) (string, bool) { return value(p), p.linked })
}

func (l *look) playerColumns() []column[player] {
	return []column[player]{
		{"name", 10, false, 9, 24, func(_ *model, p *player) (string, style) {
			switch {
			case p.Name != "":
				return p.Name.String(), accent
			case p.Address.IsValid():
				return p.Address.String(), plain
			}
			return "?", plain
		}},
		{"slot", 5, true, 6, 0, known(func(p *player) (string, bool) { return strconv.Itoa(p.Slot), p.Slot >= 0 })},
		{"id", 3, true, 3, 0, known(func(p *player) (string, bool) { return strconv.Itoa(int(p.ID)), p.ID != 0 })},
		{"ship", 11, false, 7, 26, func(m *model, p *player) (string, style) {
			switch {
			case p.gone():
				return "(left)", faint
			case p.ship == "":
				return m.look.none, faint
			}
			return p.ship, plain
		}},
		{"k/d", 5, true, 7, 0, func(_ *model, p *player) (string, style) {
			return strconv.Itoa(p.Kills) + "/" + strconv.Itoa(p.Deaths), plain
		}},
		{"score", 6, true, 5, 0, known(func(p *player) (string, bool) {
			if p.Score == nil {
				return "", false
			}
			return strconv.Itoa(*p.Score), true
		})},
		{"msg/s", 6, true, 8, 0, ofLink(func(p *player) string { return rate(p.up.Rate.Messages) })},
		{"B/s", 6, true, 8, 0, ofLink(func(p *player) string { return quantity(p.up.Rate.Bytes) })},
		{l.out + "msg/s", 7, true, 3, 0, ofLink(func(p *player) string { return rate(p.down.Rate.Messages) })},
		{l.out + "B/s", 6, true, 3, 0, ofLink(func(p *player) string { return quantity(p.down.Rate.Bytes) })},
		{"silent", 6, true, 6, 0, func(m *model, p *player) (string, style) {
			if p.up.Last.IsZero() {
				return m.look.none, faint
			}
			age := max(m.snap.now.Sub(p.up.Last), 0)
			st := plain
			switch {
			case p.gone():
			case age > 30*time.Second:
				st = bad
			case age > 5*time.Second:
				st = warn
			}
			return short(age), st
		}},
		{"resent", 7, true, 5, 0, func(m *model, p *player) (string, style) {
			if !p.linked {
				return m.look.none, faint
			}
			return trouble(p.resent())
		}},
		{"lost", 6, true, 3, 0, ofLink(func(p *player) string { return quantity(float64(p.up.Both().Lost + p.down.Both().Lost)) })},
		{"RTT", 7, true, 6, 0, func(m *model, p *player) (string, style) { return millis(m, p.rtt()) }},
		{"RTT 95%", 7, true, 2, 0, func(m *model, p *player) (string, style) { return millis(m, p.rtt95()) }},
		{"packets", 8, true, 2, 0, ofLink(func(p *player) string { return quantity(float64(p.up.Datagrams + p.down.Datagrams)) })},
		{"silence", 7, true, 1, 0, ofLink(func(p *player) string { return short(p.up.Silence) })},
		{"address", 21, false, 1, 47, ofLink(func(p *player) string { return p.Address.String() })},
	}
}

// fit returns the columns that fit into a width, with their own widths set.
func fit[T any](all []column[T], width int) []column[T] {
	out := slices.Clone(all)
	used := func() (n int) {
		for _, c := range out {
			n += c.width + 1
		}
		return n - 1
	}
	for len(out) > 1 && used() > width {
		least := 0
		for i, c := range out {
			if c.keep <= out[least].keep { // the last of the least important columns
				least = i
			}
		}
		out = slices.Delete(out, least, least+1)
	}
	if len(out) == 1 {
		out[0].width = min(out[0].width, width)
	}
	for left := width - used(); left > 0; {
		grown := false
		for i := range out {
			if c := &out[i]; c.width < c.grow && left > 0 {
				c.width++
				left--
				grown = true
			}
		}
		if !grown {
			break
		}
	}
	return out
}

// rate formats a number per second.
func rate(v float64) string {
	if v < 100 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return quantity(v)
}

// quantity formats a number in at most five characters.
func quantity(v float64) string {
	for _, unit := range []string{"", "k", "M", "G", "T"} {
		switch {
		case v < 9.95 && unit != "":
			return strconv.FormatFloat(v, 'f', 1, 64) + unit
		case v < 9999.5 && unit == "" || v < 999.5:
			return strconv.FormatFloat(v, 'f', 0, 64) + unit
		}
		v /= 1000
	}
	return "many"
}

// short formats a time in at most five characters.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < 100*time.Minute:
		return fmt.Sprintf("%.0fm", d.Minutes())
	case d < 100*time.Hour:
		return fmt.Sprintf("%.0fh", d.Hours())
	}
	return "days"
}

func millis(m *model, d time.Duration) (string, style) {
	ms := float64(d) / float64(time.Millisecond)
	st := plain
	switch {
	case d == 0:
		return m.look.none, faint
	case ms >= 1000:
		return fmt.Sprintf("%.1fs", d.Seconds()), bad
	case ms >= 300:
		st = warn
	}
	if ms < 10 {
		return fmt.Sprintf("%.1fms", ms), st
	}
	return fmt.Sprintf("%.0fms", ms), st
}

// clock formats the time since the start.
func clock(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// spark draws the last counts as bars, with the newest at the right. The
// highest bar is the largest count.
func (l *look) spark(history []uint32, width int) string {
	if width < len(history) {
		history = history[len(history)-max(width, 0):]
	}
	most := uint32(1)
	for _, n := range history {
		most = max(most, n)
	}
	out := make([]rune, len(history))
	for i, n := range history {
		steps := uint64(len(l.bars) - 1)
		out[i] = l.bars[(uint64(n)*steps+uint64(most)-1)/uint64(most)]
	}
	return string(out)
}
