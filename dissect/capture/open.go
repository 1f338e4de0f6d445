package capture

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// stdinName is the name of standard input in errors.
const stdinName = "standard input"

// A file is one capture file of a series.
type file struct {
	name    string
	closers []func() error
	frames  frameReader
	packed  bool
	frame   frame
	err     error // result of all later calls of Next
	decoder *decoder

	given string // name in the series
	index int    // in the series
	ahead bool   // frame is still to be passed on
	among bool   // frames of other files come in between

	tap tapper
}

// Open opens the named capture file, or stdin if the name is "-". It fails if
// the file is not a capture or ends before its first frame.
func Open(name string, stdin io.Reader) (*Series, error) { return OpenAll([]string{name}, stdin) }

// NewReader reads a capture from r. The name is for errors.
func NewReader(name string, r io.Reader) (*Series, error) {
	s := newSeries()
	f, err := newFile(name, r, &s.decoder, &s.progress, nil)
	if err != nil {
		return nil, err
	}
	s.open = []*file{f}
	return s, nil
}

// open makes a file with shared frame counting, defragmentation and progress.
func open(name string, stdin io.Reader, d *decoder, p *progress, tap Tap) (*file, error) {
	if name == "-" {
		return newFile(stdinName, stdin, d, p, tap)
	}
	r, err := os.Open(name)
	if err != nil {
		return nil, named(name, err)
	}
	if info, err := r.Stat(); err == nil && info.IsDir() {
		_ = r.Close()
		return nil, fmt.Errorf("%s: %w: it's a directory; name the captures in it, such as %s", name, ErrNotCapture, filepath.Join(name, "*.pcap"))
	}
	return newFile(name, r, d, p, tap, r.Close)
}

func newFile(name string, r io.Reader, d *decoder, p *progress, tap Tap, closers ...func() error) (*file, error) {
	f := &file{name: name, closers: closers, decoder: d, tap: tapper{Tap: tap}}
	f.frame.Time = time.Unix(0, 0).UTC() // for a first frame without a time
	if err := f.recognise(newBuffer(&counter{r, p})); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (f *file) recognise(b *buffer) error {
	inner, err := unpack(b)
	var header *packedError
	if errors.As(err, &header) { // report the start of the file, although the unpacker may have read ahead
		return f.stopped(&stop{kind: ErrDamaged, why: header.Error()})
	}
	if err != nil {
		return f.stopped(b.failed(err, true, false))
	}
	if inner != nil {
		f.packed = true
		f.closers = append(f.closers, inner.Close)
		b = newBuffer(inner)
	}
	magic, err := b.peek(4)
	if err != nil {
		if errors.Is(err, io.EOF) && len(magic) > 0 {
			return f.foreign(magic)
		}
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w (0 bytes)", f.name, ErrEmpty)
		}
		return f.stopped(b.failed(err, true, false))
	}
	for _, open := range []func(*buffer, []byte, Tap) (frameReader, error){newPcap, newPcapng} {
		if f.frames, err = open(b, magic, f.tap.Tap); err != nil {
			return f.stopped(err)
		}
		if f.frames != nil {
			return nil
		}
	}
	head, _ := b.peek(512)
	if f.frames = newLog(b, head, func(text string) { f.decoder.tally.remark(f.name, text) }); f.frames != nil {
		if f.tap.Tap != nil {
			f.tap.Section(nil)
			f.tap.Interface(&Interface{Link: linkRaw, Options: resolutionOption(3)})
		}
		return nil
	}
	return f.foreign(head)
}

// errLater reports a frame that comes after the end of its file's turn.
var errLater = errors.New("later")

// each passes one datagram after another to take. It returns nil if take
// returned false, errLater before the first frame after until, and otherwise the
// reason for the end. until may be nil.
func (f *file) each(take func(*packet.Datagram) bool, until *time.Time) error {
	for {
		if !f.ahead {
			if err := f.lookAhead(); err != nil {
				return err
			}
			if until != nil && f.frame.Time.After(*until) {
				return errLater
			}
		}
		f.ahead = false
		got := f.decoder.decode(&f.frame)
		if f.tap.Tap != nil {
			f.tap.show(&f.frame, f.decoder, got)
		}
		if (got || f.decoder.every) && !take(&f.decoder.datagram) {
			return nil
		}
	}
}

