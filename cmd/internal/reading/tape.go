package reading

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/extract"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
)

// maxSpooled is the maximum size in bytes of the copy of standard input.
const maxSpooled = 1 << 30

// Limits of the checkpoints of a tape.
const (
	maxCheckpoints  = 64
	checkpointBytes = 48 << 20
	firstSpacing    = 4096 // datagrams
)

// A Tape reads the selected records of captures as often as needed. It reads
// the datagrams from the beginning, but decodes only from the last checkpoint
// on, which is a copy of the pipeline. Only one goroutine at a time may use it.
type Tape struct {
	f     *cli.Common
	cfg   dissect.Config
	names []string
	stdin *os.File // standard input or its copy, nil if it is not used
	copy  bool
	start time.Time
	said  string // text for standard error from the first complete reading
	ended bool
	parts int // number of IP fragments in the captures, known after the first complete reading

	points  []checkpoint // in the order of the captures
	spacing int          // number of datagrams between two checkpoints, 0 if the pipelines are too large
	memory  int
}

// A checkpoint is the state after a number of datagrams.
type checkpoint struct {
	datagrams, records int
	pipeline           *dissect.Pipeline
	memory             int
}

// OpenTape checks that captures can be read more than once. It copies standard
// input unless that is a file.
func OpenTape(f *cli.Common, s cli.Streams, names []string) (*Tape, error) {
	t := &Tape{f: f, names: distinct(s, names), spacing: firstSpacing}
	var err error
	if t.cfg, err = f.Config(); err != nil {
		return nil, err
	}
	for _, name := range t.names {
		info, err := os.Stat(name)
		switch {
		case name == "-":
		case err != nil:
			return nil, cli.Failed(cli.PlainPath(name, err))
		case !info.Mode().IsRegular() && !info.IsDir():
			return nil, cli.Failed(fmt.Errorf("%s: not a file that can be read more than once; give it as standard input: - < %s", name, name))
		}
	}
	if !slices.Contains(names, "-") {
		return t, nil
	}
	if in, ok := s.In.(*os.File); ok {
		if info, err := in.Stat(); err == nil && info.Mode().IsRegular() {
			t.stdin = in
			return t, nil
		}
	}
	limited := &io.LimitedReader{R: s.In, N: maxSpooled + 1}
	spooled, err := spool(limited)
	if err != nil {
		return nil, cli.Failed(err)
	}
	t.stdin, t.copy = spooled, true
	if limited.N <= 0 {
		t.Close()
		return nil, cli.Failed(fmt.Errorf("standard input: more than %d MiB; write it to a file first", maxSpooled>>20))
	}
	return t, nil
}

// Close removes the copy of standard input.
func (t *Tape) Close() {
	if t.copy {
		_ = t.stdin.Close()           // nothing more is written to it
		_ = os.Remove(t.stdin.Name()) // a leftover file does not justify an error
	}
}

// Start returns the time of the first frame. It is valid once the frame was
// read.
func (t *Tape) Start() time.Time { return t.start }

// Said returns the text about the captures for standard error. It is valid once
// they were read completely.
func (t *Tape) Said() string { return t.said }

// Scan passes the selected records from number first on to take, with their
// numbers, until take returns false. Numbers count all records from 0.
func (t *Tape) Scan(first int, take func(n int, r *dissect.Record) bool) error {
	if t.f.WantsPlayer() && !t.f.KnowsPlayer() {
		if err := learnFrom(t.names, t.in(), t.f, t.cfg); err != nil {
			return err
		}
	}
	src, err := capture.OpenAll(t.names, t.in())
	if err != nil {
		return ofCapture(err)
	}
	defer func() { _ = src.Close() }() // it was opened only for reading
	s := tapeScan{t, scan{match: t.f.Match, at: t.nearest(first), first: first, take: take}}
	skip, begun := s.at.datagrams, false
	var readErr error
	for b, end := range dissect.Batches(src, dissect.BatchOptions{}) {
		if readErr = end; end != nil {
			break
		}
		if !begun {
			begun = true
			t.start = src.Stats().FirstTime
			if err = t.f.Begin(t.start); err != nil {
				break
			}
		}
		from := min(skip, b.Len())
		skip -= from
		if err = s.push(b, from); err != nil {
			break
		}
	}
	if err == nil {
		err = s.at.pipeline.Flush(s.emit)
	}
	switch {
	case errors.Is(err, ErrEnough):
		return nil
	case err != nil:
		return err
	}
	if !t.ended {
		t.ended, t.parts = true, src.Stats().Other.Fragments
		var said strings.Builder
		warn(cli.Streams{Err: &said}, src.Stats())
		r := reading{Common: t.f, src: src, start: t.start, one: &reader{pipeline: s.at.pipeline, seen: s.seen, shown: s.shown}}
		if text := r.nothing(); text != "" {
			fmt.Fprintf(&said, "bcdissect: %s\n", text)
		}
		t.said = said.String()
	}
	if readErr == nil {
		return nil
	}
	return ofCapture(readErr)
}

