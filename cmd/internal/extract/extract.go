// Package extract copies captures to another capture. The datagrams can be
// unchanged, deciphered, or annotated for Wireshark.
package extract

import (
	"io"
	"slices"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/report/wireshark"
)

// Options control how captures are copied.
type Options struct {
	Config   dissect.Config
	Keep     func(*capture.Frame) bool // nil for all frames
	Pcap     bool                      // write pcap, not pcapng
	Decrypt  bool
	Annotate bool     // annotate and decipher
	Sections [][]byte // options of the sections of several captures, for pcapng
	Players  Players  // players for annotations
}

// A Job copies captures once.
type Job struct {
	*Decrypter
	decrypts bool
}

// New returns a job. The function create makes its copy.
func New(o Options, create func(capture.CopyOptions) (*capture.Copy, error)) (*Job, error) {
	decrypts := o.Decrypt || o.Annotate
	c := capture.CopyOptions{Keep: o.Keep, Hold: decrypts, Pcap: o.Pcap, Sections: o.Sections}
	if decrypts {
		c.Comments = []string{capture.ClearMark}
	}
	var notes *wireshark.Annotator
	if o.Annotate {
		notes = annotator(&c, o.Players)
	}
	to, err := create(c)
	if err != nil {
		return nil, err
	}
	return &Job{NewDecrypter(to, o.Config, notes), decrypts}, nil
}

// Run copies the captures and closes the copy. It calls each after each
// datagram. The error damage is the reason that the captures ended early.
func (j *Job) Run(names []string, stdin io.Reader, each func(*capture.Series)) (all capture.Stats, damage, err error) {
	src, err := capture.OpenTapped(names, stdin, j.Copy)
	if err != nil {
		_ = j.Close() // the first error is returned
		return all, nil, err
	}
	defer func() { _ = src.Close() }() // it was opened only for reading
	for d, end := range dissect.Datagrams(src) {
		if damage = end; end == nil && j.decrypts {
			j.Datagram(d)
		}
		if each(src); j.Err() != nil {
			break
		}
	}
	if err := j.Close(); err != nil {
		return all, nil, err
	}
	return src.Stats(), damage, nil
}

// Sections returns the options of the sections of captures. If frame is not
// nil, it is called for all frames.
func Sections(names []string, stdin io.Reader, frame func(*capture.Frame)) ([][]byte, error) {
	t := &surveyor{frame: frame}
	src, err := capture.OpenTapped(names, stdin, t)
	if err != nil {
		return nil, err
	}
	defer func() { _ = src.Close() }() // it was opened only for reading
	for range dissect.Datagrams(src) { // the copy will return the error
	}
	return t.sections, nil
}

// A surveyor is the tap of Sections.
type surveyor struct {
	sections [][]byte
	frame    func(*capture.Frame)
}

func (y *surveyor) File(int)                     {}
func (y *surveyor) Section(options []byte)       { y.sections = append(y.sections, slices.Clone(options)) }
func (y *surveyor) Interface(*capture.Interface) {}
func (y *surveyor) Block(uint32, []byte)         {}

func (y *surveyor) Frame(f *capture.Frame) {
	if y.frame != nil {
		y.frame(f)
	}
}

// Frames is a set of frame numbers.
type Frames struct{ bits []uint64 }

// Add adds a frame.
func (f *Frames) Add(n int) {
	for n/64 >= len(f.bits) {
		f.bits = append(f.bits, 0)
	}
	f.bits[n/64] |= 1 << (n % 64)
}

// Has reports whether a frame is in the set.
func (f *Frames) Has(n int) bool { return n/64 < len(f.bits) && f.bits[n/64]&(1<<(n%64)) != 0 }
