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

// Role is the function of a subsystem; it determines its format in a snapshot.
type Role uint8

// Roles of the entries of a list.
const (
	Hull        Role = iota + 1 // also bridges, docking rings and other parts of the structure
	Shield                      // shield generator; six facings follow
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

// childRoles maps the role of a system to that of its children.
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
	Name         string // as in the ship's script
	Role         Role
	Offset       uint8   // object id of the child = id of the ship + Offset
	MaxCondition float32 // condition at byte 255
}

// Subsystem is one entry of a list.
type Subsystem struct {
	Name          string // as in the ship's script
	Role          Role
	Kind          Kind
	Offset        uint8   // object id of the subsystem = id of the ship + Offset
	MaxCondition  float32 // condition at byte 255
	Children      []Child // in wire order
	MainBattery   float32 // capacity, for reactors
	BackupBattery float32 // capacity, for reactors
	// Shields are the maxima of the facings front, rear, top, bottom, left and
	// right, for shield generators.
	Shields [6]float32
}

// Class holds the common properties of all ships of a species.
type Class struct {
	Species       uint8
	Name          string // for display
	Constant      string // in the game's scripts
	Faction       string
	Playable      bool        // players can fly it
	Inferred      bool        // the class was inferred from a ship's messages
	Uncertain     bool        // the list is derived from the script by a rule without a capture to confirm it
	Subsystems    []Subsystem // in wire order; nil if unknown
	Total         int         // subsystems and children; their offsets are 1 to Total
	SnapshotBytes int         // size of the snapshot in messages 02 and 03
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
	if int(species) < len(classes) {
		return classes[species]
	}
	return nil
}

// All yields the classes by species. They are shared and must not be changed.
func All() iter.Seq[*Class] {
	return func(yield func(*Class) bool) {
		for _, c := range classes {
			if c != nil && !yield(c) {
				return
			}
		}
	}
}

// classes are the classes by species; there is no species 0.
var classes = [...]*Class{
	1:  &akira,
	2:  &ambassador,
	3:  &galaxy,
	4:  &nebula,
	5:  &sovereign,
	6:  &birdOfPrey,
	7:  &vorcha,
	8:  &warbird,
	9:  &marauder,
	10: &galor,
	11: &keldon,
	12: &cardHybrid,
	13: &kessokHeavy,
	14: &kessokLight,
	15: &shuttle,
	16: &cardFreighter,
	17: &freighter,
	18: &transport,
	19: &spaceFacility,
	20: &commArray,
	21: &commLight,
	22: &dryDock,
	23: &probe,
	24: &decoy,
	25: &sunbuster,
	26: &cardOutpost,
	27: &cardStarbase,
	28: &cardStation,
	29: &fedOutpost,
	30: &fedStarbase,
	31: &asteroid,
	32: &asteroid1,
	33: &asteroid2,
	34: &asteroid3,
	35: &amagon,
	36: &biranuStation,
	37: &enterprise,
	38: &geronimo,
	39: &peregrine,
	40: &asteroidH1,
	41: &asteroidH2,
	42: &asteroidH3,
	43: &escapePod,
	44: &kessokMine,
	45: &borgCube,
}

// The functions below make list entries.

func hull(name string, offset uint8, condition float32) Subsystem {
	return Subsystem{Name: name, Role: Hull, Kind: Base, Offset: offset, MaxCondition: condition}
}

// shield makes a shield generator; facings are front, rear, top, bottom, left, right.
func shield(offset uint8, condition float32, facings [6]float32) Subsystem {
	return Subsystem{Name: "Shield Generator", Role: Shield, Kind: Powered, Offset: offset, MaxCondition: condition, Shields: facings}
}

func reactor(name string, offset uint8, condition, mainBattery, backupBattery float32) Subsystem {
	return Subsystem{
		Name: name, Role: ReactorRole, Kind: Reactor, Offset: offset, MaxCondition: condition,
		MainBattery: mainBattery, BackupBattery: backupBattery,
	}
}

// system makes any other subsystem; all of these are powered.
func system(role Role, name string, offset uint8, condition float32, parts ...Child) Subsystem {
	for i := range parts {
		parts[i].Role = childRoles[role]
	}
	return Subsystem{Name: name, Role: role, Kind: Powered, Offset: offset, MaxCondition: condition, Children: parts}
}

// part makes a child; its system determines its role.
func part(name string, offset uint8, condition float32) Child {
	return Child{Name: name, Offset: offset, MaxCondition: condition}
}
