package transport

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// A taken message is an input of a tracker and the expected verdict.
type taken struct {
	at    float64 // seconds
	seq   uint16
	text  string
	with  bool // with others in the datagram
	piece int  // fragment index, from 1

	number int64
	repeat bool
	late   bool
	gap    int
}

// give passes the message to a tracker.
func (m *taken) give(t *Tracker) Verdict {
	h := Header{Type: Standard, Reliable: true, HasSeq: true, Seq: m.seq}
	if m.piece > 0 {
		h.Fragment, h.Index = true, uint8(m.piece-1)
	}
	message := fmt.Appendf(nil, "%d %d %s", m.seq, m.piece, m.text)
	v := t.Take(&h, message, noon.Add(time.Duration(m.at*1e9)), !m.with)
	v.Forgot = false
	return v
}

// counted returns new messages with consecutive numbers from first, masked, at
// a given rate; every second message has the same bytes.
func counted(first, n int, mask uint16, perSecond float64) (list []taken) {
	for i := range n {
		list = append(list, taken{
			at: float64(i) / perSecond, seq: uint16(first+i) & mask, text: fmt.Sprint(i % 2), with: i%3 == 0, number: int64(first + i),
		})
	}
	return list
}

func then(list []taken, more ...taken) []taken { return append(list, more...) }

// own gives each message unique text.
func own(list []taken) []taken {
	for i := range list {
		list[i].text = fmt.Sprint(i)
	}
	return list
}

// without removes a message, which is then missing.
func without(list []taken, n int) []taken {
	list = slices.Delete(list, n, n+1)
	list[n].gap = 1
	return list
}

