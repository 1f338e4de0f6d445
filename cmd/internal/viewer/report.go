package viewer

import (
	"encoding/json"
	"path"

	"github.com/bcdissect/bcdissect/cmd/internal/remark"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/page"
)

// A Report is what the page shows beside the messages.
type Report struct {
	Page    json.RawMessage `json:"page"`    // for the script of package page
	Origins []float64       `json:"origins"` // of the times of each match, in milliseconds since 1970
	Stats   json.RawMessage `json:"stats"`
	Network json.RawMessage `json:"network"`
	Game    bool            `json:"game"`    // there is traffic of the game
	Remarks []string        `json:"remarks"` // what could not be read

	Columns []byte `json:"-"` // for the script of package page
}

// NewReport reads captures.
func NewReport(names []string, progress func(read, size int64)) (*Report, error) {
	var t measure.Tally
	var m measure.Meter
	both := func(r *dissect.Record) error {
		_ = t.Record(r) // counting does not fail
		return m.Record(r)
	}
	r := &Report{Remarks: []string{}}
	count := func(p *passage) {
		stats, game := p.src.Stats(), p.pipeline.Stats()
		t.Frames, t.Duration, t.Other = int64(stats.Frames), stats.LastTime.Sub(stats.FirstTime), int64(game.Other)
		r.Game = game.Datagrams > game.Other
		for _, text := range remark.Of(&stats) {
			r.Remarks = append(r.Remarks, report.Escape(text))
		}
		if p.err != nil {
			r.Remarks = append(r.Remarks, report.Escape(p.err.Error()))
		}
	}
	also, counted := both, count
	if len(names) > 1 {
		also, counted = nil, nil
		p, err := pass(names)
		if err != nil {
			return nil, err
		}
		p.all(both, func(read, size int64) { progress(read/2, size) })
		count(p)
	}
	all, err := matches(names, also, counted, progress)
	if err != nil {
		return nil, err
	}
	if r.Page, r.Columns, err = page.Data(all, page.Options{Captures: bases(names), League: league(names, all)}); err != nil {
		return nil, err
	}
	for _, m := range all {
		r.Origins = append(r.Origins, float64(m.Origin.UnixMicro())/1e3)
	}
	r.Stats, r.Network = ndjson.AppendStats(nil, &t), ndjson.AppendNetwork(nil, &m)
	return r, nil
}

// matches reads captures one after another, as the command session does. also
// sees each record, and counted each passage; both may be nil.
func matches(names []string, also func(*dissect.Record) error, counted func(*passage), progress func(read, size int64)) (all []*match.Match, err error) {
	for _, name := range names {
		p, err := pass([]string{name})
		if err != nil {
			if len(names) > 1 && also == nil && counted == nil {
				continue // the passage of all captures has told
			}
			return nil, err
		}
		b := match.New(p.src.Stats().FirstTime)
		emit := b.Record
		if also != nil {
			emit = func(r *dissect.Record) error {
				_ = also(r) // it does not fail
				return b.Record(r)
			}
		}
		p.all(emit, progress)
		if err := b.Close(); err != nil {
			return nil, err
		}
		if counted != nil {
			counted(p)
		}
		all = append(all, b.Matches()...)
	}
	return all, nil
}

// bases are the names without folders.
func bases(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = path.Base(name)
	}
	return all
}

// league is the table over several captures.
func league(names []string, all []*match.Match) []match.Standing {
	if len(names) < 2 {
		return nil
	}
	return match.League(all)
}
