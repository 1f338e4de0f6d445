package conform_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
)

// Damaged headers make no hosts and no differences: addresses with checksums that
// tell of it, and ports where nothing does.
func TestDamagedHeaders(t *testing.T) {
	otherPort := func(a netip.AddrPort, bit int) netip.AddrPort {
		return netip.AddrPortFrom(a.Addr(), a.Port()^1<<(bit%16))
	}
	for _, tt := range []struct {
		name   string
		damage func(d *dissect.Datagram, n int)
		note   string
	}{
		{"source", func(d *dissect.Datagram, n int) {
			d.Src, d.Damaged = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, byte(n), 0, 1}), d.Src.Port()), true
		}, "41 datagrams have damaged IP headers with new addresses: not played."},
		{"destination", func(d *dissect.Datagram, n int) {
			d.Dst, d.Damaged = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, byte(n), 0, 1}), d.Dst.Port()), true
		}, "41 datagrams have damaged IP headers with new addresses: not played."},
		{"source port", func(d *dissect.Datagram, n int) { d.Src = otherPort(d.Src, n) }, "addresses have only a few datagrams"},
		{"destination port", func(d *dissect.Datagram, n int) { d.Dst = otherPort(d.Dst, n) }, "addresses have only a few datagrams"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reports := compare(t, "networked_battle.pcap", decode.Undecided, nil, func(d *dissect.Datagram) bool {
				if d.Number%101 == 0 { // 41 of 4,145
					tt.damage(d, d.Number/101)
				}
				return true
			})
			if len(reports) != 1 {
				t.Fatalf("%d hosts, the second %v", len(reports), reports[1].Host)
			}
			if r := reports[0]; !r.Conforms() {
				t.Errorf("%d differences, the first in frame %d: %s", len(r.Differences), r.Differences[0].Frame, r.Differences[0].Detail)
			}
			if !slices.ContainsFunc(reports[0].Notes, func(n string) bool { return strings.Contains(n, tt.note) }) {
				t.Errorf("no note in %q", reports[0].Notes)
			}
		})
	}
}
