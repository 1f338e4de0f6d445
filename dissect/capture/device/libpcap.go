//go:build libpcap && cgo && !windows

package device

import (
	"errors"
	"fmt"

	"github.com/google/gopacket/pcap"
	"golang.org/x/net/bpf"
)

const defaultBuffer = 32 << 20

// A handle is an interface opened by libpcap.
type handle struct {
	name   string
	handle *pcap.Handle
}

func newDriver(i *Interface) driver { return &handle{name: i.Name} }

func (h *handle) open(o *Options) error {
	inactive, err := pcap.NewInactiveHandle(h.name)
	if err == nil {
		defer inactive.CleanUp()
		// Immediate mode would make libpcap reserve room for the longest packet each
		// time, and so lose almost all of a burst.
		err = errors.Join(
			inactive.SetSnapLen(o.SnapLen), inactive.SetPromisc(o.Promiscuous), inactive.SetTimeout(wait), inactive.SetBufferSize(o.Buffer),
		)
	}
	if err == nil {
		h.handle, err = inactive.Activate()
	}
	if why := permitted(); err != nil && why != nil { // with its remedy
		err = why
	}
	return err
}

// link returns the link type. gopacket keeps 8 bits of it, which is enough for
// libpcap's default choice.
func (h *handle) link() uint16 {
	const raw, rawOpen = 12, 14
	if k := h.handle.LinkType(); k != raw && k != rawOpen {
		return uint16(k)
	}
	return linkRaw
}

// digits returns the precision requested from libpcap.
func (h *handle) digits() int8 { return 9 }

func (h *handle) attach(program []bpf.RawInstruction) bool {
	code := make([]pcap.BPFInstruction, len(program))
	for i, in := range program {
		code[i] = pcap.BPFInstruction{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	return h.handle.SetBPFInstructionFilter(code) == nil
}

func (h *handle) start() error { return nil }

func (h *handle) read(p *packet) (bool, error) {
	data, info, err := h.handle.ZeroCopyReadPacketData()
	switch {
	case errors.Is(err, pcap.NextErrorTimeoutExpired):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s: %w: %w", h.name, ErrDown, h.handle.Error())
	}
	p.time, p.data, p.full = info.Timestamp.UTC(), data, max(info.Length, len(data))
	return true, nil
}

func (h *handle) counters() (Counters, error) {
	s, err := h.handle.Stats()
	if err != nil {
		return Counters{}, fmt.Errorf("%s: %w", h.name, err)
	}
	return Counters{Received: uint64(s.PacketsReceived), Dropped: uint64(s.PacketsDropped + s.PacketsIfDropped)}, nil
}

func (h *handle) close() error {
	if h.handle != nil {
		h.handle.Close()
	}
	return nil
}
