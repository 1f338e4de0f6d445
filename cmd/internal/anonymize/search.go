package anonymize

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/cipher"
)

const (
	searched = 4 // bytes of the shortest value that is searched for
	sure     = 6 // bytes of the shortest value that numbers do not hold by chance
)

// A leak is an original value in the output.
type leak struct {
	value
	in int // frame of the output, 0 for a block without a frame
}

func (l *leak) Error() string {
	where := fmt.Sprintf("frame %d of the output", l.in)
	if l.in == 0 {
		where = "a block of the output without a frame"
	}
	return fmt.Sprintf("%s of frame %d is left in %s, which was not kept; try again with another key, and report it if it happens again",
		kindNames[l.kind][1], l.frame, where)
}

// A search looks for original values in an output.
type search struct {
	byStart  map[[searched]byte][]string
	values   map[string]value
	skipped  int // values that are too short, or the game's own words
	pipeline *dissect.Pipeline
	viewer   decode.Viewer
	frame    *capture.Frame
	numbers  []bool // bytes of the current datagram that are part of a number
	base     int    // of the fields being marked
	found    *leak
}

// newSearch prepares the search for values in all their forms.
func newSearch(v *values, cfg dissect.Config) *search {
	cfg.Clear = false
	s := &search{byStart: map[[searched]byte][]string{}, values: map[string]value{}, pipeline: dissect.New(cfg)}
	for text, of := range v.originals {
		if len(text) < searched {
			s.skipped++
			continue
		}
		switch of.kind {
		case hardwareAddress, ipv4Address, ipv6Address:
			s.add(text, of)
			if of.kind == hardwareAddress {
				continue
			}
			a, _ := netip.AddrFromSlice([]byte(text))
			s.add(a.String(), of)
		default:
			if plain(text) || v.isOwn(text) {
				s.skipped++
				continue
			}
			s.add(text, of)
			s.add(string(wire.AppendWideTextOf(nil, wire.Text([]byte(text)))), of)
		}
	}
	return s
}

// plain reports whether a text has too few letters and digits to be anybody's.
func plain(text string) bool {
	n := 0
	for _, c := range []byte(text) {
		if c > ' ' && c != 0x7f {
			n++
		}
	}
	return n < searched
}

// isOwn reports whether a text is a part of one of the game's own.
func (v *values) isOwn(text string) bool {
	for own := range v.own {
		if strings.Contains(own, text) {
			return true
		}
	}
	return false
}

func (s *search) add(text string, v value) {
	if _, ok := s.values[text]; ok {
		return
	}
	s.values[text] = v
	start := [searched]byte([]byte(text))
	s.byStart[start] = append(s.byStart[start], text)
}

// in looks for values of at least the given length. numbers marks the bytes of
// numbers, which hold short values by chance; it may be nil.
func (s *search) in(b []byte, least int, numbers []bool) {
	for i := 0; i+searched <= len(b) && s.found == nil; i++ {
		for _, text := range s.byStart[[searched]byte(b[i:])] {
			if len(text) < least || !bytes.HasPrefix(b[i:], []byte(text)) || len(text) < sure && all(numbers, i, i+len(text)) {
				continue
			}
			s.found = &leak{value: s.values[text]}
			if s.frame != nil {
				s.found.in = s.frame.Number
			}
			return
		}
	}
}

func all(marks []bool, lo, hi int) bool {
	return hi <= len(marks) && !slices.Contains(marks[lo:hi], false)
}

// File implements [capture.Tap].
func (s *search) File(int) {}

// Section implements [capture.Tap].
func (s *search) Section(options []byte) { s.frame = nil; s.in(options, 0, nil) }

// Interface implements [capture.Tap].
func (s *search) Interface(i *capture.Interface) { s.frame = nil; s.in(i.Options, 0, nil) }

// Block implements [capture.Tap].
func (s *search) Block(_ uint32, body []byte) { s.frame = nil; s.in(body, 0, nil) }

// Frame implements [capture.Tap].
func (s *search) Frame(f *capture.Frame) {
	s.frame = f
	s.in(f.Options, 0, nil)
	if f.Datagram == nil || f.Payload < 0 {
		s.in(f.Data, 0, nil)
		return
	}
	s.in(f.Data[:f.Payload], 0, nil)
	s.in(f.Data[f.Payload+len(f.Datagram.Payload):], 0, nil)
	s.in(f.Datagram.Payload, sure, nil) // as on the wire, where short values appear by chance
	game := false
	s.numbers = append(s.numbers[:0], make([]bool, len(f.Datagram.Payload))...)
	_ = s.pipeline.Push(f.Datagram, func(r *dissect.Record) error {
		if r.Kind == dissect.KindMessage || r.Kind == dissect.KindMalformed {
			game = true
			s.mark(r.Offset, r.Offset+r.Transport.Size)
			if s.base = r.Offset + r.Transport.Size; r.Kind == dissect.KindMessage && !r.Transport.Fragment {
				r.Visit(&s.viewer, decode.FieldFunc(s.field))
			}
		}
		return nil
	})
	if !game {
		s.in(f.Datagram.Payload, 0, nil)
		return
	}
	s.in(cipher.Decrypt(nil, f.Datagram.Payload), 0, s.numbers)
}

// field marks numbers.
func (s *search) field(f *decode.Field) {
	if f.Kind.Type() < decode.TypeText {
		s.mark(s.base+f.Off, s.base+f.End)
	}
}

func (s *search) mark(lo, hi int) {
	for i := lo; i < hi && i < len(s.numbers); i++ {
		s.numbers[i] = true
	}
}

// file searches a file.
func (s *search) file(name string) error {
	src, err := capture.OpenTapped([]string{name}, nil, s)
	if err != nil {
		if errors.Is(err, capture.ErrEmpty) {
			return nil
		}
		return err
	}
	defer func() { _ = src.Close() }() // nothing was written
	for _, err = range dissect.Datagrams(src) {
		if s.found != nil {
			break
		}
	}
	if s.found != nil {
		return s.found
	}
	return err
}
