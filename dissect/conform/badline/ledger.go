package badline

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// The times and sizes of a ledger.
const (
	abandoned = 20 * time.Second // after which a host surely has sent a message again
	mostLost  = 64               // that are listed
)

// A key tells the reliable messages to one client apart.
type key struct {
	control bool
	seq     uint16
	index   uint8
}

// A message of the host waits until a copy of it comes through.
type message struct {
	to          netip.AddrPort
	name        string
	key         key
	first, sent int // frame, and how often
	last        time.Time
}

// String tells of a message that was lost.
func (m *message) String() string {
	return fmt.Sprintf("frame %d: %s, number %d, to %v: sent %d times, and none came through", m.first, m.name, m.key.seq, m.to, m.sent)
}

// A ledger finds the reliable messages that a host gave up before one copy of them came through.
type ledger struct {
	open   map[netip.AddrPort]map[key]*message // nil for one that has come through
	lost   []*message
	others int // more that are lost
}

func newLedger() ledger {
	return ledger{open: map[netip.AddrPort]map[key]*message{}}
}

// sends takes a message of the host, and whether its datagram comes through.
func (g *ledger) sends(to netip.AddrPort, r *dissect.Record, passes bool) {
	h := &r.Transport
	if r.Kind == dissect.KindGameSpy || !h.HasSeq || h.Type == transport.Acknowledge {
		return
	}
	k := key{h.Control(), h.Seq, h.Index}
	all := g.open[to]
	if all == nil {
		all = map[key]*message{}
		g.open[to] = all
	}
	const far = 1 << 15 // numbers begin anew after 65,535
	delete(all, key{k.control, k.seq ^ far, k.index})
	m, known := all[k]
	switch {
	case passes:
		all[k] = nil
		return
	case known && m == nil:
		return
	case !known:
		m = &message{to: to, name: fmt.Sprintf("a message of type %02X", uint8(h.Type)), key: k, first: r.Datagram.Number}
		if r.Spec != nil {
			m.name = r.Spec.Name
		}
		all[k] = m
	}
	m.sent++
	m.last = r.Time
}

// ends takes note that a client has gone. What the host had time to send again, and did not, is lost.
func (g *ledger) ends(client netip.AddrPort, now time.Time) {
	for _, m := range g.open[client] {
		switch {
		case m == nil, now.Sub(m.last) < abandoned:
		case len(g.lost) < mostLost:
			g.lost = append(g.lost, m)
		default:
			g.others++
		}
	}
	delete(g.open, client)
}

// finish ends the ledger.
func (g *ledger) finish(now time.Time) {
	for client := range g.open {
		g.ends(client, now)
	}
}