func TestTracker(t *testing.T) {
	for name, list := range map[string][]taken{
		"in order":          counted(0, 300, 0xFFFF, 10),
		"late start":        {{seq: 812, number: 812}, {seq: 813, number: 813}, {seq: 815, number: 815, gap: 1}},
		"before the first":  {{seq: 812, number: 812}, {seq: 810, number: 810}, {seq: 813, number: 813}},
		"below the first":   {{seq: 1, number: 1}, {seq: 0xFFFF, number: -1}, {seq: 2, number: 2}},
		"missing":           {{seq: 0}, {seq: 4, number: 4, gap: 3}},
		"late":              {{seq: 0}, {seq: 3, number: 3, gap: 2}, {seq: 1, number: 1, late: true}, {seq: 2, number: 2, late: true}, {seq: 4, number: 4}},
		"late, then again":  {{seq: 0}, {seq: 2, number: 2, gap: 1}, {seq: 1, number: 1, late: true}, {at: 1, seq: 1, number: 1, repeat: true}},
		"other bytes":       {{seq: 0, text: "a"}, {seq: 0, text: "b"}, {seq: 1, number: 1}},
		"overtaken":         {{seq: 5, number: 5}, {at: 0.02, seq: 7, number: 7, gap: 1}, {at: 0.01, seq: 6, number: 6, late: true}, {at: 0.02, seq: 8, number: 8}},
		"twice on the way":  {{seq: 5, number: 5, with: true}, {at: 0.001, seq: 5, number: 5, with: true, repeat: true}, {seq: 6, number: 6}},
		"wrap of 16 bits":   {{seq: 65534, number: 65534}, {seq: 65535, number: 65535}, {seq: 1, number: 65537, gap: 1}, {seq: 0, number: 65536, late: true}, {at: 1, seq: 65535, number: 65535, repeat: true}},
		"16 bits past 255":  {{seq: 254, number: 254}, {seq: 255, number: 255}, {seq: 256, number: 256}, {seq: 258, number: 258, gap: 1}, {seq: 2, number: 2}},
		"stock repetitions": {{seq: 0}, {at: 1, seq: 0, repeat: true}, {at: 3, seq: 0, repeat: true}, {at: 6, seq: 0, repeat: true}, {at: 10, seq: 0, repeat: true, with: true}, {at: 355, seq: 0, repeat: true}},
		"stock repetition past 255": then(own(counted(0, 400, 0xFFFF, 10)),
			taken{at: 41, seq: 200, text: "200", with: true, number: 200, repeat: true},
			taken{at: 43, seq: 200, text: "200", with: true, number: 200, repeat: true},
			taken{at: 44, seq: 400, number: 400}),
		"far ahead":                   {{seq: 0}, {seq: 0x7000, number: 0x7000, gap: 0x6FFF}, {seq: 1, number: 1}, {seq: 0x6FFF, number: 0x6FFF, late: true}},
		"wrap of 8 bits":              {{seq: 254, number: 254}, {seq: 255, number: 255}, {seq: 0, number: 256}, {seq: 2, number: 258, gap: 1}, {seq: 1, number: 257, late: true}, {seq: 3, number: 259}},
		"wrap with a gap":             {{seq: 250, number: 250}, {seq: 3, number: 259, gap: 8}},
		"same bytes a lap later":      counted(0, 1500, 0xFF, 15),
		"same bytes within the times": counted(0, 3000, 0xFF, 100),
		"the number that comes next, though said before": then(own(counted(0, 256, 0xFF, 100)),
			taken{at: 4, seq: 0, text: "0", with: true, number: 256}, taken{at: 4, seq: 1, text: "1", with: true, number: 257}),
		"repeated after a lap": then(own(counted(0, 300, 0xFF, 100)),
			taken{at: 3.2, seq: 20, text: "20", number: 20, repeat: true}, taken{at: 5.3, seq: 20, text: "20", number: 20, repeat: true},
			taken{at: 5.3, seq: 44, number: 300}),
		// 60 is 16 numbers ahead: no gap at the time of a retransmission, and a gap
		// at any other.
		"ahead, in time":     then(own(counted(0, 300, 0xFF, 100)), taken{at: 3, seq: 60, text: "60", number: 60, repeat: true}),
		"ahead, with others": then(own(counted(0, 300, 0xFF, 100)), taken{at: 3, seq: 60, text: "60", with: true, number: 316, gap: 16}),
		"ahead, too soon":    then(own(counted(0, 300, 0xFF, 150)), taken{at: 2.1, seq: 60, text: "60", number: 316, gap: 16}),
		"long ago":           then(own(counted(0, 300, 0xFF, 100)), taken{at: 200, seq: 44 + 100, text: "144", number: 400, gap: 100}),
		// Bytes that are equal in every lap do not distinguish an outage of the
		// capture from retransmissions.
		"outage":                   then(counted(0, 400, 0xFF, 15), taken{at: 31, seq: 204, text: "0", number: 460, gap: 60}, taken{at: 31.1, seq: 205, text: "1", number: 461}),
		"outage, longer":           then(counted(0, 400, 0xFF, 15), taken{at: 37, seq: 44, text: "0", number: 556, gap: 156}, taken{at: 37.1, seq: 45, text: "1", number: 557}),
		"doubled, and same bytes":  then(counted(0, 400, 0xFF, 15), taken{at: 26.61, seq: 143, text: "1", with: true, number: 399, repeat: true}, taken{at: 26.7, seq: 144, text: "0", number: 400}),
		"repeated, and same bytes": then(counted(0, 400, 0xFF, 15), taken{at: 29, seq: 143, text: "1", number: 399, repeat: true}, taken{at: 29, seq: 144, text: "0", number: 400}),
		"missing, and a lap later": {
			{seq: 0}, {seq: 100, number: 100, gap: 99}, {seq: 250, number: 250, gap: 149}, {seq: 20, number: 276, gap: 25}, // 8 bits
			{at: 3, seq: 90, number: 90, late: true}, {at: 3, seq: 21, number: 277},
		},
		"the first number of more than 8 bits": {{seq: 255, number: 255}, {seq: 256, number: 256}, {seq: 0, text: "other"}},
		// 32 numbers ahead begins the range where a number from before is more likely.
		"missing, 32 ahead": then(without(own(counted(0, 300, 0xFF, 100)), 76),
			taken{at: 3, seq: 76, text: "late", number: 76, late: true}),
		"missing, three laps ago": then(without(own(counted(0, 900, 0xFF, 100)), 100),
			taken{at: 9, seq: 100, text: "late", number: 100, late: true}),
		"unknown, 128 ahead":              then(own(counted(0, 300, 0xFF, 100)), taken{at: 3, seq: 172, text: "other", number: 172}),
		"from before the start, 32 ahead": then(own(counted(200, 50, 0xFF, 100)), taken{at: 3, seq: 26, text: "other", number: 26}),
		"first fragments of consecutive messages": {
			{seq: 0, piece: 1},
			{seq: 0, piece: 255},
			{seq: 1, piece: 1, number: 1},
			{at: 2, seq: 0, piece: 1, repeat: true},
			{at: 2, seq: 0, piece: 255, repeat: true},
			{at: 2, seq: 1, piece: 1, number: 1, repeat: true},
		},
		"fragments": {
			{seq: 2, piece: 1, number: 2},
			{seq: 2, piece: 2, number: 2},
			{at: 1, seq: 2, piece: 1, number: 2, repeat: true},
			{at: 1, seq: 3, number: 3},
			{at: 1.5, seq: 2, piece: 3, number: 2},
			{at: 2, seq: 2, piece: 3, number: 2, repeat: true},
			{seq: 5, piece: 2, number: 5, gap: 1},
			{seq: 4, piece: 1, number: 4, late: true},
			{seq: 4, piece: 2, number: 4},
			{seq: 6, number: 6},
		},
		"fragments with numbers above 255": {
			{seq: 700, piece: 1, number: 700},
			{seq: 700, piece: 2, number: 700},
			{at: 3, seq: 700, piece: 1, number: 700, repeat: true},
			{seq: 700, piece: 1, text: "other", number: 700},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var tr Tracker
			for i := range list {
				m := &list[i]
				if got, want := m.give(&tr), (Verdict{Number: m.number, Repeat: m.repeat, Late: m.late, Gap: m.gap}); got != want {
					t.Fatalf("message %d, %+v: got %+v, want %+v", i, *m, got, want)
				}
			}
		})
	}
}

