package names

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestHash(t *testing.T) {
	for _, tt := range []struct {
		s    string
		want uint32
	}{
		{"", 0},
		{"60", 0x7E0CE243},
		{"scripts", 0x4DAFCB2F},
		{"scripts/ships", 0xC017D1C4},
		{"scripts/mainmenu", 0x3409475D},
		{"Scripts/Multiplayer", 0x8794D13F},
		{"App.pyc", 0x373EB677},
		{"Autoexec.pyc", 0x8501E6A1},
		{"Akira.pyc", 0x3EB23EBA},
		{"Hardpoints", 0xCAAFFDD4},
		{"__init__.pyc", 0xE9DD9FA2},
		{"Episode", 0x83C82BA5},
		{"Mission1", 0x88D63ABC},
		{"Mission2", 0x587DA208},
		{"Mission3", 0x72ED3851},
		{"Mission5", 0x16F2E8DA},
		{"Mission1.pyc", 0x415BD938},
		{"Episode.pyc", 0x712E2686},
		{"MissionShared.pyc", 0x67A4C085},
		{"Modifier.pyc", 0x0825A729},
		{"MultiplayerGame.pyc", 0xCB1F8D37},
		{"MultiplayerMenus.pyc", 0x44AF0748},
		{"SpeciesToShip.pyc", 0x1F4130E9},
		{"SpeciesToTorp.pyc", 0xFC53F27B},
		{"SpeciesToSystem.pyc", 0xC5DE8AE5},
		{"MissionMenusShared.pyc", 0x2C11712D},
		{"app.pyc", 0x20277067}, // case matters
	} {
		if got := Hash(tt.s); got != tt.want {
			t.Errorf("Hash(%q): got %08X, want %08X", tt.s, got, tt.want)
		}
	}
}

func TestTables(t *testing.T) {
	for i, table := range hashTables() {
		b := slices.Sorted(slices.Values(table[:]))
		if len(slices.Compact(b)) != 256 {
			t.Errorf("table %d is no permutation of the bytes", i)
		}
	}
}

func TestFileName(t *testing.T) {
	f, err := os.Open("testdata/hashes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	known := 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if strings.HasPrefix(sc.Text(), "#") {
			continue
		}
		digits, name, _ := strings.Cut(sc.Text(), " ")
		h, err := strconv.ParseUint(digits, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		if got := Hash(name); got != uint32(h) {
			t.Errorf("Hash(%q): got %08X, want %08X", name, got, h)
		}
		if got := FileName(uint32(h)); got != name {
			t.Errorf("FileName(%08X): got %q, want %q", h, got, name)
		}
		if got := Files.Name(h); got != name {
			t.Errorf("Files.Name(%08X): got %q, want %q", h, got, name)
		}
		known++
	}
	if known != 138 || len(byHash) != known || len(strings.Fields(fileNames)) != known {
		t.Errorf("%d names are tested, %d listed, %d have a hash of their own; want 138", known, len(strings.Fields(fileNames)), len(byHash))
	}
	if got := FileName(0x12345678); got != "" {
		t.Errorf("unknown hash: got %q", got)
	}
	if got := Files.Name(1<<32 | 0x7E0CE243); got != "" {
		t.Errorf("more than a hash: got %q", got)
	}
}

func TestFileHash(t *testing.T) {
	for _, tt := range []struct {
		name    string
		content string
		want    uint32
	}{
		{"empty", "", 0},
		{"no word", "\x01\x02\x03", 0x0000000E},
		{"no tail", "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1A\x1B\x1C\x1D\x1E\x1F", 0xCAC4D6D8},
		{"tail of one", "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1A\x1B\x1C\x1D\x1E\x1F\x20", 0x9589ADF1},
		// A hash that took each byte of the tail would be 2B135BA1.
		{"tail of two", "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1A\x1B\x1C\x1D\x1E\x1F\x20\x21", 0x2B135BA3},
		{"tail of three", "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1A\x1B\x1C\x1D\x1E\x1F\x20\x21\x22", 0x5626B706},
		{"tail with a sign", "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1A\x1B\x1C\x1D\x1E\x1F\xF0\x01", 0x2B135B41},
		{"other time stamp", "\x10\x11\x12\x13\x00\x00\x00\x00\x18\x19\x1A\x1B\x1C\x1D\x1E\x1F", 0xCAC4D6D8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := FileHash([]byte(tt.content)); got != tt.want {
				t.Errorf("got %08X, want %08X", got, tt.want)
			}
		})
	}
}

