package ndjson

import (
	"io"
	"reflect"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// Session writes matches as one object on one line. If tracks is set, it
// includes the flight of each ship.
func Session(w io.Writer, all []*match.Match, o match.Evenings, tracks bool) error {
	m := Model{Output: match.JSON}
	if !tracks {
		m.Without = []string{"track"}
	}
	return m.write(w, &session{Schema, o.Captures, all, o.League})
}

// SessionType is the type of the object that [Session] writes.
var SessionType = reflect.TypeFor[session]()

type session struct {
	Schema   int              `json:"schema"`
	Captures []string         `json:"captures"`
	Matches  []*match.Match   `json:"matches"`
	League   []match.Standing `json:"league,omitempty"`
}
