package relay

import "net/netip"

// Knows reports whether a client at an address has a session.
func (h *Host) Knows(addr netip.AddrPort) bool { return len(h.byAddr[addr]) > 0 }
