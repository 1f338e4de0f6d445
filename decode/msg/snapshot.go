package msg

import (
	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/ship"
)

// A Part is an entry of the ship's list in the snapshot of a ship's creation.
type Part struct {
	Index     uint8
	Condition uint8
	Children  []byte // condition of each
	Power     int8   // per cent, negative when switched off
	Main      uint8  // main battery
	Backup    uint8  // backup battery
	Facings   []byte // front, rear, top, bottom, left, right
	Active    bool   // weapons: whether firing. Cloak: whether engaged.
	Setting   uint8  // phaser level, ammunition slot or tractor mode
}

// snapshot walks the ship's whole list.
func (m *Object) snapshot(c *decode.Codec) {
	n := 0
	if m.Ship != nil {
		n = len(m.Ship.Subsystems)
	}
	i := 0
	decode.ListN(c, "snapshot", &m.Snapshot, n, ofShip, 1, "state of every entry of the ship's list", func(e *Part) {
		if c.Reading() {
			e.Index = uint8(i)
		}
		i++
		m.part(c, e)
	})
}

func (m *Object) part(c *decode.Codec, e *Part) {
	def := &noSubsystem
	if m.Ship != nil && int(e.Index) < len(m.Ship.Subsystems) {
		def = &m.Ship.Subsystems[e.Index]
	}
	c.Number("index", subsystemIndex, uint64(e.Index), "in the ship's list")
	c.Text("name", subsystemName, def.Name, "of the subsystem")
	c.Ratio8("condition", &e.Condition, "0 destroyed, 1 whole")
	c.When(decode.HasChildren(def), func() {
		c.Ratios("children", &e.Children, len(def.Children), ofChildren, "condition of each part")
	})
	c.When(decode.OfKind(def, ship.Reactor), func() {
		c.Ratio8("main_battery", &e.Main, "charge")
		c.Ratio8("backup_battery", &e.Backup, "charge")
	})
	c.When(decode.OfKind(def, ship.Powered), func() {
		c.Percent8("power", &e.Power, "setting; negative when switched off")
	})
	c.When(decode.OfRole(def, 1<<ship.Shield), func() {
		c.Ratios("facings", &e.Facings, len(facingNames), ofFacings, "front, rear, top, bottom, left, right")
	})
	c.When(decode.OfRole(def, withActiveBit), func() {
		c.Bit("active", &e.Active, "a weapon fires, a cloak is engaged")
	})
	c.When(decode.OfRole(def, 1<<ship.Phaser), func() {
		decode.Enum8(c, "level", &e.Setting, names.PhaserLevels, "phaser power level")
	})
	c.When(decode.OfRole(def, 1<<ship.Torpedo), func() {
		c.U8("ammo", &e.Setting, "selected ammunition slot")
	})
	c.When(decode.OfRole(def, 1<<ship.Tractor), func() {
		decode.Enum8(c, "mode", &e.Setting, names.TractorModes, "tractor mode")
	})
}

const withActiveBit uint64 = 1<<ship.Phaser | 1<<ship.Pulse | 1<<ship.Torpedo | 1<<ship.Tractor | 1<<ship.Cloak

// The sources of the derived fields in a ship's list.
var (
	subsystemIndex = decode.Source{Is: decode.SubsystemIndex}
	subsystemName  = decode.Source{Is: decode.SubsystemName}
	ofShip         = &decode.Count{Ship: true}
	ofChildren     = &decode.Count{Property: "children"}
	ofFacings      = &decode.Count{Value: len(facingNames)}
)

func (m *Object) shipName() string {
	if m.Ship == nil {
		return ""
	}
	return m.Ship.Name
}
