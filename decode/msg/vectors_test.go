package msg

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/fixtures"
	"github.com/bcdissect/bcdissect/fixtures/messages"
)

// The examples in fixtures/vectors were decoded by other software with some
// different field names. A rename maps a pattern to this package's name, or to
// "-" for a field that follows from others.
type rename struct {
	pattern *regexp.Regexp
	to      string
}

func renames(pairs ...string) []rename {
	var all []rename
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, rename{regexp.MustCompile("^" + pairs[i] + "$"), pairs[i+1]})
	}
	return all
}

var gameRenames = renames(
	`opcode`, "-",
	`time`, "game_time",
	`object\.subsystems(.*)`, "snapshot$1",
	`event\.lifetime`, "explosion_time",
	`(?:event\.)?offset\.(.*)`, "target_offset.$1",
	`(.*(?:target_offset|contacts\[\d+\]))\.dir(\[.*)`, "$1.direction$2",
	`(?:event|object)\.(.*)`, "$1",
	`(.*)mag_byte`, "${1}ratio",
	`obj`, "object",
	`floats\[3\]`, "duration",
	`floats\[([012])\]`, "exit[$1]",
	`(.*)pos(\[\d\])`, "${1}position$2",
	`quat_wxyz(.*)`, "orientation$1",
	`(position|velocity|delta)\.(dir.*|magnitude)`, "-",
	`(position|velocity)\.vector(.*)`, "$1$2",
	`delta\.vector(.*)`, "position_delta$1",
	`hash`, "integrity_hash",
	`cloak`, "cloaked",
	`(.*)cond`, "${1}condition",
	`(.*)_batt`, "${1}_battery",
	`((?:subsystems|snapshot).*)bit`, "${1}active",
	`power(\[.*)`, "power_settings$1",
	`(power_settings.*)value`, "${1}percent",
	`tree\.(.*)`, "$1",
	`(.*)subdirs(\[\d+\])\.tree\.(.*)`, "${1}trees$2.$3",
	`(updates\[\d+\]\.|)id`, "${1}player",
	`data_len`, "len data",
	`opaque`, "body",
)

var transportRenames = renames(
	`opcode`, "-",
	`ref_hash`, "version_hash",
	`(.*files\[\d+\])\[0\]`, "$1.name_hash",
	`(.*files\[\d+\])\[1\]`, "$1.content_hash",
	`(.*)subdirs(\[\d+\])\.(files|subdirs|trees)(.*)`, "${1}trees$2.$3$4",
	`time`, "game_time",
	`collision`, "collisions",
	`client_modem`, "modem",
	`event`, "code",
	`peer`, "player",
	`killed`, "victim",
	`killer_score`, "score",
	`(updates\[\d+\])\[0\]`, "$1.player",
	`(updates\[\d+\])\[1\]`, "$1.score",
	`object`, "object_id",
	`owner_slot`, "slot",
	`pos(\[\d\])`, "position$1",
)

// values records a viewer's numbers, texts and hex by path.
type values struct {
	groups []string
	of     map[string]any
}

func (v *values) Begin(g *decode.Group) {
	name := g.Name
	if g.Kind == decode.GroupElement {
		name = "[" + strconv.Itoa(g.Index) + "]"
	}
	v.groups = append(v.groups, name)
}

func (v *values) End(*decode.Group) { v.groups = v.groups[:len(v.groups)-1] }

func (v *values) Field(f *decode.Field) {
	path := strings.ReplaceAll(strings.Join(append(v.groups[:len(v.groups):len(v.groups)], f.Name), "."), ".[", "[")
	vector := func(n int) {
		for i := range n {
			v.of[fmt.Sprintf("%s[%d]", path, i)] = float64(f.Vec[i])
		}
	}
	switch f.Kind {
	case decode.KindI8, decode.KindI16, decode.KindI32:
		v.of[path] = float64(f.Int)
	case decode.KindF32, decode.KindCF16, decode.KindPercent8, decode.KindRatio8, decode.KindPower8:
		v.of[path] = f.Float
	case decode.KindDir3, decode.KindVec3, decode.KindVec4h, decode.KindVec4f, decode.KindPlace:
		vector(3)
	case decode.KindQuat:
		vector(4)
	case decode.KindRatios:
		for i, b := range f.Bytes {
			v.of[fmt.Sprintf("%s[%d]", path, i)] = float64(b) / 255
		}
	case decode.KindStr8, decode.KindStr16, decode.KindStr32, decode.KindStr32z:
		v.of[path] = string(f.Bytes)
	case decode.KindWStr32:
		var text []rune
		for i := 0; i+1 < len(f.Bytes); i += 2 {
			text = append(text, rune(f.Bytes[i])|rune(f.Bytes[i+1])<<8)
		}
		v.of[path] = string(text)
	case decode.KindBytes:
		v.of[path] = hex.EncodeToString(f.Bytes)
		v.of["len "+path] = float64(len(f.Bytes))
	case decode.KindText:
		v.of[path] = f.Text
	default:
		v.of[path] = float64(f.Uint)
	}
}

