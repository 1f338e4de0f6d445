package ship

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The lists of the protocol description, typed by hand: names in wire order
// with the number of children, the number of all subsystems, and the snapshot
// size.
var lists = []struct {
	species  uint8
	name     string
	list     string
	total    int
	snapshot int
}{
	{1, "Akira", "Hull, Shield Generator, Sensor Array, Warp Core, Impulse Engines [2], Phasers [8], Warp Engines [2], Torpedoes [6], Engineering, Tractors [2], Bridge", 31, 51},
	{2, "Ambassador", "Hull, Shield Generator, Sensor Array, Warp Core, Impulse Engines [2], Phasers [8], Warp Engines [2], Torpedoes [4], Engineering, Bridge, Tractors [2]", 29, 49},
	{3, "Galaxy", "Hull, Warp Core, Shield Generator, Sensor Array, Torpedoes [6], Phasers [8], Impulse Engines [3], Warp Engines [2], Tractors [4], Bridge, Engineering", 34, 54},
	{4, "Nebula", "Hull, Shield Generator, Sensor Array, Warp Core, Impulse Engines [2], Phasers [8], Warp Engines [2], Torpedoes [6], Repair, Tractors [2], Bridge", 31, 51},
	{5, "Sovereign", "Hull, Shield Generator, Sensor Array, Warp Core, Impulse Engines [2], Torpedoes [6], Repair, Phasers [8], Tractors [4], Warp Engines [2], Bridge", 33, 53},
	{6, "Bird of Prey", "Hull, Shield Generator, Warp Core, Disruptor Cannons [2], Torpedoes [1], Impulse Engines [1], Warp Engines [2], Cloaking Device, Sensor Array, Engineering", 16, 34},
	{7, "Vor'cha", "Hull, Shield Generator, Warp Core, Disruptor Beams [1], Disruptor Cannons [2], Torpedoes [3], Impulse Engines [2], Warp Engines [2], Cloaking Device, Sensor Array, Repair System, Tractors [2]", 24, 46},
	{8, "Warbird", "Hull, Shield Generator, Power Plant, Disruptor Beam [1], Disruptor Cannons [4], Torpedoes [2], Impulse Engines [2], Warp Engines [2], Cloaking Device, Sensor Array, Engineering, Bridge, Tractors [2]", 26, 48},
	{9, "Marauder", "Hull, Shield Generator, Warp Core, Phasers [1], Impulse Engines [2], Warp Engines [2], Tractors [2], Sensor Array, Repair Subsystem, Plasma Emitters [2]", 19, 38},
	{10, "Galor", "Hull, Shield Generator, Warp Core, Compressors [4], Torpedoes [1], Impulse Engines [2], Warp Engine [1], Repair Subsystem, Sensor Array", 17, 35},
	{11, "Keldon", "Hull, Shield Generator, Warp Core, Compressors [4], Torpedoes [2], Impulse Engines [4], Warp Engine [1], Sensor Array, Repair Subsystem, Tractors [2]", 23, 43},
	{12, "CardHybrid", "Hull, Warp Core, Torpedoes [3], Repair System, Shield Generator, Sensor Array, Impulse Engines [2], Warp Engines [3], Beams [7], Disruptor Cannons [1], Tractors [2]", 29, 50},
	{13, "KessokHeavy", "Hull, Warp Core, Impulse Engines [2], Warp Engines [2], Positron Beams [8], Torpedoes [2], Repair System, Shield Generator, Sensor Array, Cloaking Device", 24, 43},
	{14, "KessokLight", "Hull, Warp Core, Torpedoes [1], Repair System, Shield Generator, Sensor Array, Impulse Engines [2], Warp Engines [2], Beams [8], Cloaking Device", 23, 42},
	{15, "Shuttle", "Hull, Impulse Engines [2], Warp Core, Sensor Array, Shield Generator, Phasers [1], Repair, Warp Engines [2], Tractors [1]", 15, 33},
	{16, "CardFreighter", "Hull, Impulse Engines [2], Warp Engines [1], Engineering, Tractors [1], Sensor Array, Shield Generator, Warp Core", 12, 28},
	{30, "FedStarbase", "Hull, Shield Generator, Sensor Array, Power Plant, Phasers [8], Engineering", 14, 28},
	{37, "Enterprise", "Hull, Shield Generator, Sensor Array, Warp Core, Impulse Engines [2], Torpedoes [6], Repair, Phasers [8], Tractors [4], Warp Engines [2], Bridge, Engineering", 34, 55},
}