// Control messages have separate numbers, and a new connection starts anew.
func TestTrackerSpaces(t *testing.T) {
	var tr Tracker
	name := Header{Type: NameChange, Reliable: true, HasSeq: true}
	for i, want := range []Verdict{{}, {Repeat: true}} {
		if got := tr.Take(&name, []byte("name"), noon.Add(time.Duration(i)*time.Second), true); got != want {
			t.Errorf("name %d: got %+v, want %+v", i, got, want)
		}
	}
	m := taken{seq: 7, number: 7}
	if got := m.give(&tr); got != (Verdict{Number: 7}) {
		t.Errorf("data: got %+v", got)
	}
	tr.Reset()
	m = taken{at: 1, seq: 7, number: 7}
	if got := m.give(&tr); got != (Verdict{Number: 7}) {
		t.Errorf("after Reset: got %+v", got)
	}
	if got := tr.Take(&name, []byte("name"), noon, true); got != (Verdict{}) {
		t.Errorf("name after Reset: got %+v", got)
	}
}

// server simulates a server like OpenBC's: 8-bit numbers, and once a second a
// retransmission, each in its own datagram, of the messages that have waited
// for two seconds.
func server(perSecond float64, alike bool, lost float64, random *rand.Rand) (list []taken) {
	type unanswered struct {
		m  taken
		at float64
	}
	var queue []unanswered
	look := 0.7
	for n := 0; n < 2500; {
		now := look
		if next := float64(n) / perSecond; next < look {
			m := taken{at: next, seq: uint16(uint8(n)), text: "same", with: random.IntN(3) == 0, number: int64(n)}
			if !alike {
				m.text = fmt.Sprint(n)
			}
			list = append(list, m)
			if random.Float64() < lost {
				queue = append(queue, unanswered{m, next})
			}
			n++
			continue
		}
		look += 0.985 + random.Float64()*0.02
		kept := queue[:0]
		for _, u := range queue {
			if now-u.at >= 2 {
				u.m.at, u.m.with, u.m.repeat = now, false, true
				list = append(list, u.m)
				now += 30e-6
				if u.at = now; random.Float64() >= lost {
					continue
				}
			}
			kept = append(kept, u)
		}
		queue = kept
	}
	return list
}

