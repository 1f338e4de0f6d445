package kaitai

import (
	"testing"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/event"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/report/reference"
)

// Each opcode has the type of its message, in both dialects: one of a mod that shares an
// opcode doesn't replace the game's, and one for the rest of the opcodes no other.
func TestOpcodes(t *testing.T) {
	layout := decode.LayoutOf[event.Event]()
	c, err := msg.Catalog().With(&decode.Spec{Code: 0x2C, Name: "Emote", Layout: layout}, &decode.Spec{Code: 0xCD, Name: "Own", Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := New(reference.Entries(c), reference.Ships())
	if err != nil {
		t.Fatal(err)
	}
	cases := spec["seq"].([]object)[1]["type"].(object)["cases"].(object)
	for code, want := range map[string]any{
		"4": "game_boot_player_stock(0, species, 0)", "5": nil,
		"28": "game_state_update_stock(0, species, 0)", "284": "game_state_update_openbc(0, species, 0)",
		"44": "game_chat_stock(0, species, 0)", "300": "game_chat_stock(0, species, 0)",
		"43": "game_script_stock(0, species, 0)", "204": "game_script_stock(0, species, 0)", "461": "game_host_event_stock(0, species, 0)",
		"205": "game_host_event_stock(0, species, 0)", "255": "game_script_stock(0, species, 0)", "42": "game_client_ready_stock(0, species, 0)",
	} {
		if cases[code] != want {
			t.Errorf("%s: got %v, want %v", code, cases[code], want)
		}
	}
}
