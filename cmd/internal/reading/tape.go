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

// maxSpooled bounds the copy of standard input.
const maxSpooled = 1 << 30

// Limits of the checkpoints of a tape.
const (
	maxCheckpoints  = 64
	checkpointBytes = 48 << 20
	firstSpacing    = 4096 // datagrams
)

// A Tape reads the selected records of captures as often as wanted. It reads their
// datagrams from the beginning, but decodes them from the last checkpoint on: a
// clone of the pipeline. It is for one goroutine at a time.
type Tape struct {
	f     *cli.Common
	cfg   dissect.Config
	names []string
	stdin *os.File // standard input or a copy of it, nil if it is not read
	copy  bool
	start time.Time
	said  string // of the first reading to the end, for standard error
	ended bool
	parts int // IP fragments in the captures, once they were read to the end

	points  []checkpoint // in the order of the captures
	spacing int          // datagrams between two; 0 if the pipelines are too large
	memory  int
}

// A checkpoint is the state after a number of datagrams.
type checkpoint struct {
	datagrams, records int
	pipeline           *dissect.Pipeline
	memory             int
}

// OpenTape checks that captures can be read more than once. It copies standard
// input, unless that is a file.
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
		_ = t.stdin.Close()           // nothing more is written
		_ = os.Remove(t.stdin.Name()) // a leftover file is not worth an error
	}
}

// Start returns the time of the first frame, once it was read.
func (t *Tape) Start() time.Time { return t.start }

// Said returns the remarks on the captures for standard error, once they were
// read to the end.
func (t *Tape) Said() string { return t.said }

// Scan passes the selected records from number first on to take with their numbers,
// until that returns false. Numbers count all records from 0.
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
	defer func() { _ = src.Close() }() // nothing was written
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

// push gives a batch from one index on to the pipeline, and keeps a checkpoint if
// the last one is far.
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

// A scan takes the selected records from one on.
type scan struct {
	match       func(*dissect.Record) bool
	at          checkpoint // the state so far
	first       int
	take        func(n int, r *dissect.Record) bool
	seen, shown int // records, all and selected
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

// nearest returns a copy of the last checkpoint before a record, or of the
// beginning.
func (t *Tape) nearest(record int) checkpoint {
	for _, c := range slices.Backward(t.points) {
		if c.records <= record {
			c.pipeline = c.pipeline.Clone()
			return c
		}
	}
	return checkpoint{pipeline: dissect.New(t.cfg)}
}

// keep keeps a copy of a state, unless there is one close before it or behind. If
// there are too many, it drops every second.
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

// Save writes frames of the captures to another capture, and returns what it has
// done in words. A name that ends in .pcap makes a file of that form.
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
	_, err = x.copy() // damage was told when the captures were listed
	if errors.Is(err, capture.ErrNotEmpty) {
		err = notReplaced(name)
	}
	return told(said.String()), err
}

// notReplaced returns the error for a name of a file that holds something.
func notReplaced(name string) error {
	return fmt.Errorf("%s: the file is not empty; give another name", name)
}

// told returns the lines for standard error as one.
func told(lines string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(lines), "bcdissect: ", ""), "\n", "; ")
}

// in returns standard input from its beginning, or nil if it is not read.
func (t *Tape) in() io.Reader {
	if t.stdin == nil {
		return nil
	}
	_, _ = t.stdin.Seek(0, io.SeekStart) // reading reports the error
	return t.stdin
}