func TestLists(t *testing.T) {
	for _, want := range lists {
		t.Run(want.name, func(t *testing.T) {
			c := BySpecies(want.species)
			if c == nil {
				t.Fatalf("species %d is missing", want.species)
			}
			var list []string
			for _, s := range c.Subsystems {
				e := s.Name
				if n := len(s.Children); n > 0 {
					e += fmt.Sprintf(" [%d]", n)
				}
				list = append(list, e)
			}
			if got := strings.Join(list, ", "); got != want.list {
				t.Errorf("list\n got %s\nwant %s", got, want.list)
			}
			if c.Name != want.name {
				t.Errorf("name: got %q, want %q", c.Name, want.name)
			}
			if c.Total != want.total {
				t.Errorf("total: got %d, want %d", c.Total, want.total)
			}
			if c.SnapshotBytes != want.snapshot {
				t.Errorf("snapshot: got %d bytes, want %d", c.SnapshotBytes, want.snapshot)
			}
		})
	}
}

// snapshotBytes returns the size of a snapshot, computed from its layout. Bits
// share a group byte, at most five each.
func snapshotBytes(t *testing.T, c *Class) int {
	t.Helper()
	n, bits := 0, 0
	for _, s := range c.Subsystems {
		n += 1 + len(s.Children) // conditions
		switch s.Role {
		case Hull:
		case ReactorRole:
			n += 2 // batteries
		case Sensor, Impulse, Warp, Repair:
			n++ // power
		case Shield:
			n += 1 + 6 // power, facings
		case Phaser, Torpedo, Tractor:
			n += 1 + 1 // power, level or slot or mode
			bits++
		case Pulse, Cloak:
			n++ // power
			bits++
		default:
			t.Errorf("%s: %s has role %v", c.Name, s.Name, s.Role)
		}
	}
	return n + (bits+4)/5
}

func TestSnapshotBytes(t *testing.T) {
	for c := range All() {
		if got := snapshotBytes(t, c); got != c.SnapshotBytes {
			t.Errorf("%s: SnapshotBytes is %d, the list makes %d", c.Name, c.SnapshotBytes, got)
		}
	}
}

