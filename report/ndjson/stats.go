package ndjson

import (
	"fmt"
	"io"
	"reflect"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// StatsType is the type of the object that [Stats] writes.
var StatsType = reflect.TypeFor[stats]()

type stats struct {
	*measure.Tally
	Types    map[string]int64 `json:"messages.by_type>Messages"`
	Opcodes  []statsOpcode    `json:"opcodes>Incomplete"`
	ToHost   map[string]int64 `json:"state_flags.c2s>Incomplete"`
	FromHost map[string]int64 `json:"state_flags.s2c>Incomplete"`
}

type statsOpcode struct {
	*measure.OpcodeCount
	Share float64 `json:"share"`
}

// Stats writes the counts as one object on one line.
func Stats(w io.Writer, t *measure.Tally) error {
	out := &stats{
		Tally: t, Types: hexCounts(&t.Types),
		ToHost: hexCounts((*[256]int64)(&t.Flags[dissect.ToHost])), FromHost: hexCounts((*[256]int64)(&t.Flags[dissect.FromHost])),
	}
	for _, o := range t.ByCount() {
		out.Opcodes = append(out.Opcodes, statsOpcode{&o, t.Share(o.Total)})
	}
	return write(w, out)
}

// hexCounts returns the counts that are not 0. The keys are indexes such as
// 0x9E.
func hexCounts(counts *[256]int64) map[string]int64 {
	all := map[string]int64{}
	for i, n := range counts {
		if n > 0 {
			all[fmt.Sprintf("0x%02X", i)] = n
		}
	}
	return all
}
