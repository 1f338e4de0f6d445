// Not part of the library: package table renders records for people at a
// terminal, with a line for each record. On request it adds all fields below
// the line. It also renders counts as tables. It is the only package that
// handles colours and widths of characters.
//
// Text from the network is escaped before it is written.
package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/internal/hexdump"
)

// Options control how records look. The caller finds out whether there is a
// terminal, how wide it is and whether the user wants colour.
type Options struct {
	Color     bool      // use ANSI colour sequences
	Width     int       // columns after which a line is cut, 0 for never
	ASCII     bool      // write no arrows, bars and ellipses
	Verbose   bool      // write all fields below the line
	Hex       bool      // write the deciphered bytes below the line
	Live      bool      // write each record without delay
	NoCapture bool      // the records do not come from a capture: show no frame, times and addresses
	Start     time.Time // origin of times, zero for the first record
	Times     Times
	Zone      *time.Location // time zone of clock times, nil for UTC
	Brief     bool           // write ship updates as one line for each ship and second
}

// Times is the format of the times of messages.
type Times uint8

// The formats of times.
const (
	Relative Times = iota // seconds since the start
	Clock                 // time of the day in Options.Zone
	Date                  // date and time in Options.Zone
	UTC                   // time of the day
	UTCDate               // date and time
	Delta                 // seconds since the frame before
	Shown                 // seconds since the frame shown before
	Epoch                 // seconds since 1970
)

// timeWidths are the widths of the formats in columns.
var timeWidths = [...]int{Relative: 8, Clock: 12, Date: 23, UTC: 12, UTCDate: 23, Delta: 11, Shown: 11, Epoch: 14}

// columns are the widths of the columns of a line, each with a space after it.
// Longer contents move the rest of the line to the right, except for names of
// players, which are cut.
type columns struct{ frame, player, name int }

var (
	wideColumns   = columns{frame: 6, player: 14, name: 18}
	narrowColumns = columns{frame: 5, player: 8, name: 16}
)

const (
	wideFrom = 100 // columns of a terminal

	// indent is written before the lines below a record's line.
	indent = "       "
)

// A Sink writes a line for each record: the frame, time, direction, player,
// name of the message, its most important fields and its errors.
type Sink struct {
	opts   Options
	cols   columns
	lines  *report.Lines
	theme  *theme
	signs  signs
	viewer decode.Viewer
	widths widths

	head, body, tail text
	left             left
	shown            lastShown
	flights          measure.Flights // ship updates if Options.Brief is set
	twoWay           bool            // the line is for both directions
	brief            briefer
	tree             tree
	values           display.Presenter
	clock            report.Clock
	addrs            report.Addresses
	lineText         []byte // buffer of Line
}

// New returns a sink that writes to w.
func New(w io.Writer, o Options) *Sink {
	s := &Sink{flights: measure.Flights{Start: o.Start}, opts: o, lines: report.NewLines(w, o.Live), theme: newTheme(o.Color), signs: signsOf(o), clock: report.Clock{Layout: time.DateTime}}
	s.values.More, s.values.Dumped = s.signs.more, treeBytes
	if o.Zone == nil {
		s.opts.Zone = time.UTC
	}
	if s.cols = wideColumns; o.Width > 0 && o.Width < wideFrom {
		s.cols = narrowColumns
	}
	s.brief.specs = map[*decode.Spec]*paths{}
	return s
}

// SetStart sets the origin of times. It is for callers who learn the time of
// the first frame only by reading it.
func (s *Sink) SetStart(t time.Time) { s.opts.Start, s.flights.Start, s.left.client = t, t, "" }

// Flush implements [report.Flusher].
func (s *Sink) Flush() error {
	if err := s.showFlights(); err != nil {
		return err
	}
	return s.lines.Flush()
}

// Close flushes the output.
func (s *Sink) Close() error {
	if err := s.showFlights(); err != nil && !errors.Is(err, report.ErrClosed) {
		return err
	}
	return s.lines.Close()
}

// Record writes the line of r, and the details below it.
func (s *Sink) Record(r *dissect.Record) error {
	if err := s.lines.Err(); err != nil {
		return err
	}
	if s.opts.Brief {
		if s.flights.Due(r) {
			if err := s.showFlights(); err != nil {
				return err
			}
		}
		if s.flights.Take(r) {
			return nil
		}
	}
	dst := s.line(s.lines.Buffer(), r)
	if s.opts.Verbose {
		dst = s.details(dst, r)
	}
	if s.opts.Hex {
		dst = hexdump.Append(dst, r.Bytes, 0, indent)
		if len(r.Pieces) > 0 {
			dst = append(dst, indent+"reassembled:\n"...)
			dst = hexdump.Append(dst, r.Payload, 0, indent)
		}
	}
	return s.lines.Done(dst)
}

