package viewer

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/capture"
	"github.com/bcdissect/bcdissect/dissect/filter"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/table"
)

// mostRows is the maximum number of records in a list. Further records are only
// counted.
const mostRows = 4 << 20

const chunkRows = 1024

// A chunk has the texts of some rows, one after another.
type chunk struct {
	text []byte
	ends []uint32
}

// A List is the list of messages of captures, with a line for each record or
// for each record that a filter matches. It keeps the lines but not the
// records. To show the fields of a record, the captures are read again.
type List struct {
	names  []string   // without copies
	groups [][]string // the recordings
	start  time.Time
	teller *table.Teller

	reading *passage // nil after the last record
	chunks  []chunk
	frames  []uint32 // frame numbers of the rows
	places  *places  // nil for a single recording
	most    int      // maximum number of rows
	left    int      // number of records without a row

	filter   *filter.Filter // nil for no filter
	matching *passage       // nil after the last record
	matched  int            // number of records that were compared with the filter
	kept     []uint32       // rows that the filter matches

	details *window
}

// NewList begins the list of captures. Step adds the rows.
func NewList(names []string) (*List, error) {
	l := &List{teller: table.NewTeller(), chunks: []chunk{{}}, most: mostRows}
	l.groups, _ = dissect.Recordings(dissect.Config{}, names)
	l.names = slices.Concat(l.groups...)
	var tap capture.Tap
	if len(l.groups) > 1 {
		l.places = &places{names: map[int]string{}, frames: map[int][]uint32{}}
		tap = l.places
	}
	var err error
	if l.reading, err = passTapped(l.names, tap, 0); err != nil {
		return nil, err
	}
	l.start = l.reading.src.Stats().FirstTime
	return l, nil
}

// Step continues reading and filtering. It reports whether there is more to do.
func (l *List) Step() (more bool) {
	if l.matching != nil {
		if !l.matching.step(l.match) {
			l.matching = nil
		}
	} else if l.reading != nil && !l.reading.step(l.add) {
		l.reading = nil
	}
	return l.matching != nil || l.reading != nil
}

// Progress returns the number of bytes of the captures that were read or
// filtered, and their size.
func (l *List) Progress() (read, size int64) {
	switch {
	case l.matching != nil:
		return l.matching.src.Progress()
	case l.reading != nil:
		return l.reading.src.Progress()
	}
	return 1, 1
}

// add adds the line of a record: frame, time, look, way, name, contents and
// marks.
func (l *List) add(r *dissect.Record) error {
	if len(l.frames) == l.most {
		l.left++
		return nil
	}
	c := &l.chunks[len(l.chunks)-1]
	if len(c.ends) == chunkRows {
		c.text = slices.Clip(c.text)
		l.chunks = append(l.chunks, chunk{text: make([]byte, 0, len(c.text)+len(c.text)/8), ends: make([]uint32, 0, chunkRows)})
		c = &l.chunks[len(l.chunks)-1]
	}
	frame := 0
	b := c.text
	if r.Datagram != nil {
		frame = r.Datagram.Number
		b = strconv.AppendInt(b, int64(frame), 10)
		b = append(b, '\t')
		b = strconv.AppendFloat(b, float64(r.Datagram.Time.Sub(l.start).Milliseconds())/1000, 'f', 3, 64)
	} else {
		b = append(b, '\t')
	}
	cells := l.teller.Cells(r)
	b = append(append(b, '\t'), cells.Look...)
	b = append(append(b, '\t'), cells.Way...)
	b = append(append(b, '\t'), cells.Name...)
	b = append(append(b, '\t'), cells.Contents...)
	b = append(append(b, '\t'), cells.Marks...)
	c.text, c.ends = b, append(c.ends, uint32(len(b)))
	l.frames = append(l.frames, uint32(frame))
	return nil
}

// row returns the text of a row.
func (l *List) row(i int) []byte {
	c, k := &l.chunks[i/chunkRows], i%chunkRows
	from := uint32(0)
	if k > 0 {
		from = c.ends[k-1]
	}
	return c.text[from:c.ends[k]]
}

