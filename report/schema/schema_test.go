package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/fixtures"
)

// The schemas are committed: docs/schema/check holds every line of every
// capture against them.
func TestPages(t *testing.T) {
	if len(Commands()) < 9 {
		t.Errorf("only %d commands", len(Commands()))
	}
	for _, command := range Commands() {
		b, err := For(command, nil).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		fixtures.Golden(t, "../../docs/schema/"+File(command), b)
	}
	if For("relay", nil) != nil {
		t.Error("a command without JSON has a schema")
	}
}

// Schemas tell types, required keys, and the fields of each message.
func TestRead(t *testing.T) {
	s := For("read", nil)
	if p := s.Properties["frame"]; p.Type != "integer" || !strings.Contains(p.Description, "frame") {
		t.Errorf("frame is %+v", p)
	}
	if p := s.Properties["notes"]; p.Type != "array" || p.Items.Properties["code"].Type != "string" {
		t.Errorf("notes is %+v", p)
	}
	if p := s.Properties["src_ip"]; p != nil {
		t.Errorf("src_ip is %+v", p)
	}
	update := s.Defs["StateUpdate"].Properties
	if p := update["position"]; p.Type != "array" || p.MinItems != 3 || p.MaxItems != 3 {
		t.Errorf("position is %+v", p)
	}
	if p := update["subsystems"].Properties["entries"].Items.Properties["condition"]; p.Type != "number" {
		t.Errorf("condition is %+v", p)
	}
	torpedo := s.Defs["TorpedoFire"].Properties
	if torpedo["target_point"] == nil || torpedo["target_offset"] == nil || torpedo["target_slot"].Type != "integer" {
		t.Error("TorpedoFire has not the fields of both forms")
	}
	if len(For("decode", nil).Required) != 1 || len(s.Required) != 4 {
		t.Error("the required keys are wrong")
	}
}

// An empty line has every key of every message, and nothing but null.
func TestEmpty(t *testing.T) {
	var line map[string]any
	if err := json.Unmarshal(For("read", nil).Empty(), &line); err != nil {
		t.Fatal(err)
	}
	var keys int
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, e := range v {
				walk(path+"."+name, e)
			}
		case []any:
			for _, e := range v {
				walk(path, e)
			}
		case nil:
			keys++
		default:
			t.Errorf("%s is %v", path, v)
		}
	}
	walk("", line)
	fields, _ := line["fields"].(map[string]any)
	for _, name := range []string{"sender", "explosion_time", "target_point", "target_offset", "snapshot", "power_settings", "password"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
	if keys < 150 {
		t.Errorf("only %d keys", keys)
	}
}
