package tables

import (
	"cmp"
	"slices"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// lapLength is the time of a row in the table of links.
const lapLength = 10 * time.Second

// linkColumns are the columns of the table of links with their getters.
var linkColumns = []struct {
	Column
	set func(t *rows, i int, l *measure.Lap)
}{
	{of("host", Text, "`ip:port`"), func(t *rows, i int, l *measure.Lap) { t.text(i, l.Host.String()) }},
	{of("client", Text, "`ip:port`"), func(t *rows, i int, l *measure.Lap) { t.text(i, l.Client.String()) }},
	{of("dir", Text, "`c2s` or `s2c`: the direction that the row measures"), func(t *rows, i int, l *measure.Lap) { t.text(i, l.Dir.String()) }},
	{of("conversation", Int, "as in `records`"), func(t *rows, i int, l *measure.Lap) { t.positive(i, int64(l.Conversation)) }},
	{of("player", Int, "as in `records`"), func(t *rows, i int, l *measure.Lap) {
		if l.Index >= 0 {
			t.int(i, int64(l.Index))
		}
	}},
	{of("player_name", Text, "name of that player"), func(t *rows, i int, l *measure.Lap) { t.known(i, l.Player) }},
	{of("datagrams", Int, "sent"), func(t *rows, i int, l *measure.Lap) { t.int(i, l.Datagrams) }},
	{of("bytes", Int, "of UDP payload"), func(t *rows, i int, l *measure.Lap) { t.int(i, l.Bytes) }},
	{of("messages", Int, "transport messages"), func(t *rows, i int, l *measure.Lap) { t.int(i, l.Messages) }},
	{of("reliable_messages", Int, "messages that ask for an acknowledgement, retransmissions included"), func(t *rows, i int, l *measure.Lap) { t.int(i, l.Reliable) }},
	{of("retransmissions", Int, "of them, retransmissions"), func(t *rows, i int, l *measure.Lap) { t.int(i, l.Repeated) }},
	{of("duplicates", Int, "retransmissions of messages that had been acknowledged"), func(t *rows, i int, l *measure.Lap) { t.int(i, l.Duplicates) }},
	{of("acknowledged", Int, "messages acknowledged for the first time"), func(t *rows, i int, l *measure.Lap) { t.int(i, l.Acknowledged) }},
	{of("lost", Int, "missing sequence numbers; negative if more came late than were missed"), func(t *rows, i int, l *measure.Lap) { t.int(i, l.Lost) }},
	{of("late", Int, "sequence numbers that came after a higher one"), func(t *rows, i int, l *measure.Lap) { t.int(i, l.Late) }},
	{of("rtt_n", Int, "round trips measured"), func(t *rows, i int, l *measure.Lap) { t.int(i, l.RTTs) }},
	{of("rtt_ms_mean", Double, "their mean in milliseconds"), func(t *rows, i int, l *measure.Lap) { t.millis(i, l.RTT) }},
	{of("rtt_ms_max", Double, "the longest"), func(t *rows, i int, l *measure.Lap) { t.millis(i, l.RTTMax) }},
	{of("silence_ms_longest", Double, "longest silence that ended in these seconds"), func(t *rows, i int, l *measure.Lap) { t.millis(i, l.Silence) }},
	{of("silence_at", Time, "when it began"), func(t *rows, i int, l *measure.Lap) {
		if l.Silence > 0 {
			t.int(i, l.SilenceAt.UnixMicro())
		}
	}},
	{of("updates", Int, "ship updates sent"), func(t *rows, i int, l *measure.Lap) { t.int(i, l.Updates) }},
}

// linkTable returns the table of links.
func linkTable() Table {
	t := Table{Name: links, Doc: "a player's connection in one direction for 10 seconds of the capture, if anything was sent", Columns: []Column{
		of("ts", Time, "beginning of the 10 seconds"),
		of("rel", Double, "the same, in seconds since the first frame of the capture"),
	}}
	for i := range linkColumns {
		t.Columns = append(t.Columns, linkColumns[i].Column)
	}
	return t
}

// positive sets a number that is known if it is not 0.
func (r *rows) positive(column int, v int64) {
	if v > 0 {
		r.int(column, v)
	}
}

// known sets a text that is known if it is not empty.
func (r *rows) known(column int, s string) {
	if s != "" {
		r.text(column, s)
	}
}

// millis sets a time that is known if it is not 0.
func (r *rows) millis(column int, d time.Duration) {
	if d > 0 {
		r.double(column, float64(d)/1e6)
	}
}

// laps measures links for the table.
type laps struct {
	meter measure.Meter
	t     *rows
	begin time.Time // of the current lap
	start time.Time
	frame int
	all   []measure.Lap
}

// record measures a record.
func (l *laps) record(r *dissect.Record) {
	if d := r.Datagram; d != nil && d.Number != l.frame && !d.Time.IsZero() {
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
	_ = l.meter.Record(r) // never fails
}

// end writes the rows of the lap.
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
		for c := range linkColumns {
			linkColumns[c].set(l.t, 2+c, &l.all[i])
		}
	}
}
