package conform_test

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// reliability are sessions of OpenBC servers with lost datagrams; see
// fixtures/MANIFEST.md.
var reliability = []string{
	"reliability/g_s1_p4.pcap.gz", "reliability/g_s5_p4_droptx.pcap.gz", "reliability/st_chat_genuine.pcap.gz",
	"reliability/st_fire1.pcap.gz", "reliability/st_mix_fix_drx.pcap.gz",
}

// without returns the choice of datagrams that leaves out a part of them.
func without(part float64, seed uint64) func(*dissect.Datagram) bool {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same loss each time
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
			seeds := uint64(5)
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

// A fault is one thing that an altered host does: it changes a message, leaves
// it out, or sends it twice.
type fault struct {
	kind    string
	frame   int // of the host
	source  int // frame of the client
	to      netip.AddrPort
	payload string
	at      time.Time
}

// faults alters a copy of every so many, as a host with that fault would do: the
// numbers of its later messages fit, and it sends the same again. The faults are
// chosen in the whole capture.
type faults struct {
	every  int
	chosen bool // there will be no others
	seen   int
	shifts map[netip.AddrPort][]shift
	done   []fault
	by     map[numbered]string
	gaps   map[netip.AddrPort]int   // before a message that is left out
	last   map[netip.AddrPort]int64 // number to a client
	frames map[int]frame            // of clients and the host
	common map[string]int           // clients' messages by their bytes: those that are sent more than once may be taken for each other
	copies map[copyOf][]int         // frames of the copies of a client's message to all
	acks   map[heldBy][]int         // frames of acknowledgements of clients' messages, by the low byte of the number
	sent   map[copyOf]heldBy        // clients' messages
}

// A copyOf is a client's message: its frame and its bytes.
type copyOf struct {
	frame int
	said  string
}

// A heldBy is a client and the low byte of a number.
type heldBy struct {
	client netip.AddrPort
	number uint8
}

// evident reports whether a capture without some frames holds all that tell of a
// fault: the original, the datagram with the faulty copy, or that in which the
// missing one should have been, the copies to the others, and the host's first
// acknowledgement of the original.
func (f *faults) evident(one *fault, lost map[int]bool) bool {
	if lost[one.source] || lost[one.frame] {
		return false
	}
	original := copyOf{one.source, one.payload}
	for _, frame := range f.copies[original] {
		if lost[frame] {
			return false
		}
	}
	by, ok := f.sent[original]
	if !ok {
		return true
	}
	for _, frame := range f.acks[by] {
		if frame > one.source {
			return !lost[frame]
		}
	}
	return true
}

// learn takes note of the frames that tell of a message.
func (f *faults) learn(r *dissect.Record) {
	switch h := &r.Transport; {
	case r.Repeat:
	case r.Dir == dissect.FromHost && h.Type == transport.Acknowledge && !h.Control():
		by := heldBy{r.Datagram.Dst, uint8(h.Seq)}
		f.acks[by] = append(f.acks[by], r.Datagram.Number)
	case !r.Game():
	case r.Dir == dissect.FromHost && r.CopyOf != 0:
		original := copyOf{r.CopyOf, said(r.Payload)}
		f.copies[original] = append(f.copies[original], r.Datagram.Number)
	case r.Dir == dissect.ToHost:
		f.common[said(r.Payload)]++
		if h.HasSeq {
			f.sent[copyOf{r.Datagram.Number, said(r.Payload)}] = heldBy{r.Datagram.Src, uint8(h.Seq)}
		}
	}
}

// A numbered message is one of the host's.
type numbered struct {
	to     netip.AddrPort
	number int64
}

// A shift is a number from which on the host uses others.
type shift struct{ from, by int64 }

// A frame holds the marks by which the differences in it are recognised.
type frame struct {
	at       time.Time
	payloads []string
}

func newFaults(tb testing.TB, name string, every int) *faults {
	tb.Helper()
	f := &faults{
		every: every, shifts: map[netip.AddrPort][]shift{}, by: map[numbered]string{}, gaps: map[netip.AddrPort]int{}, last: map[netip.AddrPort]int64{},
		frames: map[int]frame{}, common: map[string]int{},
		copies: map[copyOf][]int{}, acks: map[heldBy][]int{}, sent: map[copyOf]heldBy{},
	}
	recorded.Records(tb, name, dissect.Config{}, f.learn)
	return f
}

// said returns the part of a message that OpenBC does not change.
func said(payload []byte) string {
	if op := decode.Opcode(payload[0]); (op == msg.OpChat || op == msg.OpTeamChat) && len(payload) > 5 {
		return string(payload[5:])
	}
	return string(payload)
}

func (f *faults) edit(r *dissect.Record, pass func(*dissect.Record)) {
	if r.Game() {
		one := f.frames[r.Datagram.Number]
		one.at = r.Datagram.Time
		one.payloads = append(one.payloads, said(r.Payload))
		f.frames[r.Datagram.Number] = one
	}
	if r.Dir == dissect.ToHost && r.Transport.Type == transport.Acknowledge && !r.Transport.Control() {
		if f.acknowledge(r) {
			pass(r)
		}
		return
	}
	if r.Dir != dissect.FromHost || !r.Transport.HasSeq || r.Transport.Type != transport.Standard {
		pass(r)
		return
	}
	n := numbered{r.Datagram.Dst, r.Number}
	f.last[n.to] = r.Number
	if !f.chosen {
		f.choose(r, n)
	}
	for _, s := range f.shifts[n.to] {
		if n.number > s.from {
			r.Number += s.by
		}
	}
	if !r.Repeat && !r.Late {
		r.Gap += f.gaps[n.to]
		delete(f.gaps, n.to)
	}
	switch f.by[n] {
	case "missing":
		if r.Gap > 0 {
			f.gaps[n.to] = r.Gap
		}
		return
	case "differs":
		if len(r.Payload) > 0 {
			r.Payload = bytes.Clone(r.Payload)
			r.Payload[len(r.Payload)-1] ^= 1
		}
	case "extra":
		pass(r)
		r.Number++
		r.Gap = 0
	}
	pass(r)
}

// acknowledge changes an acknowledgement of a client as the numbers of the host are
// changed. It reports whether there is one still.
func (f *faults) acknowledge(r *dissect.Record) bool {
	n := numbered{r.Datagram.Src, f.last[r.Datagram.Src]}
	n.number += int64(int8(r.Transport.Seq - uint16(n.number)))
	for _, s := range f.shifts[n.to] {
		if n.number > s.from {
			r.Transport.Seq = (r.Transport.Seq + uint16(s.by)) & 0xFF
		}
	}
	return f.by[n] != "missing"
}

// choose makes a fault of a message if it is its turn.
func (f *faults) choose(r *dissect.Record, n numbered) {
	if !r.Game() || r.Repeat || r.Late || r.CopyOf == 0 || r.Author == nil || r.Transport.Fragment || len(r.Payload) < 6 || f.common[said(r.Payload)] > 1 {
		return
	}
	if f.seen++; f.seen%f.every != 0 {
		return
	}
	one := fault{frame: r.Datagram.Number, source: r.CopyOf, to: n.to, payload: said(r.Payload), at: r.Datagram.Time}
	one.kind = []string{"missing", "differs", "extra"}[f.seen/f.every%3]
	switch op, _ := r.Opcode(); one.kind {
	case "missing":
		f.shifts[n.to] = append(f.shifts[n.to], shift{n.number, -1})
	case "extra":
		if op == msg.OpExplosion {
			return // a host may add its own
		}
		f.shifts[n.to] = append(f.shifts[n.to], shift{n.number, 1})
	}
	f.by[n] = one.kind
	f.done = append(f.done, one)
}

// names reports whether a difference is that of a fault. Of messages with the
// same bytes any may be the one too many or too few.
func (f *faults) names(d *conform.Difference, one *fault) bool {
	switch {
	case d.To != one.to:
		return false
	case one.kind == "differs": // if it is about another object now, it is an extra one
		return d.Frame == one.frame && d.Kind != "missing"
	case d.Kind != one.kind:
		return false
	}
	seen := f.frames[d.Frame]
	return slices.Contains(seen.payloads, one.payload) && seen.at.Sub(one.at).Abs() < 2*time.Second
}

// found returns how many of the faults that the capture holds the reports name,
// and the number of differences that are not faults.
func (f *faults) found(reports []*conform.Report, holds func(fault) bool) (found, of, others int) {
	var list []*conform.Difference
	for _, r := range reports {
		for i := range r.Differences {
			list = append(list, &r.Differences[i])
		}
	}
	for i := range f.done {
		one := &f.done[i]
		at := slices.IndexFunc(list, func(d *conform.Difference) bool { return f.names(d, one) })
		if at >= 0 {
			list = slices.Delete(list, at, at+1)
		}
		if holds(*one) {
			of++
			if at >= 0 {
				found++
			}
		}
	}
	return found, of, len(list)
}

// TestFaultsInLoss: faults of a host are found where the capture lacks frames. If
// it lacks a fiftieth, all faults count; if a tenth, those with all their frames.
func TestFaultsInLoss(t *testing.T) {
	for _, c := range []struct {
		name  string
		every int
	}{{"networked_battle.pcap", 7}, {"reliability/g_s1_p4.pcap.gz", 17}, {"reliability/st_mix_fix_drx.pcap.gz", 101}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFaults(t, c.name, c.every)
			all := func(fault) bool { return true }
			found, of, others := f.found(compare(t, c.name, decode.OpenBC, f.edit, nil), all)
			if found != of || of == 0 || others > 0 {
				t.Errorf("%d of %d faults are found, and %d differences are none of them", found, of, others)
			}
			f.chosen = true
			for _, part := range []float64{0.02, 0.1} {
				found, of := 0, 0
				for seed := range uint64(5) {
					lost := map[int]bool{}
					keep := without(part, seed)
					clear(f.gaps)
					clear(f.last)
					reports := compare(t, c.name, decode.OpenBC, f.edit, func(d *dissect.Datagram) bool {
						lost[d.Number] = !keep(d)
						return !lost[d.Number]
					})
					n, all, _ := f.found(reports, func(one fault) bool {
						return part < 0.1 || f.evident(&one, lost)
					})
					found, of = found+n, of+all
				}
				t.Logf("without %v of the frames: %d of %d", part, found, of)
				if least := map[float64]float64{0.02: 0.85, 0.1: 0.9}[part]; float64(found) < least*float64(of) || of == 0 {
					t.Errorf("without %v of the frames, %d of %d faults are found", part, found, of)
				}
			}
		})
	}
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

// TestOneSide: nobody is to blame in a capture of one side alone.
func TestOneSide(t *testing.T) {
	for _, host := range []bool{true, false} {
		for _, r := range compare(t, "networked_battle.pcap", decode.OpenBC, nil, func(d *dissect.Datagram) bool { return (d.Src.Port() == 29900) == host }) {
			if r.Found > 0 || !host && r.Compared() > 0 || !strings.Contains(strings.Join(r.Notes, " "), "there is nothing to compare") {
				t.Errorf("host's side %v: %d differences, %d compared, notes %q", host, r.Found, r.Compared(), r.Notes)
			}
		}
	}
}
