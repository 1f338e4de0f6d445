package diff

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// A spot is a message that diff compares and that is never sent again.
type spot struct {
	frame, part int
	index       int // index of the frame
	from, end   int // where its bytes are in the deciphered datagram
	body        int // where its opcode is
	alone       bool
	conv        int
	dir         dissect.Dir
	reliable    bool
	fixed       []bool // bytes of the payload that are compared
}

// spots returns the spots of a capture in its order.
func spots(tb testing.TB, all []frame) (out []spot) {
	tb.Helper()
	index, parts := map[int]int{}, map[int]int{}
	for i := range all {
		index[all[i].Number] = i
	}
	type number struct {
		conv int
		dir  dissect.Dir
		seq  uint16
		op   byte
	}
	sent := map[number]int{}
	var numbers []number
	push(tb, all, sinkFunc(func(r *dissect.Record) error {
		parts[r.Datagram.Number]++
		if r.Kind != dissect.KindMessage || r.Transport.Type != transport.Standard || r.Transport.Fragment || len(r.Bytes) <= r.Transport.Size {
			return nil
		}
		n := number{r.Conversation, r.Dir, r.Transport.Seq, r.Bytes[r.Transport.Size]}
		if r.Transport.Reliable {
			sent[n]++
		}
		if r.Repeat || len(r.Payload) == 0 {
			return nil
		}
		s := spot{
			frame: r.Datagram.Number, part: r.Part, index: index[r.Datagram.Number], from: r.Offset, end: r.Offset + len(r.Bytes),
			body: r.Offset + r.Transport.Size, conv: r.Conversation, dir: r.Dir, reliable: r.Transport.Reliable, fixed: make([]bool, len(r.Payload)),
		}
		for i := range s.fixed {
			s.fixed[i] = i > 0
		}
		var w decode.Viewer
		r.Visit(&w, fieldFunc(func(f *decode.Field) {
			of := func(h decode.HostField) bool { return h.Name == f.Name }
			if f.Name == "game_time" || r.Spec != nil && slices.ContainsFunc(r.Spec.HostFields, of) {
				for i := f.Off; i < f.End; i++ {
					s.fixed[i] = false
				}
			}
		}))
		out, numbers = append(out, s), append(numbers, n)
		return nil
	}))
	kept := out[:0]
	for i, s := range out {
		if s.alone = parts[s.frame] == 1; sent[numbers[i]] <= 1 {
			kept = append(kept, s)
		}
	}
	return kept
}

func cloned(all []frame) []frame {
	out := slices.Clone(all)
	for i := range out {
		out[i].Payload = bytes.Clone(out[i].Payload)
	}
	return out
}

// changed are the captures with one change each, and the frames of stock hosts,
// OpenBC and their clients.
var changed = []string{"stock_client.pcap", "networked_battle.pcap", "join_flow.pcap", "opcode_tour.pcap", "forged_small.pcap", "lossy.pcap", "two_teams.pcap", "reliability/st_fire1.pcap.gz"}

