package conform_test

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// reliability are sessions of OpenBC servers with lost datagrams; see
// fixtures/MANIFEST.md.
var reliability = []string{
	"reliability/g_s1_p4.pcap.gz", "reliability/g_s5_p4_droptx.pcap.gz", "reliability/st_chat_genuine.pcap.gz",
	"reliability/st_fire1.pcap.gz", "reliability/st_mix_fix_drx.pcap.gz",
}

// without returns a choice of datagrams that lacks a part of them.
func without(part float64, seed uint64) func(*dissect.Datagram) bool {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a fixed seed
	return func(*dissect.Datagram) bool { return r.Float64() >= part }
}

// TestReliability: an OpenBC server is not blamed for datagrams that the network
// lost before it or behind it.
func TestReliability(t *testing.T) {
	for _, name := range reliability {
		for _, against := range []decode.Dialect{decode.Undecided, decode.OpenBC} {
			for _, r := range compare(t, name, against, nil, nil) {
				for _, d := range r.Differences {
					t.Errorf("%s: %s in frame %d, opcode %v, to %v: %s", name, d.Kind, d.Frame, d.Opcode, d.To, d.Detail)
				}
			}
		}
	}
}

// TestLostFrames: the host is not blamed for frames that the capture lost.
func TestLostFrames(t *testing.T) {
	names := append([]string{}, reliability...)
	for name := range openBC {
		names = append(names, name)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seeds := fixtures.More[uint64](2, 5)
			if name == "battle_mix.pcap.gz" {
				seeds = 1 // it is long
			}
			for _, part := range []float64{0.02, 0.1} {
				for seed := range seeds {
					for _, r := range compare(t, name, decode.OpenBC, nil, without(part, seed)) {
						for _, d := range r.Differences {
							t.Errorf("without %v, seed %d: %s in frame %d, opcode %v, to %v: %s", part, seed, d.Kind, d.Frame, d.Opcode, d.To, d.Detail)
						}
						for i := range r.Invariants {
							if v := &r.Invariants[i]; v.Verdict() == "FAIL" {
								t.Errorf("without %v, seed %d: %s fails in frame %d", part, seed, v.Name, v.First)
							}
						}
					}
				}
			}
		})
	}
}

// A heldBy is a client and the low byte of a number.
type heldBy struct {
	client netip.AddrPort
	number uint8
}

// TestMisleadingLosses: the host is not blamed where lost frames mislead.
func TestMisleadingLosses(t *testing.T) {
	for _, c := range []struct {
		name string
		part float64
		seed uint64
		what string // is lost, or happens
	}{
		{"opcode_coverage.pcap", 0.02, 23, "the host's accept, so that the player's id is not known"},
		{"opcode_coverage.pcap", 0.02, 43, "the last message of a client, which the host acknowledges"},
		{"join_flow.pcap", 0.02, 42, "the last messages to a client, which it acknowledges"},
		{"opcode_coverage.pcap", 0.02, 47, "the last message of a client with its acknowledgement; all else is of another host"},
		{"opcode_coverage.pcap", 0.02, 132, "an answer to the host, so that ClientReady waits until another player has joined"},
		{"reliability/g_s1_p4.pcap.gz", 0.1, 1024, "a ClientReady that is made up, so that another copy is taken for its own"},
		{"stock_client.pcap", 0.1, 217, "a player's connect with the host's answer, but not its name"},
		{"battle_mix.pcap.gz", 0.1, 6, "a creation, which the host's answer to a later request proves"},
		{"battle_mix-s96.pcap.gz", 0.02, 25, "two of three transmissions, so that the last seems to be another message"},
		{"reliability/g_s1_p4.pcap.gz", 0.02, 33, "few numbered messages, but many updates"},
		{"reliability/g_s1_p4.pcap.gz", 0.1, 28, "the last copies of a client's messages"},
		{"reliability/g_s1_p4.pcap.gz", 0.1, 17, "a message that is like a late one, and those around it are repeated"},
		{"reliability/st_mix_fix_drx.pcap.gz", 0.02, 47, "a copy, so that the next ones are taken for those before, and it is sent again"},
		{"reliability/st_mix_fix_drx.pcap.gz", 0.1, 58, "a copy, and the original of the next one, which is taken for it"},
	} {
		for _, r := range compare(t, c.name, decode.OpenBC, nil, without(c.part, c.seed)) {
			if r.Found > 0 {
				t.Errorf("%s without %v, seed %d (%s): %d differences, the first %+v", c.name, c.part, c.seed, c.what, r.Found, r.Differences[0])
			}
		}
	}
}

