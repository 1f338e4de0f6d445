package names

import (
	"iter"

	"github.com/bcdissect/bcdissect/decode/ship"
)

// Enum is an enumeration. The zero Enum has no values.
type Enum struct{ t *table }

// table is one word away from Enum so that an Enum fits into an interface
// without an allocation.
type table struct {
	first []string // names of 0, 1, 2 …; "" for a value without one
	more  []value  // values beyond first, in ascending order
}

type value struct {
	v    uint64
	name string
}

// Name returns the name of a value, "" if it has none.
func (e Enum) Name(v uint64) string {
	if e.t == nil {
		return ""
	}
	if v < uint64(len(e.t.first)) {
		return e.t.first[v]
	}
	for _, m := range e.t.more {
		if m.v == v {
			return m.name
		}
	}
	return ""
}

// Values yields the named values with their names, in ascending order.
func (e Enum) Values() iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		if e.t == nil {
			return
		}
		for v, name := range e.t.first {
			if name != "" && !yield(uint64(v), name) {
				return
			}
		}
		for _, m := range e.t.more {
			if !yield(m.v, m.name) {
				return
			}
		}
	}
}

// Species are the kinds of ships and stations; package ship knows more of each.
var Species = Enum{speciesTable()}

func speciesTable() *table {
	t := &table{first: []string{0: "unknown"}}
	for c := range ship.All() {
		for len(t.first) <= int(c.Species) {
			t.first = append(t.first, "")
		}
		t.first[c.Species] = c.Name
	}
	return t
}

// TorpedoSpecies are the kinds of torpedoes and pulses.
var TorpedoSpecies = Enum{&table{first: []string{
	0:  "unknown",
	1:  "disruptor",
	2:  "photon",
	3:  "quantum",
	4:  "antimatter",
	5:  "Cardassian torpedo",
	6:  "Klingon torpedo",
	7:  "positron",
	8:  "pulse disruptor",
	9:  "fusion bolt",
	10: "Cardassian disruptor",
	11: "Kessok disruptor",
	12: "phased plasma",
	13: "positron 2",
	14: "photon 2",
	15: "Romulan cannon",
}}}

// Systems are the star systems, or maps, of multiplayer games.
var Systems = Enum{&table{first: []string{
	0: "unknown",
	1: "Multi1",
	2: "Multi2",
	3: "Multi3",
	4: "Multi4",
	5: "Multi5",
	6: "Multi6",
	7: "Multi7",
	8: "Albirea",
	9: "Poseidon",
}}}

// EndGameReasons are the reasons for the end of a game.
var EndGameReasons = Enum{&table{first: []string{
	0: "just over",
	1: "time up",
	2: "frag limit reached",
	3: "score limit reached",
	4: "starbase destroyed",
	5: "Borg destroyed",
	6: "Enterprise destroyed",
}}}

// BootReasons are the reasons why the host removes a player.
var BootReasons = Enum{&table{first: []string{
	0: "default",
	1: "timed out",
	2: "incorrect password",
	3: "too many players",
	4: "kicked by the server",
	5: "banned",
}}}

// Boot returns the reason of a boot in words, "" for an unknown one.
func Boot(reason uint8) string {
	switch reason {
	case 0:
		return "removed by the host"
	case 1:
		return "removed by the host: timed out"
	case 2:
		return "refused by the host: wrong password"
	case 3:
		return "refused by the host: full"
	case 4:
		return "removed by the host: kicked"
	case 5:
		return "refused by the host: banned"
	}
	return ""
}

// OpenBCBoot is [Boot] for the reasons of the OpenBC server.
func OpenBCBoot(reason uint8) string {
	switch reason {
	case 0:
		return "refused by the host"
	case 1:
		return "refused by the host: another version"
	case 2:
		return "refused by the host: full"
	case 3:
		return "refused by the host: banned"
	case 4:
		return "refused by the host: files differ"
	}
	return ""
}

// OpenBCBootReasons are the OpenBC server's reasons for refusing or removing a
// client.
var OpenBCBootReasons = Enum{&table{first: []string{
	0: "no reason given",
	1: "another version",
	2: "the server is full",
	3: "banned",
	4: "files differ",
}}}

// Limits are the values of a limit with a special meaning.
var Limits = Enum{&table{more: []value{{255, "no limit"}}}}

// Teams are the sides of a team game.
var Teams = Enum{&table{
	first: []string{0: "team 1", 1: "team 2"},
	more:  []value{{255, "no team"}},
}}

// PhaserLevels are the power levels of phasers.
var PhaserLevels = Enum{&table{first: []string{
	0: "low",
	1: "medium",
	2: "high",
}}}

// TractorModes are the effects of a tractor beam on its target.
var TractorModes = Enum{&table{first: []string{
	0: "hold",
	1: "tow",
	2: "pull",
	3: "push",
	4: "dock stage 1",
	5: "dock stage 2",
}}}

// ShieldFacings are the six shields of a ship, in wire order.
var ShieldFacings = Enum{&table{first: []string{
	0: "front",
	1: "rear",
	2: "top",
	3: "bottom",
	4: "left",
	5: "right",
}}}

// AmmoSlots are a ship's torpedo slots. The torpedo type in a slot depends on
// the ship.
var AmmoSlots = Enum{&table{first: []string{
	0: "one",
	1: "two",
	2: "three",
	3: "four",
}}}
