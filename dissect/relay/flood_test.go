package relay_test

import (
	"cmp"
	"net/netip"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/relaytest"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A floodOfJoins has the host ask a victim, who sends nothing, for its files: a stranger connects
// in the victim's name and tries ids.
type floodOfJoins struct {
	name  string
	ports int  // number of the victim's ports, or of its addresses in a network
	wide  bool // ports counts addresses
	every int  // hundredths of a second between two attempts for a port
	tries int  // guesses of an id, 0 for as many as one needs on average
	short bool // connects of OpenBC's form, which count ids from 2
	then  func(id uint8) []byte
}

// A stranger connects in the name of a victim, guesses ids and asks for more. In any ten seconds,
// the host sends the victim at most four times the bytes that the stranger sent by then, and one
// answer to a query. Players still get in.
func TestFloodOfJoins(t *testing.T) {
	answers := func(id uint8) []byte {
		return one(id, reliable(0), append([]byte{byte(msg.OpChecksumResponse), 0}, make([]byte, 20)...))
	}
	acked := func(id uint8) []byte {
		return one(id, transport.Header{Type: transport.Acknowledge, Seq: 0}, nil)
	}
	objects := func(id uint8) []byte {
		return one(id, transport.Header{Type: transport.Standard}, []byte{byte(msg.OpRequestObject), 0xFF, 0xFF, 0xFF, 0x3F})
	}
	for _, tt := range []floodOfJoins{
		{"ids, from one port", 1, false, 10, 0, false, idle},
		{"ids, a second apart", 1, false, 100, 0, false, idle},
		{"ids, from four ports", 4, false, 20, 0, false, idle},
		{"ids, from many ports", 1000, false, 1000, 0, false, idle},
		{"ids, from a whole network", 250, true, 250, 0, false, idle},
		{"answers about files, from a whole network", 250, true, 250, 0, false, answers},
		{"one guess each, from a whole network", 250, true, 100, 1, false, idle},
		{"one guess each, from a whole network, fast", 250, true, 17, 1, false, idle},
		{"one acknowledged guess each, from a whole network", 250, true, 100, 1, false, acked},
		{"answers about files", 4, false, 20, 0, false, answers},
		{"requests for objects", 4, false, 20, 0, false, objects},
		{"the id that OpenBC's clients use", 100, false, 100, 0, true, idle},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := besiege(t, 3, relay.Config{Players: 8, PerAddress: func(netip.Addr) int { return 4 }})
			s.trouble = relay.Trouble{Delay: 40 * time.Millisecond}
			victim := netip.MustParsePrefix("203.0.113.0/24")
			total := func(by map[netip.AddrPort]int) (n int) {
				for a, size := range by {
					if victim.Contains(a.Addr()) {
						n += size
					}
				}
				return n
			}
			s.send(netip.AddrPortFrom(victim.Addr().Next(), 53), []byte(`\status\`), &relay.Trouble{})
			s.advance(100*time.Millisecond, nil)
			answer := total(s.to)
			late := s.add(false)
			var out []int
			var from time.Time
			worst, took := 0.0, time.Duration(0)
			s.chat(time.Minute, func(tick int) {
				for n := range tt.ports {
					if (tick+n*tt.every/tt.ports)%tt.every != 0 {
						continue
					}
					at := netip.AddrPortFrom(victim.Addr().Next(), uint16(1000+n))
					if tt.wide {
						at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(1 + n)}), 1000)
					}
					if tt.short {
						s.inject(at, shortConnect)
						s.inject(at, tt.then(2))
						continue
					}
					s.inject(at, s.connect())
					for _, i := range s.rand.Perm(125)[:cmp.Or(tt.tries, 62)] {
						if id := uint8(2 + i); id != '\\' {
							s.inject(at, tt.then(id))
						}
					}
				}
				if tick == 1500 {
					late.Connect(s.now)
					from = s.now
				}
				if late.Phase == relaytest.Playing && took == 0 {
					took = s.now.Sub(from)
				}
				out = append(out, total(s.to))
				before := 0
				if len(out) > 1000 {
					before = out[len(out)-1001]
				}
				got, sent := out[len(out)-1]-before, total(s.from)
				worst = max(worst, float64(got-answer)/float64(sent))
				if got > 4*sent+answer {
					t.Fatalf("after %v, %d bytes in ten seconds for %d sent", s.now.Sub(began), got, sent)
				}
			})
			t.Logf("at most %.2f times the bytes; in after %v; %d bytes for %d in a minute", worst, took, total(s.to), total(s.from))
			if took == 0 || took > 10*time.Second || late.Phase != relaytest.Playing {
				t.Errorf("in after %v, phase %d", took, late.Phase)
			}
			s.unharmed()
		})
	}
}