// TestTrackerOfServer: at the speed of battles, and for unique chat lines at
// any speed, no message is mistaken for another.
func TestTrackerOfServer(t *testing.T) {
	for _, c := range []struct {
		perSecond float64
		alike     bool
	}{{5, true}, {15, true}, {30, true}, {5, false}, {30, false}, {60, false}, {75, false}} {
		t.Run(fmt.Sprintf("%v a second, alike %v", c.perSecond, c.alike), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			list := server(c.perSecond, c.alike, 0.04, random)
			var tr Tracker
			repeats := 0
			for _, m := range list {
				v := m.give(&tr)
				if m.repeat {
					repeats++
				}
				if v.Repeat != m.repeat || !c.alike && v.Number != m.number || v.Gap > 0 {
					t.Fatalf("%+v: got %+v", m, v)
				}
			}
			if repeats < 60 {
				t.Errorf("only %d repetitions", repeats)
			}
			// Missing messages must be exactly the gaps, or arrive late.
			tr = Tracker{}
			wrong, gaps, late := 0, 0, 0
			first := map[int64]bool{}
			for i, m := range list {
				if i > 0 && i < len(list)-100 && random.Float64() < 0.02 {
					continue
				}
				v := m.give(&tr)
				gaps += v.Gap
				if v.Late {
					late++
				}
				if v.Repeat && !m.repeat {
					wrong++
				}
				first[m.number] = true
			}
			if most := len(list) / 1000; wrong > most || !c.alike && wrong > 0 {
				t.Errorf("%d of %d messages are wrongly repetitions", wrong, len(list))
			}
			if lost := 2500 - len(first) + wrong; gaps-late != lost {
				t.Errorf("%d numbers are missing, %d of them came: want %d left", gaps, late, lost)
			}
		})
	}
}

// The bits must agree with a set of all numbers.
func TestMissingLikeASet(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		missing := map[int64]bool{}
		var tr Tracker
		next, begun := int64(random.IntN(2000))+300, false
		for i := range 400 {
			n := next + int64(random.IntN(5)) - 1
			switch random.IntN(20) {
			case 0:
				n = next + int64(random.IntN(3000))
			case 1, 2, 3:
				n = next - int64(random.IntN(1500))
			}
			if n < 256 || n > 65000 { // 16 bits, without a wrap
				continue
			}
			m := taken{seq: uint16(n), text: fmt.Sprint(i)}
			v := m.give(&tr)
			if !begun {
				next, begun = n, true
			}
			want := Verdict{Number: n}
			if n >= next {
				want.Gap = int(n - next)
				for ; next < n; next++ {
					missing[next] = true
				}
				next = n + 1
			} else {
				want.Late = missing[n] && next-n <= MaxMissing
				delete(missing, n)
			}
			if v != want {
				t.Fatalf("%d after %d: got %+v, want %+v", n, next, v, want)
			}
		}
	}
}

