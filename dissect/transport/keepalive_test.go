package transport

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// A keepalive is one byte if the datagram splits that way; a header after it is
// read only if nothing else fits.
func TestLongKeepalive(t *testing.T) {
	for _, tt := range []struct {
		name, hex string
		lens      []int
		err       error
	}{
		{"alone", "02 01 02", []int{1}, nil},
		{"long, last", "01 02 32 04 00 01 02 06 C0 03 00 03", []int{4, 6}, nil},
		{"long, first", "01 02 02 06 C0 04 00 03 32 04 00 01", []int{6, 4}, nil},
		{"long, nothing after it", "01 01 02 05 C0 03 00", []int{5}, nil},
		{"one byte, then an acknowledgement that looks like a header", "02 02 02 01 C0 00 00", []int{1, 4}, nil},
		{"neither fits", "02 01 02 06 C0 03 00 03 00", []int{1}, ErrExtra},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Split(fixtures.Unhex(t, tt.hex))
			if err != nil {
				t.Fatal(err)
			}
			var lens []int
			for {
				m, ok, err := s.Next()
				if err != nil || !ok {
					if !errors.Is(err, tt.err) {
						t.Errorf("got %v, want %v", err, tt.err)
					}
					break
				}
				lens = append(lens, m.Len)
				at := s.Offset()
				again, err := Append(nil, &m.Header, m.Body)
				if err != nil || !bytes.Equal(again, fixtures.Unhex(t, tt.hex)[at-m.Len:at]) {
					t.Errorf("written again: %x, %v", again, err)
				}
			}
			if len(lens) != len(tt.lens) {
				t.Fatalf("got %v, want %v", lens, tt.lens)
			}
			for i := range lens {
				if lens[i] != tt.lens[i] {
					t.Errorf("got %v, want %v", lens, tt.lens)
				}
			}
		})
	}
}
