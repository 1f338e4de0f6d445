package schema

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
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
	return all
}

// File returns the name of the file that holds the schema of a command in
// docs/schema.
func File(command string) string { return strings.ReplaceAll(command, " --", "-") + ".json" }

// For returns the schema of a command's output, nil if it has none. The
// catalogue is that of the records; nil stands for that of the game.
func For(command string, c *decode.Catalog) *Schema {
	if c == nil {
		c = msg.Catalog()
	}
	switch command {
	case "read", "live":
		return records(c, command, true)
	case "decode":
		return records(c, command, false)
	}
	for _, o := range commands {
		if o.name != command {
			continue
		}
		p := parser{rest: strings.Fields(o.shape)}
		var s *Schema
		if o.made == nil {
			s = p.value()
		} else {
			s = of(o.made)
		}
		if command == "opcodes" {
			s.Properties["layer"] = &Schema{Type: "string", Enum: []string{"game", "transport"}}
			s.Properties["opcode"], s.Properties["type"] = &Schema{Type: "integer"}, &Schema{Type: "integer"} // one of them
			s.Required = append(s.Required, "layer")
		}
		return root(s, command, o.doc)
	}
	return nil
}

// commands are the outputs that are no records: columns of a type, or a shape. A
// shape lists members and their types: i for integers, n for numbers, s for strings, b for true and false, t
// for times, { } for objects, [ ] for arrays, and < > for objects with any
// keys. A member with a question mark may be absent.
var commands = []struct {
	made             reflect.Type // or else a shape
	name, doc, shape string
}{
	{ndjson.SessionType, "session", "One object. Times are seconds since the first frame; docs/session.md explains the members.", ""},
	{reflect.TypeFor[reference.Entry](), "opcodes", "One line for each message.", ""},
	{reflect.TypeFor[verdicts.Report](), "conform", "One object. docs/conform.md explains the members.", ""},
	{reflect.TypeFor[verdicts.Case](), "conform --list", "One line for each case.", ""},
	{ndjson.DiffType, "diff", "One object. docs/diff.md explains the members.", ""},
	{ndjson.MeasureType, "measure", "One object. docs/measure.md explains the members.", ""},
	{nil, "stats", "One object.", `{
		frames i duration n
		datagrams { game i gamespy i malformed i other i }
		messages { total i by_type < i > }
		reliability { reliable i unreliable i duplicates i fragments i reassembled i incomplete i }
		opcodes [ { opcode i name? s c2s i s2c i total i bytes i share n } ]
		state_flags { c2s < i > s2c < i > }
		payload_bytes i residue_bytes i errors i
	}`},
	{ndjson.NetworkType, "stats --network", "One object.", ""},
	{ndjson.ReplayType, "replay", "One line for each host.", ""},
	{ndjson.HandshakeType, "handshake", "One line for each join of a client, from replay --handshake.", ""},
	{nil, "query", "One line for each server. Only host and queries are always there.", `{
		host s addr? s round_trip_ms? n queries i name? s version? s mission? s map? s state? s players? i player_limit? i
		time_limit? i frag_limit? i system? s password? b player_names? [ s ] gamespy? < s > complete? b error? s
	}`},
	{nil, "interfaces", "One line for each interface.", `{
		number i name s description s addresses [ s ] up b connected b loopback b default b openable b hint? s
	}`},
	{nil, "version", "One object.", `{ version s go s os s arch s schema i }`},
}

// A parser makes a schema of a shape.
type parser struct{ rest []string }

func (p *parser) next() string {
	if len(p.rest) == 0 {
		return ""
	}
	word := p.rest[0]
	p.rest = p.rest[1:]
	return word
}

func (p *parser) value() *Schema {
	switch word := p.next(); word {
	case "i":
		return &Schema{Type: "integer"}
	case "n":
		return &Schema{Type: "number"}
	case "s":
		return &Schema{Type: "string"}
	case "b":
		return &Schema{Type: "boolean"}
	case "t":
		return &Schema{Type: "string", Format: "date-time"}
	case "[":
		s := &Schema{Type: "array", Items: p.value()}
		p.next()
		return s
	case "<":
		s := &Schema{Type: "object", Additional: p.value()}
		p.next()
		return s
	case "{":
		s := &Schema{Type: "object", Properties: map[string]*Schema{}, Additional: false}
		for name := p.next(); name != "}"; name = p.next() {
			name, optional := strings.CutSuffix(name, "?")
			if !optional {
				s.Required = append(s.Required, name)
			}
			s.Properties[name] = p.value()
		}
		return s
	default:
		panic(fmt.Sprintf("schema: %q is no type", word))
	}
}
