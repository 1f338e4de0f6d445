package transport

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

func TestAppend(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    Header
		body string
		want string
	}{
		// Properties fixed by the type need not be set.
		{"accept", Header{Type: Connect, Priority: true}, "02", "03 06 C0 00 00 02"},
		{"control without priority", Header{Type: BootPlayer, Seq: 2}, "04 02", "04 07 80 02 00 04 02"},
		{"control is never a fragment", Header{Type: Disconnect, Fragment: true, Index: 3}, "02", "05 06 80 00 00 02"},
		{"leave", Header{Type: Leave}, "", "06 02"},
		{"leave is never reliable", Header{Type: Leave, Reliable: true, Seq: 7}, "AA", "06 03 AA"},
		{"short keepalive", Header{Type: NameChange, Short: true}, "", "00 02"},
		{"keepalive", Header{Type: DoNothing, Reliable: true}, "", "02"},
		{"chat", Header{Type: Standard, Reliable: true, Seq: 1}, "2C 02 00 00 00 05 00 68 65 6C 6C 6F", "32 11 80 01 00 2C 02 00 00 00 05 00 68 65 6C 6C 6F"},
		{"unreliable has no number", Header{Type: Standard, Seq: 9}, "1C", "32 04 00 1C"},
		{"fragment 0", Header{Type: Standard, Reliable: true, Fragment: true, Seq: 2, Count: 3}, "21", "32 08 A0 02 00 00 03 21"},
		{"fragment 1 has no count", Header{Type: Standard, Reliable: true, Fragment: true, Seq: 2, Index: 1, Count: 3}, "21", "32 07 A0 02 00 01 21"},
		{"Len and Size are not used", Header{Type: Standard, Len: 99, Size: 99}, "1C", "32 04 00 1C"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := []byte{0xAA, 0xBB}
			got, err := Append(before, &tt.h, fixtures.Unhex(t, tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if want := append(before, fixtures.Unhex(t, tt.want)...); !bytes.Equal(got, want) {
				t.Errorf("got % X, want % X", got, want)
			}
		})
	}
}

func TestAppendErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    Header
		body int
		want error
		text string
	}{
		{"standard, largest", Header{Type: Standard}, 0x1FFF - 3, nil, ""},
		{"standard", Header{Type: Standard}, 0x1FFF - 2, ErrSize, "8192 bytes, type 0x32 holds 8191"},
		{"control, largest", Header{Type: NameChange}, 0x3FFF - 5, nil, ""},
		{"control", Header{Type: NameChange}, 0x3FFF - 4, ErrSize, "16384 bytes, type 0x00 holds 16383"},
		{"short form, largest", Header{Type: Connect, Short: true}, 253, nil, ""},
		{"short form", Header{Type: Connect, Short: true}, 254, ErrSize, "256 bytes, type 0x03 holds 255"},
		{"keepalive with a body", Header{Type: DoNothing}, 1, ErrSize, "body of 1 bytes, type 0x02 has none"},
		{"acknowledge with a body", Header{Type: Acknowledge}, 2, ErrSize, "body of 2 bytes, type 0x01 has none"},
		{"unknown type", Header{Type: 0x31}, 0, ErrType, "0x31"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Append(nil, &tt.h, make([]byte, tt.body))
			if tt.want == nil {
				if m, rest, e := Next(got); err != nil || e != nil || len(rest) > 0 || len(m.Body) != tt.body {
					t.Errorf("got %d bytes, %v, read back %v", len(got), err, e)
				}
				return
			}
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || got != nil {
				t.Errorf("got %d bytes, %v, want %v with %q", len(got), err, tt.want, tt.text)
			}
		})
	}
}

// Acknowledgements that followed these messages in the examples of a join and a
// leave.
func TestAckOf(t *testing.T) {
	for _, tt := range []struct{ name, message, want string }{
		{"connect", "03 06 C0 00 00 02", "01 00 00 02"},
		{"disconnect", "05 0A C0 02 00 02 0A 0A 0A EF", "01 02 00 02"},
		{"data", "32 06 80 27 00 28", "01 27 00 00"},
		{"sequence above 255", "32 06 80 FF 01 28", "01 FF 01 00"},
		{"fragment 0", "32 08 A0 02 00 00 03 21", "01 02 00 01 00"},
		{"fragment 2", "32 07 A0 02 00 02 21", "01 02 00 01 02"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _, err := Next(fixtures.Unhex(t, tt.message))
			if err != nil {
				t.Fatal(err)
			}
			ack := AckOf(&m.Header)
			got, err := Append(nil, &ack, nil)
			if err != nil || !bytes.Equal(got, fixtures.Unhex(t, tt.want)) {
				t.Fatalf("got % X, %v, want %s", got, err, tt.want)
			}
			back, _, err := Next(got)
			if err != nil {
				t.Fatal(err)
			}
			back.Len, back.Size = 0, 0
			if back.Header != ack || back.Control() != m.Control() {
				t.Errorf("read back: got %+v, want %+v", back.Header, ack)
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	var list []Message
	for _, d := range datagrams(b) {
		_, l, err := all(d)
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, l...)
	}
	out := make([]byte, 0, MaxDatagram)
	for b.Loop() {
		for i := range list {
			if _, err := Append(out, &list[i].Header, list[i].Body); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/message")
}
