package ndjson

import (
	"io"
	"reflect"

	"github.com/bcdissect/bcdissect/dissect/measure"
)

// MeasureType is the type of the object that [Measure] writes.
var MeasureType = reflect.TypeFor[figures]()

type figures struct {
	Figures []figure `json:"figures"`
	GivenUp int64    `json:"given_up"`
	Missing int64    `json:"missing"`
	Hole    int      `json:"missing_before_frame,omitempty"`
}

type figure struct {
	*measure.Figure
	Median *float64 `json:"median>N,omitempty" digits:"-1"`
	Min    *float64 `json:"min>N,omitempty" digits:"-1"`
	Max    *float64 `json:"max>N,omitempty" digits:"-1"`
}

// Measure writes measured figures as one object on one line.
func Measure(w io.Writer, h *measure.Habits) error {
	out := figures{GivenUp: h.GivenUp, Missing: h.Missing, Hole: h.Hole}
	for _, f := range h.Figures() {
		v := figure{Figure: &f}
		if f.Known == "-" {
			f.Known = ""
		}
		switch f.Unit {
		case "":
		case "bytes": // only the largest value
			v.Max = &f.Max
		case "copies":
			v.Median = &f.Median
		default:
			v.Median, v.Min, v.Max = &f.Median, &f.Min, &f.Max
		}
		out.Figures = append(out.Figures, v)
	}
	return write(w, &out)
}
