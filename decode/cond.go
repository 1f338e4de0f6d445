package decode

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/bcdissect/bcdissect/decode/ship"
)

// A Cond is a condition on a field that decides whether others are present. It
// is evaluated when it is made, and kept for the description. It is so small
// that the compiler keeps only the result if nothing is described.
type Cond struct {
	Field string // OpIs, OpIsNot: a property of a subsystem (kind, role, children)
	Value uint64 // OpIs, OpIsNot: bit n is set for the value n. OpMore, OpFits while describing: a number that identifies the condition.
	Op    Op
	ok    bool
}

// An Op is the comparison of a condition.
type Op uint8

// The comparisons.
const (
	OpHas     Op = iota // all bits of the value are set
	OpLacks             // no bit of the value is set
	OpEquals            // equal to the value
	OpDiffers           // not equal to the value
	OpMore              // bytes remain
	OpFits              // the fields account for the rest of the message
	OpIs                // the subsystem in the ship's list has one of the values
	OpIsNot             // the subsystem in the ship's list has none of them
)

// String returns the condition as the documentation prints it.
func (c Cond) String() string {
	switch c.Op {
	case OpHas:
		return fmt.Sprintf("%s & 0x%02X", c.Field, c.Value)
	case OpLacks:
		return fmt.Sprintf("not %s & 0x%02X", c.Field, c.Value)
	case OpEquals:
		if c.Value > 9 {
			return fmt.Sprintf("%s == 0x%X", c.Field, c.Value)
		}
		return fmt.Sprintf("%s == %d", c.Field, c.Value)
	case OpDiffers:
		if c.Value > 9 {
			return fmt.Sprintf("%s != 0x%X", c.Field, c.Value)
		}
		return fmt.Sprintf("%s != %d", c.Field, c.Value)
	case OpMore:
		return "bytes remain"
	case OpFits:
		return "the rest fits"
	case OpIs:
		return c.property() + " is " + c.values(" or ")
	case OpIsNot:
		return c.property() + " is not " + c.values(" or ")
	}
	return "?"
}

// property returns the property of a subsystem in words.
func (c *Cond) property() string {
	if c.Field == "children" {
		return "number of children"
	}
	return c.Field
}

// values returns the values of a property in words.
func (c *Cond) values(or string) string {
	all := c.Words()
	last := len(all) - 1
	if last < 1 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:last], ", ") + or + all[last]
}

// Words returns the values of the property of a subsystem that OpIs and OpIsNot
// compare.
func (c *Cond) Words() (all []string) {
	for set := c.Value; set != 0; set &= set - 1 {
		switch v := uint8(bits.TrailingZeros64(set)); c.Field {
		case "kind":
			all = append(all, ship.Kind(v).String())
		case "role":
			all = append(all, ship.Role(v).String())
		default:
			all = append(all, fmt.Sprint(v))
		}
	}
	return all
}

// Has returns the condition that all bits of want are set in v.
func Has[T ~uint8 | ~uint16 | ~uint32](field string, v, want T) Cond {
	return Cond{Field: field, Op: OpHas, Value: uint64(want), ok: v&want == want}
}

// Lacks returns the condition that no bit of want is set in v.
func Lacks[T ~uint8 | ~uint16 | ~uint32](field string, v, want T) Cond {
	return Cond{Field: field, Op: OpLacks, Value: uint64(want), ok: v&want == 0}
}

// Equals returns the condition that v equals want.
func Equals[T ~uint8 | ~uint32](field string, v, want T) Cond {
	return Cond{Field: field, Op: OpEquals, Value: uint64(want), ok: v == want}
}

// Differs returns the condition that v does not equal want.
func Differs[T ~uint8 | ~uint32](field string, v, want T) Cond {
	return Cond{Field: field, Op: OpDiffers, Value: uint64(want), ok: v != want}
}

// If restricts a condition on a field that may itself be absent: the result is
// false unless there is true.
func (c Cond) If(there bool) Cond {
	c.ok = c.ok && there
	return c
}

// OfKind returns the condition that a subsystem has the kind.
func OfKind(s *ship.Subsystem, k ship.Kind) Cond {
	return Cond{Field: "kind", Op: OpIs, Value: 1 << k, ok: s.Kind == k}
}

// OfRole returns the condition that a subsystem has one of the roles. Bit n of
// roles is set for role n.
func OfRole(s *ship.Subsystem, roles uint64) Cond {
	return Cond{Field: "role", Op: OpIs, Value: roles, ok: roles>>s.Role&1 != 0}
}

// NotRole returns the condition that a subsystem has another role.
func NotRole(s *ship.Subsystem, r ship.Role) Cond {
	return Cond{Field: "role", Op: OpIsNot, Value: 1 << r, ok: s.Role != r}
}

// HasChildren returns the condition that a subsystem has children.
func HasChildren(s *ship.Subsystem) Cond {
	return Cond{Field: "children", Op: OpIsNot, Value: 1, ok: len(s.Children) > 0}
}

// IsSet returns the condition that the bit v is 1.
func IsSet(field string, v bool) Cond {
	return Cond{Field: field, Op: OpEquals, Value: 1, ok: v}
}
