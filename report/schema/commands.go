package schema

import (
	"reflect"
	"slices"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/bots"
	"github.com/bcdissect/bcdissect/report/league"
	"github.com/bcdissect/bcdissect/report/ndjson"
	"github.com/bcdissect/bcdissect/report/reference"
	"github.com/bcdissect/bcdissect/report/verdicts"
)

// Commands returns the names of the commands with a schema for their output.
func Commands() []string {
	all := []string{"read", "live", "decode"}
	for _, c := range commands {
		all = append(all, c.name)
	}
	return append(all, LiveAPI)
}

// File returns the name of the file in docs/schema with the schema of a
// command.
func File(command string) string {
	return strings.NewReplacer(" --", "-", "/", "-").Replace(command) + ".json"
}

// For returns the schema of a command's output, or nil if it has none. The
// catalogue defines the records. If it is nil, For uses the catalogue of the
// original game.
func For(command string, c *decode.Catalog) *Schema {
	if c == nil {
		c = msg.Catalog()
	}
	switch command {
	case "read", "live":
		return records(c, command, true)
	case "decode":
		return records(c, command, false)
	case LiveAPI:
		s := root(liveAPI(), command, "What the live page answers, and the data of each event: begin, match and ready. 'bcdissect help live-page' explains them.")
		s.Title = LiveAPI // of no command
		return s
	}
	for _, o := range commands {
		if o.name != command {
			continue
		}
		if command == "opcodes" {
			return root(opcodes(), command, o.doc)
		}
		return root(of(o.made), command, o.doc)
	}
	return nil
}

// opcodes returns the schema of the three kinds of lines of opcodes.
func opcodes() *Schema {
	s := &Schema{}
	for _, l := range []struct {
		made   reflect.Type
		layers []string
	}{
		{reflect.TypeFor[reference.Entry](), []string{"game", "transport"}},
		{reflect.TypeFor[reference.Kind](), []string{"kind"}},
		{reflect.TypeFor[reference.Ship](), []string{"ship"}},
	} {
		line := of(l.made)
		line.Properties["layer"].Enum = l.layers
		if !slices.Contains(line.Required, "layer") {
			line.Required = append(line.Required, "layer")
		}
		s.AnyOf = append(s.AnyOf, line)
	}
	return s
}

// commands are the outputs other than records, with the types of their objects.
var commands = []struct {
	made      reflect.Type
	name, doc string
}{
	{ndjson.SessionType, "session", "One object. Times are seconds since the first frame; 'bcdissect help session' explains the members."},
	{league.JSONType, "league", "One object, also league.json of the site. Players, matches and seasons refer to each other by their indices; 'bcdissect help league' explains the members."},
	{reflect.TypeFor[reference.Entry](), "opcodes", "One line for each message, kind of fields and class of ships."},
	{reflect.TypeFor[verdicts.Report](), "conform", "One object. 'bcdissect help conform' explains the members."},
	{reflect.TypeFor[verdicts.Case](), "conform --list", "One line for each case."},
	{reflect.TypeFor[bots.Report](), "bots", "One object. 'bcdissect help bots' explains the members."},
	{ndjson.DiffType, "diff", "One object. 'bcdissect help diff' explains the members."},
	{ndjson.MeasureType, "measure", "One object. 'bcdissect help measure' explains the members."},
	{ndjson.StatsType, "stats", "One object."},
	{ndjson.NetworkType, "stats --network", "One object."},
	{ndjson.ReplayType, "replay", "One line for each host."},
	{ndjson.HandshakeType, "handshake", "One line for each join of a client, from replay --handshake."},
	{reflect.TypeFor[ndjson.Server](), "query", "One line for each server. Only host and queries are always there."},
	{reflect.TypeFor[ndjson.Interface](), "interfaces", "One line for each interface."},
	{reflect.TypeFor[ndjson.Version](), "version", "One object."},
}
