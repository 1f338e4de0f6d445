package ndjson

import (
	"io"
	"reflect"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/conform/diff"
)

// DiffType is the type that the JSON of a comparison of captures is made of.
var DiffType = reflect.TypeFor[diffReport]()

type diffReport struct {
	A             diffCapture        `json:"a"`
	B             diffCapture        `json:"b"`
	Conversations []diffConversation `json:"conversations"`
	Findings      []diffFinding      `json:"findings"`
	OnlyA         int                `json:"only_a"`
	OnlyB         int                `json:"only_b"`
	Differs       int                `json:"differs"`
	Order         int                `json:"order"`
	Timing        int                `json:"timing"`
	Renamed       int                `json:"renamed"`
	NotCompared   int                `json:"not_compared"`
	Cut           int                `json:"cut"`
	Anonymized    bool               `json:"anonymized"`
	Equal         bool               `json:"equal"`
}

type diffCapture struct {
	File            string `json:"file"`
	Messages        int    `json:"messages"`
	Retransmissions int    `json:"retransmissions"`
	Acks            int    `json:"acks"`
	Keepalives      int    `json:"keepalives"`
	Left            int    `json:"left_out"`
}

type diffConversation struct {
	A    *diffEnd  `json:"a,omitempty"`
	B    *diffEnd  `json:"b,omitempty"`
	Ways []diffWay `json:"directions"`
}

type diffEnd struct {
	Host     string `json:"host"`
	Client   string `json:"client"`
	Name     string `json:"player_name,omitempty"`
	GameSpy  bool   `json:"gamespy,omitempty"`
	Frame    int    `json:"frame"`
	Messages int    `json:"messages"`
}

type diffWay struct {
	Dir     string   `json:"dir"`
	Equal   int      `json:"equal"`
	OnlyA   int      `json:"only_a"`
	OnlyB   int      `json:"only_b"`
	Differs int      `json:"differs"`
	Order   int      `json:"order"`
	Timing  int      `json:"timing"`
	Offset  *float64 `json:"offset_s,omitempty"`
	Off     *float64 `json:"off_ms_median,omitempty"`
	Most    *float64 `json:"off_ms_longest,omitempty"`
	MostA   int      `json:"off_frame,omitempty"`
}

type diffFinding struct {
	Kind         string      `json:"kind"`
	Conversation int         `json:"conversation"`
	Dir          string      `json:"dir"`
	FrameA       int         `json:"frame_a,omitempty"`
	FrameB       int         `json:"frame_b,omitempty"`
	Type         *int        `json:"type,omitempty"`
	Opcode       *int        `json:"opcode,omitempty"`
	Name         string      `json:"name"`
	Late         *float64    `json:"late_ms,omitempty"`
	Header       string      `json:"header,omitempty"`
	Fields       []diffField `json:"fields,omitempty"`
}

type diffField struct {
	Path string  `json:"path"`
	A    *string `json:"a,omitempty"`
	B    *string `json:"b,omitempty"`
}

// Diff writes the comparison of two captures, which have names, as one object
// on one line. A nil catalogue stands for that of the game.
func Diff(w io.Writer, r *diff.Report, names [2]string, c *decode.Catalog) error {
	if c == nil {
		c = msg.Catalog()
	}
	out := diffReport{
		A: diffCaptureOf(r.A, names[0]), B: diffCaptureOf(r.B, names[1]), Conversations: []diffConversation{}, Findings: []diffFinding{},
		OnlyA: r.Count(diff.OnlyA), OnlyB: r.Count(diff.OnlyB), Differs: r.Count(diff.Differs), Order: r.Count(diff.Order),
		Timing: r.Count(diff.Timing), Renamed: r.Renamed, NotCompared: r.Skipped, Cut: r.Cut, Anonymized: r.A.Lengths, Equal: r.Equal(),
	}
	number := map[*diff.Pair]int{}
	for i, p := range r.Pairs {
		number[p] = i + 1
		v := diffConversation{A: diffEndOf(p.A), B: diffEndOf(p.B)}
		for k := range p.Ways {
			v.Ways = append(v.Ways, diffWayOf(&p.Ways[k]))
		}
		out.Conversations = append(out.Conversations, v)
	}
	for _, f := range r.Findings {
		v := diffFinding{Kind: f.Kind.String(), Conversation: number[f.Pair], Dir: f.Dir.String(), Name: f.Name(c), Header: f.Flags}
		if f.A != nil {
			v.FrameA = f.A.Frame
		}
		if f.B != nil {
			v.FrameB = f.B.Frame
		}
		if f.Transport() {
			n := int(f.Type)
			v.Type = &n
		}
		if f.Game {
			n := int(f.Opcode)
			v.Opcode = &n
		}
		if f.Kind == diff.Timing {
			v.Late = inMillis(f.Late)
		}
		for i := range f.Fields {
			a, b := f.Fields[i].Text[0].Raw(), f.Fields[i].Text[1].Raw()
			d := diffField{Path: f.Fields[i].Path.Raw(), A: &a, B: &b}
			if a, b := f.Fields[i].A, f.Fields[i].B; a != nil || b != nil {
				d.A, d.B = diffValue(f.A.Record, a), diffValue(f.B.Record, b)
			}
			v.Fields = append(v.Fields, d)
		}
		out.Findings = append(out.Findings, v)
	}
	line, err := Line(out)
	if err != nil {
		return err
	}
	_, err = w.Write(line)
	return err
}

func diffCaptureOf(c *diff.Capture, name string) diffCapture {
	return diffCapture{name, c.Messages, c.Repeats, c.Acks, c.Keepalives, c.Left}
}

func diffEndOf(e *diff.End) *diffEnd {
	if e == nil {
		return nil
	}
	return &diffEnd{e.Host.String(), e.Client.String(), e.Name.Raw(), e.GameSpy, e.First, e.Messages}
}

func diffWayOf(w *diff.Way) diffWay {
	v := diffWay{
		Dir: w.Dir.String(), Equal: w.Equal, OnlyA: w.OnlyA, OnlyB: w.OnlyB, Differs: w.Differ, Order: w.Reorder, Timing: w.Timing,
	}
	if w.Timed > 0 {
		seconds := w.Offset.Seconds()
		v.Offset, v.Off, v.Most, v.MostA = &seconds, inMillis(w.Off), inMillis(w.Most), w.MostA
	}
	return v
}

func inMillis(d time.Duration) *float64 {
	ms := float64(d) / float64(time.Millisecond)
	return &ms
}

// diffValue returns the value of a field as JSON has it, without quotes; nil if
// the message lacks it.
func diffValue(r *dissect.Record, f *decode.Field) *string {
	if f == nil {
		return nil
	}
	var p display.Presenter
	s := string(p.AppendJSON(nil, f, display.Whole, r))
	if f.Kind.Type() >= decode.TypeText {
		s = string(f.AppendText(nil))
	}
	return &s
}
