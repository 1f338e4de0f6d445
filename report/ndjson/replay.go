package ndjson

import (
	"io"
	"strconv"

	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect/conform"
)

// Replay writes the comparison of a host as one object on one line.
func Replay(w io.Writer, r *conform.Report) error {
	_, err := w.Write(append(AppendReplay(nil, r), '\n'))
	return err
}

// AppendReplay appends the comparison of a host as one object.
func AppendReplay(dst []byte, r *conform.Report) []byte {
	dst = text(dst, `{"host":`, r.Host.String())
	dst = text(dst, `,"dialect":`, r.Dialect.String())
	dst = text(dst, `,"against":`, r.Against.String())
	dst = append(dst, `,"clients":[`...)
	for i, c := range r.Clients {
		dst = comma(dst, i)
		dst = text(dst, `{"addr":`, c.Addr.String())
		if c.Peer > 0 {
			dst = integer(dst, `,"peer":`, int64(c.Peer))
		}
		if c.Slot >= 0 {
			dst = integer(dst, `,"slot":`, int64(c.Slot))
		}
		if c.Name != "" {
			dst = text(dst, `,"name":`, c.Name)
		}
		dst = integer(dst, `,"frame":`, int64(c.First))
		if c.Adopted {
			dst = append(dst, `,"adopted":true`...)
		}
		dst = append(dst, '}')
	}
	dst = text(dst, `],"mode":`, r.Game.Mode.String())
	dst = text(dst, `,"mission":`, r.Game.Mission)
	dst = integer(dst, `,"system":`, int64(r.Game.System))
	dst = integer(dst, `,"player_limit":`, int64(r.Game.Players))
	dst = integer(dst, `,"inputs":`, int64(r.Inputs))
	dst = rows(append(dst, `,"classes":[`...), r.Rows)
	dst = rows(append(dst, `],"control":[`...), r.Controls)
	dst = append(dst, `],"differences":[`...)
	for i := range r.Differences {
		d := &r.Differences[i]
		dst = comma(dst, i)
		dst = text(dst, `{"kind":`, d.Kind)
		dst = integer(dst, `,"frame":`, int64(d.Frame))
		if t, control := d.Control(); control {
			dst = integer(dst, `,"type":`, int64(t))
		} else {
			dst = integer(dst, `,"opcode":`, int64(d.Opcode))
		}
		dst = text(dst, `,"to":`, d.To.String())
		dst = text(dst, `,"name":`, d.Name)
		dst = append(text(dst, `,"detail":`, d.Detail), `,"fields":[`...)
		for i := range d.Fields {
			f := &d.Fields[i]
			dst = text(comma(dst, i), `{"path":`, f.Path)
			if f.Expected != "" {
				dst = text(dst, `,"expected":`, f.Expected)
			}
			if f.Actual != "" {
				dst = text(dst, `,"actual":`, f.Actual)
			}
			dst = append(dst, '}')
		}
		dst = append(dst, "]}"...)
	}
	dst = integer(dst, `],"differences_total":`, int64(r.Found))
	dst = append(dst, `,"deviations":[`...)
	for i, d := range r.Deviations {
		dst = comma(dst, i)
		dst = text(dst, `{"rule":`, d.Rule.Name)
		dst = integer(dst, `,"count":`, int64(d.Count))
		dst = integer(dst, `,"frame":`, int64(d.First))
		dst = opcodes(dst, d.Rows)
		dst = append(text(dst, `,"text":`, r.Explain(d.Rule)), '}')
	}
	dst = counts(append(dst, `],"not_required":[`...), r.Excused)
	dst = counts(append(dst, `],"not_compared":[`...), r.Apart)
	dst = append(dst, `],"invariants":[`...)
	for i := range r.Invariants {
		v := &r.Invariants[i]
		dst = comma(dst, i)
		dst = text(dst, `{"name":`, v.Name)
		dst = text(dst, `,"verdict":`, v.Verdict())
		dst = integer(dst, `,"checked":`, int64(v.Checked))
		dst = integer(dst, `,"failed":`, int64(v.Failed))
		dst = integer(dst, `,"documented":`, int64(v.Known))
		if v.Failed > 0 {
			dst = integer(dst, `,"frame":`, int64(v.First))
		}
		dst = append(text(dst, `,"text":`, v.Text), '}')
	}
	dst = append(dst, `],"notes":[`...)
	for i, n := range r.Notes {
		dst = display.AppendString(comma(dst, i), n)
	}
	dst = append(dst, `],"conforms":`...)
	return append(strconv.AppendBool(dst, r.Conforms()), '}')
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

func text(dst []byte, key, s string) []byte { return display.AppendString(append(dst, key...), s) }

func rows(dst []byte, list []*conform.Row) []byte {
	for i, row := range list {
		dst = comma(dst, i)
		if row.Control {
			dst = integer(dst, `{"type":`, int64(row.Type))
			dst = text(dst, `,"name":`, row.Name)
		} else {
			dst = integer(dst, `{"opcode":`, int64(row.Opcode))
			dst = text(dst, `,"name":`, row.Name)
			dst = text(dst, `,"relay":`, row.Relay.String())
		}
		for _, c := range []struct {
			key string
			n   int
		}{
			{`,"expected":`, row.Expected},
			{`,"emitted":`, row.Emitted},
			{`,"matched":`, row.Matched},
			{`,"missing":`, row.Missing},
			{`,"extra":`, row.Extra},
			{`,"differs":`, row.Differing},
			{`,"not_comparable":`, row.NotComparable},
			{`,"documented":`, row.Explained},
			{`,"not_required":`, row.Excused},
		} {
			dst = integer(dst, c.key, int64(c.n))
		}
		if row.Copies > 0 {
			dst = millis(dst, `,"latency_ms_median":`, row.MedianLag)
			dst = millis(dst, `,"latency_ms_p95":`, row.P95Lag)
		}
		dst = append(dst, '}')
	}
	return dst
}

// opcodes appends which messages something is about.
func opcodes(dst []byte, list []*conform.Row) []byte {
	dst = append(dst, `,"opcodes":[`...)
	n := 0
	for _, row := range list {
		if !row.Control {
			dst = strconv.AppendUint(comma(dst, n), uint64(row.Opcode), 10)
			n++
		}
	}
	return append(dst, ']')
}

func counts(dst []byte, list []*conform.Count) []byte {
	for i, c := range list {
		dst = comma(dst, i)
		dst = text(dst, `{"why":`, c.Why)
		dst = integer(dst, `,"count":`, int64(c.Count))
		dst = integer(dst, `,"frame":`, int64(c.First))
		dst = append(opcodes(dst, c.Rows), '}')
	}
	return dst
}
