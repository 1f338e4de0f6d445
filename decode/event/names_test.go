package event

import (
	"strings"
	"testing"
)

func TestCodeName(t *testing.T) {
	for _, tt := range []struct {
		code uint32
		want string
	}{
		{0x00800001, "TEMP_TYPE"},
		{0x0080004E, "OBJECT_EXPLODING"},
		{0x00800050, "OBJECT_COLLISION"},
		{0x00800058, "TARGET_WAS_CHANGED"},
		{0x0080005D, "ENTERED_SET"},
		{0x0080006B, "SUBSYSTEM_DAMAGED"},
		{0x0080006C, "SUBSYSTEM_STATE_CHANGED"},
		{0x00800074, "REPAIR_COMPLETED"},
		{0x00800075, "REPAIR_CANNOT_BE_COMPLETED"},
		{0x00800076, "REPAIR_INCREASE_PRIORITY"},
		{0x0080007C, "WEAPON_FIRED"},
		{0x008000C5, "EXITED_WARP"},
		{0x008000C8, "OBJECT_CREATED"},
		{0x008000D7, "START_FIRING"},
		{0x008000D8, "START_FIRING_NOTIFY"},
		{0x008000D9, "STOP_FIRING"},
		{0x008000DA, "STOP_FIRING_NOTIFY"},
		{0x008000DB, "STOP_FIRING_AT_TARGET"},
		{0x008000DC, "STOP_FIRING_AT_TARGET_NOTIFY"},
		{0x008000DD, "SUBSYSTEM_STATE_CHANGED_NOTIFY"},
		{0x008000DF, "ADD_TO_REPAIR_LIST"},
		{0x008000E0, "SET_PHASER_LEVEL"},
		{0x008000E1, "SET_TARGET"},
		{0x008000E2, "START_CLOAKING_NOTIFY"},
		{0x008000E3, "START_CLOAKING"},
		{0x008000E4, "STOP_CLOAKING_NOTIFY"},
		{0x008000E5, "STOP_CLOAKING"},
		{0x008000E6, "CHECKSUM_COMPLETE"},
		{0x008000E7, "SYSTEM_CHECKSUM_FAILED"},
		{0x008000E8, "SYSTEM_CHECKSUM_COMPLETE"},
		{0x008000EC, "START_WARP_NOTIFY"},
		{0x008000ED, "START_WARP"},
		{0x008000F1, "NEW_PLAYER_IN_GAME"},
		{0x008000F6, "PLAYER_BOOT_EVENT"},
		{0x008000FC, "HOST_OBJECT_COLLISION"},
		{0x008000FD, "NET_TORPEDO_TYPE_CHANGED"},
		{0x008000FE, "NET_TORPEDO_TYPE_CHANGED_NOTIFY"},
		{0x00800117, "LAST_SCRIPT_EVENT"}, // the 279th
		{0x00060001, "NETWORK_MESSAGE_EVENT"},
		{0x00060004, "NETWORK_NEW_PLAYER"},
		{0x00060005, "NETWORK_DELETE_PLAYER"},
		{0x00060007, "NETWORK_NAME_CHANGE_EVENT"},

		{0, ""},
		{0x4E, ""},
		{0x00060000, ""},
		{0x00060008, ""},
		{0x00800000, ""},
		{0x00800118, ""},
		{0xFFFFFFFF, ""},
	} {
		if got := Codes.Name(uint64(tt.code)); got != tt.want {
			t.Errorf("%#08x: got %q, want %q", tt.code, got, tt.want)
		}
	}
}

// Codes are positions in a list of constants, so there are no gaps.
func TestCodesAreContiguous(t *testing.T) {
	seen := map[string]uint32{}
	check := func(first, last uint32) {
		for code := first; code <= last; code++ {
			name := Codes.Name(uint64(code))
			if name == "" || strings.HasPrefix(name, "ET_") {
				t.Errorf("%#08x: got %q", code, name)
			}
			if other, ok := seen[name]; ok {
				t.Errorf("%#08x and %#08x: both %q", other, code, name)
			}
			seen[name] = code
		}
	}
	check(0x00800001, 0x00800117)
	check(0x00060001, 0x00060007)
}

func TestClassName(t *testing.T) {
	for _, tt := range []struct {
		id   uint32
		want string
	}{
		{0x0101, "TGEvent"},
		{0x0103, "TGTIMER"},
		{0x0104, "TGBoolEvent"},
		{0x0105, "TGCharEvent"},
		{0x0106, "TGShortEvent"},
		{0x0107, "TGIntEvent"},
		{0x0108, "TGFloatEvent"},
		{0x0109, "TGStringEvent"},
		{0x010A, "TGVoidPtrEvent"},
		{0x010C, "TGObjPtrEvent"},
		{0x0864, "NETWORK"},
		{0x0865, "MessageEvent"},
		{0x0866, "TGPlayerEvent"},
		{0x0867, "GAMESPY_EVENT"},
		{0x8001, "TEMP_TYPE"},
		{0x8004, "PLANET"},
		{0x8008, "ShipClass"},
		{0x8009, "Torpedo"},
		{0x801C, "PoweredSubsystem"},
		{0x803B, "OPTIMIZED_AI_FIRST"},
		{0x80BB, "OPTIMIZED_AI_LAST"},
		{0x80D4, "MULTIPLAYER_GAME"},
		{0x8124, "CollisionEvent"},
		{0x8127, "WeaponHitEvent"},
		{0x8128, "StartFiringEvent"},
		{0x8129, "ObjectExplodingEvent"},
		{0x812A, "WarpEvent"},
		{0x8147, "CHAT_OBJECT"},

		{0, ""},
		{0x0100, ""},
		{0x010E, ""},
		{0x0863, ""},
		{0x0868, ""},
		{0x8000, ""},
		{0x803C, ""}, // between the first and the last optimised AI
		{0x8148, ""},
		{0xFFFFFFFF, ""},
	} {
		if got := Classes.Name(uint64(tt.id)); got != tt.want {
			t.Errorf("%#04x: got %q, want %q", tt.id, got, tt.want)
		}
	}
}
