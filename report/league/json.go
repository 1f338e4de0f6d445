package league

import (
	"reflect"

	"github.com/bcdissect/bcdissect/dissect/league"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// JSON returns a league as one object on one line.
func JSON(l *league.League) []byte {
	w := ndjson.Model{Output: match.JSON, Plain: true}
	return append(w.Append(nil, &object{ndjson.Schema, l}), '\n')
}

// JSONType is the type of the object that [JSON] returns.
var JSONType = reflect.TypeFor[object]()

type object struct {
	Schema int `json:"schema"`
	*league.League
}
