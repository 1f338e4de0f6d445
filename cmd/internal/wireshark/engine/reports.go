package engine

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/table"
)

// look has the options of reports. With fewer columns, the table of players
// would not show damage.
var look = table.Options{Width: 100}

// Report returns a report about the capture so far as text. The kind is
// session, connections or chat.
func (e *Engine) Report(kind string) (string, error) {
	if len(e.held.all) == 0 {
		return "No datagram of the game was seen.\n", nil
	}
	var first dissect.Datagram
	e.held.load(0, &first)
	var out bytes.Buffer
	var err error
	switch kind {
	case "session":
		b := match.New(first.Time)
		e.replay(b, &err)
		if all := b.Matches(); err == nil && len(all) > 0 {
			err = table.Session(&out, all, match.NewEvenings([]string{""}, all).League, table.SessionOptions{Options: look})
		}
	case "connections":
		m := new(measure.Meter)
		if e.replay(m, &err); err == nil {
			err = table.Network(&out, m, look)
		}
	case "chat":
		o := look
		o.Start = first.Time
		s := chat{table.New(&out, o)}
		e.replay(s, &err)
	default:
		err = fmt.Errorf("no report %q", kind)
	}
	if err == nil && out.Len() == 0 {
		return "There is nothing of this in the capture.\n", nil
	}
	return out.String(), err
}

// replay passes the records of all datagrams to a sink.
func (e *Engine) replay(sink report.Sink, err *error) {
	p := dissect.New(e.cfg)
	var d dissect.Datagram
	for i := range e.held.all {
		e.held.load(i, &d)
		if *err = p.Push(&d, sink.Record); *err != nil {
			return
		}
	}
	if *err = p.Flush(sink.Record); *err == nil {
		*err = sink.Close()
	}
}

// chat is a sink that passes on lines of chat, each only once.
type chat struct{ report.Sink }

// Record implements [report.Sink].
func (c chat) Record(r *dissect.Record) error {
	if r.Spec == nil || r.Author != nil || r.Status == dissect.StatusDuplicate || !strings.Contains(r.Spec.Name, "Chat") {
		return nil
	}
	return c.Sink.Record(r)
}