func TestEnums(t *testing.T) {
	for _, tt := range []struct {
		name string
		enum Enum
		v    uint64
		want string
	}{
		{"Species", Species, 0, "unknown"},
		{"Species", Species, 1, "Akira"},
		{"Species", Species, 6, "Bird of Prey"},
		{"Species", Species, 7, "Vor'cha"},
		{"Species", Species, 9, "Marauder"},
		{"Species", Species, 30, "FedStarbase"},
		{"Species", Species, 45, "BorgCube"},
		{"Species", Species, 46, ""},
		{"TorpedoSpecies", TorpedoSpecies, 1, "disruptor"},
		{"TorpedoSpecies", TorpedoSpecies, 2, "photon"},
		{"TorpedoSpecies", TorpedoSpecies, 12, "phased plasma"},
		{"TorpedoSpecies", TorpedoSpecies, 15, "Romulan cannon"},
		{"TorpedoSpecies", TorpedoSpecies, 16, ""},
		{"Systems", Systems, 1, "Multi1"},
		{"Systems", Systems, 7, "Multi7"},
		{"Systems", Systems, 8, "Albirea"},
		{"Systems", Systems, 9, "Poseidon"},
		{"Systems", Systems, 10, ""},
		{"EndGameReasons", EndGameReasons, 0, "just over"},
		{"EndGameReasons", EndGameReasons, 1, "time up"},
		{"EndGameReasons", EndGameReasons, 2, "frag limit reached"},
		{"EndGameReasons", EndGameReasons, 3, "score limit reached"},
		{"EndGameReasons", EndGameReasons, 4, "starbase destroyed"},
		{"EndGameReasons", EndGameReasons, 5, "Borg destroyed"},
		{"EndGameReasons", EndGameReasons, 6, "Enterprise destroyed"},
		{"EndGameReasons", EndGameReasons, 7, ""},
		{"BootReasons", BootReasons, 0, "default"},
		{"BootReasons", BootReasons, 1, "timed out"},
		{"BootReasons", BootReasons, 2, "incorrect password"},
		{"BootReasons", BootReasons, 3, "too many players"},
		{"BootReasons", BootReasons, 4, "kicked by the server"},
		{"BootReasons", BootReasons, 5, "banned"},
		{"BootReasons", BootReasons, 6, ""},
		{"Teams", Teams, 0, "team 1"},
		{"Teams", Teams, 1, "team 2"},
		{"Teams", Teams, 2, ""},
		{"Teams", Teams, 255, "no team"},
		{"Teams", Teams, 256, ""},
		{"PhaserLevels", PhaserLevels, 0, "low"},
		{"PhaserLevels", PhaserLevels, 2, "high"},
		{"PhaserLevels", PhaserLevels, 3, ""},
		{"TractorModes", TractorModes, 1, "tow"},
		{"TractorModes", TractorModes, 5, "dock stage 2"},
		{"TractorModes", TractorModes, 6, ""},
		{"ShieldFacings", ShieldFacings, 0, "front"},
		{"ShieldFacings", ShieldFacings, 5, "right"},
		{"ShieldFacings", ShieldFacings, 6, ""},
		{"AmmoSlots", AmmoSlots, 0, "one"},
		{"AmmoSlots", AmmoSlots, 3, "four"},
		{"AmmoSlots", AmmoSlots, 4, ""},
		{"zero Enum", Enum{}, 0, ""},
	} {
		if got := tt.enum.Name(tt.v); got != tt.want {
			t.Errorf("%s: %d: got %q, want %q", tt.name, tt.v, got, tt.want)
		}
		if got := tt.enum.Name(1<<63 | tt.v); got != "" {
			t.Errorf("%s: %d: got %q, want none", tt.name, 1<<63|tt.v, got)
		}
	}
}

func TestValues(t *testing.T) {
	var got []string
	for v, name := range Teams.Values() {
		got = append(got, fmt.Sprint(v, " ", name))
	}
	if want := []string{"0 team 1", "1 team 2", "255 no team"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for v, want := range map[int]Enum{0: {}, 46: Species, 10: Systems, 16: TorpedoSpecies} {
		if got := len(maps.Collect(want.Values())); got != v {
			t.Errorf("got %d values, want %d", got, v)
		}
	}
	for range Teams.Values() {
		break // must not panic
	}
}

func TestNameInInterfaceDoesNotAllocate(t *testing.T) {
	type namer interface{ Name(v uint64) string }
	use := make([]namer, 2)
	if n := testing.AllocsPerRun(100, func() {
		use[0], use[1] = Systems, Files
		for _, u := range use {
			_ = u.Name(3)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
