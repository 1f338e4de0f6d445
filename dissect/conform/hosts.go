package conform

import (
	"net/netip"
	"slices"

	"github.com/bcdissect/bcdissect/dissect"
)

// MaxHosts are the hosts of a capture that are looked at.
const MaxHosts = 16

// Hosts compares each host of a capture. It is a sink of records.
type Hosts struct {
	cfg    Config
	by     map[netip.AddrPort]*Replay
	order  []*Replay
	host   netip.AddrPort
	last   *Replay // of host, which had the last record
	passed int     // messages of hosts beyond the limit
	budget budget
}

// NewHosts returns a comparer for every host in a capture.
func NewHosts(cfg Config) *Hosts { return &Hosts{cfg: cfg, by: map[netip.AddrPort]*Replay{}} }

// Record takes a record of the pipeline. It is borrowed until the call returns.
func (h *Hosts) Record(r *dissect.Record) error {
	if r.Dir == dissect.DirUnknown || r.Kind != dissect.KindMessage && r.Kind != dissect.KindMalformed {
		return nil
	}
	host := r.Datagram.Dst
	if r.Dir == dissect.FromHost {
		host = r.Datagram.Src
	}
	one := h.last
	if one == nil || host != h.host {
		one = h.by[host]
	}
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
			other.shrink()
		}
	}
	h.host, h.last = host, one
	return one.Record(r)
}

// Close does nothing: it is there for a sink.
func (h *Hosts) Close() error { return nil }

// Reports judges the waiting messages and returns the reports, in the order in
// which the hosts were met, and the number of messages of further hosts.
func (h *Hosts) Reports() (reports []*Report, passed int) {
	lossy := slices.ContainsFunc(h.order, func(r *Replay) bool { return r.t.lossy() })
	for _, r := range h.order {
		r.lossy = lossy
		reports = append(reports, r.Close())
	}
	return reports, h.passed
}