// lookAhead reads a frame, which is then ahead.
func (f *file) lookAhead() error {
	if f.err != nil {
		return f.err
	}
	if err := f.frames.next(&f.frame); err != nil {
		f.err = f.stopped(err)
		return f.err
	}
	f.ahead = true
	return nil
}

// notMore takes a single datagram.
func notMore(*packet.Datagram) bool { return false }

// stopped turns the error of a frame reader into a sentence.
func (f *file) stopped(err error) error {
	var s *stop
	if errors.As(err, &s) {
		s.inFrame = s.inFrame && !f.among // it would have another number
		return s.sentence(f.name, f.decoder.tally.Frames, f.packed)
	}
	return err
}

// Close closes the file, but leaves standard input open.
func (f *file) Close() error {
	var first error
	for len(f.closers) > 0 {
		last := len(f.closers) - 1
		if err := f.closers[last](); err != nil && first == nil {
			first = named(f.name, err)
		}
		f.closers = f.closers[:last]
	}
	return first
}

// foreign returns the error for a file that is not a capture, with its format
// if the content shows it, and what to do.
func (f *file) foreign(head []byte) error {
	const give = "give a pcap, pcapng or log file"
	is, next := guess(head)
	if is == "" && strings.HasSuffix(strings.ToLower(f.name), ".etl") {
		is, next = "a Windows trace", "convert it with pktmon etl2pcap"
	}
	if is == "" {
		return fmt.Errorf("%s: %w: it begins with % x; "+give, f.name, ErrNotCapture, head[:min(len(head), 8)])
	}
	return fmt.Errorf("%s: %w: it looks like %s; %s", f.name, ErrNotCapture, is, cmp.Or(next, give))
}

// guess names the likely format of a file that is not a capture, and a remedy.
func guess(head []byte) (is, next string) {
	const (
		unpack  = "unpack it first"
		convert = "convert it with editcap"
	)
	known := []struct{ magic, is, next string }{
		{"\xfd7zXZ\x00", "an xz file", unpack},
		{"BZh", "a bzip2 file", unpack},
		{"PK\x03\x04", "a zip archive", unpack},
		{"7z\xbc\xaf\x27\x1c", "a 7z archive", unpack},
		{"Rar!", "a rar archive", unpack},
		{"\x04\x22\x4d\x18", "an lz4 file", unpack},
		{"\x1f\x9d", "a file of compress", unpack},
		{"\x1f\x8b", "a gzip file, packed twice", unpack},
		{"\x28\xb5\x2f\xfd", "a zstd file, packed twice", unpack},
		{"snoop\x00\x00\x00", "a snoop capture", convert},
		{"btsnoop\x00", "a Bluetooth capture", ""},
		{"GMBU", "a Network Monitor capture", convert},
		{"RTSS", "a Network Monitor capture", convert},
		{"XCP\x00", "a NetXRay capture", convert},
		{"TRSNIFF data", "a Sniffer capture", convert},
		{"ObserverPktBuffe", "an Observer capture", convert},
		{"iptrace ", "an iptrace capture", convert},
		{"\x89PNG\r\n", "a picture", ""},
		{"\xff\xd8\xff", "a picture", ""},
		{"GIF8", "a picture", ""},
		{"%PDF-", "a PDF document", ""},
		{"\x1a\x45\xdf\xa3", "a video", ""},
		{"L\x00\x00\x00\x01\x14\x02\x00", "a shortcut", "give the file that it leads to"},
		{"\xff\xfe", "text in UTF-16", ""},
		{"MZ", "a Windows program", ""},
		{"\x7fELF", "a Linux program", ""},
	}
	for _, k := range known {
		if strings.HasPrefix(string(head), k.magic) {
			return k.is, k.next
		}
	}
	at := func(offset int, text string) bool {
		return len(head) >= offset && bytes.HasPrefix(head[offset:], []byte(text))
	}
	switch {
	case at(257, "ustar"):
		return "a tar archive", unpack
	case at(4, "ftyp"), at(0, "RIFF") && at(8, "AVI "):
		return "a video", ""
	case len(bytes.Trim(head, "0123456789abcdefABCDEF: \t\r\n")) == 0:
		return "hex digits", "convert them with text2pcap"
	case !bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f }):
		return "text", ""
	}
	return "", ""
}
