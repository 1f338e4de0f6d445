package capture

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestPcapForms(t *testing.T) {
	const sec, fraction = 1_700_000_000, 123_456
	micro := time.Date(2023, 11, 14, 22, 13, 20, 123_456_000, time.UTC)
	nano := time.Date(2023, 11, 14, 22, 13, 20, 123_456, time.UTC)
	frame := udp4([]byte("hi"))
	for _, o := range []order{little, big} {
		record := pcapAppend(nil, o, sec, fraction, frame, len(frame))
		modified := join(record[:16], make([]byte, 8), record[16:])
		old := pcapStart(o, pcapMicro, 0, linkRaw)
		o.PutUint16(old[6:], 2)
		swapped := pcapAppend(nil, o, sec, fraction, frame[:29], len(frame)) // one byte cut
		o.PutUint32(swapped[8:], uint32(len(frame)))
		o.PutUint32(swapped[12:], 29)
		for _, tt := range []struct {
			name    string
			capture []byte
			want    time.Time
			digits  int8
			cut     bool
		}{
			{"microseconds", join(pcapStart(o, pcapMicro, 65535, linkRaw), record), micro, 6, false},
			{"nanoseconds", join(pcapStart(o, pcapNano, 65535, linkRaw), record), nano, 9, false},
			{"modified", join(pcapStart(o, pcapModified, 65535, linkRaw), modified), micro, 6, false},
			{"snap length 0", join(pcapStart(o, pcapMicro, 0, linkRaw), record), micro, 6, false},
			{"longer than the snap length", join(pcapStart(o, pcapMicro, 16, linkRaw), record), micro, 6, false},
			{"version 2.2 with lengths reversed", join(old, swapped), micro, 6, true},
			{"version 2.2 with lengths in order", join(old, record), micro, 6, false},
		} {
			t.Run(o.String()+", "+tt.name, func(t *testing.T) {
				d := one(t, tt.capture)
				if !d.Time.Equal(tt.want) || d.Digits != tt.digits {
					t.Errorf("got %v with %d digits, want %v with %d", d.Time, d.Digits, tt.want, tt.digits)
				}
				if d.Number != 1 || d.Truncated() != tt.cut || !strings.HasPrefix("hi", string(d.Payload)) {
					t.Errorf("got frame %d, %q of %d bytes", d.Number, d.Payload, d.Full)
				}
			})
		}
	}
}

// Times may be unordered, missing, or beyond their second.
func TestPcapTimes(t *testing.T) {
	frame := udp4(nil)
	b := pcapStart(little, pcapMicro, 0, linkRaw)
	for _, at := range [][2]uint32{{5, 0}, {0, 0}, {3, 2_500_000}, {0xffffffff, 0}} {
		b = pcapAppend(b, little, at[0], at[1], frame, len(frame))
	}
	all, stats := mustRead(t, b)
	for i, want := range []string{"1970-01-01T00:00:05Z", "1970-01-01T00:00:00Z", "1970-01-01T00:00:05.5Z", "2106-02-07T06:28:15Z"} {
		if got := all[i].Time.Format(time.RFC3339Nano); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if first, last := stats.FirstTime.Unix(), stats.LastTime.Unix(); first != 5 || last != 0xffffffff {
		t.Errorf("got %d to %d, want 5 to %d", first, last, uint32(0xffffffff))
	}
}

// Some programs write a network length of zero.
func TestPcapFullTooSmall(t *testing.T) {
	frame := udp4([]byte("hi"))
	b := pcapAppend(pcapStart(little, pcapMicro, 0, linkRaw), little, 0, 0, frame, 0)
	b = pcapAppend(b, little, 0, 0, frame[:10], 0)
	all, stats := mustRead(t, b)
	if len(all) != 1 || stats.Other.Malformed != 1 {
		t.Errorf("got %d datagrams and %+v, want 1 and one malformed", len(all), stats.Other)
	}
}

func TestPcapLargest(t *testing.T) {
	frame := append(udp4([]byte("hi")), make([]byte, maxFrame)...)[:maxFrame]
	for range 4 {
		if d := one(t, pcapOf(linkRaw, frame)); string(d.Payload) != "hi" {
			t.Errorf("got %q, want hi", d.Payload)
		}
	}
}

func TestPcapDamaged(t *testing.T) {
	frame := udp4([]byte("hi")) // 30 bytes
	sound := pcapOf(linkRaw, frame, frame)
	for _, o := range []order{little, big} {
		start := pcapAppend(pcapStart(o, pcapMicro, 0, linkRaw), o, 0, 0, frame, len(frame))
		start = pcapAppend(start, o, 0, 0, frame, len(frame))
		for _, size := range []uint32{maxFrame + 1, 0xfffffff0} {
			b := o.AppendUint32(bytes.Clone(start), 0)
			b = o.AppendUint32(b, 0)
			b = o.AppendUint32(b, size)
			b = o.AppendUint32(b, size)
			b = append(b, sound...)
			all, _, err := read(t, b)
			if len(all) != 2 || !errors.Is(err, ErrDamaged) || errors.Is(err, ErrCut) {
				t.Fatalf("got %d datagrams and %v, want 2 and damage", len(all), err)
			}
			if !strings.Contains(err.Error(), "test: damaged in frame 3 at byte 116: ") {
				t.Errorf("got %v, want frame and offset", err)
			}
		}
	}
}

// A truncated file is read up to its last complete record, and then reported.
func TestPcapEveryCut(t *testing.T) {
	frame := udp4([]byte("hi")) // 30 bytes, 46 with its header
	everyCut(t, pcapOf(linkRaw, frame, frame), pcapHeader, []int{24, 70, 116})
}

// everyCut reads every prefix of a capture. whole holds the offsets at which
// the n-th datagram is complete.
func everyCut(t *testing.T, capture []byte, header int, whole []int) {
	t.Helper()
	for n := range len(capture) + 1 {
		all, _, err := read(t, capture[:n])
		switch {
		case n == 0:
			if !errors.Is(err, ErrEmpty) {
				t.Errorf("got %v of nothing, want %v", err, ErrEmpty)
			}
			continue
		case n < 4:
			if !errors.Is(err, ErrNotCapture) {
				t.Errorf("got %v of %d bytes, want %v", err, n, ErrNotCapture)
			}
			continue
		case n < header:
			if !errors.Is(err, ErrCut) || !strings.Contains(err.Error(), "before the first frame") {
				t.Errorf("got %v of %d bytes, want %v", err, n, ErrCut)
			}
			continue
		}
		count, clean := -1, false
		for i, at := range whole {
			if n >= at {
				count, clean = i, n == at
			}
		}
		if len(all) != count || clean != (err == nil) || err != nil && !errors.Is(err, ErrCut) {
			t.Errorf("got %d datagrams and %v of %d bytes, want %d", len(all), err, n, count)
		}
	}
}
