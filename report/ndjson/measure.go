package ndjson

import (
	"io"
	"reflect"

	"github.com/bcdissect/bcdissect/dissect/measure"
)

// MeasureType is the type that the JSON of measured figures is made of.
var MeasureType = reflect.TypeFor[figures]()

type figures struct {
	Figures []figure `json:"figures"`
	GivenUp int64    `json:"given_up"`
	Missing int64    `json:"missing"`
	Hole    int      `json:"missing_before_frame,omitempty"`
}

type figure struct {
	Group  string   `json:"group"`
	Name   string   `json:"name"`
	Unit   string   `json:"unit,omitempty"`
	N      int64    `json:"n"`
	Median *float64 `json:"median,omitempty"`
	Min    *float64 `json:"min,omitempty"`
	Max    *float64 `json:"max,omitempty"`
	Values string   `json:"values,omitempty"`
	Known  string   `json:"known,omitempty"`
	Source string   `json:"source,omitempty"`
	Frames []int    `json:"frames"`
}

// Measure writes measured figures as one object on one line.
func Measure(w io.Writer, h *measure.Habits) error {
	out := figures{Figures: []figure{}, GivenUp: h.GivenUp, Missing: h.Missing, Hole: h.Hole}
	for _, f := range h.Figures() {
		v := figure{Group: f.Group, Name: f.Name, Unit: f.Unit, N: f.N, Values: f.Values, Known: f.Known, Source: f.Source, Frames: f.Frames}
		if v.Known == "-" {
			v.Known = ""
		}
		if v.Frames == nil {
			v.Frames = []int{}
		}
		switch f.Unit {
		case "":
		case "bytes": // the largest alone
			v.Max = &f.Max
		case "copies":
			v.Median = &f.Median
		default:
			v.Median, v.Min, v.Max = &f.Median, &f.Min, &f.Max
		}
		out.Figures = append(out.Figures, v)
	}
	line, err := Line(out)
	if err != nil {
		return err
	}
	_, err = w.Write(line)
	return err
}
