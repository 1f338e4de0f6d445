package ship

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed classes.txt
var classesText string

// classes returns the classes by species. There is no species 0.
var classes = sync.OnceValue(parse)

func parse() (all []*Class) {
	var c *Class
	for line := range strings.Lines(classesText) {
		r := row(strings.Split(strings.TrimSpace(line), "  "))
		first := r[0]
		switch {
		case first == "" || first[0] == '#':
		case line[0] == '\t':
			s := &c.Subsystems[len(c.Subsystems)-1]
			s.Children = append(s.Children, Child{Name: first, Role: childRoles[s.Role], Offset: r.small(1), MaxCondition: r.number(2)})
		case first == "class":
			c = &Class{Species: r.small(1), Name: r[2], Constant: r[3], Faction: r[4]}
			for _, property := range r[5:] {
				c.Playable = c.Playable || property == "playable"
				c.Uncertain = c.Uncertain || property == "uncertain"
			}
			for len(all) <= int(c.Species) {
				all = append(all, nil)
			}
			all[c.Species] = c
		case first == "sizes":
			c.Total, c.SnapshotBytes = int(r.number(1)), int(r.number(2))
		case first == "hash":
			hash, err := strconv.ParseUint(r[1], 16, 16)
			must(err)
			c.Hash = uint16(hash)
		case first == "cycle":
			c.OwnRepeat = r.small(1)
			for i := range r[2:] {
				c.OwnCycle = append(c.OwnCycle, r.small(2+i))
			}
		default:
			c.Subsystems = append(c.Subsystems, r.subsystem())
		}
	}
	return all
}

// A row is a line of the table, by columns. A mistake in the table panics.
type row []string

func (r row) number(column int) float32 {
	n, err := strconv.ParseFloat(r[column], 32)
	must(err)
	return float32(n)
}

func (r row) small(column int) uint8 {
	n, err := strconv.ParseUint(r[column], 10, 8)
	must(err)
	return uint8(n)
}

func (r row) subsystem() Subsystem {
	s := Subsystem{Name: r[1], Role: roleOf(r[0]), Kind: Powered, Offset: r.small(2), MaxCondition: r.number(3)}
	switch s.Role {
	case Hull:
		s.Kind = Base
	case Shield:
		for i := range s.Shields {
			s.Shields[i] = r.number(4 + i)
		}
	case ReactorRole:
		s.Kind, s.MainBattery, s.BackupBattery = Reactor, r.number(4), r.number(5)
	default: // no further columns
	}
	return s
}

// roleOf returns the role of an entry of a list.
func roleOf(name string) Role {
	for role := Hull; role <= Cloak; role++ {
		if role.String() == name {
			return role
		}
	}
	panic("ship: no role " + name)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
