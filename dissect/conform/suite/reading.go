package suite

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A Reading answers cases from a capture: some by watching, others by comparing its hosts
// with the stock game's. It implements report.Sink.
type Reading struct {
	cases   []*Case
	profile Profile
	watch   *Watch
	hosts   *conform.Hosts
	known   map[int]bool             // conversations in which a host has said something
	of      map[netip.AddrPort][]int // those of a client
	clock   clock
	seen    bool // a host or a client of the game
}

// NewReading returns a reading for those of the cases that a capture can answer.
func NewReading(cases []*Case, p Profile) *Reading {
	return &Reading{
		cases: cases, profile: p, watch: NewWatch(cases, p), hosts: conform.NewHosts(conform.Config{Against: decode.Stock}), known: map[int]bool{}, of: map[netip.AddrPort][]int{},
	}
}

// Record takes a record, in the order of the capture.
func (g *Reading) Record(r *dissect.Record) error {
	if r.DoubleOf > 0 {
		return nil
	}
	g.seen = g.seen || r.Dir != dissect.DirUnknown && r.Kind == dissect.KindMessage
	g.clock.take(r.Datagram.Number, r.Time)
	if err := g.watch.Record(r); err != nil || !g.tells(r) {
		return err
	}
	return g.hosts.Record(r)
}

// Close implements report.Sink.
func (g *Reading) Close() error { return nil }

// tells reports whether a host must act on a message. It need not act on messages of
// strangers, nor on those outside the window of numbers.
func (g *Reading) tells(r *dissect.Record) bool {
	if r.Dir != dissect.ToHost {
		if r.Kind == dissect.KindMessage && !g.known[r.Conversation] && len(g.known) < mostSides {
			g.known[r.Conversation] = true
			g.of[r.Dst] = append(g.of[r.Dst], r.Conversation)
		}
		return true
	}
	return r.Transport.Type == transport.Connect || g.known[r.Conversation] && !outside(r)
}

// Report returns the results for a capture with a name; ok is false if it shows no host and
// no client of the game.
func (g *Reading) Report(name string, begun, ended time.Time) (rep *Report, ok bool) {
	reports, _ := g.hosts.Reports()
	var addresses []string
	for _, r := range reports {
		addresses = append(addresses, r.Host.String())
	}
	rep = &Report{Host: name + ": " + strings.Join(addresses, ", "), Profile: g.profile, Begun: begun, Took: ended.Sub(begun)}
	g.watch.ledger.finish()
	by := map[*Case]Result{}
	for _, res := range compared(g.cases, g.profile, reports, g) {
		by[res.Case] = res
	}
	for _, res := range g.watch.Results(g.profile) { // they come first if a case has both
		by[res.Case] = res
	}
	for _, c := range g.cases {
		if res, ok := by[c]; ok {
			rep.Results = append(rep.Results, res)
		}
	}
	return rep, g.seen
}

// doubtful reports whether the capture lacks messages that may explain a difference: others
// to the same client, or of a client. Without a difference it is about the whole capture.
func (g *Reading) doubtful(d *conform.Difference) bool {
	const before, after = 5 * time.Second, 20 * time.Second
	l := &g.watch.ledger
	if l.more || d == nil {
		return l.more || len(l.lost) > 0
	}
	from, till := g.clock.at(d.Frame)
	from, till = from.Add(-before), till.Add(after)
	return slices.ContainsFunc(l.lost, func(o loss) bool {
		return !o.at.Before(from) && !o.at.After(till) && (o.dir == dissect.ToHost || slices.Contains(g.of[d.To], o.conversation))
	})
}
