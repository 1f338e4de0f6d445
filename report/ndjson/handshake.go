package ndjson

import (
	"io"
	"reflect"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/measure"
)

// HandshakeType is the type of the object that [Handshake] writes.
var HandshakeType = reflect.TypeFor[handshake]()

type handshake struct {
	*measure.Join
	Took  time.Duration   `json:"took_ms" as:"millis"`
	Steps []handshakeStep `json:"steps"`
}

type handshakeStep struct {
	*measure.Step
	After time.Duration `json:"after_ms>Frame" as:"millis"`
	Dir   dissect.Dir   `json:"dir>Frame" as:"text"`
}

// Handshake writes a join as one object on one line.
func Handshake(w io.Writer, j *measure.Join) error {
	out := handshake{Join: j, Took: j.Took()}
	for i := range j.Steps {
		s := handshakeStep{&j.Steps[i], j.After(&j.Steps[i]), dissect.ToHost}
		if s.FromHost {
			s.Dir = dissect.FromHost
		}
		out.Steps = append(out.Steps, s)
	}
	return write(w, &out)
}