// line appends the line of r.
func (s *Sink) line(dst []byte, r *dissect.Record) []byte {
	var base, name style
	if s.opts.Color {
		base, name = styles(r)
	}
	s.head.reset(base)
	s.body.reset(base)
	s.tail.reset(base)
	s.place(r)
	s.head.to(name)
	from := len(s.head.b)
	s.head.b = AppendName(s.head.b, r)
	space := s.cols.name + 1 - (len(s.head.b) - from)
	s.head.to(base)
	s.contents(r)
	s.marks(r)

	if len(s.body.b)+len(s.tail.b) > 0 {
		s.head.b = pad(s.head.b, max(space, 1))
	}
	if len(s.body.b) > 0 && len(s.tail.b) > 0 {
		s.body.b = append(s.body.b, ' ', ' ')
	}
	if s.opts.Width > 0 {
		s.fit()
	}
	if !s.opts.Color {
		dst = append(append(append(dst, s.head.b...), s.body.b...), s.tail.b...)
	} else {
		dst = s.head.append(dst, s.theme)
		dst = s.body.append(dst, s.theme)
		dst = s.tail.append(dst, s.theme)
	}
	return append(dst, '\n')
}

// AppendSummary appends the name of the message, its most important fields and
// its errors. The sink must not use colours.
func (s *Sink) AppendSummary(dst []byte, r *dissect.Record) []byte {
	s.body.reset(normal)
	s.tail.reset(normal)
	s.contents(r)
	s.marks(r)
	dst = AppendName(dst, r)
	for _, part := range [][]byte{s.body.b, s.tail.b} {
		if len(part) > 0 {
			dst = append(append(dst, ' ', ' '), part...)
		}
	}
	return dst
}

// leastBody is the minimum number of columns for the fields of a message that
// also has errors.
const leastBody = 22

// fit cuts the line to the width. It cuts the fields of a message before its
// errors.
func (s *Sink) fit() {
	width, w := s.opts.Width, &s.widths
	if len(s.head.b)+len(s.body.b)+len(s.tail.b) <= width {
		return // the line fits: no character is wider than its number of bytes
	}
	head, body, tail := w.of(s.head.b), w.of(s.body.b), w.of(s.tail.b)
	if head+body+tail <= width {
		return
	}
	room := width - head
	if room < 3 {
		s.body.reset(normal)
		s.tail.reset(normal)
		s.head.cut(w, width, s.signs.more)
		return
	}
	if tail > 0 {
		room = max(room-tail, min(leastBody, room))
	}
	if body > room {
		if tail == 0 {
			s.body.cut(w, room, s.signs.more)
		} else {
			s.body.cut(w, room-2, s.signs.more)
			s.body.b = append(s.body.b, ' ', ' ')
		}
		body = w.of(s.body.b)
	}
	s.tail.cut(w, width-head-body, s.signs.more)
}

// A left is the left part of the last line, and the values it was made from.
// The messages of one datagram share it.
type left struct {
	text   []byte
	number int
	time   time.Time
	dir    dissect.Dir
	client wire.Untrusted // empty if there is no last line
}

// A lastShown is the last frame of which a message was shown.
type lastShown struct {
	number int
	time   time.Time
	after  time.Duration // time since the frame shown before
}

// place adds the frame, time, direction and player to the line.
func (s *Sink) place(r *dissect.Record) {
	l, d := &s.left, r.Datagram
	if d == nil || s.opts.NoCapture || r.Client == "" {
		l.client = ""
		s.head.b = s.appendPlace(s.head.b, r)
		return
	}
	if r.Client != l.client || d.Number != l.number || r.Dir != l.dir || !d.Time.Equal(l.time) {
		l.text = s.appendPlace(l.text[:0], r)
		l.client, l.number, l.dir, l.time = r.Client, d.Number, r.Dir, d.Time
	}
	s.head.b = append(s.head.b, l.text...)
}

// appendPlace appends the frame, time, direction and player.
func (s *Sink) appendPlace(b []byte, r *dissect.Record) []byte {
	if d := r.Datagram; d != nil && !s.opts.NoCapture {
		b = append(display.AppendDecimal(b, false, uint64(d.Number), 0, s.cols.frame), ' ')
		if d.Time.IsZero() {
			b = pad(b, timeWidths[s.opts.Times])
		} else {
			b = s.appendTime(b, d)
		}
		b = append(b, ' ')
	}
	return s.appendWay(b, r)
}

