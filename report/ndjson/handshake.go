package ndjson

import (
	"io"
	"strconv"

	"github.com/bcdissect/bcdissect/dissect/conform"
)

// Handshake writes a join as one object on one line.
func Handshake(w io.Writer, j *conform.Join) error {
	dst := text(nil, `{"host":`, j.Host.String())
	dst = text(dst, `,"client":`, j.Client.String())
	if j.Name != "" {
		dst = text(dst, `,"name":`, j.Name)
	}
	dst = strconv.AppendBool(append(dst, `,"in_game":`...), j.InGame)
	if j.Stopped != "" {
		dst = text(dst, `,"stopped":`, j.Stopped)
	}
	if j.Left > 0 {
		dst = integer(dst, `,"left_out":`, int64(j.Left))
	}
	dst = append(millis(dst, `,"took_ms":`, j.Took()), `,"steps":[`...)
	for i := range j.Steps {
		s := &j.Steps[i]
		dst = integer(comma(dst, i), `{"frame":`, int64(s.Frame))
		dst = millis(dst, `,"after_ms":`, s.Time.Sub(j.Steps[0].Time))
		dir := "c2s"
		if s.FromHost {
			dir = "s2c"
		}
		dst = text(text(dst, `,"dir":`, dir), `,"text":`, s.Text)
		if s.Repeats > 0 {
			dst = integer(dst, `,"repeats":`, int64(s.Repeats))
		}
		dst = append(dst, '}')
	}
	_, err := w.Write(append(dst, "]}\n"...))
	return err
}
