package capture

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/bcdissect/bcdissect/fixtures"
)

func gz(tb testing.TB, b []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func zst(tb testing.TB, b []byte, options ...zstd.EOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, options...)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// tempFile writes a file and returns its name.
func tempFile(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPacked(t *testing.T) {
	pcap := pcapOf(linkRaw, udp4([]byte("one")), udp4([]byte("two")))
	ng := join(section(little), iface(little, linkRaw, 0), enhanced(little, 0, 1, udp4([]byte("one")), 31), enhanced(little, 0, 1, udp4([]byte("two")), 31))
	skippable := join([]byte{0x5e, 0x2a, 0x4d, 0x18, 4, 0, 0, 0}, []byte("skip"))
	for name, b := range map[string][]byte{
		"pcap.gz":              gz(t, pcap),
		"pcapng.gz":            gz(t, ng),
		"pcap.gz, two members": join(gz(t, pcap[:50]), gz(t, pcap[50:])),
		"pcap.gz, many":        join(gz(t, pcap[:3]), gz(t, nil), gz(t, pcap[3:25]), gz(t, pcap[25:])),
		"pcap.zst":             zst(t, pcap),
		"pcapng.zst":           zst(t, ng),
		"pcap.zst, two frames": join(zst(t, pcap[:50]), zst(t, pcap[50:])),
		"pcap.zst, skippable":  join(skippable, zst(t, pcap), skippable),
		"pcap.zst, window":     zst(t, pcap, zstd.WithWindowSize(1<<26), zstd.WithSingleSegment(false)),
	} {
		t.Run(name, func(t *testing.T) {
			// Readers that return few bytes at a time make no difference.
			for _, r := range []io.Reader{bytes.NewReader(b), iotest.OneByteReader(bytes.NewReader(b)), iotest.DataErrReader(bytes.NewReader(b))} {
				f, err := NewReader("test", r)
				if err != nil {
					t.Fatal(err)
				}
				all, err := datagrams(t, f)
				if err != nil || len(all) != 2 || string(all[0].Payload) != "one" || string(all[1].Payload) != "two" {
					t.Errorf("got %d datagrams and %v, want one and two", len(all), err)
				}
				if got := f.Stats().BytesRead; got != int64(len(b)) {
					t.Errorf("got %d bytes read, want %d", got, len(b))
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A damaged packed header is reported at the start, also with an unpacker that
// reads ahead.
func TestPackedHeader(t *testing.T) {
	b := gz(t, pcapOf(linkRaw, udp4(numbers(200))))
	b[3] |= 2 // announces a header checksum, which is missing
	_, _, err := read(t, b)
	if want := "test: damaged before the first frame at byte 0: it can't be unpacked (gzip: invalid header); everything before it was read"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Truncation and damage of packed data are reported like truncation and damage of
// the capture, after everything that unpacks.
func TestPackedCut(t *testing.T) {
	capture := pcapOf(linkRaw, udp4(numbers(200)), udp4([]byte("two")))
	for name, b := range map[string][]byte{
		"gzip":                    gz(t, capture),
		"zstd":                    zst(t, capture),
		"zstd without a checksum": zst(t, capture, zstd.WithEncoderCRC(false)),
	} {
		t.Run(name, func(t *testing.T) {
			for n := 4; n < len(b); n++ {
				_, _, err := read(t, b[:n])
				if !errors.Is(err, ErrCut) {
					t.Errorf("got %v of %d bytes of %d, want %v", err, n, len(b), ErrCut)
				}
			}
		})
	}
}

func TestPackedCutLate(t *testing.T) {
	b := fixtures.Read(t, "captures/battle_mix.pcap.gz")
	all, _, err := read(t, b[:len(b)-9]) // the trailer has 8 bytes
	if len(all) != 13272 && len(all) != 13271 || !errors.Is(err, ErrCut) {
		t.Errorf("got %d datagrams and %v, want almost all and %v", len(all), err, ErrCut)
	}
	all, _, err = read(t, b[:len(b)/2])
	if len(all) < 6000 || len(all) > 7500 || !errors.Is(err, ErrCut) || !strings.Contains(err.Error(), " of the unpacked capture: everything") {
		t.Errorf("got %d datagrams and %v, want half and %v", len(all), err, ErrCut)
	}
}

func TestPackedDamaged(t *testing.T) {
	capture := pcapOf(linkRaw, udp4([]byte("one")), udp4([]byte("two")))
	g, z := gz(t, capture), zst(t, capture)
	flip := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[(at+len(b))%len(b)] ^= 0xff
		return b
	}
	for _, tt := range []struct {
		name  string
		b     []byte
		count int
	}{
		{"gzip checksum", flip(g, -8), 2},
		{"gzip data", flip(g, 10), 0},
		{"gzip, rubbish behind", join(g, []byte("rubbish that is no gzip")), 2},
		{"zstd checksum", flip(z, -1), 0}, // checksum of the only block
		{"zstd reserved bit", flip(z, 4), 0},
		{"zstd, rubbish behind", join(z, []byte("rubbish that is no zstd")), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, _, err := read(t, tt.b)
			if len(all) < tt.count || !errors.Is(err, ErrDamaged) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %d datagrams and %v, want at least %d and %v", len(all), err, tt.count, ErrDamaged)
			}
		})
	}
}

func TestZstdTooLarge(t *testing.T) {
	// A frame header that asks for a window of 2 GiB, and an empty block.
	_, _, err := read(t, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0x00, 0x00})
	if err == nil || !strings.Contains(err.Error(), "zstd -d --long=31") || errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, want what to do", err)
	}
}

func TestNotCapture(t *testing.T) {
	const (
		not  = "x: not a capture: "
		give = "; give a pcap, pcapng or log file"
	)
	tests := []struct {
		name string
		b    []byte
		want string
	}{
		{"text", []byte("Hello, world\n"), not + "it looks like text" + give},
		{"hex", []byte("0000  45 00\n"), not + "it looks like hex digits; convert them with text2pcap"},
		{"two bytes", []byte{1, 2}, not + "it begins with 01 02" + give},
		{"other", []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, not + "it begins with 00 01 02 03 04 05 06 07" + give},
		{"section without a byte order", append([]byte("\n\r\r\n"), make([]byte, 40)...), not + "it begins with 0a 0d 0d 0a 00 00 00 00" + give},
		{"xz", []byte("\xfd7zXZ\x00\x00\x04"), not + "it looks like an xz file; unpack it first"},
		{"zip", []byte("PK\x03\x04aaaa"), not + "it looks like a zip archive; unpack it first"},
		{"snoop", []byte("snoop\x00\x00\x00\x00\x00\x00\x02"), not + "it looks like a snoop capture; convert it with editcap"},
		{"picture", []byte("\x89PNG\r\n\x1a\n"), not + "it looks like a picture" + give},
		{"program", []byte("MZ\x90\x00"), not + "it looks like a Windows program" + give},
		{"shortcut", []byte("L\x00\x00\x00\x01\x14\x02\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00F"), not + "it looks like a shortcut; give the file that it leads to"},
		{"UTF-16", []byte("\xff\xfeH\x00i\x00"), not + "it looks like text in UTF-16" + give},
		{"MP4", []byte("\x00\x00\x00\x20ftypisom\x00\x00\x02\x00"), not + "it looks like a video" + give},
		{"AVI", []byte("RIFF\x00\x10\x00\x00AVI LIST"), not + "it looks like a video" + give},
		{"Matroska", []byte("\x1a\x45\xdf\xa3\x01\x00\x00\x00"), not + "it looks like a video" + give},
		{"sound", []byte("RIFF\x00\x10\x00\x00WAVE"), not + "it begins with 52 49 46 46 00 10 00 00" + give},
		{"tar", append(append(make([]byte, 257), "ustar\x00"...), make([]byte, 300)...), not + "it looks like a tar archive; unpack it first"},
		{"text in gzip", gz(t, []byte("Hello, world\n")), not + "it looks like text" + give},
		{"gzip in gzip", gz(t, gz(t, []byte("Hello, world\n"))), not + "it looks like a gzip file, packed twice; unpack it first"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewReader("x", bytes.NewReader(tt.b))
			if !errors.Is(err, ErrNotCapture) || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing.pcap")
	_, err := Open(missing, nil)
	if !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), "missing.pcap") != 1 || strings.Contains(err.Error(), "open") {
		t.Errorf("got %v, want the name and the cause, once", err)
	}
	_, err = Open(dir, nil)
	if want := dir + ": not a capture: it's a directory; name the captures in it, such as " + filepath.Join(dir, "*.pcap"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	empty := tempFile(t, "empty.pcap", nil)
	_, err = Open(empty, nil)
	if want := empty + ": empty (0 bytes)"; !errors.Is(err, ErrEmpty) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = Open("-", bytes.NewReader(gz(t, nil)))
	if want := "standard input: empty (0 bytes)"; !errors.Is(err, ErrEmpty) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = Open(tempFile(t, "trace.ETL", make([]byte, 100)), nil)
	if err == nil || !strings.Contains(err.Error(), "pktmon etl2pcap") {
		t.Errorf("got %v, want a hint", err)
	}
}

func TestOpen(t *testing.T) {
	capture := pcapOf(linkRaw, udp4([]byte("one")), udp4([]byte("two")))
	name := tempFile(t, "any name.txt", gz(t, capture))
	f, err := Open(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, size := f.Progress(); size != int64(len(gz(t, capture))) {
		t.Errorf("got size %d", size)
	}
	if all, err := datagrams(t, f); len(all) != 2 || err != nil {
		t.Errorf("got %d datagrams and %v, want 2", len(all), err)
	}
	if s := f.Stats(); s.BytesRead != s.Size || s.Frames != 2 {
		t.Errorf("got %+v, want all read", s)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("got %v when closed twice", err)
	}

	stdin, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	f, err = Open("-", stdin)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := datagrams(t, f); len(all) != 2 || err != nil {
		t.Errorf("got %d datagrams and %v, want 2", len(all), err)
	}
	if s := f.Stats(); s.BytesRead != s.Size {
		t.Errorf("got %+v, want the size of a redirected file", s)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := stdin.Stat(); err != nil {
		t.Errorf("standard input was closed: %v", err)
	}
}

// A read error is neither truncation nor damage, whatever wraps the reader.
func TestReadFails(t *testing.T) {
	broken := &fs.PathError{Op: "read", Path: "x", Err: errors.New("input/output error")}
	capture := pcapOf(linkRaw, udp4([]byte("one")), udp4([]byte("two")))
	for name, b := range map[string][]byte{"plain": capture[:80], "gzip": gz(t, capture)[:50], "zstd": zst(t, capture)[:50]} {
		t.Run(name, func(t *testing.T) {
			f, err := NewReader("x", io.MultiReader(bytes.NewReader(b), iotest.ErrReader(broken)))
			if err == nil {
				_, err = datagrams(t, f)
			}
			if err == nil || err.Error() != "x: input/output error" || errors.Is(err, ErrCut) || errors.Is(err, ErrDamaged) {
				t.Errorf("got %v, want x: input/output error", err)
			}
		})
	}
	_, err := NewReader("x", iotest.ErrReader(broken))
	if err == nil || err.Error() != "x: input/output error" {
		t.Errorf("got %v, want x: input/output error", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestReadIdle(t *testing.T) {
	if _, err := NewReader("x", idle{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v, want %v", err, io.ErrNoProgress)
	}
}

// Each datagram of a pipe is available as soon as it is written.
func TestPipe(t *testing.T) {
	r, w := io.Pipe()
	start := pcapStart(little, pcapMicro, 0, linkRaw)
	frame := udp4([]byte("hi"))
	record := pcapAppend(nil, little, 0, 0, frame, len(frame))
	next := make(chan bool)
	go func() {
		defer w.Close()
		_, _ = w.Write(start)
		for range next {
			_, _ = w.Write(record)
		}
	}()
	f, err := NewReader("pipe", r)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		next <- true
		if _, err := f.Next(); err != nil {
			t.Fatal(err)
		}
	}
	close(next)
	if _, err := f.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
}
