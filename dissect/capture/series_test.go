package capture

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// Each continues where Next stopped, and vice versa, across files.
func TestSeriesEach(t *testing.T) {
	one := tempFile(t, "one.pcap", pcapOf(linkRaw, udp4([]byte("a")), []byte{0x60}, udp4([]byte("b")), udp4([]byte("c"))))
	two := tempFile(t, "two.pcap", pcapFrom(2000, linkRaw, udp4([]byte("d")), udp4([]byte("e")), udp4([]byte("f")))[:120])
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

// Files are merged by time, if they can be read again.
func TestSeriesOrder(t *testing.T) {
	// at returns a capture of datagrams at the seconds that follow their payloads.
	at := func(datagrams ...string) []byte {
		b := pcapStart(little, pcapMicro, 65535, linkRaw)
		for _, d := range datagrams {
			sec, _ := strconv.Atoi(d[1:])
			b = pcapAppend(b, little, uint32(sec), 0, udp4([]byte(d[:1])), 29)
		}
		return b
	}
	early, late := tempFile(t, "early.pcap", at("a10")), tempFile(t, "late.pcap", at("b20"))
	long := tempFile(t, "long.pcap", at("c5", "d15"))
	ties := tempFile(t, "ties.pcap", at("e5", "f10", "g10", "h20", "i20"))
	disorder := tempFile(t, "disorder.pcap", at("j9", "k30", "l8", "m30"))
	none := tempFile(t, "none.pcap", at())
	cut := tempFile(t, "cut.pcap", at("n12", "o13", "p14")[:120])
	stops := tempFile(t, "stops.pcap", at("q12", "r16")[:20+16+29+24+10])
	missing := filepath.Join(t.TempDir(), "missing.pcap")
	_, absent := os.Stat(missing)
	absent = errors.Unwrap(absent) // the text of the system
	for _, test := range []struct {
		names []string
		want  string
		err   string
	}{
		{[]string{early, late}, "ab", ""},
		{[]string{late, early}, "ab", ""},
		{[]string{late, early, early}, "aab", ""},
		{[]string{late, long}, "cdb", ""},
		{[]string{late, early, long}, "cadb", ""},
		{[]string{long, ties}, "cefgdhi", ""}, // c and e are of the same time
		{[]string{ties, long}, "ecfgdhi", ""},
		{[]string{early, late, ties}, "efgahib", ""},
		{[]string{disorder, early, late}, "jabklm", ""}, // each file keeps its order
		{[]string{late, none, long, none}, "cdb", ""},
		{[]string{late, early, "-"}, "bas", ""},
		{[]string{late, missing, early}, "ab", missing + ": " + absent.Error()},
		{[]string{long, cut}, "cnod", cut + ": cut short after frame 3 at byte 120: everything before it was read"},
		{[]string{long, stops, cut}, "cqnod", stops + ": cut short after frame 2 at byte 99: everything before it was read; " +
			cut + ": cut short after frame 4 at byte 120: everything before it was read"},
	} {
		s, err := OpenAll(test.names, bytes.NewReader(at("s1")))
		if err != nil {
			t.Fatal(err)
		}
		got, numbers := "", 0
		var d *packet.Datagram
		for d, err = s.Next(); err == nil; d, err = s.Next() {
			got += string(d.Payload)
			if numbers++; d.Number != numbers || d.Capture == "" || bytes.IndexByte(read1(t, d.Capture, at("s1")), d.Payload[0]) < 0 {
				t.Errorf("%v: got frame %d of %s, want frame %d", test.names, d.Number, d.Capture, numbers)
			}
		}
		if got != test.want || len(s.Stats().Remarks) > 0 {
			t.Errorf("%v: got %s and %q, want %s", test.names, got, s.Stats().Remarks, test.want)
		}
		if test.err == "" && !errors.Is(err, io.EOF) || test.err != "" && err.Error() != test.err {
			t.Errorf("%v: got %v, want %s", test.names, err, test.err)
		}
		_ = s.Close()
	}
}

// read1 returns the content of a file, or of standard input if the name is "-".
func read1(t *testing.T, name string, stdin []byte) []byte {
	t.Helper()
	if name == "-" {
		return stdin
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A capture dealt out to several files is put together again,
// with the interface and the comment of each frame, by all ways of reading.
func TestSeriesMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 13))
	const frames, files = 2000, 7
	parts := make([][]byte, files)
	links := make([]int, files) // interfaces in the section
	var want []string
	for i := range frames {
		n := r.IntN(files)
		if len(parts[n]) == 0 || r.IntN(100) == 0 {
			parts[n], links[n] = append(parts[n], section(little)...), 0
		}
		if links[n] == 0 || r.IntN(20) == 0 { // interfaces are described when others are in use
			name := []byte(fmt.Sprintf("eth%d", i))
			parts[n] = append(parts[n], iface(little, linkRaw, 0, option(little, ngName, name...), option(little, 0))...)
			links[n]++
		}
		payload := []byte(strconv.Itoa(i))
		which := r.IntN(links[n])
		parts[n] = append(parts[n], enhanced(little, uint32(which), uint64(i/3), udp4(payload), 28+len(payload),
			option(little, ngComment, fmt.Appendf(nil, "%d of %d", which, n)...), option(little, 0))...)
	}
	var names []string
	for n, b := range parts {
		names = append(names, tempFile(t, fmt.Sprint(n), b))
	}
	// The reference reads each file by itself, and sorts.
	type located struct {
		at   uint64
		file int
		text string
	}
	var all []located
	for n, b := range parts {
		tap := &describing{}
		f, err := newFile("test", bytes.NewReader(b), new(decoder), new(progress), tap)
		for err == nil {
			err = f.each(notMore, nil)
		}
		for i, text := range tap.frames {
			all = append(all, located{tap.stamps[i], n, text})
		}
	}
	starts := map[int]uint64{}
	for _, l := range all {
		if _, ok := starts[l.file]; !ok {
			starts[l.file] = l.at
		}
	}
	slices.SortStableFunc(all, func(a, b located) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(starts[a.file], starts[b.file]), cmp.Compare(a.file, b.file))
	})
	for _, l := range all {
		want = append(want, l.text)
	}
	if len(want) != frames {
		t.Fatalf("got %d frames, want %d", len(want), frames)
	}
	var out bytes.Buffer
	c := NewCopy("copy", struct{ io.Writer }{&out}, CopyOptions{Sections: [][]byte{}, Hold: true})
	s, err := OpenTapped(names, nil, c)
	for err == nil {
		_, err = s.Next()
		c.Release()
	}
	if err := c.Close(); err != nil || c.Stats() != (CopyStats{Frames: frames}) {
		t.Errorf("got %+v and %v", c.Stats(), err)
	}
	tap := &describing{}
	f, err := newFile("copy", &out, new(decoder), new(progress), tap)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.each(func(*packet.Datagram) bool { return true }, nil); !errors.Is(err, io.EOF) || !slices.Equal(tap.frames, want) {
		t.Errorf("got %v and %d frames in another order or of other interfaces", err, len(tap.frames))
	}
}