// Heads returns the headings of the columns of lines, for records of a capture
// with times in seconds.
func (s *Sink) Heads() string {
	way := s.cols.player + s.widths.of([]byte(s.signs.toHost))
	return fmt.Sprintf("%*s %*s %-*s %-*s %s", s.cols.frame, "frame", timeWidths[Relative], "time (s)", way, "direction", s.cols.name, "message", "contents")
}

// appendTime appends the time of a datagram if it has one.
func (s *Sink) appendTime(b []byte, d *dissect.Datagram) []byte {
	const clock, date = "15:04:05.000", "2006-01-02 15:04:05.000"
	width := timeWidths[s.opts.Times]
	switch s.opts.Times {
	case Clock:
		return d.Time.In(s.opts.Zone).AppendFormat(b, clock)
	case Date:
		return d.Time.In(s.opts.Zone).AppendFormat(b, date)
	case UTC:
		return d.Time.UTC().AppendFormat(b, clock)
	case UTCDate:
		return d.Time.UTC().AppendFormat(b, date)
	case Delta:
		return appendMicros(b, d.After, width)
	case Shown:
		if d.Number != s.shown.number || !d.Time.Equal(s.shown.time) {
			if s.shown.after = 0; !s.shown.time.IsZero() {
				s.shown.after = d.Time.Sub(s.shown.time)
			}
			s.shown.number, s.shown.time = d.Number, d.Time
		}
		return appendMicros(b, s.shown.after, width)
	case Epoch:
		return appendSeconds(b, d.Time.Sub(time.Unix(0, 0)), width)
	case Relative:
	}
	if s.opts.Start.IsZero() {
		s.opts.Start = d.Time
	}
	return appendSeconds(b, d.Time.Sub(s.opts.Start), width)
}

// appendWay appends sender and receiver, such as "Cady2 → host".
func (s *Sink) appendWay(b []byte, r *dissect.Record) []byte {
	before := len(b)
	if r.Dir == dissect.FromHost {
		b = append(b, s.signs.fromHost...)
	}
	from := len(b)
	b = s.widths.fit(s.appendPlayer(b, r), from, s.cols.player, s.signs.more, r.Client == "")
	if r.Dir == dissect.FromHost {
		return append(b, ' ')
	}
	b = b[:from+len(bytes.TrimRight(b[from:], " "))]
	switch {
	case s.twoWay:
		b = append(b, s.signs.both...)
	case r.Dir == dissect.ToHost:
		b = append(b, s.signs.toHost...)
	case len(b) > from:
		b = append(append(append(b, ' '), s.signs.arrow...), " ?"...)
	case s.opts.NoCapture:
		return b[:before]
	}
	return append(pad(b, s.cols.player+s.widths.of([]byte(s.signs.toHost))-s.widths.of(b[before:])), ' ')
}

// appendPlayer appends the client: its name, or else its address, or else the
// sender's ID. Records that do not come from a capture may have none of these.
func (s *Sink) appendPlayer(dst []byte, r *dissect.Record) []byte {
	switch {
	case r.Client != "":
		return report.AppendEscaped(dst, r.Client)
	case r.Datagram != nil && !s.opts.NoCapture && r.Dir == dissect.FromHost:
		return r.Datagram.Dst.AppendTo(dst)
	case r.Datagram != nil && !s.opts.NoCapture:
		return r.Datagram.Src.AppendTo(dst)
	case r.Dir == dissect.FromHost: // the sender's ID is the host's
		return append(dst, "client"...)
	case r.Peer != 0:
		return appendInt(append(dst, "peer "...), int64(r.Peer))
	case r.Dir == dissect.ToHost:
		return append(dst, "client"...)
	}
	return dst
}

// AppendName appends the name of a game message. For other records it appends
// the kind.
func AppendName(dst []byte, r *dissect.Record) []byte {
	switch r.Kind {
	case dissect.KindGameSpy:
		return append(append(dst, "gamespy "...), r.GameSpy.Kind()...)
	case dissect.KindMalformed:
		if r.Cut {
			return append(dst, "cut"...)
		}
		return append(dst, "malformed"...)
	case dissect.KindEvicted:
		return append(dst, "evicted"...)
	case dissect.KindMessage, dissect.KindPayload:
	}
	op, ok := r.Opcode()
	switch {
	case !ok && r.Transport.Fragment && r.Transport.Type == transport.Standard:
		return append(dst, "fragment"...)
	case !ok:
		return append(dst, r.Transport.Type.Kind()...)
	case r.Spec == nil:
		return display.AppendHex(append(dst, "unknown "...), uint64(op), 2)
	case r.Spec.Code != op: // a spec that stands for all opcodes without their own spec
		dst = append(append(dst, r.Spec.Name...), ' ')
		return display.AppendHex(dst, uint64(op), 2)
	}
	return append(dst, r.Spec.Name...)
}

