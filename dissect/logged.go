package dissect

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// pushLogged is Push for a message in a log that does not contain datagrams.
func (p *Pipeline) pushLogged(d *Datagram, emit func(*Record) error) error {
	p.stats.Datagrams++
	if len(p.cfg.Ports) > 0 && !p.wanted(d) {
		p.stats.Other++
		return nil
	}
	message := d.Payload
	n := p.single(d, message, emit)
	if d.Form != packet.Message {
		n.findSide(peerOf(d.Form))
		return n.payload()
	}
	m, rest, err := transport.Next(n.plain)
	if err != nil {
		n.side, _ = n.c.SideOf(d.Src)
		return n.malformed(0, 0, rest, err)
	}
	n.findSide(n.peerBy(&m))
	if d.Full == packet.FullUnknown { // the log continued with other memory after the message
		rest = nil
	}
	return n.transportMessage(&m, rest)
}

// peerOf returns the peer id that identifies the sender of messages in a form
// of log.
func peerOf(f packet.Form) uint8 {
	if f == packet.FromHost {
		return transport.HostPeer
	}
	return transport.UnassignedPeer
}

// peerBy returns the peer id that identifies the sender of a message, if only
// hosts or only clients send it. Otherwise it returns 0, which identifies no
// sender.
func (p *pass) peerBy(m *transport.Message) uint8 {
	spec := transport.SpecFor(m)
	if m.Type == transport.Standard && !m.Fragment && len(m.Body) > 0 {
		spec = p.catalog.Lookup(decode.Opcode(m.Body[0]))
	}
	switch {
	case spec == nil:
	case spec.Dir == decode.FromHost:
		return transport.HostPeer
	case spec.Dir == decode.FromClient:
		return transport.UnassignedPeer
	}
	return 0
}
