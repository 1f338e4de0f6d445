package dashboard

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
)

var linkOrders = []order[measure.Link]{
	{"player", byName(func(l *measure.Link) string { return l.Player.String() })},
	{"RTT", most(func(l *measure.Link) time.Duration { return l.RTT.Median })},
	{"resent", most(func(l *measure.Link) int64 { return l.Both().Repeated })},
	{"lost", most(func(l *measure.Link) int64 { return l.Both().Lost })},
	{"silence", most(func(l *measure.Link) time.Duration { return l.Silence })},
}

var shipOrders = []order[measure.Ship]{
	{"ship", byName(shipName)},
	{"player", byName(func(s *measure.Ship) string { return s.Player.String() })},
	{"per s", most(func(s *measure.Ship) float64 { return s.Rate })},
	{"every", most(func(s *measure.Ship) time.Duration { return s.Mean })},
	{"jitter", most(func(s *measure.Ship) time.Duration { return s.Jitter })},
	{"longest", most(func(s *measure.Ship) time.Duration { return s.Longest })},
}

// shipName returns the name of a ship, or its number.
func shipName(s *measure.Ship) string {
	if s.Name != "" {
		return s.Name.String()
	}
	return fmt.Sprintf("0x%08X", uint32(s.Object))
}

// label returns the name of a player, or the client's address if the name is
// unknown.
func label(player wire.Untrusted, client netip.AddrPort) (string, style) {
	if player != "" {
		return player.String(), accent
	}
	return client.String(), plain
}

// trouble returns a count that should be 0, styled if it is not.
func trouble(n int64) (string, style) {
	if n == 0 {
		return "0", plain
	}
	return quantity(float64(n)), warn
}

func (l *look) linkColumns() []column[measure.Link] {
	type link = measure.Link
	return []column[link]{
		{"player", 10, false, 9, 24, func(_ *model, r *link) (string, style) { return label(r.Player, r.Client) }},
		{"dir", 7, false, 9, 0, func(m *model, r *link) (string, style) { return report.Way(r.Dir, "", m.d.opts.ASCII), faint }},
		{"msg/s", 6, true, 3, 0, func(_ *model, r *link) (string, style) { return rate(r.Rate.Messages), plain }},
		{"RTT", 7, true, 8, 0, func(m *model, r *link) (string, style) { return millis(m, r.RTT.Median) }},
		{"95%", 7, true, 7, 0, func(m *model, r *link) (string, style) { return millis(m, r.RTT.P95) }},
		{"most", 7, true, 4, 0, func(m *model, r *link) (string, style) { return millis(m, r.RTT.Max) }},
		{"resent", 7, true, 8, 0, func(_ *model, r *link) (string, style) { return trouble(r.Both().Repeated) }},
		{"twice", 6, true, 6, 0, func(_ *model, r *link) (string, style) { return trouble(r.Both().Duplicates) }},
		{"lost", 5, true, 8, 0, func(_ *model, r *link) (string, style) { return trouble(r.Both().Lost) }},
		{"late", 5, true, 3, 0, func(_ *model, r *link) (string, style) { return trouble(r.Both().Late) }},
		{"silence", 8, true, 6, 0, known(func(r *link) (string, bool) { return short(r.Silence), r.Silence != 0 })},
		{"alive", 6, true, 5, 0, func(_ *model, r *link) (string, style) { return quantity(float64(r.Keepalives)), plain }},
		{"every", 6, true, 5, 0, known(func(r *link) (string, bool) { return short(r.KeepaliveMean), r.KeepaliveMean != 0 })},
		{"gap", 6, true, 6, 0, known(func(r *link) (string, bool) { return short(r.KeepaliveMax), r.KeepaliveMax != 0 })},
		{"packets", 8, true, 2, 0, func(_ *model, r *link) (string, style) { return quantity(float64(r.Datagrams)), plain }},
		{"acks", 6, true, 1, 0, func(_ *model, r *link) (string, style) { return quantity(float64(r.Acks)), plain }},
		{"address", 21, false, 1, 47, func(_ *model, r *link) (string, style) { return r.Client.String(), faint }},
	}
}

func (l *look) shipColumns() []column[measure.Ship] {
	type ship = measure.Ship
	return []column[ship]{
		{"ship", 18, false, 9, 36, func(_ *model, r *ship) (string, style) { return shipName(r), plain }},
		{"player", 10, false, 8, 24, func(_ *model, r *ship) (string, style) { return label(r.Player, r.Client) }},
		{"dir", 7, false, 8, 0, func(m *model, r *ship) (string, style) { return report.Way(r.Dir, "", m.d.opts.ASCII), faint }},
		{"per s", 6, true, 7, 0, func(_ *model, r *ship) (string, style) { return rate(r.Rate), plain }},
		{"every", 7, true, 6, 0, func(m *model, r *ship) (string, style) { return millis(m, r.Mean) }},
		{"jitter", 7, true, 7, 0, func(m *model, r *ship) (string, style) { return millis(m, r.Jitter) }},
		{"longest", 7, true, 7, 0, func(m *model, r *ship) (string, style) { return millis(m, r.Longest) }},
		{"updates", 8, true, 3, 0, func(_ *model, r *ship) (string, style) { return quantity(float64(r.Updates)), plain }},
		{"slot", 4, true, 2, 0, known(func(r *ship) (string, bool) {
			slot, ok := r.Object.Slot()
			return strconv.Itoa(slot), ok
		})},
		{"object", 10, false, 1, 0, func(_ *model, r *ship) (string, style) { return fmt.Sprintf("0x%08X", uint32(r.Object)), faint }},
	}
}