func TestTrackerForgets(t *testing.T) {
	var tr Tracker
	h := Header{Type: Standard, Reliable: true, HasSeq: true}
	take := func(n int, at time.Duration) Verdict {
		h.Seq = uint16(n)
		return tr.Take(&h, binary.LittleEndian.AppendUint32(nil, uint32(n)), noon.Add(at), true)
	}
	forgot := 0
	for n := range (Laps + 1) * lap {
		if take(n, time.Duration(n)).Forgot {
			forgot++
		}
	}
	if forgot != lap {
		t.Errorf("forgot %d messages, want %d", forgot, lap)
	}
	if !take(lap, time.Second).Repeat || take(lap-1, time.Second).Repeat {
		t.Error("the oldest are not those that were forgotten")
	}
	// These take the places of lap+1 and lap+2: a message is retransmitted for a
	// minute.
	if take((Laps+1)*lap+1, lap+1+time.Minute).Forgot {
		t.Error("a message that nobody repeats any more counts as forgotten")
	}
	if !take((Laps+1)*lap+2, lap+2+time.Minute-1).Forgot {
		t.Error("a message that may be repeated does not count as forgotten")
	}
}

// A message takes the place of the one Laps laps before, also in a clone of the
// tracker. Messages to the original tracker do not change the clone.
func TestTrackerForgetsByLap(t *testing.T) {
	var tr Tracker
	at := noon
	take := func(tr *Tracker, n int) Verdict {
		at = at.Add(time.Millisecond)
		h := Header{Type: Standard, Reliable: true, HasSeq: true, Seq: uint16(n)}
		return tr.Take(&h, binary.LittleEndian.AppendUint32(nil, uint32(n)), at, true)
	}
	for n := range Laps * lap {
		take(&tr, n)
	}
	for _, n := range []int{3 * lap, 0, 5 * lap} {
		if !take(&tr, n).Repeat {
			t.Fatalf("%d is not known again", n)
		}
	}
	clone := tr.Clone()
	for _, tr := range []*Tracker{&tr, &clone} {
		for n := Laps; n < Laps+6; n++ {
			take(tr, n*lap)
		}
		for n, want := range []bool{6: true, 7: true} {
			h := Header{Type: Standard, Reliable: true, HasSeq: true, Seq: uint16(n * lap)}
			probe := tr.Clone()
			if got := probe.Take(&h, binary.LittleEndian.AppendUint32(nil, uint32(n*lap)), at, true).Repeat; got != want {
				t.Errorf("message of lap %d known: %v, want %v", n, got, want)
			}
		}
	}
	tr.Reset()
	if take(&tr, 0).Repeat || !take(&tr, 0).Repeat {
		t.Error("after a reset, a message is not new and then known")
	}
}

// TestTrackerRests frees the tables when nothing more is sent again: after a minute of
// silence, or after ten seconds if the connection has ended. The numbers go on.
func TestTrackerRests(t *testing.T) {
	for _, ended := range []bool{false, true} {
		silence := 60.0
		if ended {
			silence = 10
		}
		var k Tracker
		for _, m := range then(counted(250, 20, 0xFFFF, 10), taken{seq: 271, at: 3}) {
			m.give(&k)
		}
		at := func(seconds float64) time.Time { return noon.Add(time.Duration(seconds * 1e9)) }
		if k.Rest(at(3+silence-0.1), ended); k.Memory() == 0 {
			t.Errorf("ended %t: the tables are gone too early", ended)
		}
		if k.Rest(at(3+silence), ended); k.Memory() != 0 {
			t.Errorf("ended %t: %d bytes after the silence", ended, k.Memory())
		}
		for _, m := range []taken{{seq: 270, number: 270, late: true}, {seq: 272, number: 272}, {seq: 273, number: 273}, {seq: 273, number: 273, repeat: true}} {
			m.at = 4 + silence
			if v := m.give(&k); v.Number != m.number || v.Late != m.late || v.Repeat != m.repeat || v.Gap != 0 {
				t.Errorf("ended %t: %+v gives %+v", ended, m, v)
			}
		}
	}
}

