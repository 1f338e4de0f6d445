package tables

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// lapLength is the time that a row in the table of links covers.
const lapLength = 10 * time.Second

// linkColumns are the columns of a row in the table of links.
var linkColumns = match.Columns(reflect.TypeFor[measure.Lap](), match.Table)

// linkTable returns the table of links.
func linkTable() Table {
	return Table{Name: links, Doc: "a player's connection in one direction for 10 seconds of the capture, if anything was sent", Columns: append([]Column{
		of("ts", Time, "beginning of the 10 seconds"),
		of("rel", Double, "this moment, in seconds since the first frame of the capture"),
	}, columnsOf(linkColumns)...)}
}

// laps measures connections for the table of links.
type laps struct {
	meter measure.Meter
	t     *rows
	begin time.Time // beginning of the current lap
	start time.Time
	frame int
	all   []measure.Lap
}

// record adds a record to the measurements.
func (l *laps) record(r *dissect.Record) {
	if d := r.Datagram; d != nil && r.DoubleOf == 0 && d.Number != l.frame && !d.Time.IsZero() {
		l.frame = d.Number
		if l.start.IsZero() {
			l.start = d.Time
		}
		if l.begin.IsZero() {
			l.begin = l.start
		}
		if past := d.Time.Sub(l.begin); past >= lapLength || past < 0 {
			l.end()
			l.begin = l.start.Add(d.Time.Sub(l.start).Truncate(lapLength))
		}
	}
	_ = l.meter.Record(r) // it never returns an error
}

// end writes the rows of the current lap.
func (l *laps) end() {
	l.all = l.all[:0]
	l.meter.Laps(func(lap *measure.Lap) {
		if lap.Datagrams > 0 {
			l.all = append(l.all, *lap)
		}
	})
	slices.SortFunc(l.all, func(a, b measure.Lap) int {
		return cmp.Or(a.Host.Compare(b.Host), a.Client.Compare(b.Client), cmp.Compare(a.Dir, b.Dir))
	})
	for i := range l.all {
		l.t.begin()
		if !l.begin.IsZero() {
			l.t.int(0, l.begin.UnixMicro())
			l.t.double(1, l.begin.Sub(l.start).Seconds())
		}
		l.t.fill(2, linkColumns, nil, reflect.ValueOf(&l.all[i]).Elem())
	}
}
