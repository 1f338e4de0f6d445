package conform_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// FuzzReplay: for any capture the counts of a report add up: each sent and each
// expected message has exactly one result.
func FuzzReplay(f *testing.F) {
	for _, name := range []string{"stock_client.pcap", "opcode_coverage.pcap", "restart.pcap"} {
		var seed []byte
		recorded.Datagrams(f, name, func(d *dissect.Datagram) {
			if len(d.Payload) == 0 || len(d.Payload) > 255 || d.Payload[0] == '\\' || len(seed) > 2000 {
				return
			}
			who := byte(d.Src.Port() + d.Dst.Port())
			if d.Payload[0] == 1 {
				who |= 0x80
			} else {
				who &^= 0x80
			}
			seed = append(append(seed, who, 1, byte(len(d.Payload))), cipher.Decrypt(nil, d.Payload)...)
		})
		f.Add(seed, uint8(0))
		f.Add(seed, uint8(1))
	}
	host := netip.MustParseAddrPort("203.0.113.1:22101")
	f.Fuzz(func(t *testing.T, script []byte, against uint8) {
		p := dissect.New(dissect.Config{Ports: []uint16{22101}})
		hosts := conform.NewHosts(conform.Config{Against: decode.Dialect(against % 3)})
		at := time.Unix(1e9, 0)
		for n := 1; len(script) > 3; n++ {
			who, wait, size := script[0], script[1], int(script[2])
			script = script[3:]
			size = min(size, len(script))
			client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, 2}), uint16(who&0x7F)+1)
			d := dissect.Datagram{Number: n, Src: client, Dst: host, Payload: cipher.Encrypt(nil, script[:size]), Full: size}
			if who&0x80 != 0 {
				d.Src, d.Dst = d.Dst, d.Src
			}
			script = script[size:]
			at = at.Add(time.Duration(wait) * 40 * time.Millisecond)
			d.Time = at
			if err := p.Push(&d, hosts.Record); err != nil {
				t.Fatal(err)
			}
		}
		reports, _ := hosts.Reports()
		for _, r := range reports {
			found := 0
			for _, row := range append(append([]*result.Row{}, r.Rows...), r.Controls...) {
				found += row.Missing + row.Extra + row.Differing
				if got := row.Matched + row.Extra + row.Differing + row.NotComparable; got > row.Emitted {
					t.Errorf("%s: %d of %d messages of the host have a fate", row.Name, got, row.Emitted)
				}
				if row.Expected < 0 || row.Matched < 0 || row.Matched+row.Missing > row.Expected {
					t.Errorf("%s: %d expected, %d matched, %d missing", row.Name, row.Expected, row.Matched, row.Missing)
				}
			}
			if found != r.Found || len(r.Differences) > r.Found {
				t.Errorf("%d differences in the table, %d found, %d listed", found, r.Found, len(r.Differences))
			}
		}
	})
}