// Len returns the number of rows that the filter matches, of all rows, and of
// records without a row.
func (l *List) Len() (shown, all, left int) {
	if l.filter != nil {
		return len(l.kept), len(l.frames), l.left
	}
	return len(l.frames), len(l.frames), l.left
}

// Rows returns the lines of the list from one position to another. A line has
// the row's number and its cells, separated by tabs.
func (l *List) Rows(from, to int) string {
	shown, _, _ := l.Len()
	var b strings.Builder
	for i := max(from, 0); i < min(to, shown); i++ {
		k := l.rowAt(i)
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strconv.Itoa(k))
		b.WriteByte('\t')
		b.Write(l.row(k))
	}
	return b.String()
}

// rowAt returns the row at a position of the list.
func (l *List) rowAt(place int) int {
	if l.filter != nil {
		return int(l.kept[place])
	}
	return place
}

// Filter shows only rows for which an expression is true. An empty expression
// shows all rows. The error is a [*filter.Error].
func (l *List) Filter(expression string) error {
	if strings.TrimSpace(expression) == "" {
		l.stopMatching()
		l.filter, l.kept = nil, nil
		return nil
	}
	f, err := filter.Compile(expression, nil)
	if err != nil {
		return err
	}
	p, err := pass(l.names)
	if err != nil {
		return err
	}
	f.Start = l.start
	l.stopMatching()
	l.filter, l.matching, l.matched, l.kept = f, p, 0, nil
	return nil
}

// stopMatching ends the passage for the filter.
func (l *List) stopMatching() {
	if l.matching != nil {
		l.matching.close()
		l.matching = nil
	}
}

// match compares a record with the filter.
func (l *List) match(r *dissect.Record) error {
	if l.matched < l.most && l.filter.Match(r) {
		l.kept = append(l.kept, uint32(l.matched))
	}
	l.matched++
	return nil
}

// Place returns the position of a row in the list, or of the next row in the
// list. It returns -1 if there is none.
func (l *List) Place(row int) int {
	place := row
	if l.filter != nil {
		place, _ = slices.BinarySearch(l.kept, uint32(row))
	}
	if shown, _, _ := l.Len(); place < 0 || place >= shown {
		return -1
	}
	return place
}

// Frame returns a row of a frame, or the first row of the next frame that has
// one. It prefers a row for which standsOut is true, and returns -1 if there is
// none. The frame number counts in the recording with the index group, whose
// files [dissect.Recordings] returns.
func (l *List) Frame(group, frame int) int {
	if l.places != nil {
		frame = l.places.number(l.groups[group], frame)
	}
	first := slices.IndexFunc(l.frames, func(n uint32) bool { return n >= uint32(frame) })
	for i := first; i >= 0 && i < len(l.frames) && l.frames[i] == uint32(frame); i++ {
		if l.standsOut(i) {
			return i
		}
	}
	return first
}

// standsOut returns false for acknowledgements, ship updates and similar rows.
func (l *List) standsOut(i int) bool {
	look := strings.SplitN(string(l.row(i)), "\t", 4)[2]
	return look != "normal" && look != "faint"
}

// Start returns the time of the first frame.
func (l *List) Start() time.Time { return l.start }

// Complete returns the continuations of a filter.
func Complete(expression string) []string {
	const most = 60
	all := filter.Complete(expression, nil)
	return all[:min(len(all), most)]
}

// A Mistake describes an error in a filter.
type Mistake struct {
	Column int    `json:"column"`
	Length int    `json:"length"`
	Reason string `json:"reason"`
	Caret  string `json:"caret"` // two lines
}

// NewMistake describes the error of Filter.
func NewMistake(err error) *Mistake {
	e, ok := err.(*filter.Error) //nolint:errorlint // as Compile returns it
	if !ok {
		return &Mistake{Reason: report.Escape(err.Error())}
	}
	return &Mistake{Column: e.Column, Length: e.Length, Reason: report.Escape(e.Reason()), Caret: e.Caret()}
}
