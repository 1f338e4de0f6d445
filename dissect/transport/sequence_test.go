package transport

import (
	"encoding/json"
	"testing"
	"testing/quick"
)

func TestClassifyExamples(t *testing.T) {
	list := examples(t, "reliability-window")
	if len(list) != 10 {
		t.Errorf("got %d examples, want 10", len(list))
	}
	// The examples' words for the actions.
	words := map[string]Action{"accept": ActionAccept, "duplicate": ActionSeen, "drop": ActionOutside}
	for _, e := range list {
		t.Run(e.Name, func(t *testing.T) {
			var want struct {
				Expected, Seq uint16
				Action        string
			}
			if err := json.Unmarshal(e.Expect, &want); err != nil {
				t.Fatal(err)
			}
			action, ok := words[want.Action]
			if !ok {
				t.Fatalf("action %q", want.Action)
			}
			if got := Classify(want.Expected, want.Seq); got != action {
				t.Errorf("got %v, want %v", got, action)
			}
		})
	}
}

func TestActionString(t *testing.T) {
	for a, want := range map[Action]string{ActionAccept: "accept", ActionSeen: "seen", ActionOutside: "outside", 9: "?"} {
		if got := a.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSequence(t *testing.T) {
	for _, tt := range []struct {
		name string
		bits uint8
		seq  []uint16
		want []int64
	}{
		{"from the start", 0, []uint16{0, 1, 2, 2, 1, 3}, []int64{0, 1, 2, 2, 1, 3}},
		{"from the middle", 16, []uint16{812, 813, 811}, []int64{812, 813, 811}},
		{"before the first", 0, []uint16{1, 0xFFFF, 0xFFFE, 2}, []int64{1, -1, -2, 2}},
		{"wrap", 0, []uint16{0xFFFE, 0xFFFF, 0, 1, 0xFFFF, 2}, []int64{65534, 65535, 65536, 65537, 65535, 65538}},
		{"wrap with a gap", 0, []uint16{0xFFF0, 0x10}, []int64{0xFFF0, 0x10010}},
		{"furthest ahead", 0, []uint16{0, 0x8000}, []int64{0, 0x8000}},
		{"furthest behind", 0, []uint16{0x9000, 0x1001, 0x1000}, []int64{0x9000, 0x1001, 0x11000}},
		{"255 to 0 with 16 bits", 0, []uint16{254, 255, 0}, []int64{254, 255, 0}},
		{"255 to 0 with 8 bits", 8, []uint16{254, 255, 0, 1, 255, 2}, []int64{254, 255, 256, 257, 255, 258}},
		{"furthest ahead with 8 bits", 8, []uint16{10, 138, 9}, []int64{10, 138, 265}},
		{"furthest behind with 8 bits", 8, []uint16{200, 73, 72}, []int64{200, 73, 328}},
		{"the high byte does not count with 8 bits", 8, []uint16{3, 0x104}, []int64{3, 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Sequence{Bits: tt.bits}
			if _, ok := s.Next(); ok {
				t.Error("Next knows a number before the first")
			}
			for i, seq := range tt.seq {
				if got := s.Unwrap(seq); got != tt.want[i] {
					t.Errorf("number %d, 0x%04X: got %d, want %d", i, seq, got, tt.want[i])
				}
			}
			top := tt.want[0]
			for _, n := range tt.want {
				top = max(top, n)
			}
			if n, ok := s.Next(); n != top+1 || !ok {
				t.Errorf("Next: got %d, %v, want %d", n, ok, top+1)
			}
		})
	}
}

// Of numbers within a quarter of the range, those that the stock game accepts
// do not come before the expected one, and those that it has seen do.
func TestSequenceAgreesWithClassify(t *testing.T) {
	for _, expected := range []uint16{0, 1, 5, 0x3FFF, 0x4000, 0x4001, 0x8000, 0xBFFF, 0xC000, 0xFFFE, 0xFFFF} {
		for seq := range 1 << 16 {
			s := Sequence{next: 1<<20 | int64(expected), begun: true}
			d := s.Unwrap(uint16(seq)) - (1<<20 | int64(expected))
			switch Classify(expected, uint16(seq)) {
			case ActionAccept:
				if d < 0 && d >= -window {
					t.Fatalf("expected %d, %d: accepted, got %d", expected, seq, d)
				}
			case ActionSeen:
				if d >= 0 {
					t.Fatalf("expected %d, %d: seen, got %d", expected, seq, d)
				}
			case ActionOutside:
				if d >= 0 && d < window {
					t.Fatalf("expected %d, %d: outside, got %d", expected, seq, d)
				}
			}
		}
	}
}

// A sender's bits may become known late.
func TestSequenceBitsChange(t *testing.T) {
	var s Sequence
	for seq := range 256 {
		s.Unwrap(uint16(seq))
	}
	s.Bits = 8
	for i := range 1000 {
		if got, want := s.Unwrap(uint16(i%256)), int64(256+i); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
	}
	s.Bits = 16
	if got := s.Unwrap(1256); got != 1256 {
		t.Errorf("got %d, want 1256", got)
	}
}

func TestSequenceProperties(t *testing.T) {
	for _, bits := range []uint8{8, 16} {
		mask, half := int64(1)<<bits-1, int64(1)<<(bits-1)
		if err := quick.Check(func(list []uint16) bool {
			s := Sequence{Bits: bits}
			for i, seq := range list {
				before, _ := s.Next()
				n := s.Unwrap(seq)
				after, _ := s.Next()
				if (n-int64(seq))&mask != 0 || after != max(before, n+1) {
					return false
				}
				if i > 0 && (n-before < -half || n-before >= half) {
					return false
				}
			}
			return true
		}, nil); err != nil {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
}
