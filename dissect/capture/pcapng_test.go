package capture

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/fixtures"
)

// Two sections of different byte order, each with its own interfaces, and
// blocks to skip between them.
func TestPcapngSections(t *testing.T) {
	ethernet := fixtures.Unhex(t, macs+"08 00"+hi4)
	raw := fixtures.Unhex(t, hi6)
	null := fixtures.Unhex(t, "02 00 00 00"+hi4)
	b := join(
		section(little),
		iface(little, linkEthernet, 0, option(little, 2, 'e', 't', 'h', '0'), option(little, 9, 9), option(little, 0)),
		block(little, 4, []byte{0, 0, 0, 0}),          // name resolution
		block(little, 0x0bad, make([]byte, 32)),       // custom
		block(little, 0x80000001, make([]byte, 5)),    // local use
		block(little, 10, bytes.Repeat([]byte{7}, 9)), // decryption secrets
		enhanced(little, 0, 1_700_000_000_000_000_001, ethernet, len(ethernet), option(little, 1, []byte("a comment")...), option(little, 0)),
		iface(little, linkRaw, 0),
		enhanced(little, 1, 1_700_000_000_000_002, raw, len(raw)),
		block(little, 5, make([]byte, 12)), // statistics
		section(big),
		iface(big, linkNull, 0),
		enhanced(big, 0, 1_700_000_000_000_003, null, len(null)),
		section(little),
	)
	all, stats := mustRead(t, b)
	var got []string
	for _, d := range all {
		got = append(got, fmt.Sprintf("%d %s %d %v %s", d.Number, d.Time.Format("15:04:05.000000000"), d.Digits, d.Src, d.Payload))
	}
	want := []string{
		"1 22:13:20.000000001 9 10.0.0.1:1000 hi",
		"2 22:13:20.000002000 6 [fd00::1]:1000 hi",
		"3 22:13:20.000003000 6 10.0.0.1:1000 hi",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	if stats.Frames != 3 {
		t.Errorf("got %d frames, want 3", stats.Frames)
	}
}

func TestPcapngPackets(t *testing.T) {
	frame := fixtures.Unhex(t, hi4)
	padded := append(bytes.Clone(frame), 0xaa, 0xaa) // a simple packet's padding could look like this
	for _, o := range []order{little, big} {
		obsolete := o.AppendUint16(nil, 1)
		obsolete = o.AppendUint16(obsolete, 0xffff)
		for _, v := range []uint32{0, 7_000_000, 29, 30} {
			obsolete = o.AppendUint32(obsolete, v)
		}
		b := join(
			section(o),
			iface(o, linkRaw, 29),
			iface(o, linkRaw, 0),
			enhanced(o, 0, 5_000_000, frame[:29], 30),
			simple(o, frame[:29], 30), // cut by the snap length of the first interface
			simple(o, padded, 28),     // shorter than its block
			block(o, ngPacket, obsolete, pad4(frame[:29]), option(o, 0)),
			enhanced(o, 1, 9_000_000, frame, 30),
			enhanced(o, 2, 9_000_000, frame, 30), // there is no third interface
		)
		all, stats := mustRead(t, b)
		var got []string
		for _, d := range all {
			got = append(got, fmt.Sprintf("%d@%d %q/%d", d.Number, d.Time.Unix(), d.Payload, d.Full))
		}
		// The second frame has no timestamp; the third ends behind the UDP header.
		want := `[1@5 "h"/2 2@5 "h"/2 3@5 ""/2 4@7 "h"/2 5@9 "hi"/2]`
		if fmt.Sprint(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if stats.Other.NoInterface != 1 || stats.Frames != 6 {
			t.Errorf("got %+v, want one of no interface", stats)
		}
	}
}

func TestPcapngSimpleFirst(t *testing.T) {
	d := one(t, join(section(little), iface(little, linkRaw, 0), simple(little, udp4(nil), 28)))
	if d.Time.Unix() != 0 {
		t.Errorf("got %v, want 1970", d.Time)
	}
}

func TestPcapngResolution(t *testing.T) {
	tests := []struct {
		resol  byte
		stamp  uint64
		offset int64
		want   string
		digits int8
	}{
		{6, 1_700_000_000_123_456, 0, "2023-11-14T22:13:20.123456Z", 6},
		{9, 1_700_000_000_123_456_789, 0, "2023-11-14T22:13:20.123456789Z", 9},
		{3, 1_700_000_000_123, 0, "2023-11-14T22:13:20.123Z", 3},
		{0, 1_700_000_000, 0, "2023-11-14T22:13:20Z", 0},
		{1, 17_000_000_005, 0, "2023-11-14T22:13:20.5Z", 1},
		{10, 17_000_000_001_234_567_899, 0, "2023-11-14T22:13:20.123456789Z", 9},
		{12, 1_500_000_000_000, 0, "1970-01-01T00:00:01.5Z", 9},
		{19, 15_000_000_000_000_000_000, 0, "1970-01-01T00:00:01.5Z", 9},
		{20, 15_000_000_000_000_000_000, 0, "1970-01-01T00:00:00.15Z", 9},
		{28, 10_000_000_000_000_000_000, 0, "1970-01-01T00:00:00.000000001Z", 9},
		{29, 1<<64 - 1, 0, "1970-01-01T00:00:00Z", 9},
		{64, 1<<64 - 1, 0, "1970-01-01T00:00:00Z", 9},
		{127, 1<<64 - 1, 0, "1970-01-01T00:00:00Z", 9},
		{0x80, 1_700_000_000, 0, "2023-11-14T22:13:20Z", 0},
		{0x81, 3, 0, "1970-01-01T00:00:01.5Z", 1},
		{0x80 | 10, 1_700_000_000<<10 | 256, 0, "2023-11-14T22:13:20.25Z", 4},
		{0x80 | 32, 1_700_000_000<<32 | 1<<31, 0, "2023-11-14T22:13:20.5Z", 9},
		{0x80 | 63, 3 << 62, 0, "1970-01-01T00:00:01.5Z", 9},
		{0xc0, 1 << 63, 0, "1970-01-01T00:00:00.5Z", 9},
		{0xc1, 1 << 63, 0, "1970-01-01T00:00:00.25Z", 9},
		{0xff, 1<<64 - 1, 0, "1970-01-01T00:00:00Z", 9},
		{6, 1_000_000, 1_699_999_999, "2023-11-14T22:13:20Z", 6},
		{6, 2_500_000, -1, "1970-01-01T00:00:01.5Z", 6},
		{6, 500_000, -1, "1969-12-31T23:59:59.5Z", 6},
		{0, 1<<64 - 1, 0, "9999-12-31T23:59:59Z", 0},
		{0, 0, 1<<63 - 1, "9999-12-31T23:59:59Z", 0},
		{0, 0, -1 << 63, "0001-01-01T00:00:00Z", 0},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%#02x %d %d", tt.resol, tt.stamp, tt.offset), func(t *testing.T) {
			for _, o := range []order{little, big} {
				d := one(t, join(
					section(o),
					iface(o, linkRaw, 0, option(o, 9, tt.resol), option(o, 14, o.AppendUint64(nil, uint64(tt.offset))...)),
					enhanced(o, 0, tt.stamp, udp4(nil), 28),
				))
				if got := d.Time.Format(time.RFC3339Nano); got != tt.want || d.Digits != tt.digits {
					t.Errorf("got %s with %d digits, want %s with %d", got, d.Digits, tt.want, tt.digits)
				}
			}
		})
	}
}

