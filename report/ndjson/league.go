package ndjson

import (
	"io"
	"reflect"

	"github.com/bcdissect/bcdissect/dissect/league"
)

// League writes a league as one object on one line.
func League(w io.Writer, l *league.League) error { return write(w, &leagueObject{Schema, l}) }

// LeagueType is the type of the object that [League] writes.
var LeagueType = reflect.TypeFor[leagueObject]()

type leagueObject struct {
	Schema int `json:"schema"`
	*league.League
}
