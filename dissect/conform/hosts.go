package conform

import (
	"errors"
	"net/netip"
	"slices"

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
	losses := measure.Losses(h.meter.Links())
	kept := slices.DeleteFunc(slices.Clone(h.order), h.apparent)
	for i, r := range kept {
		if i == 0 {
			r.t.noted[result.NoteHeaders], r.t.noted[result.NoteApparent] = h.flawed, len(h.order)-len(kept)
		}
		line := slices.DeleteFunc(slices.Clone(losses), func(l measure.Loss) bool { return l.Host != r.t.host })
		rep := r.close(line, lossy)
		rep.Lose(line)
		reports = append(reports, rep)
	}
	return reports, h.passed
}

// few is how many datagrams may have the same wrong address.
const few = 8

// oneSided reports whether a host has traffic in only one direction.
func (r *Replay) oneSided() bool { return r.t.fromHosts == 0 || r.t.fromClients == 0 }

// apparent reports whether a host only seems to exist, because the port is
// damaged in a few datagrams of one direction. Another host with the same IP
// address has traffic in both directions.
func (h *Hosts) apparent(r *Replay) bool {
	return r.oneSided() && r.t.fromHosts+r.t.fromClients <= few && slices.ContainsFunc(h.order, func(o *Replay) bool {
		return o.t.host.Addr() == r.t.host.Addr() && !o.oneSided()
	})
}
