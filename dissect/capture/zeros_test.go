package capture

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A power loss while a capture is recorded can leave zero bytes behind it. They are
// damage where a record or block could begin, and a cut where there are fewer.
func TestZerosAtTheEnd(t *testing.T) {
	frame := udp4([]byte("hi"))
	modified := pcapStart(little, pcapModified, 65535, linkRaw)
	modified = append(pcapAppend(modified, little, 1000, 0, nil, 0), make([]byte, 8)...)
	for _, tt := range []struct {
		name    string
		sound   []byte
		frames  int
		records int // bytes of a header
	}{
		{"pcap", pcapOf(linkRaw, frame, frame), 2, pcapRecord},
		{"pcap without a frame", pcapOf(linkRaw), 0, pcapRecord},
		{"modified pcap", modified, 1, pcapRecordModified},
		{"pcapng", slices.Concat(section(little), block(little, ngInterface, []byte{linkRaw, 0, 0, 0, 0, 0, 0, 0})), 0, 12},
	} {
		for _, zeros := range []int{0, 1, tt.records - 1, tt.records, tt.records + 1, 4096, 1 << 20} {
			file := append(slices.Clone(tt.sound), make([]byte, zeros)...)
			for form, b := range map[string][]byte{"plain": file, "gzip": gz(t, file), "zstd": zst(t, file)} {
				_, stats, err := read(t, b)
				if stats.Frames != tt.frames {
					t.Errorf("%s, %s, %d zeros: %d frames, want %d", tt.name, form, zeros, stats.Frames, tt.frames)
				}
				said := fmt.Sprintf("at byte %d", len(tt.sound))
				switch {
				case zeros == 0 && err == nil:
				case zeros > 0 && zeros < tt.records && errors.Is(err, ErrCut):
				case zeros >= tt.records && errors.Is(err, ErrDamaged) && strings.Contains(err.Error(), said) &&
					strings.Contains(err.Error(), fmt.Sprintf("ends with %d zero bytes, as after a power loss", zeros)):
				default:
					t.Errorf("%s, %s, %d zeros: %v", tt.name, form, zeros, err)
				}
			}
		}
	}
}

// Empty frames of the year 1970 are frames if anything follows them.
func TestZerosBeforeFrames(t *testing.T) {
	frame := udp4([]byte("hi"))
	for _, empty := range []int{1, 2, 100_000} { // the last are more than the buffer holds
		b := append(pcapOf(linkRaw, frame), make([]byte, empty*pcapRecord)...)
		b = pcapAppend(b, little, 1001, 0, frame, len(frame))
		all, stats, err := read(t, b)
		if len(all) != 2 || stats.Frames != empty+2 || err != nil {
			t.Errorf("%d empty frames: %d datagrams of %d frames, %v", empty, len(all), stats.Frames, err)
		}
		if n := all[len(all)-1].Number; n != empty+2 {
			t.Errorf("%d empty frames: the last frame is %d", empty, n)
		}
		if _, stats, err = read(t, b[:len(b)-1]); stats.Frames != empty+1 || !errors.Is(err, ErrCut) {
			t.Errorf("%d empty frames and a cut one: %d frames, %v", empty, stats.Frames, err)
		}
		if _, stats, err = read(t, append(b, make([]byte, 64)...)); stats.Frames != empty+2 || !errors.Is(err, ErrDamaged) {
			t.Errorf("%d empty frames, and zeros at the end: %d frames, %v", empty, stats.Frames, err)
		}
	}
	// A record's header that ends with other bytes, of the modified form.
	b := pcapStart(little, pcapModified, 65535, linkRaw)
	b = append(append(b, make([]byte, pcapRecord)...), 1, 0, 0, 0, 0, 0, 0, 0)
	if _, stats, err := read(t, b); stats.Frames != 1 || err != nil {
		t.Errorf("a modified header with a number of an interface: %d frames, %v", stats.Frames, err)
	}
}
