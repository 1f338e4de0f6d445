package extract

import "testing"

// Frames are counted as the copy holds them.
func TestNumbers(t *testing.T) {
	var n numbers
	for _, frame := range []int{2, 3, 63, 64, 130, 500} {
		n.add(frame)
	}
	for frame, want := range map[int]int{-1: 0, 0: 0, 1: 0, 2: 1, 3: 2, 4: 0, 63: 3, 64: 4, 65: 0, 130: 5, 499: 0, 500: 6, 501: 0, 9999: 0} {
		if got := n.of(frame); got != want {
			t.Errorf("frame %d: got %d, want %d", frame, got, want)
		}
	}
}