// If one message is missing, altered, swapped with the next, or late, this is
// reported, and nothing else.
func TestOneChange(t *testing.T) {
	for _, name := range changed {
		t.Run(name, func(t *testing.T) {
			all := frames(t, name)
			from := spots(t, all)
			rng := rand.New(rand.NewPCG(1, 2))
			for range 6 {
				s := from[rng.IntN(len(from))]
				way := fmt.Sprintf("%v %v", s.dir, decode.Opcode(all[s.index].Payload[s.body]))

				b := cloned(all)
				f := &b[s.index]
				f.Payload = slices.Delete(f.Payload, s.from, s.end)
				if f.Payload[1]--; s.alone {
					b = slices.Delete(b, s.index, s.index+1)
				}
				expect(t, compare(t, all, b, Options{}), fmt.Sprintf("only-a a%d %s", s.frame, way))
				expect(t, compare(t, b, all, Options{}), fmt.Sprintf("only-b b%d %s", s.frame, way))

				b = cloned(all)
				k := 1
				for k < len(s.fixed) && !s.fixed[k] {
					k++
				}
				if k += rng.IntN(max(1, len(s.fixed)-k)); k < len(s.fixed) && s.fixed[k] {
					b[s.index].Payload[s.body+k] ^= 1 << rng.IntN(8)
					r := compare(t, all, b, Options{})
					if len(r.Findings) != 1 || r.Found != 1 || r.Findings[0].Kind != Differs || r.Findings[0].A.Frame != s.frame || r.Findings[0].B.Part != s.part {
						t.Errorf("frame %d part %d, byte %d: %q", s.frame, s.part, k, says(r))
					} else if len(r.Findings[0].Fields) == 0 {
						t.Errorf("frame %d part %d, byte %d: no field", s.frame, s.part, k)
					}
				}

				b = cloned(all)
				b[s.index].Time = b[s.index].Time.Add(700 * time.Millisecond)
				r := compare(t, all, b, Options{Timing: 500 * time.Millisecond})
				for _, v := range r.Findings { // all messages of the datagram are late
					if v.Kind != Timing || v.A.Frame != s.frame || v.Late != 700*time.Millisecond {
						t.Errorf("frame %d late: %q", s.frame, says(r))
					}
				}
				if r.Found == 0 || r.Found > len(all[s.index].Payload) {
					t.Errorf("frame %d late: %d found", s.frame, r.Found)
				}
			}

			// Neighbouring messages of a client, each the only one in its datagram.
			swapped := 0
			for i, s := range from {
				if swapped == 4 || !s.alone || s.dir != dissect.ToHost {
					continue
				}
				j := slices.IndexFunc(from[i+1:], func(o spot) bool { return o.conv == s.conv && o.dir == s.dir })
				if j < 0 {
					continue
				}
				o := from[i+1+j]
				same := bytes.Equal(all[s.index].Payload[s.body:], all[o.index].Payload[o.body:])
				if !o.alone || o.reliable != s.reliable || same || o.index > s.index+4 {
					continue
				}
				swapped++
				b := cloned(all)
				b[s.index].Payload, b[o.index].Payload = b[o.index].Payload, b[s.index].Payload
				expect(t, compare(t, all, b, Options{})) // overtaken on the way
				if !s.reliable {
					continue
				}
				for k := s.body - 2; k < s.body; k++ { // the number
					b[s.index].Payload[k], b[o.index].Payload[k+o.body-s.body] = b[o.index].Payload[k+o.body-s.body], b[s.index].Payload[k]
				}
				r := compare(t, all, b, Options{})
				if r.Found != 1 || r.Findings[0].Kind != Order || r.Findings[0].A.Frame < s.frame || r.Findings[0].A.Frame > o.frame {
					t.Errorf("frames %d and %d swapped: %q", s.frame, o.frame, says(r))
				}
			}
			if swapped == 0 && name != "opcode_tour.pcap" {
				t.Error("no frames to swap")
			}
		})
	}
}

// Captures of the same session lack frames at different places: each lacks
// exactly the messages in the frames that were removed from it.
func TestHoles(t *testing.T) {
	for _, name := range changed {
		t.Run(name, func(t *testing.T) {
			all := frames(t, name)
			rng := rand.New(rand.NewPCG(3, 4))
			lost := [2]map[int]bool{{}, {}}
			from := spots(t, all)
			times := map[string]int{}
			text := func(s spot) string {
				body := bytes.Clone(all[s.index].Payload[s.body:s.end])
				for i, fixed := range s.fixed[1:] {
					if !fixed {
						body[i+1] = 0
					}
				}
				return fmt.Sprintf("%d %v %x", s.conv, s.dir, body)
			}
			for _, s := range from {
				times[text(s)]++
			}
			for i := range 60 {
				if s := from[len(from)/4+rng.IntN(len(from)*3/4)]; s.alone && times[text(s)] == 1 && !lost[1-i%2][s.frame] {
					lost[i%2][s.frame] = true
				}
			}
			side := func(k int) []frame {
				return slices.DeleteFunc(slices.Clone(all), func(f frame) bool { return lost[k][f.Number] })
			}
			r := compare(t, side(0), side(1), Options{})
			for _, f := range r.Findings {
				switch {
				case f.Kind == OnlyA && lost[1][f.A.Frame], f.Kind == OnlyB && lost[0][f.B.Frame]:
				default:
					t.Errorf("%v", f.Kind)
				}
			}
			if want := len(lost[0]) + len(lost[1]); r.Found != want || want == 0 {
				t.Errorf("%d differences, want %d: %q", r.Found, want, says(r))
			}
		})
	}
}

