package schema

import (
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

// Schemas tell types, what must be there, and what a message may hold.
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
