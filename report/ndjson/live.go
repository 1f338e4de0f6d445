package ndjson

import (
	"reflect"

	"github.com/bcdissect/bcdissect/dissect/match"
)

// LiveType is the type of the object that the live page answers to api/live.
var LiveType = reflect.TypeFor[live]()

type live struct {
	Schema  int            `json:"schema"`
	Delay   float64        `json:"delay"`
	First   int            `json:"first"`
	Matches []*match.Match `json:"matches"`
}

// What api/live leaves out of a match.
var (
	NotLive      = []string{"track", "condition", "systems", "repairs", "points"} // columns of all structs
	NotLiveLists = []string{"shots", "damage"}                                    // lists of the match itself
)
