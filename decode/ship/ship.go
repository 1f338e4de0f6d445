package ship

import "iter"

// Kind is a subsystem's format in the subsystem block of an update.
type Kind uint8

// The kinds.
const (
	Base    Kind = iota // condition, then the condition of each child
	Powered             // as Base, then the power setting
	Reactor             // as Base, then main and backup battery
)

var kindNames = [...]string{
	Base:    "base",
	Powered: "powered",
	Reactor: "reactor",
}

// String returns the kind in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Role is the function of a subsystem. It determines the subsystem's format in
// a snapshot.
type Role uint8

// Roles of the entries of a list.
const (
	Hull        Role = iota + 1 // also bridges, docking rings and other parts of the structure
	Shield                      // shield generator, with the condition of six facings
	Sensor                      // sensor array
	ReactorRole                 // warp core or power plant
	Impulse                     // impulse engines
	Warp                        // warp engines
	Repair                      // engineering
	Phaser                      // phasers and other beams
	Pulse                       // pulse weapons: cannons, emitters
	Torpedo                     // torpedo system
	Tractor                     // tractor beams
	Cloak                       // cloaking device
)

// Roles of the entries' children.
const (
	ImpulseEngine Role = iota + Cloak + 1
	WarpEngine
	PhaserBank
	PulseWeapon
	TorpedoTube
	TractorProjector
)

var roleNames = [...]string{
	Hull:             "hull",
	Shield:           "shield",
	Sensor:           "sensor",
	ReactorRole:      "reactor",
	Impulse:          "impulse",
	Warp:             "warp",
	Repair:           "repair",
	Phaser:           "phaser",
	Pulse:            "pulse",
	Torpedo:          "torpedo",
	Tractor:          "tractor",
	Cloak:            "cloak",
	ImpulseEngine:    "impulse engine",
	WarpEngine:       "warp engine",
	PhaserBank:       "phaser bank",
	PulseWeapon:      "pulse weapon",
	TorpedoTube:      "torpedo tube",
	TractorProjector: "tractor projector",
}

// childRoles maps the role of a system to the role of its children.
var childRoles = [...]Role{
	Impulse: ImpulseEngine,
	Warp:    WarpEngine,
	Phaser:  PhaserBank,
	Pulse:   PulseWeapon,
	Torpedo: TorpedoTube,
	Tractor: TractorProjector,
}

// String returns the role in lower case.
func (r Role) String() string {
	if r != 0 && int(r) < len(roleNames) {
		return roleNames[r]
	}
	return "unknown"
}

// Child is a part of a subsystem: an engine, a tube, a phaser bank.
type Child struct {
	Name         string // name in the ship's script
	Role         Role
	Offset       uint8   // object id of the child minus the id of the ship
	MaxCondition float32 // condition for which the wire has 255
}

// Subsystem is one entry of a list.
type Subsystem struct {
	Name          string // name in the ship's script
	Role          Role
	Kind          Kind
	Offset        uint8   // object id of the subsystem minus the id of the ship
	MaxCondition  float32 // condition for which the wire has 255
	Children      []Child // in wire order
	MainBattery   float32 // capacity, for reactors
	BackupBattery float32 // capacity, for reactors
	// Shields are, for shield generators, the maximum conditions of the facings
	// front, rear, top, bottom, left and right.
	Shields [6]float32
}

// Class holds the common properties of all ships of a species.
type Class struct {
	Species       uint8
	Name          string // for display
	Constant      string // name in the game's scripts
	Faction       string
	Playable      bool        // players can fly it
	Inferred      bool        // the class was inferred from a ship's messages
	Uncertain     bool        // the list is derived from the script by a rule, and no capture confirms it
	Subsystems    []Subsystem // in wire order, nil if unknown
	Total         int         // number of subsystems and children, whose offsets are 1 to Total
	SnapshotBytes int         // size of the snapshot of a new ship
	Hash          uint16      // integrity hash of an unmodified client, 0 if unknown
	// OwnCycle are the start indices of successive subsystem blocks about the
	// recipient's own ship. The block after the last starts at OwnRepeat, one of
	// these indices, and the cycle continues from there.
	OwnCycle  []uint8
	OwnRepeat uint8
}

// At returns the subsystem with the object id of the ship plus offset.
func (c *Class) At(offset uint32) (name string, role Role, ok bool) {
	for i := range c.Subsystems {
		s := &c.Subsystems[i]
		if uint32(s.Offset) == offset {
			return s.Name, s.Role, true
		}
		for j := range s.Children {
			if p := &s.Children[j]; uint32(p.Offset) == offset {
				return p.Name, p.Role, true
			}
		}
	}
	return "", 0, false
}

// BySpecies returns the class of a species, or nil if there is none. Classes
// are shared and must not be changed.
func BySpecies(species uint8) *Class {
	if all := classes(); int(species) < len(all) {
		return all[species]
	}
	return nil
}

// All yields the classes by species. They are shared and must not be changed.
func All() iter.Seq[*Class] {
	return func(yield func(*Class) bool) {
		for _, c := range classes() {
			if c != nil && !yield(c) {
				return
			}
		}
	}
}
