package msg

import (
	"slices"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode"
)

// unharmless are the fields that anonymizing replaces. The specs list all other
// numbers as harmless. A new field fails this test until it is added here or to
// its spec.
var unharmless = []string{
	"FileTransfer.data", // contents of a file of the host
	"Script.body",       // defined by a mod
	// Events of a class that is not the game's.
	"AddToRepairList.body", "ChangedTarget.body", "ClientEvent.body", "CollisionEffect.body", "HostEvent.body", "PlayerAnnounce.body",
	"RepairListPriority.body", "SetPhaserLevel.body", "StartCloaking.body", "StartFiring.body", "StartWarp.body", "StopCloaking.body",
	"StopFiring.body", "StopFiringAtTarget.body", "SubsystemStatus.body", "TorpedoTypeChange.body",
}

func TestHarmless(t *testing.T) {
	var blank []string
	for _, s := range Catalog().All() {
		if !s.Known() {
			continue
		}
		var numbers []string
		see := decode.FieldFunc(func(f *decode.Field) {
			name := s.Name + "." + f.Name
			switch treatment := s.Treatment(f); {
			case f.Kind.Derived():
			case treatment == decode.Blanked && !slices.Contains(blank, name):
				blank = append(blank, name)
			case treatment == decode.Kept:
				numbers = append(numbers, f.Name)
				if typ := f.Kind.Type(); typ == decode.TypeText || typ == decode.TypeBytes || typ == decode.TypeIPv4 {
					t.Errorf("%s is kept", name)
				}
			}
		})
		decode.Describe(s.Layout, decode.Stock, see)
		for _, f := range s.Forms {
			decode.Describe(f.Layout, f.Dialect, see)
		}
		for i, name := range s.Harmless {
			if !slices.Contains(numbers, name) || slices.Contains(s.Harmless[:i], name) {
				t.Errorf("%s calls %s harmless, which is none of its numbers, or twice", s.Name, name)
			}
		}
	}
	slices.Sort(blank)
	want := slices.Sorted(slices.Values(unharmless))
	if !slices.Equal(blank, want) {
		t.Errorf("blank are\n%s\nwant\n%s", strings.Join(blank, "\n"), strings.Join(want, "\n"))
	}
}
