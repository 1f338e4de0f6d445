package ndjson

import (
	"io"
	"reflect"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// SessionOptions choose the contents of the JSON of matches.
type SessionOptions struct {
	Captures []string // the files, in order
	Tracks   bool     // the flight of each ship, too
}

// Session writes matches as one object on one line. The league table is nil
// unless several captures were read.
func Session(w io.Writer, all []*match.Match, league []match.Standing, o SessionOptions) error {
	m := Model{Output: match.JSON}
	if !o.Tracks {
		m.Without = "track"
	}
	_, err := w.Write(append(m.Append(nil, &session{Schema, o.Captures, all, league}), '\n'))
	return err
}

// SessionType is the type of the object that [Session] writes.
var SessionType = reflect.TypeFor[session]()

type session struct {
	Schema   int              `json:"schema"`
	Captures []string         `json:"captures"`
	Matches  []*match.Match   `json:"matches"`
	League   []match.Standing `json:"league,omitempty"`
}
