package tables

import (
	"io"
	"reflect"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Options control the tables of a capture.
type Options struct {
	CSV     bool            // write CSV, not Parquet
	Version string          // version of the program
	Origin  Origin          // origin of the capture for the table of files
	Start   time.Time       // time of the first frame of the capture
	Catalog *decode.Catalog // catalogue of the messages, nil for the original game's
	// Create creates the file of a table.
	Create func(table string) (io.WriteCloser, error)
}

// Rows of a batch. Few kinds of messages are frequent, and there may be many
// tables.
const (
	manyRows = 4096
	fewRows  = 512
)

// A Sink writes the tables of one capture. It implements report.Sink. Its use
// of memory is limited for any traffic.
type Sink struct {
	opts    Options
	err     error
	all     []*rows
	records *rows
	header  *header // header of records
	small   *header // header of messages
	parts   *rows   // table of subsystems
	plans   map[*decode.Spec]*planned
	kinds   map[string]*planned // plans of transport messages, and the table of GameSpy
	visitor visitor
	laps    laps
	match   *match.Builder
	tally   measure.Tally
}

// planned is a plan and its table.
type planned struct {
	*plan
	t      *rows
	motion *motion // columns of ship updates
}

// NewSink returns a sink. It creates the tables that every capture has. If that
// fails, each later call returns the error.
func NewSink(o Options) *Sink {
	s := &Sink{
		opts: o, kinds: map[string]*planned{}, plans: map[*decode.Spec]*planned{}, header: newHeader(recordKeys()), small: newHeader(headers), match: match.New(o.Start),
	}
	s.header.start, s.small.start = &s.opts.Start, &s.opts.Start
	s.laps.start, s.laps.meter.LinksOnly = o.Start, true
	s.visitor.fill = s.fillPart
	s.records = s.table(recordTable(), manyRows)
	s.laps.t = s.table(linkTable(), fewRows)
	if spec := update(o.Catalog); spec != nil {
		p := planFor(spec)
		if p.elements != nil {
			s.parts = s.table(p.elements.table, manyRows)
		}
		s.plans[spec] = &planned{p, s.table(p.table, manyRows), newMotion(&p.table)}
	}
	return s
}

// table creates a table.
func (s *Sink) table(t Table, batch int) *rows {
	w, err := s.opts.Create(t.Name)
	if err != nil {
		s.fail(err)
		w = nowhere{}
	}
	r := newRows(t, w, &s.opts, batch)
	s.all = append(s.all, r)
	return r
}

// fail stores the first error.
func (s *Sink) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// nowhere replaces a file that cannot be created.
type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) Close() error                { return nil }

// Record adds the rows of a record.
func (s *Sink) Record(r *dissect.Record) error {
	_ = s.tally.Record(r) // these never return an error
	_ = s.match.Record(r)
	s.laps.record(r)
	if r.Datagram == nil {
		return s.err // an eviction at the end of the capture, which has no frame
	}
	s.records.begin()
	s.header.fill(s.records, r)
	switch {
	case r.DoubleOf > 0: // repeated records are only in the table of records
	case r.Kind == dissect.KindGameSpy:
		s.gameSpy(r)
	case r.Spec != nil && (r.Message != nil || r.Game()):
		s.message(r)
	}
	if s.records.err != nil {
		s.fail(s.records.err)
	}
	return s.err
}

// message adds the row of a message.
func (s *Sink) message(r *dissect.Record) {
	p := s.planOf(r)
	if p == nil {
		return
	}
	p.t.begin()
	s.small.fill(p.t, r)
	switch m, _ := r.Message.(*msg.StateUpdate); {
	case p.motion == nil || !p.motion.fill(p.t, &s.visitor, r):
		s.visitor.show(p.t, p.plan, s.parts, r)
	case m.Flags&(msg.DirtySubsystems|msg.DirtyPower) != 0:
		s.visitor.viewer.Limit(rest)
		s.visitor.show(p.t, p.plan, s.parts, r)
		s.visitor.viewer.Limit(decode.FieldSet{})
	}
	if p.t.err != nil {
		s.fail(p.t.err)
	}
}