// TestLostFirst: the host is not blamed where the capture lacks the first
// transmission of a message that a client sent again behind a later one, so that
// the copies come before the original.
func TestLostFirst(t *testing.T) {
	for _, name := range []string{"trouble/arrival.pcap", "trouble/address.pcap", "trouble/id.pcap"} {
		first, last, lost := map[heldBy]int{}, map[netip.AddrPort]int64{}, map[int]bool{}
		recorded.Records(t, name, dissect.Config{}, func(r *dissect.Record) {
			client := r.Datagram.Src
			switch by := (heldBy{client, uint8(r.Transport.Seq)}); {
			case r.Dir != dissect.ToHost || !r.Transport.HasSeq || r.Transport.Type != transport.Standard:
			case !r.Repeat:
				first[by], last[client] = r.Datagram.Number, max(last[client], r.Number)
			case last[client] > r.Number:
				lost[first[by]] = true
			}
		})
		if len(lost) == 0 {
			t.Errorf("%s: no message of a client was sent again", name)
		}
		for frame := range lost {
			for _, r := range compare(t, name, decode.OpenBC, nil, func(d *dissect.Datagram) bool { return d.Number != frame }) {
				if r.Found > 0 {
					t.Errorf("%s without frame %d: %d differences, the first %+v", name, frame, r.Found, r.Differences[0])
				}
			}
		}
	}
}

// TestLostFromHost: the host is not blamed in a capture that lacks only datagrams
// of the host, which mostly hold updates without numbers.
func TestLostFromHost(t *testing.T) {
	for seed, part := range map[uint64]float64{1001: 0.02, 1016: 0.05, 1006: 0.1} {
		keep := without(part, seed)
		for _, r := range compare(t, "networked_battle.pcap", decode.OpenBC, nil, func(d *dissect.Datagram) bool { return keep(d) || d.Src.Port() != 29900 }) {
			if r.Found > 0 {
				t.Errorf("without %v, seed %d: %d differences, the first %+v", part, seed, r.Found, r.Differences[0])
			}
		}
	}
}

// TestOneSide: no host is blamed in a capture of only one side.
func TestOneSide(t *testing.T) {
	for _, host := range []bool{true, false} {
		for _, r := range compare(t, "networked_battle.pcap", decode.OpenBC, nil, func(d *dissect.Datagram) bool { return (d.Src.Port() == 29900) == host }) {
			if r.Found > 0 || !host && r.Compared() > 0 || !strings.Contains(strings.Join(r.Notes, " "), "there is nothing to compare") {
				t.Errorf("host's side %v: %d differences, %d compared, notes %q", host, r.Found, r.Compared(), r.Notes)
			}
		}
	}
}

// TestAlteredUpdates: where frames are lost, updates of which a host changes the clock
// are found, unless the clock is all that distinguishes one update from the next. Then
// a changed one may be one of which the original is lost.
func TestAlteredUpdates(t *testing.T) {
	for _, tt := range []struct {
		name   string
		step   int // from one update's clock to the next one's
		alters bool
		want   bool
	}{
		{"every byte differs", 0x0101, true, true},
		{"one byte differs", 1, true, false},
		{"a sound host, every byte differs", 0x0101, false, false},
		{"a sound host, one byte differs", 1, false, false},
	} {
		s := newSession(t, guarded())
		a, _, _ := s.join("A", false), s.join("B", false), s.join("C", false)
		s.create(a)
		head, copies := update(wire.FirstObject(a.Slot), 0)[:5], 0
		s.alter = func(from netip.AddrPort, plain []byte) []byte {
			if i := bytes.Index(plain, head); i >= 0 && from == s.addr && tt.alters {
				if copies++; copies%20 == 0 {
					plain[i+len(head)] ^= 0x80
				}
			}
			return plain
		}
		var whole tape
		s.tap = func(d *dissect.Datagram) { whole = append(whole, frame{Datagram: *d}) }
		for n := range 200 {
			a.SendBody(s.now, false, update(wire.FirstObject(a.Slot), n*tt.step))
			if s.run(20 * time.Millisecond); n%10 == 0 {
				s.chat("the line works")
			}
		}
		for seed := range uint64(3) {
			found := 0
			for _, r := range whole.after(trouble{"lost", 0.1}, seed).judgedBy(t, conform.Config{Game: relay.Config{Mode: relay.Playable}}) {
				found += r.Found
			}
			if (found > 0) != tt.want {
				t.Errorf("%s, seed %d: %d differences", tt.name, seed, found)
			}
		}
	}
}