// Malformed options are skipped.
func TestPcapngOptions(t *testing.T) {
	tests := []struct {
		name    string
		options []byte
		digits  int8
	}{
		{"none", nil, 6},
		{"end without a length", []byte{0, 0}, 6},
		{"behind the end", join(option(little, 0), option(little, 9, 9)), 6},
		{"of two bytes", option(little, 9, 9, 9), 6},
		{"of no bytes", option(little, 9), 6},
		{"beyond the block", []byte{9, 0, 200, 0, 9, 0, 0, 0}, 6},
		{"padding beyond the block", []byte{2, 0, 1, 0}, 6},
		{"twice", join(option(little, 9, 3), option(little, 9, 9)), 9},
		{"offset of four bytes", join(option(little, 14, 1, 0, 0, 0), option(little, 9, 9)), 9},
		{"behind others", join(option(little, 2, 'l', 'o'), option(little, 12, make([]byte, 65000)...), option(little, 9, 9)), 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := one(t, join(section(little), iface(little, linkRaw, 0, tt.options), enhanced(little, 0, 1, udp4(nil), 28)))
			if d.Digits != tt.digits || d.Time.Unix() != 0 {
				t.Errorf("got %d digits at %v, want %d", d.Digits, d.Time, tt.digits)
			}
		})
	}
}

func TestPcapngMinorVersion(t *testing.T) {
	for _, minor := range []uint16{0, 1, 2, 999} {
		b := section(big)
		big.PutUint16(b[14:], minor)
		one(t, join(b, iface(big, linkRaw, 0), enhanced(big, 0, 1, udp4(nil), 28)))
	}
}

// Blocks and frames over the size limit are counted or skipped.
func TestPcapngLarge(t *testing.T) {
	frame := udp4([]byte("hi"))
	long := append(bytes.Clone(frame), make([]byte, maxFrame)...)
	b := join(
		section(little),
		iface(little, linkRaw, 0),
		block(little, 0x0bad, make([]byte, 3*bufferSize)),
		enhanced(little, 0, 1, frame, 30, option(little, 1, make([]byte, 60000)...)),
		enhanced(little, 0, 1, long, len(long)),
		enhanced(little, 0, 1, make([]byte, 2*bufferSize), 2*bufferSize),
		enhanced(little, 0, 1, frame, 30),
	)
	all, stats := mustRead(t, b)
	if len(all) != 2 || all[1].Number != 4 || stats.Other.Oversized != 2 {
		t.Errorf("got %d datagrams and %+v, want 2 and 2 oversized", len(all), stats)
	}
}