// planOf returns the plan for the message of a record. It returns nil if the
// message has no fields.
func (s *Sink) planOf(r *dissect.Record) *planned {
	if r.Transport.Type != transport.Standard && r.Kind == dissect.KindMessage {
		kind := r.Transport.Type.Kind()
		p := s.kinds[kind]
		if p == nil {
			p = &planned{plan: planForKind(kind)}
			p.t = s.table(p.table, fewRows)
			s.kinds[kind] = p
		}
		return p
	}
	p := s.plans[r.Spec]
	if p == nil && r.Spec.Known() {
		p = &planned{plan: planFor(r.Spec)}
		p.t = s.table(p.table, fewRows)
		s.plans[r.Spec] = p
	}
	return p
}

// fillPart sets the first columns in the row of a subsystem.
func (s *Sink) fillPart() {
	v := &s.visitor
	s.small.fill(v.t, v.record)
	if m, ok := v.record.Message.(*msg.StateUpdate); ok && v.record.Session != nil {
		n := len(headers)
		v.t.int(n, int64(m.Object))
		if v.text = v.record.Session.AppendObject(v.text[:0], m.Object); len(v.text) > 0 {
			v.t.put(n+1, &display.Item{Type: decode.TypeText, Text: v.text})
		}
		if m.Class != nil {
			v.t.text(n+2, m.Class.Name)
		}
	}
}

// gameSpy adds the row of a GameSpy datagram.
func (s *Sink) gameSpy(r *dissect.Record) {
	p := s.kinds[gameSpy]
	if p == nil {
		p = &planned{t: s.table(gameSpyTable(), fewRows)}
		s.kinds[gameSpy] = p
	}
	p.t.begin()
	s.small.fill(p.t, r)
	n := len(headers)
	for k, v := range r.GameSpy.Pairs() {
		addText(p.t, p.t.add(n, element), k.Raw())
		addText(p.t, p.t.add(n+1, element), v.Raw())
	}
	p.t.end(n)
	p.t.end(n + 1)
}

// gameSpyTable returns the table of GameSpy datagrams.
func gameSpyTable() Table {
	return Table{Name: gameSpy, Doc: "A datagram of GameSpy text.", Columns: append(newHeader(headers).columns(),
		listOf("keys", Text, "in the order of the text"), listOf("values", Text, "the value of each key"))}
}

// Close writes the remaining rows of all tables except the table of captures.
func (s *Sink) Close() error {
	s.laps.end()
	_ = s.match.Close() // it never returns an error
	all := s.match.Matches()
	for _, t := range modelTables() {
		r := s.table(t.Table, fewRows)
		for n, m := range all {
			t.write(r, m, n)
		}
	}
	files := s.table(fileTable(), fewRows)
	for i := range s.opts.Origin.Files {
		files.begin()
		files.fill(0, fileColumns, nil, reflect.ValueOf(fileRow{i, &s.opts.Origin.Files[i], &s.opts.Origin}))
	}
	for _, r := range s.all {
		if err := r.close(); err != nil {
			s.fail(err)
		}
	}
	return s.err
}

// Rows returns the number of rows of each table, by name.
func (s *Sink) Rows() map[string]int64 {
	n := map[string]int64{}
	for _, r := range s.all {
		n[r.table.Name] = r.total
	}
	return n
}

// Tally returns the counts of the records. The caller sets the counts that only
// the reader of the capture knows.
func (s *Sink) Tally() *measure.Tally { return &s.tally }

// WriteCapture writes the table of captures, which has one row. It must be
// called last.
func (s *Sink) WriteCapture(c *Capture) error {
	w, err := s.opts.Create(Captures)
	if err != nil {
		return err
	}
	r := newRows(captureTable(), w, &s.opts, 1)
	r.begin()
	r.fill(0, captureColumns, nil, reflect.ValueOf(captureRow{c, &s.opts.Origin, &s.tally}))
	return r.close()
}