// A retransmission stands for the original that one capture lacks.
func TestLostOriginal(t *testing.T) {
	all := frames(t, "reliability/st_mix_fix_drx.pcap.gz")
	type number struct {
		conv int
		dir  dissect.Dir
		seq  uint16
	}
	type original struct {
		frame, from, end int
		again            bool
	}
	sent := map[number]*original{}
	var originals []*original
	push(t, all, sinkFunc(func(r *dissect.Record) error {
		if n := (number{r.Conversation, r.Dir, r.Transport.Seq}); r.Kind == dissect.KindMessage && r.Transport.Type == transport.Standard && r.Transport.Reliable {
			if !r.Repeat {
				sent[n] = &original{frame: r.Datagram.Number, from: r.Offset, end: r.Offset + len(r.Bytes)}
				originals = append(originals, sent[n])
			} else if sent[n] != nil {
				sent[n].again = true
			}
		}
		return nil
	}))
	originals = slices.DeleteFunc(originals, func(o *original) bool { return !o.again })
	const tries = 12
	if len(originals) < tries {
		t.Fatalf("%d messages were sent again", len(originals))
	}
	for i := range tries {
		o := originals[i*len(originals)/tries]
		b := cloned(all)
		f := &b[at(t, b, o.frame)]
		f.Payload = slices.Delete(f.Payload, o.from, o.end)
		f.Payload[1]--
		expect(t, compare(t, all, b, Options{}))
		expect(t, compare(t, b, all, Options{}))
	}
}

// Datagrams that a snap length cut make no differences, whatever its length, and
// are counted.
func TestCut(t *testing.T) {
	for _, name := range []string{"stock_client.pcap", "networked_battle.pcap", "join_flow.pcap", "gamespy.pcap", "reliability/st_fire1.pcap.gz"} {
		for _, size := range []int{20, 30, 60, 250} {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				all := frames(t, name)
				a, b := New()
				push(t, all, a)
				cut := 0
				short := cloned(all)
				for i := range short {
					if f := &short[i]; len(f.Payload) > size {
						f.Full, f.Payload = len(f.Payload), f.Payload[:size]
						cut++
					}
				}
				push(t, short, b)
				r := Compare(a, b, Options{})
				if !r.Equal() || r.Cut < cut || cut == 0 && size < 250 {
					t.Errorf("%d datagrams cut, %d messages not compared: %q", cut, r.Cut, says(r))
				}
			})
		}
	}
}

// An anonymised copy has other texts of the same lengths, and zeros for
// undecoded bytes, such as the end of OpenBC's connect in frame 4.
func TestLengths(t *testing.T) {
	all := frames(t, "join_flow.pcap")
	b := cloned(all)
	k := bytes.Index(b[at(t, b, 4)].Payload, []byte{1, 0, 0, 0, 0x7f, 0})
	if k < 0 {
		t.Fatal("frame 4 is no connect of OpenBC's")
	}
	clear(b[at(t, b, 4)].Payload[k : k+6])
	expect(t, compare(t, all, b, Options{}), "differs a4 b4 c2s 0x00 body")
	for i := range b { // JoinFlowTest
		if n := bytes.Index(b[i].Payload, []byte("J\x00o\x00i\x00n\x00")); n >= 0 {
			b[i].Payload[n] = 'K'
		}
	}
	lengths := func(b []frame) *Report {
		x, y := New()
		x.Lengths, y.Lengths = true, true
		push(t, all, x)
		push(t, b, y)
		return Compare(x, y, Options{})
	}
	if r := compare(t, all, b, Options{}); r.Found < 2 {
		t.Errorf("%d differences", r.Found)
	}
	expect(t, lengths(b))
	i := at(t, b, 8) // the first checksums: they are no text
	b[i].Payload[len(b[i].Payload)-1] ^= 1
	expect(t, lengths(b), "differs a8 b8 c2s 0x21")
}