func TestPoweredSets(t *testing.T) {
	for _, tt := range []struct {
		species []uint8
		want    []int
	}{
		{[]uint8{1, 4, 5}, []int{1, 2, 4, 5, 6, 7, 8, 9}},   // Akira, Nebula, Sovereign
		{[]uint8{2}, []int{1, 2, 4, 5, 6, 7, 8, 10}},        // Ambassador
		{[]uint8{3}, []int{2, 3, 4, 5, 6, 7, 8, 10}},        // Galaxy
		{[]uint8{6, 9, 11}, []int{1, 3, 4, 5, 6, 7, 8, 9}},  // Bird of Prey, Marauder, Keldon
		{[]uint8{7}, []int{1, 3, 4, 5, 6, 7, 8, 9, 10, 11}}, // Vor'cha
		{[]uint8{8}, []int{1, 3, 4, 5, 6, 7, 8, 9, 10, 12}}, // Warbird
		{[]uint8{10}, []int{1, 3, 4, 5, 6, 7, 8}},           // Galor
		{[]uint8{15}, []int{1, 3, 4, 5, 6, 7, 8}},           // Shuttle
		{[]uint8{12}, []int{2, 3, 4, 5, 6, 7, 8, 9, 10}},    // CardHybrid
		{[]uint8{13, 14}, []int{2, 3, 4, 5, 6, 7, 8, 9}},    // KessokHeavy, KessokLight
		{[]uint8{37}, []int{1, 2, 4, 5, 6, 7, 8, 9, 11}},    // Enterprise, from the Sovereign's
		{[]uint8{30}, []int{1, 2, 4, 5}},                    // FedStarbase, from its list
		{[]uint8{31, 32, 33, 34, 35, 40, 41, 42}, []int{1}}, // asteroids: shield generator
	} {
		for _, sp := range tt.species {
			c := BySpecies(sp)
			var got []int
			for i, s := range c.Subsystems {
				if s.Kind == Powered {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: powered entries: got %v, want %v", c.Name, got, tt.want)
			}
		}
	}
}

func TestOffsets(t *testing.T) {
	for _, tt := range []struct {
		species uint8
		role    Role
		first   uint32 // the offsets that have the role, first to last
		last    uint32
	}{
		{1, Impulse, 5, 5},
		{1, Phaser, 6, 6},
		{1, Warp, 7, 7},
		{1, Torpedo, 8, 8},
		{1, Repair, 13, 13},
		{1, TorpedoTube, 14, 19},
		{1, Tractor, 28, 28},
		{2, Impulse, 5, 5},
		{2, Phaser, 6, 6},
		{2, Warp, 7, 7},
		{2, Torpedo, 8, 8},
		{2, TorpedoTube, 12, 15},
		{2, Repair, 20, 20},
		{2, Tractor, 22, 22},
		{3, Torpedo, 5, 5},
		{3, TorpedoTube, 6, 11},
		{3, Phaser, 12, 12},
		{3, Impulse, 21, 21},
		{3, Warp, 25, 25},
		{3, Tractor, 28, 28},
		{3, Repair, 32, 32},
		{4, Impulse, 5, 5},
		{4, Phaser, 6, 6},
		{4, Warp, 7, 7},
		{4, Torpedo, 8, 8},
		{4, TorpedoTube, 21, 26},
		{4, Repair, 27, 27},
		{4, Tractor, 28, 28},
		{5, Sensor, 3, 3},
		{5, Impulse, 5, 5},
		{5, Torpedo, 6, 6},
		{5, TorpedoTube, 7, 12},
		{5, Repair, 25, 25},
		{5, Phaser, 26, 26},
		{5, Tractor, 27, 27},
		{5, Warp, 28, 28},
		{6, Pulse, 4, 4},
		{6, PulseWeapon, 5, 6},
		{6, Torpedo, 7, 7},
		{6, TorpedoTube, 8, 8},
		{6, Impulse, 9, 9},
		{6, Warp, 11, 11},
		{6, Cloak, 14, 14},
		{6, Sensor, 15, 15},
		{6, Repair, 16, 16},
		{7, Phaser, 4, 4},
		{7, Pulse, 6, 6},
		{7, PulseWeapon, 7, 8},
		{7, Torpedo, 9, 9},
		{7, TorpedoTube, 10, 12},
		{7, Cloak, 19, 19},
		{7, Repair, 21, 21},
		{7, Tractor, 22, 22},
		{8, Phaser, 4, 4},
		{8, Pulse, 6, 6},
		{8, PulseWeapon, 7, 10},
		{8, Torpedo, 11, 11},
		{8, TorpedoTube, 12, 13},
		{8, Cloak, 20, 20},
		{8, Repair, 22, 22},
		{8, Tractor, 24, 24},
		{9, Phaser, 4, 4},
		{9, Impulse, 5, 5},
		{9, Warp, 8, 8},
		{9, Tractor, 11, 11},
		{9, Repair, 13, 13},
		{9, Pulse, 15, 15},
		{9, PulseWeapon, 16, 17},
		{10, Phaser, 4, 4},
		{10, Torpedo, 8, 8},
		{10, TorpedoTube, 9, 9},
		{10, Impulse, 10, 10},
		{10, Warp, 13, 13},
		{10, Repair, 15, 15},
		{11, Phaser, 4, 4},
		{11, Torpedo, 8, 8},
		{11, TorpedoTube, 9, 10},
		{11, Impulse, 11, 11},
		{11, Warp, 16, 16},
		{11, Repair, 19, 19},
		{11, Tractor, 20, 20},
		{12, Torpedo, 3, 3},
		{12, Repair, 4, 4},
		{12, Phaser, 14, 14},
		{12, Pulse, 22, 22},
		{12, PulseWeapon, 23, 23},
		{12, TorpedoTube, 24, 26},
		{12, Tractor, 27, 27},
		{13, Impulse, 3, 3},
		{13, Warp, 6, 6},
		{13, Phaser, 9, 9},
		{13, Torpedo, 10, 10},
		{13, TorpedoTube, 11, 12},
		{13, Repair, 13, 13},
		{13, Cloak, 22, 22},
		{14, Torpedo, 3, 3},
		{14, TorpedoTube, 4, 4},
		{14, Repair, 5, 5},
		{14, Phaser, 14, 14},
		{14, Cloak, 21, 21},
		{15, Phaser, 6, 6},
		{15, Repair, 10, 10},
		{15, Warp, 11, 11},
		{15, Tractor, 14, 14},
	} {
		c := BySpecies(tt.species)
		// Exactly the offsets first to last have the role.
		for offset := uint32(0); offset <= 64; offset++ {
			_, role, ok := c.At(offset)
			want := offset >= tt.first && offset <= tt.last
			if got := ok && role == tt.role; got != want {
				t.Errorf("%s: offset %d is %v (known: %v), want %v at %d to %d", c.Name, offset, role, ok, tt.role, tt.first, tt.last)
			}
		}
	}
}

func TestOffsetsAreOneToTotal(t *testing.T) {
	for c := range All() {
		seen := make([]string, c.Total+1)
		use := func(name string, offset uint8) {
			switch {
			case offset == 0 || int(offset) > c.Total:
				t.Errorf("%s: %s has offset %d of %d", c.Name, name, offset, c.Total)
			case seen[offset] != "":
				t.Errorf("%s: %s and %s share offset %d", c.Name, seen[offset], name, offset)
			default:
				seen[offset] = name
			}
		}
		for _, s := range c.Subsystems {
			use(s.Name, s.Offset)
			for _, p := range s.Children {
				use(p.Name, p.Offset)
			}
		}
		for offset := 1; offset <= c.Total; offset++ {
			if seen[offset] == "" {
				t.Errorf("%s: nothing has offset %d", c.Name, offset)
			}
			if name, role, ok := c.At(uint32(offset)); !ok || name != seen[offset] || role == 0 {
				t.Errorf("%s: At(%d) is %q, %v, %v, want %q", c.Name, offset, name, role, ok, seen[offset])
			}
		}
		for _, offset := range []uint32{0, uint32(c.Total) + 1, 256 + 1, 0xFFFFFFFF} {
			if name, _, ok := c.At(offset); ok {
				t.Errorf("%s: At(%d) is %q, want none", c.Name, offset, name)
			}
		}
	}
}

// cycle computes the start indices of a ship's updates to its owner: a block
// takes whole entries while fewer than 10 bytes, start index included, are
// used, or until the list has come full circle.
func cycle(c *Class) (starts []uint8, repeat uint8) {
	start := 0
	for !slices.Contains(starts, uint8(start)) {
		starts = append(starts, uint8(start))
		used, bits, i := 1, 0, start
		for {
			s := &c.Subsystems[i]
			used += 1 + len(s.Children)
			switch s.Kind {
			case Powered: // the bit has-power is 0: no power byte
				if bits%5 == 0 {
					used++ // a new group byte
				}
				bits++
				if s.Role == Shield {
					used += 6
				}
			case Reactor:
				used += 2
			case Base:
			}
			i = (i + 1) % len(c.Subsystems)
			if used >= 10 || i == start {
				break
			}
		}
		start = i
	}
	return starts, uint8(start)
}

func TestOwnCycleIsByTheRule(t *testing.T) {
	for c := range All() {
		if c.Subsystems == nil {
			continue
		}
		starts, repeat := cycle(c)
		if !slices.Equal(c.OwnCycle, starts) || c.OwnRepeat != repeat {
			t.Errorf("%s: cycle is %v then %d, the list makes %v then %d", c.Name, c.OwnCycle, c.OwnRepeat, starts, repeat)
		}
	}
}

func TestOwnCycle(t *testing.T) {
	for _, tt := range []struct {
		species uint8
		starts  []uint8
		repeat  uint8
	}{
		{1, []uint8{0, 2, 6, 8}, 2},              // Akira
		{2, []uint8{0, 2, 6, 8}, 2},              // Ambassador
		{3, []uint8{0, 3, 5, 6, 9}, 3},           // Galaxy
		{5, []uint8{0, 2, 6, 8, 10}, 2},          // Sovereign
		{6, []uint8{0, 2, 5}, 0},                 // Bird of Prey
		{8, []uint8{0, 2, 5, 8, 1, 3, 6, 10}, 2}, // Warbird
		{12, []uint8{0, 3, 5, 8, 9, 2}, 5},       // CardHybrid
		{15, []uint8{0, 4, 6, 2, 5}, 0},          // Shuttle
	} {
		c := BySpecies(tt.species)
		if !slices.Equal(c.OwnCycle, tt.starts) || c.OwnRepeat != tt.repeat {
			t.Errorf("%s: got %v then %d, want %v then %d", c.Name, c.OwnCycle, c.OwnRepeat, tt.starts, tt.repeat)
		}
	}
}

func TestBySpecies(t *testing.T) {
	for _, species := range []uint8{0, 46, 255} {
		if c := BySpecies(species); c != nil {
			t.Errorf("BySpecies(%d) is %s, want nil", species, c.Name)
		}
	}
	constants := map[string]bool{}
	want := uint8(1)
	for c := range All() {
		if c.Species != want {
			t.Errorf("All: got species %d, want %d", c.Species, want)
		}
		if BySpecies(c.Species) != c {
			t.Errorf("BySpecies(%d) is not %s", c.Species, c.Name)
		}
		if c.Name == "" || c.Faction == "" || c.Constant == "" || constants[c.Constant] {
			t.Errorf("species %d: name %q, constant %q, faction %q", c.Species, c.Name, c.Constant, c.Faction)
		}
		constants[c.Constant] = true
		if got, want := c.Playable, c.Species <= 15; got != want {
			t.Errorf("%s: playable: got %v, want %v", c.Name, got, want)
		}
		if got, want := c.Subsystems == nil, c.Constant == "BORGCUBE"; got != want {
			t.Errorf("%s: has no list: got %v, want %v", c.Name, got, want)
		}
		want++
	}
	if want != 46 {
		t.Errorf("All: got %d classes, want 45", want-1)
	}
	for range All() {
		break // must not panic
	}
}

func TestEntries(t *testing.T) {
	for c := range All() {
		for i, s := range c.Subsystems {
			switch s.Role {
			case Hull:
				if s.Kind != Base {
					t.Errorf("%s: %s is %v", c.Name, s.Name, s.Kind)
				}
			case ReactorRole:
				if s.Kind != Reactor || s.MainBattery <= 0 || s.BackupBattery <= 0 {
					t.Errorf("%s: %s is %v, batteries %v and %v", c.Name, s.Name, s.Kind, s.MainBattery, s.BackupBattery)
				}
			default:
				if s.Kind != Powered {
					t.Errorf("%s: %s is %v", c.Name, s.Name, s.Kind)
				}
			}
			if i == 0 && s.Role != Hull {
				t.Errorf("%s: list begins with %s", c.Name, s.Name)
			}
			if s.MaxCondition <= 0 {
				t.Errorf("%s: %s has maximum %v", c.Name, s.Name, s.MaxCondition)
			}
			for _, p := range s.Children {
				if p.Role < ImpulseEngine || p.Role > TractorProjector || p.MaxCondition <= 0 {
					t.Errorf("%s: %s is %v, maximum %v", c.Name, p.Name, p.Role, p.MaxCondition)
				}
			}
		}
	}
}

func TestKnownHashes(t *testing.T) {
	for c := range All() {
		want := map[uint8]uint16{1: 0xFB37, 4: 0x040C}[c.Species] // Akira, Nebula
		if c.Hash != want {
			t.Errorf("%s: hash %#04x, want %#04x", c.Name, c.Hash, want)
		}
	}
}

func TestStrings(t *testing.T) {
	for _, tt := range []struct {
		got  fmt.Stringer
		want string
	}{
		{Base, "base"},
		{Powered, "powered"},
		{Reactor, "reactor"},
		{Kind(3), "unknown"},
		{Role(0), "unknown"},
		{Hull, "hull"},
		{ReactorRole, "reactor"},
		{Cloak, "cloak"},
		{ImpulseEngine, "impulse engine"},
		{TractorProjector, "tractor projector"},
		{TractorProjector + 1, "unknown"},
	} {
		if got := tt.got.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
