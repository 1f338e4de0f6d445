package names

import (
	_ "embed"
	"iter"
	"strconv"
	"strings"
	"sync"

	"github.com/bcdissect/bcdissect/decode/ship"
)

//go:embed enums.txt
var enumsText string

// The enumerations in enums.txt. Its comments describe them.
var (
	TorpedoSpecies    = section("torpedo species")
	Systems           = section("systems")
	EndGameReasons    = section("end of game")
	BootReasons       = section("boot")
	OpenBCBootReasons = section("OpenBC boot")
	Limits            = section("limits")
	Teams             = section("teams")
	PhaserLevels      = section("phaser levels")
	TractorModes      = section("tractor modes")
	ShieldFacings     = section("shield facings")
	AmmoSlots         = section("ammo slots")

	bootInWords       = section("boot in words")
	openBCBootInWords = section("OpenBC boot in words")
)

// Species are the kinds of ships and stations. Package ship has their
// properties.
var Species = lazy(func() []run {
	all := []string{"unknown"}
	for c := range ship.All() {
		for len(all) <= int(c.Species) {
			all = append(all, "")
		}
		all[c.Species] = c.Name
	}
	return []run{{0, all}}
})

// Boot returns the reason of a boot in words, or "" if it is unknown.
func Boot(reason uint8) string { return bootInWords.Name(uint64(reason)) }

// OpenBCBoot works as [Boot] for the reasons of the OpenBC server.
func OpenBCBoot(reason uint8) string { return openBCBootInWords.Name(uint64(reason)) }

// Enum is an enumeration. The zero Enum has no values.
type Enum struct{ t *table }

// table is behind a pointer so that an Enum fits into an interface without an
// allocation. Its text is parsed when a name is first needed.
type table struct{ runs func() []run }

// A run has the names of consecutive values. The name "" means that the value
// has none.
type run struct {
	first uint64
	names []string
}

func lazy(runs func() []run) Enum { return Enum{&table{sync.OnceValue(runs)}} }

// section returns the enumeration in a section of enums.txt.
func section(name string) Enum {
	_, text, _ := strings.Cut(enumsText, "["+name+"]\n")
	text, _, _ = strings.Cut(text, "[")
	return Parse(text, 10)
}

// Parse returns the enumeration in a text. Each line has a value in the given
// base, and its name. The values must be in ascending order. Lines that do not
// begin with a value are comments.
func Parse(text string, base int) Enum {
	return lazy(func() (runs []run) {
		next := uint64(0)
		for line := range strings.Lines(text) {
			digits, name, _ := strings.Cut(strings.TrimSpace(line), " ")
			v, err := strconv.ParseUint(digits, base, 32)
			if err != nil {
				continue
			}
			if len(runs) == 0 || v != next {
				runs = append(runs, run{first: v})
			}
			last := &runs[len(runs)-1]
			last.names, next = append(last.names, name), v+1
		}
		return runs
	})
}

// Name returns the name of a value, or "" if it has none.
func (e Enum) Name(v uint64) string {
	if e.t != nil {
		for _, r := range e.t.runs() {
			if i := v - r.first; i < uint64(len(r.names)) {
				return r.names[i]
			}
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
		for _, r := range e.t.runs() {
			for i, name := range r.names {
				if name != "" && !yield(r.first+uint64(i), name) {
					return
				}
			}
		}
	}
}