// A tapeScan is one reading of a tape.
type tapeScan struct {
	*Tape
	scan
}

// push passes the datagrams of a batch from index from on to the pipeline. It
// keeps a checkpoint if the last one is far away.
func (s *tapeScan) push(b *dissect.Batch, from int) error {
	if from == b.Len() {
		return nil
	}
	s.at.datagrams += b.Len() - from
	err := s.at.pipeline.PushPart(b, from, b.Len(), s.emit)
	if err == nil {
		s.keep(s.at)
	}
	return err
}

// A scan passes on the selected records from a number on.
type scan struct {
	match       func(*dissect.Record) bool
	at          checkpoint // the current state
	first       int
	take        func(n int, r *dissect.Record) bool
	seen, shown int // numbers of all records and of selected ones
}

func (s *scan) emit(r *dissect.Record) error {
	n := s.at.records
	s.at.records++
	s.seen++
	if !s.match(r) {
		return nil
	}
	s.shown++
	if n >= s.first && !s.take(n, r) {
		return ErrEnough
	}
	return nil
}

// nearest returns a copy of the last checkpoint before a record. If there is
// none, it returns the state at the beginning.
func (t *Tape) nearest(record int) checkpoint {
	for _, c := range slices.Backward(t.points) {
		if c.records <= record {
			c.pipeline = c.pipeline.Clone()
			return c
		}
	}
	return checkpoint{pipeline: dissect.New(t.cfg)}
}

// keep keeps a copy of a state unless another checkpoint is near. If there are
// too many checkpoints, it drops every second one.
func (t *Tape) keep(c checkpoint) {
	last := 0
	if n := len(t.points); n > 0 {
		last = t.points[n-1].datagrams
	}
	if t.spacing == 0 || c.datagrams-last < t.spacing {
		return
	}
	c.pipeline, c.memory = c.pipeline.Clone(), c.pipeline.Memory()
	t.points = append(t.points, c)
	t.memory += c.memory
	for t.memory > checkpointBytes || len(t.points) > maxCheckpoints {
		if t.spacing *= 2; len(t.points) == 1 {
			t.points, t.memory, t.spacing = nil, 0, 0
			return
		}
		n := 0
		for i, c := range t.points {
			if i%2 == 0 {
				t.memory -= c.memory
				continue
			}
			t.points[n] = c
			n++
		}
		clear(t.points[n:])
		t.points = t.points[:n]
	}
}

// Save writes frames of the captures to another capture and returns a
// description of what it has done. If the name ends in .pcap, the format is
// pcap.
func (t *Tape) Save(name string, frames *extract.Frames) (done string, err error) {
	if err := cli.CheckInput("save", name, t.in(), t.names...); err != nil {
		return "", err
	}
	var said strings.Builder
	quiet := *t.f
	quiet.NoProgress = true
	x := extraction{
		Extract: &Extract{name: name, format: cli.NewChoice("pcapng", "pcapng", "pcap")}, Common: &quiet, s: cli.Streams{Err: &said, Graceful: true},
		cfg: t.cfg, names: t.names, stdin: t.stdin, wanted: frames, fragments: t.parts, only: true,
	}
	if strings.HasSuffix(name, ".pcap") {
		x.format.Value = "pcap"
	}
	if err := x.survey(); err != nil {
		return "", err
	}
	_, err = x.copy() // damage was reported when the captures were listed
	if errors.Is(err, capture.ErrNotEmpty) {
		err = notReplaced(name)
	}
	return told(said.String()), err
}

// notReplaced returns the error for the name of an existing file that is not
// empty.
func notReplaced(name string) error {
	return fmt.Errorf("%s: the file is not empty; give another name", name)
}

// told joins the lines for standard error to one line.
func told(lines string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(lines), "bcdissect: ", ""), "\n", "; ")
}

// in returns standard input from its beginning, or nil if it is not read.
func (t *Tape) in() io.Reader {
	if t.stdin == nil {
		return nil
	}
	_, _ = t.stdin.Seek(0, io.SeekStart) // the next read returns the error
	return t.stdin
}