// flatten calls leaf for every value except objects and arrays.
func flatten(path string, v any, leaf func(path string, v any)) {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			flatten(strings.TrimPrefix(path+"."+key, "."), e, leaf)
		}
	case []any:
		for i, e := range v {
			flatten(fmt.Sprintf("%s[%d]", path, i), e, leaf)
		}
	default:
		leaf(path, v)
	}
}

// matches compares a shown value with an example.
func matches(path, was string, got, want any) bool {
	switch w := want.(type) {
	case bool:
		return got == map[bool]float64{true: 1}[w]
	case string:
		if s, ok := got.(string); ok {
			return strings.EqualFold(s, w)
		}
		n, err := strconv.ParseUint(strings.TrimPrefix(w, "0x"), 16, 64)
		return err == nil && got == float64(n)
	case float64:
		switch {
		case strings.HasSuffix(was, "mag_byte"), strings.HasSuffix(was, "cond"), strings.HasSuffix(was, "_batt"),
			strings.Contains(was, "children["), strings.Contains(was, "facings["):
			w /= 255
		case strings.Contains(was, "dir["):
			w /= 127
		case strings.HasSuffix(path, "percent"):
			w = w * 100 / 204
		}
		g, ok := got.(float64)
		return ok && math.Abs(g-w) <= max(1e-3*math.Abs(w), 5e-4)
	}
	return false
}

type vector struct {
	name    string
	hex     string
	species uint8
	want    map[string]any
	cut     bool // the example is only a prefix of a message
}

func testVectors(t *testing.T, vectors []vector, names []rename) {
	t.Helper()
	d := decode.NewDecoder()
	for _, e := range vectors {
		t.Run(e.name, func(t *testing.T) {
			payload, err := fixtures.ParseHex(e.hex)
			if err != nil {
				t.Fatal(err)
			}
			s := &messages.Sample{Species: e.species, Payload: payload}
			r := d.Read(Catalog().Lookup(s.Opcode()), payload, decode.Stock, s)
			if !r.Exact() && !e.cut {
				t.Fatalf("rest %x, error %v", r.Rest, r.Err)
			}
			v := &values{of: map[string]any{}}
			new(decode.Viewer).Show(r.Message, payload, 1, r.Dialect, v)
			if len(payload) > 17 {
				v.of["tail_hex"] = fmt.Sprintf("% X", payload[17:])
			}
			flatten("", e.want, func(was string, want any) {
				path := was
				for range 4 { // a path in a tree needs several steps
					for _, n := range names {
						path = n.pattern.ReplaceAllString(path, n.to)
					}
				}
				if v.of["class"] == float64(event.ClassBool) && path == "value" {
					path = "enabled"
				}
				if path == "-" {
					return
				}
				got, ok := v.of[path]
				if !ok {
					t.Errorf("%s: no field %s among %v", was, path, v.of)
				} else if !matches(path, was, got, want) {
					t.Errorf("%s: got %v, want %v", path, got, want)
				}
			})
		})
	}
}

func TestGameExamples(t *testing.T) {
	var file struct {
		Examples []struct {
			ID      string
			Hex     string
			Species uint8 `json:"object_species_context"`
			Decoded map[string]any
		}
	}
	if err := json.Unmarshal(fixtures.Read(t, "vectors/game-examples.json"), &file); err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	for _, e := range file.Examples {
		vectors = append(vectors, vector{name: e.ID, hex: e.Hex, species: e.Species, want: e.Decoded})
	}
	if len(vectors) < 100 {
		t.Fatalf("only %d examples", len(vectors))
	}
	testVectors(t, vectors, gameRenames)
}

func TestTransportExamples(t *testing.T) {
	var file struct {
		Examples []struct {
			Name, Layer, Note string
			Hex               json.RawMessage
			Expect            map[string]any
		}
	}
	if err := json.Unmarshal(fixtures.Read(t, "vectors/transport-examples.json"), &file); err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	for _, e := range file.Examples {
		if e.Layer != "app" {
			continue
		}
		if _, ok := e.Expect["owner_slot"]; ok { // here the field is a team
			e.Expect["net_player"] = e.Expect["team"]
			delete(e.Expect, "team")
		}
		v := vector{name: e.Name, want: e.Expect, cut: strings.HasPrefix(e.Note, "truncated")}
		if err := json.Unmarshal(e.Hex, &v.hex); err != nil {
			t.Fatal(err)
		}
		vectors = append(vectors, v)
	}
	if len(vectors) < 30 {
		t.Fatalf("only %d examples", len(vectors))
	}
	testVectors(t, vectors, transportRenames)
}
