package plural

import "testing"

func TestForm(t *testing.T) {
	const text = "%d {message was|messages were} left out{|, all of them}"
	for n, want := range map[int]string{
		0: "%d messages were left out, all of them", 1: "%d message was left out", 2: "%d messages were left out, all of them",
	} {
		if got := Form(n, text); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 frames", 1: "1 frame", 2: "2 frames", 999: "999 frames", 1000: "1,000 frames", 1234567: "1,234,567 frames"} {
		if got := Count(n, "frame"); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{-5: "-5", -123: "-123", -1234: "-1,234", 0: "0", 12345: "12,345"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestOr(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "A": {"A"}, "A or B": {"A", "B"}, "A, B or C": {"A", "B", "C"}} {
		if got := Or(words); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
