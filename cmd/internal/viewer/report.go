package viewer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/bcdissect/bcdissect/cmd/internal/remark"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/dissect/measure"
	"github.com/bcdissect/bcdissect/report"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/page"
)

// A Report has the views of the page except the list of messages.
type Report struct {
	Page    json.RawMessage `json:"page"`  // data for the script of package page
	Files   []int           `json:"files"` // the index of the recording for each match, see [List.Frame]
	Stats   json.RawMessage `json:"stats"`
	Network json.RawMessage `json:"network"`
	Game    bool            `json:"game"`    // there is game traffic
	Remarks []string        `json:"remarks"` // about parts that could not be read

	Columns []byte `json:"-"` // data for the script of package page
}

// NewReport reads captures.
func NewReport(names []string, progress func(read, size int64)) (*Report, error) {
	var t measure.Tally
	var m measure.Meter
	both := func(r *dissect.Record) error {
		_ = t.Record(r) // counting never returns an error
		return m.Record(r)
	}
	groups, copies := dissect.Recordings(dissect.Config{}, names)
	r := &Report{Remarks: []string{}}
	for _, name := range slices.Sorted(maps.Keys(copies)) {
		r.Remarks = append(r.Remarks, report.Escape(fmt.Sprintf("%s has the same bytes as %s; it counts once", name, copies[name])))
	}
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
	if len(groups) > 1 {
		also, counted = nil, nil
		p, err := pass(slices.Concat(groups...))
		if err != nil {
			return nil, err
		}
		p.all(both, func(read, size int64) { progress(read/2, size) })
		count(p)
	}
	all, files, err := matches(groups, also, counted, progress)
	if err != nil {
		return nil, err
	}
	r.Page, r.Columns = page.Data(all, match.NewEvenings(names, all))
	r.Files = files
	var stats, network bytes.Buffer
	_, _ = ndjson.Stats(&stats, &t), ndjson.Network(&network, &m, report.Escape) // a buffer never returns an error
	r.Stats, r.Network = stats.Bytes(), network.Bytes()
	return r, nil
}

// matches returns the matches of recordings as the command session does. It
// calls also for each record and counted for each passage. Both may be nil. The
// result files has the index of the best recording of each match.
func matches(groups [][]string, also func(*dissect.Record) error, counted func(*passage), progress func(read, size int64)) (all []*match.Match, files []int, err error) {
	var recordings []match.Recording
	of := map[*match.Match]int{}
	for i, names := range groups {
		p, err := pass(names)
		if err != nil {
			if len(groups) > 1 && also == nil && counted == nil {
				continue // the passage of all captures has reported the error
			}
			return nil, nil, err
		}
		b := match.New(p.src.Stats().FirstTime)
		emit := b.Record
		if also != nil {
			emit = func(r *dissect.Record) error {
				_ = also(r) // it never returns an error
				return b.Record(r)
			}
		}
		p.all(emit, progress)
		if err := b.Close(); err != nil {
			return nil, nil, err
		}
		if counted != nil {
			counted(p)
		}
		r := match.Recording{Matches: b.Matches()}
		for _, name := range names {
			r.Files = append(r.Files, filepath.Base(name))
		}
		for _, m := range r.Matches {
			of[m] = i
		}
		recordings = append(recordings, r)
	}
	all = match.Merge(recordings)
	for _, m := range all {
		files = append(files, of[m])
	}
	return all, files, nil
}