func TestPcapngDamaged(t *testing.T) {
	frame := udp4([]byte("hi"))
	start := join(section(little), iface(little, linkRaw, 0), enhanced(little, 0, 1, frame, 30))
	with := func(b []byte, at int, v uint32) []byte {
		b = bytes.Clone(b)
		little.PutUint32(b[at:], v)
		return b
	}
	good := enhanced(little, 0, 1, frame, 30) // 64 bytes
	huge := block(little, 0x0bad, make([]byte, bufferSize))
	tests := []struct {
		name string
		tail []byte
		want string
	}{
		{"length 0", with(good, 4, 0), "in frame 2 at byte 112: no block is as long as 0 bytes"},
		{"length 8", with(good, 4, 8), "in frame 2 at byte 112: no block is as long as 8 bytes"},
		{"length 63", with(good, 4, 63), "in frame 2 at byte 112: no block is as long as 63 bytes"},
		{"length 4 GiB", with(good, 4, 0xfffffffc), "in frame 2 at byte 112: no block is as long as 4294967292 bytes"},
		{"other length behind", with(good, 60, 60), "in frame 2 at byte 112: a block of 64 bytes ends as one of 60"},
		{"captured length", with(good, 20, 33), "in frame 2 at byte 112: 33 bytes of a frame in a block of 64"},
		{"captured length 4 GiB", with(good, 20, 0xfffffff0), "in frame 2 at byte 112: 4294967280 bytes of a frame in a block of 64"},
		{"packet block of 28", block(little, ngEnhanced, make([]byte, 16)), "in frame 2 at byte 112: a packet block of 28 bytes"},
		{"simple packet block of 12", block(little, ngSimple), "in frame 2 at byte 112: a packet block of 12 bytes"},
		{"interface of 16", block(little, ngInterface, make([]byte, 4)), "after frame 1 at byte 112: an interface description of 16 bytes"},
		{"interface of 512 KiB", block(little, ngInterface, make([]byte, bufferSize)), "after frame 1 at byte 112: an interface description"},
		{"section of 24", block(little, ngSection, little.AppendUint32(nil, ngMagic), make([]byte, 8)), "after frame 1 at byte 112: a section header of 24 bytes"},
		{"section of no byte order", with(section(little), 8, 0x11223344), "after frame 1 at byte 112: a section without"},
		{"section of version 2", with(section(little), 12, 2), "after frame 1 at byte 112: version 2 of pcapng"},
		{"large block with another length behind", with(huge, len(huge)-4, 12), "after frame 1 at byte 524408: a block of 524300 bytes ends as one of 12"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, _, err := read(t, join(start, tt.tail, start))
			if len(all) != 1 || !errors.Is(err, ErrDamaged) || errors.Is(err, ErrCut) {
				t.Fatalf("got %d datagrams and %v, want 1 and damage", len(all), err)
			}
			if !strings.Contains(err.Error(), "test: damaged "+tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestPcapngInterfaces(t *testing.T) {
	i := iface(little, linkRaw, 0)
	b := append(section(little), bytes.Repeat(i, ngMaxInterfaces)...)
	last := enhanced(little, ngMaxInterfaces-1, 1, udp4(nil), 28)
	one(t, join(b, last))
	if all, _, err := read(t, join(b, last, i, last)); len(all) != 1 || !errors.Is(err, ErrDamaged) {
		t.Errorf("got %d datagrams and %v, want 1 and damage", len(all), err)
	}
}

func TestPcapngEveryCut(t *testing.T) {
	frame := udp4([]byte("hi"))
	b := join(section(big), iface(big, linkRaw, 0), enhanced(big, 0, 1, frame, 30), enhanced(big, 0, 1, frame, 30))
	// A file that ends between two blocks is complete: section 28, interface 20.
	for n := range len(b) + 1 {
		all, _, err := read(t, b[:n])
		count, whole := 0, n == 28 || n == 48 || n == 112 || n == 176
		if n >= 112 {
			count = 1
		}
		if n >= 176 {
			count = 2
		}
		switch {
		case n < 4:
			if err == nil || errors.Is(err, ErrCut) {
				t.Errorf("got %v of %d bytes", err, n)
			}
		case len(all) != count || whole != (err == nil) || err != nil && !errors.Is(err, ErrCut):
			t.Errorf("got %d datagrams and %v of %d bytes, want %d", len(all), err, n, count)
		}
	}
	_, _, err := read(t, b[:111])
	if want := "test: cut short in frame 1 at byte 111: everything before it was read"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, _, err = read(t, b[:120])
	if want := "test: cut short after frame 1 at byte 120: everything before it was read"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