// A describing tap describes frames by their payload, interface and comment.
type describing struct {
	names  []string
	frames []string
	stamps []uint64
}

func (d *describing) File(int)               {}
func (d *describing) Section([]byte)         { d.names = nil }
func (d *describing) Interface(i *Interface) { d.names = append(d.names, string(i.Options)) }
func (d *describing) Block(uint32, []byte)   {}
func (d *describing) Frame(f *Frame) {
	d.frames = append(d.frames, fmt.Sprintf("%s %q %q", f.Datagram.Payload, d.names[f.Interface], f.Options))
	d.stamps = append(d.stamps, f.Stamp)
}

// More files than can be open are read one after another, and the reader is told.
func TestSeriesMany(t *testing.T) {
	var names []string
	for i := range maxOpen + 3 {
		b := pcapFrom(uint32(i), linkRaw, udp4([]byte{byte(i)}))
		names = append(names, tempFile(t, fmt.Sprint(i), pcapAppend(b, little, 1000, 0, udp4([]byte{byte(i)}), 29)))
	}
	s, err := OpenAll(names, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all, err := datagrams(t, s)
	if err != nil || len(all) != 2*len(names) {
		t.Fatalf("got %d datagrams and %v, want %d", len(all), err, 2*len(names))
	}
	for i := range maxOpen {
		if all[i].Payload[0] != byte(i) {
			t.Errorf("got %d at %d", all[i].Payload, i)
		}
	}
	if want := []string{names[maxOpen] + ": is not merged: it overlaps with more than 63 files"}; !slices.Equal(s.Stats().Remarks, want) {
		t.Errorf("got %q, want %q", s.Stats().Remarks, want)
	}
}

func TestSeries(t *testing.T) {
	dir := t.TempDir()
	one := tempFile(t, "one.pcap", pcapOf(linkRaw, udp4([]byte("a")), []byte{0x60}, udp4([]byte("b"))))
	two := tempFile(t, "two.gz", gz(t, pcapFrom(3000, linkRaw, udp4([]byte("c")))))
	three := join(section(big), iface(big, linkRaw, 0), enhanced(big, 0, 1, udp4([]byte("d")), 29))
	cut := tempFile(t, "cut.pcap", pcapFrom(2000, linkRaw, udp4([]byte("e")), udp4([]byte("f")))[:80])
	before := tempFile(t, "before.pcap", pcapFrom(500, linkRaw, udp4([]byte("e")), udp4([]byte("f")))[:80])
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
		{"first cut", []string{before, one}, "eab", []int{1, 2, 4}, ErrCut, []string{before + ": cut short in frame 2 at byte 80"}},
		{"second cut", []string{one, cut, two}, "abec", []int{1, 3, 4, 5}, ErrCut, []string{cut + ": cut short in frame 5 at byte 80"}},
		{"first without a header", []string{headless, one}, "ab", []int{1, 3}, ErrCut, []string{headless + ": cut short before the first frame at byte 10"}},
		{"two cut", []string{before, one, headless}, "eab", []int{1, 2, 4}, ErrCut, []string{before, headless}},
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
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
