package ndjson

import (
	"io"
	"reflect"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/conform/result"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// ReplayType is the type of the object that [Replay] writes.
var ReplayType = reflect.TypeFor[replay]()

type replay struct {
	*result.Report
	Mode       string             `json:"mode"`
	Mission    string             `json:"mission"`
	System     uint8              `json:"system"`
	Players    int                `json:"player_limit"`
	Inputs     int                `json:"inputs"`
	Classes    []replayClass      `json:"classes"`
	Control    []replayControl    `json:"control"`
	Different  []replayDifference `json:"differences"`
	Found      int                `json:"differences_total"`
	Causes     []replayCause      `json:"causes"`
	Findings   []result.Finding   `json:"findings"`
	FindingsOf int                `json:"findings_total"`
	Deviations []replayDeviation  `json:"deviations"`
	Ledger     []replayEntry      `json:"ledger"`
	Excused    []replayCount      `json:"not_required"`
	Apart      []replayCount      `json:"not_compared"`
	Invariants []replayInvariant  `json:"invariants"`
	Notes      []string           `json:"notes"`
	Conforms   bool               `json:"conforms"`
}

type replayClass struct {
	Opcode decode.Opcode `json:"opcode"`
	*result.Row
	Relay decode.Relay `json:"relay>Name" as:"text"`
}

type replayControl struct {
	Type transport.Type `json:"type"`
	*result.Row
}

// A replayDifference is a difference in a transport message or in a game
// message.
type replayDifference struct {
	*result.Difference
	Type   *transport.Type `json:"type>Frame,omitempty"`
	Opcode *decode.Opcode  `json:"opcode>Frame,omitempty"`
}

type replayDeviation struct {
	Rule string `json:"rule"`
	*result.Deviation
	Opcodes []decode.Opcode `json:"opcodes"`
	Text    string          `json:"text"`
}

type replayCause struct {
	*result.Cause
	Names   []string        `json:"names"`
	Opcodes []decode.Opcode `json:"opcodes"`
}

type replayEntry struct {
	Rule string `json:"rule"`
	*result.Entry
	Text string `json:"text"`
}

type replayCount struct {
	*result.Count
	Opcodes []decode.Opcode `json:"opcodes"`
}

type replayInvariant struct {
	*result.Invariant
	Verdict string `json:"verdict>Name"`
	Text    string `json:"text"`
}

// Replay writes the comparison of a host's messages as one object on one line.
func Replay(w io.Writer, r *result.Report) error {
	out := replay{
		Report: r, Mode: r.Game.Mode.String(), Mission: r.Game.Mission, System: r.Game.System, Players: r.Game.Players, Inputs: r.Inputs,
		Found: r.Found, Excused: replayCounts(r.Excused), Apart: replayCounts(r.Apart), Notes: r.Notes, Conforms: r.Conforms(), Findings: r.Findings, FindingsOf: len(r.Findings),
	}
	for _, row := range r.Rows {
		out.Classes = append(out.Classes, replayClass{row.Opcode, row, row.Relay})
	}
	for _, row := range r.Controls {
		out.Control = append(out.Control, replayControl{row.Type, row})
	}
	for i := range r.Differences {
		d := replayDifference{Difference: &r.Differences[i]}
		if t, control := d.Control(); control {
			d.Type = &t
		} else {
			d.Opcode = &d.Difference.Opcode
		}
		out.Different = append(out.Different, d)
	}
	for _, c := range r.Causes {
		cause := replayCause{Cause: c, Opcodes: opcodes(c.Rows)}
		for _, row := range c.Rows {
			cause.Names = append(cause.Names, row.Name)
		}
		out.Causes = append(out.Causes, cause)
	}
	for _, e := range r.Ledger {
		out.Ledger = append(out.Ledger, replayEntry{e.Rule.Name, e, r.Explain(e.Rule)})
	}
	for _, d := range r.Deviations {
		out.Deviations = append(out.Deviations, replayDeviation{d.Rule.Name, d, opcodes(d.Rows), r.Explain(d.Rule)})
	}
	for i := range r.Invariants {
		v := &r.Invariants[i]
		out.Invariants = append(out.Invariants, replayInvariant{v, v.Verdict(), v.Text})
	}
	return write(w, &out)
}

func replayCounts(list []*result.Count) (all []replayCount) {
	for _, c := range list {
		all = append(all, replayCount{c, opcodes(c.Rows)})
	}
	return all
}

// opcodes returns the opcodes in a list of rows.
func opcodes(list []*result.Row) (all []decode.Opcode) {
	for _, row := range list {
		if !row.Control {
			all = append(all, row.Opcode)
		}
	}
	return all
}
