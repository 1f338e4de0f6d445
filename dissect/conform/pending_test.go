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

// TestFollows: a message comes after another one if either the model got it later or
// their sender sent it later: a transmission that the capture lacks may have been
// the first.
func TestFollows(t *testing.T) {
	for _, c := range []struct {
		name          string
		index, before int
		number, than  int64
		want          bool
	}{
		{"later in both", 2, 1, 38, 37, true},
		{"sent later, but a transmission of the other came before the capture", 1, 2, 38, 37, true},
		{"sent before, but got later", 2, 1, 37, 38, true},
		{"before in both", 1, 2, 37, 38, false},
		{"two messages because of the same one", 1, 2, 37, 37, false},
		{"without numbers", 1, 2, -1, -1, false},
	} {
		x := &expect{index: c.index, src: &source{number: c.number}}
		if got := x.follows(&ordered{index: c.before, src: &source{number: c.than}}); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
