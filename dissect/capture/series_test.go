package capture

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// Each continues where Next stopped, and vice versa, across files.
func TestSeriesEach(t *testing.T) {
	one := tempFile(t, "one.pcap", pcapOf(linkRaw, udp4([]byte("a")), []byte{0x60}, udp4([]byte("b")), udp4([]byte("c"))))
	two := tempFile(t, "two.pcap", pcapOf(linkRaw, udp4([]byte("d")), udp4([]byte("e")), udp4([]byte("f")))[:120])
	s, err := OpenAll([]string{one, two}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []byte
	upTo := func(last string) func(*packet.Datagram) bool {
		return func(d *packet.Datagram) bool {
			got = append(got, d.Payload...)
			return string(d.Payload) != last
		}
	}
	if err := s.Each(upTo("b")); err != nil || string(got) != "ab" {
		t.Errorf("got %q and %v, want ab", got, err)
	}
	if d, err := s.Next(); err != nil || string(d.Payload) != "c" {
		t.Errorf("got %+v and %v, want c", d, err)
	}
	for range 2 { // the error stays
		if err := s.Each(upTo("")); !errors.Is(err, ErrCut) || string(got) != "abde" {
			t.Errorf("got %q and %v, want abde and %v", got, err, ErrCut)
		}
	}
	if d, err := s.Next(); !errors.Is(err, ErrCut) {
		t.Errorf("got %+v and %v, want %v", d, err, ErrCut)
	}
}

// Files are read in the order of their first frames, if that can be known.
func TestSeriesOrder(t *testing.T) {
	at := func(sec byte, payload string) []byte {
		b := pcapOf(linkRaw, udp4([]byte(payload)))
		copy(b[24:], []byte{sec, 0, 0, 0}) // the time of the first frame
		return b
	}
	early, late := tempFile(t, "early.pcap", at(10, "a")), tempFile(t, "late.pcap", at(20, "b"))
	long := tempFile(t, "long.pcap", append(at(5, "c"), at(15, "d")[24:]...))
	missing := filepath.Join(t.TempDir(), "missing.pcap")
	for _, test := range []struct {
		names   []string
		want    string
		remarks int
	}{
		{[]string{early, late}, "ab", 0},
		{[]string{late, early}, "ab", 0},
		{[]string{late, early, early}, "aab", 0},
		{[]string{late, long}, "cdb", 0},
		{[]string{late, early, long}, "cdab", 1}, // early begins within long
		{[]string{late, missing, early}, "ab", 0},
		{[]string{late, "-"}, "bz", 0},
	} {
		s, err := OpenAll(test.names, bytes.NewReader(at(1, "z")))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for d, err := s.Next(); err == nil; d, err = s.Next() {
			got += string(d.Payload)
		}
		if remarks := s.Stats().Remarks; got != test.want || len(remarks) != test.remarks {
			t.Errorf("%v: got %s and %q, want %s and %d remarks", test.names, got, remarks, test.want, test.remarks)
		}
		if test.remarks > 0 && !strings.HasSuffix(s.Stats().Remarks[0], "early.pcap: begins 5.000 s before the files before it end; merge them by time first, such as with mergecap") {
			t.Errorf("got %q", s.Stats().Remarks)
		}
		_ = s.Close()
	}
}

func TestSeries(t *testing.T) {
	dir := t.TempDir()
	one := tempFile(t, "one.pcap", pcapOf(linkRaw, udp4([]byte("a")), []byte{0x60}, udp4([]byte("b"))))
	two := tempFile(t, "two.gz", gz(t, pcapOf(linkRaw, udp4([]byte("c")))))
	three := join(section(big), iface(big, linkRaw, 0), enhanced(big, 0, 1, udp4([]byte("d")), 29))
	cut := tempFile(t, "cut.pcap", pcapOf(linkRaw, udp4([]byte("e")), udp4([]byte("f")))[:80])
	headless := tempFile(t, "headless.pcap", pcapStart(little, pcapMicro, 0, linkRaw)[:10])
	text := tempFile(t, "text.pcap", []byte("text"))
	missing := filepath.Join(dir, "missing.pcap")
	tests := []struct {
		name    string
		names   []string
		want    string
		numbers []int
		err     error
		says    []string
	}{
		{"none", nil, "", nil, nil, nil},
		{"one", []string{one}, "ab", []int{1, 3}, nil, nil},
		{"several", []string{one, two, "-"}, "abcd", []int{1, 3, 4, 5}, nil, nil},
		{"the same twice", []string{two, two}, "cc", []int{1, 2}, nil, nil},
		{"second missing", []string{one, missing, two}, "ab", []int{1, 3}, fs.ErrNotExist, []string{missing}},
		{"second no capture", []string{one, text, two}, "ab", []int{1, 3}, ErrNotCapture, []string{text}},
		{"first cut", []string{cut, one}, "eab", []int{1, 2, 4}, ErrCut, []string{cut + ": cut short in frame 2 at byte 80"}},
		{"second cut", []string{one, cut, two}, "abec", []int{1, 3, 4, 5}, ErrCut, []string{cut + ": cut short in frame 5 at byte 80"}},
		{"first without a header", []string{headless, one}, "ab", []int{1, 3}, ErrCut, []string{headless + ": cut short before the first frame at byte 10"}},
		{"two cut", []string{cut, one, headless}, "eab", []int{1, 2, 4}, ErrCut, []string{cut, headless}},
		{"cut, then missing", []string{cut, missing}, "e", []int{1}, fs.ErrNotExist, []string{cut, missing}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := OpenAll(tt.names, bytes.NewReader(three))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			all, err := datagrams(t, s)
			if !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			for _, says := range tt.says {
				if strings.Count(err.Error(), says) != 1 || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v, want %q in it", err, says)
				}
			}
			got := ""
			for i, d := range all {
				got += string(d.Payload)
				if i < len(tt.numbers) && d.Number != tt.numbers[i] {
					t.Errorf("got frame %d, want %d", d.Number, tt.numbers[i])
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSeriesFirstFails(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.pcap")
	if _, err := OpenAll([]string{missing, missing}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
	headless := tempFile(t, "headless.pcap", pcapStart(little, pcapMicro, 0, linkRaw)[:10])
	if _, err := OpenAll([]string{headless}, nil); !errors.Is(err, ErrCut) {
		t.Errorf("got %v, want %v", err, ErrCut)
	}
}

// A datagram with its IP fragments in two files of a rotated capture.
func TestSeriesFragments(t *testing.T) {
	pieces := fragments4(udp(numbers(100)), 7, 80)
	one := tempFile(t, "one.pcap", pcapOf(linkRaw, pieces[0]))
	two := tempFile(t, "two.pcap", pcapOf(linkRaw, pieces[1]))
	s, err := OpenAll([]string{one, two}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := datagrams(t, s)
	if err != nil || len(all) != 1 || all[0].Number != 2 || !bytes.Equal(all[0].Payload, numbers(100)) {
		t.Errorf("got %d datagrams and %v, want one of frame 2", len(all), err)
	}
	if got := s.Stats(); got.BytesRead != got.Size || got.Size != 2*24+2*16+108+2*20 {
		t.Errorf("got %+v, want both files read", got)
	}
}

func TestSeriesClose(t *testing.T) {
	one := tempFile(t, "one.pcap", pcapOf(linkRaw, udp4(nil), udp4(nil)))
	s, err := OpenAll([]string{one, one}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("got %v when closed twice", err)
	}
	if _, size := s.Progress(); size != 2*(24+2*44) {
		t.Errorf("got size %d", size)
	}
	if s, err = OpenAll([]string{one, "-"}, io.MultiReader(nil...)); err != nil {
		t.Fatal(err)
	}
	if _, size := s.Progress(); size != 0 {
		t.Errorf("got size %d, want 0 with a pipe", size)
	}
}