// shownBytes is the number of undecoded bytes that a line shows.
const shownBytes = 16

// contents adds the contents of the message.
func (s *Sink) contents(r *dissect.Record) {
	t := &s.body
	h := &r.Transport
	switch {
	case r.Kind == dissect.KindGameSpy:
		s.pairs(r)
	case r.Kind == dissect.KindMalformed:
		t.b = s.values.AppendBytes(t.b, r.Bytes, shownBytes)
	case r.Kind == dissect.KindEvicted:
		if r.Err != nil {
			t.b = report.AppendEscaped(t.b, r.Err.Error())
		}
	case r.Message != nil:
		s.brief.append(s, r)
	case r.Status == dissect.StatusUnknown:
		t.b = s.values.AppendBytes(t.b, r.Rest, shownBytes)
	case h.Type == transport.Acknowledge && h.HasSeq:
		s.key("seq")
		t.b = appendInt(t.b, int64(h.Seq))
		if h.Fragment {
			s.key("fragment")
			t.b = appendInt(t.b, int64(h.Index)+1)
		}
		if h.Control() {
			t.b = append(t.b, "  control"...)
		}
	case h.Fragment && h.Type == transport.Standard:
		t.b = appendInt(t.b, int64(h.Index)+1)
		if h.Index == 0 {
			t.b = append(t.b, " of "...)
			t.b = appendInt(t.b, int64(h.Count))
		}
		s.key("seq")
		t.b = appendInt(t.b, int64(h.Seq))
	}
}

// shownPairs is the number of pairs of a GameSpy message that a line shows.
const shownPairs = 8

// pairs adds the beginning of a GameSpy message.
func (s *Sink) pairs(r *dissect.Record) {
	n := 0
	for key, value := range r.GameSpy.Pairs() {
		if n++; n > shownPairs {
			s.body.b = append(append(s.body.b, ' ', ' '), s.signs.more...)
			return
		}
		if value == "" {
			s.key("")
			s.body.b = report.AppendEscaped(s.body.b, key)
			continue
		}
		s.key(key.String())
		s.body.b = report.AppendEscaped(s.body.b, value)
	}
}

// key adds the label of a value.
func (s *Sink) key(label string) {
	t := &s.body
	if len(t.b) > 0 {
		t.b = append(t.b, ' ', ' ')
	}
	if label == "" {
		return
	}
	base := t.now
	t.to(faint)
	t.b = append(t.b, label...)
	t.to(base)
	t.b = append(t.b, ' ')
}

// marks adds the errors and notes of the message.
func (s *Sink) marks(r *dissect.Record) {
	t := &s.tail
	base := t.now
	switch r.Status {
	case dissect.StatusOK, dissect.StatusPending:
	case dissect.StatusDuplicate:
		s.mark("duplicate", base)
	case dissect.StatusTrailing:
		s.mark("trailing ", yellow)
		t.b = appendCount(t.b, len(r.Rest), "byte")
	case dissect.StatusUnknown:
		s.mark("unknown", yellow)
		if len(r.Rest) > 0 {
			t.b = append(t.b, ", "...)
			t.b = appendCount(t.b, len(r.Rest), "byte")
		}
	case dissect.StatusUnresolved:
		s.mark("unresolved", yellow)
		s.reason(r)
	case dissect.StatusMalformed:
		s.mark("malformed", red)
		s.reason(r)
	}
	t.to(base)
	if len(r.Pieces) > 0 {
		s.mark("from ", faint)
		t.b = appendCount(t.b, len(r.Pieces), "fragment")
		t.to(base)
	}
	if r.Kind != dissect.KindMalformed && r.Kind != dissect.KindEvicted { // the notes of these kinds repeat the error
		for _, n := range r.Notes {
			s.mark("[", yellow)
			t.b = report.AppendEscaped(t.b, n.Words())
			t.b = append(t.b, ']')
			t.to(base)
		}
	}
}

func (s *Sink) mark(what string, look style) {
	if len(s.tail.b) > 0 {
		s.tail.b = append(s.tail.b, ' ', ' ')
	}
	s.tail.to(look)
	s.tail.b = append(s.tail.b, what...)
}

// reason adds the reason that the message is not fully decoded.
func (s *Sink) reason(r *dissect.Record) {
	if r.Err != nil {
		s.tail.b = append(s.tail.b, ": "...)
		s.tail.b = appendReason(s.tail.b, r.Err, true)
	}
}
