package conform

import "testing"

// TestAlone: a copy is missing in a datagram that is there if those before and
// after it came in that.
func TestAlone(t *testing.T) {
	var d destination
	for _, b := range []delivery{{5, 11}, {1, 10}, {3, 10}} { // in any order
		d.brought.add(b.index, b.frame)
	}
	for index, want := range map[int]bool{0: true, 2: false, 4: true, 6: true} {
		if got := d.alone(&expect{index: index}); got != want {
			t.Errorf("%d: got %v, want %v", index, got, want)
		}
	}
	for i := range 2 * maxBrought {
		d.brought.add(10+i, i/2)
	}
	if n := len(d.brought); n > maxBrought {
		t.Errorf("%d deliveries are kept", n)
	}
	if !d.alone(&expect{index: 2}) {
		t.Error("it is not forgotten")
	}
}
