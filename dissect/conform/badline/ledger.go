package badline

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Times and limits of a ledger.
const (
	abandoned = 20 * time.Second // after this time a host has certainly retransmitted a message
	mostLost  = 64               // maximum number of listed losses
)

// A key identifies the reliable messages to one client.
type key struct {
	control bool
	seq     uint16
	index   uint8
}

// A message is a message of the host of which no copy has been delivered.
type message struct {
	to          netip.AddrPort
	name        string
	key         key
	first, sent int // first frame, and number of transmissions
	last        time.Time
}

// String describes a lost message.
func (m *message) String() string {
	return fmt.Sprintf("frame %d: %s, number %d, to %v: sent %d times, and none came through", m.first, m.name, m.key.seq, m.to, m.sent)
}

// A ledger finds the reliable messages that a host gave up before one copy of
// them was delivered.
type ledger struct {
	open   map[netip.AddrPort]map[key]*message // nil for messages that were delivered
	lost   []*message
	others int // number of further losses
}

func newLedger() ledger {
	return ledger{open: map[netip.AddrPort]map[key]*message{}}
}

// sends handles a message of the host. The argument passes tells whether its
// datagram is delivered.
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
	const far = 1 << 15 // numbers wrap after 65,535
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

// ends records that a client has left. Messages that the host had time to
// retransmit, and did not, are lost.
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
