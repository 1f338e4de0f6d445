package display

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// A byte stands for itself or not wherever in a string it is.
func TestStringAnywhere(t *testing.T) {
	for n := 1; n <= 24; n++ {
		for at := range n {
			for c := range 256 {
				in := []byte(strings.Repeat("~ a", 8)[:n])
				in[at] = byte(c)
				want := string(in)
				if c >= utf8.RuneSelf {
					want = string(in[:at]) + "\uFFFD" + string(in[at+1:])
				}
				text := AppendString(nil, in)
				var got string
				if err := json.Unmarshal(text, &got); err != nil || got != want {
					t.Fatalf("%q: got %s, %v", in, text, err)
				}
				if other := AppendString(nil, string(in)); !bytes.Equal(other, text) {
					t.Fatalf("%q: got %s, as bytes %s", in, other, text)
				}
				for _, b := range text {
					if b < ' ' || b > '~' {
						t.Fatalf("%q: got %q", in, text)
					}
				}
			}
		}
	}
}

// Numbers of few digits look as all others.
func TestInt(t *testing.T) {
	for _, v := range []int64{math.MinInt64, -100, -10, -1, 0, 1, 9, 10, 11, 90, 99, 100, 101, math.MaxInt64} {
		if got, want := string(AppendInt([]byte("n"), v)), "n"+strconv.FormatInt(v, 10); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