func TestTrackerDoesNotAllocate(t *testing.T) {
	var tr Tracker
	messages := counted(0, (Laps+2)*lap, 0xFF, 100)
	h := Header{Type: Standard, Reliable: true, HasSeq: true}
	body := make([]byte, 30)
	i := 0
	step := func() {
		h.Seq, h.Fragment, h.Index = messages[i%len(messages)].seq, i%7 == 0, uint8(i)
		body[0], body[1] = byte(h.Seq), byte(i>>8)
		tr.Take(&h, body, noon.Add(time.Duration(i)*time.Millisecond), true)
		i++
	}
	for range 2 * len(messages) {
		step()
	}
	if n := testing.AllocsPerRun(5000, step); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

// FuzzTracker gives a tracker arbitrary messages. A number keeps the bits sent,
// a retransmission has an earlier message, and missing numbers are between the
// first and the last.
func FuzzTracker(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 1, 0, 0, 2, 2, 0, 0, 3, 255, 0, 1, 0, 0, 0, 0, 1})
	f.Add([]byte{255, 255, 0, 1, 0, 0, 0, 2, 1, 0, 0, 3, 0, 0, 0, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		var tr Tracker
		type seen struct {
			class, piece bool
			index        uint8
			seq          uint16
			text         byte
		}
		before := map[seen]bool{}
		now := noon
		var sum [2]int
		var low, high [2]int64
		var begun [2]bool
		for ; len(b) >= 4; b = b[4:] {
			h := Header{Type: Standard, HasSeq: true, Seq: binary.LittleEndian.Uint16(b), Fragment: b[2]&1 != 0}
			class := 1
			if b[2]&2 != 0 {
				h.Type, h.Fragment, class = NameChange, false, 0
			}
			if h.Fragment {
				h.Index = b[2] >> 4
			}
			key := seen{class == 0, h.Fragment, h.Index, h.Seq, b[3] & 3}
			now = now.Add(time.Duration(int8(b[3])) * 50 * time.Millisecond)
			message := []byte{byte(class), h.Index, byte(h.Seq), byte(h.Seq >> 8), b[3] & 3, b[2] & 1}
			v := tr.Take(&h, message, now, b[2]&4 != 0)
			if uint8(v.Number) != uint8(h.Seq) {
				t.Fatalf("number 0x%04X has become %d", h.Seq, v.Number)
			}
			if h.Seq >= lap && uint16(v.Number) != h.Seq {
				t.Fatalf("number 0x%04X with 16 bits has become %d", h.Seq, v.Number)
			}
			if v.Repeat && (!before[key] || v.Gap != 0 || v.Late || v.Forgot) {
				t.Fatalf("%+v: got %+v", key, v)
			}
			before[key] = true
			if !begun[class] {
				begun[class], low[class], high[class] = true, v.Number, v.Number
			}
			if v.Gap < 0 || v.Gap > 0 && v.Number-int64(v.Gap) != high[class]+1 {
				t.Fatalf("%+v after %d", v, high[class])
			}
			sum[class] += v.Gap
			if v.Late {
				sum[class]--
			}
			high[class] = max(high[class], v.Number)
			if left := int64(sum[class]); left < 0 || left > high[class]-low[class] {
				t.Fatalf("%d numbers are missing from %d to %d", left, low[class], high[class])
			}
			if b[3] == 0xEE && b[2] == 0xEE {
				tr.Reset()
				clear(before)
				sum, begun = [2]int{}, [2]bool{}
			}
		}
	})
}

func BenchmarkTracker(b *testing.B) {
	var tr Tracker
	h := Header{Type: Standard, Reliable: true, HasSeq: true}
	message := make([]byte, 30)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.Seq = uint16(uint8(i))
		message[3], message[4] = byte(i), byte(i>>8)
		tr.Take(&h, message, noon.Add(time.Duration(i)*10*time.Millisecond), true)
	}
}
