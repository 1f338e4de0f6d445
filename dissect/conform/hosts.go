package conform

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// MaxHosts is the maximum number of hosts of a capture that are compared.
const MaxHosts = 16

// Hosts compares each host of a capture. It is a sink of records.
type Hosts struct {
	cfg    Config
	by     map[netip.AddrPort]*Replay
	order  []*Replay
	passed int // number of messages of hosts beyond the limit
	flawed int // number of datagrams with damaged headers
	budget budget
	meter  measure.Meter // estimates losses on the line
}

// maxUnanswered is how many messages of one direction may wait for their
// acknowledgements. OpenBC's host drops a client with 16.
const maxUnanswered = 64

// NewHosts returns a comparer for every host in a capture.
func NewHosts(cfg Config) *Hosts {
	return &Hosts{cfg: cfg, by: map[netip.AddrPort]*Replay{}, meter: measure.Meter{LinksOnly: true, Outstanding: maxUnanswered}}
}

// Record takes a record of the pipeline. It is borrowed until the call returns.
func (h *Hosts) Record(r *dissect.Record) error {
	if errors.Is(r.Err, dissect.ErrHeader) {
		h.flawed++
	}
	if r.Dir == dissect.DirUnknown || r.Kind != dissect.KindMessage && r.Kind != dissect.KindMalformed {
		return nil
	}
	host, _ := r.Ends()
	one := h.by[host]
	if one == nil {
		if len(h.order) == MaxHosts {
			h.passed++
			return nil
		}
		one = New(h.cfg)
		one.t.budget = &h.budget
		h.by[host], h.order = one, append(h.order, one)
		h.budget.hosts++
		for _, other := range h.order {
			if other.cmp != nil {
				other.cmp.relieve() // make room
			}
		}
	}
	one.learn(r)
	one.t.Record(r)
	return h.meter.Record(r)
}

// Close does nothing. It exists so that Hosts is a sink.
func (h *Hosts) Close() error { return nil }

// Reports judges the waiting messages. It returns the reports in the order in
// which the hosts first appeared, and the number of messages of further hosts.
func (h *Hosts) Reports() (reports []*result.Report, passed int) {
	lossy := slices.ContainsFunc(h.order, func(r *Replay) bool { return r.t.lossy() })
	apparent, losses := h.apparent(), measure.Losses(h.meter.Links())
	for _, r := range h.order {
		if slices.Contains(apparent, r) {
			continue
		}
		line := slices.DeleteFunc(slices.Clone(losses), func(l measure.Loss) bool { return l.Host != r.t.host })
		rep := r.close(line, lossy)
		rep.Lose(line)
		if len(reports) == 0 {
			rep.Notes = append(rep.Notes, h.notes(apparent)...)
		}
		reports = append(reports, rep)
	}
	return reports, h.passed
}

// How many datagrams may have the same wrong address: between two addresses,
// and to or from one.
const (
	few      = 2
	fewInAll = 8
)

// apparent returns the hosts that only seem to exist, because the port is
// damaged in a few datagrams of one direction. Another host with the same IP
// address has more traffic.
func (h *Hosts) apparent() (list []*Replay) {
	for _, r := range h.order {
		negligible := r.t.fromHosts+r.t.fromClients <= fewInAll && (r.t.fromHosts == 0 || r.t.fromClients == 0)
		if negligible && !slices.ContainsFunc(r.t.all, func(c *Client) bool { return c.datagrams > few }) && slices.ContainsFunc(h.order, func(o *Replay) bool {
			return o.t.host.Addr() == r.t.host.Addr() && o.t.fromHosts > few && o.t.fromClients > few
		}) {
			list = append(list, r)
		}
	}
	return list
}

// notes returns the notes on damaged headers.
func (h *Hosts) notes(apparent []*Replay) (notes []string) {
	if n := h.flawed; n > 0 {
		notes = append(notes, fmt.Sprintf(plural.Form(n, "%d {datagram has a damaged IP header|datagrams have damaged IP headers} with new addresses: not played."), n))
	}
	if n := len(apparent); n > 0 {
		notes = append(notes, fmt.Sprintf(plural.Form(n, "%d {address has|addresses have} only a few datagrams, all in one direction, and damaged headers explain {it|them}: not counted as {a host|hosts}. The first is %v, in frame %d."),
			n, apparent[0].t.host, apparent[0].t.now.frame))
	}
	return notes
}
