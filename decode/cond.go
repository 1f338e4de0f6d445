package decode

import "fmt"

// A Cond is a condition on a field that decides whether others are present. It
// is evaluated on creation and kept for the description. It is small enough for
// the compiler to keep only the result where nothing is described.
type Cond struct {
	Field string // OpIs: the whole condition
	Value uint64
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
	OpIs                // a ship's list or another table decides
)

// String returns the condition as printed in the documentation.
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
	case OpIs:
		return c.Field
	}
	return "?"
}

// Has holds if all bits of want are set in v.
func Has[T ~uint8 | ~uint16 | ~uint32](field string, v, want T) Cond {
	return Cond{Field: field, Op: OpHas, Value: uint64(want), ok: v&want == want}
}

// Lacks holds if no bit of want is set in v.
func Lacks[T ~uint8 | ~uint16 | ~uint32](field string, v, want T) Cond {
	return Cond{Field: field, Op: OpLacks, Value: uint64(want), ok: v&want == 0}
}

// Equals holds if v is want.
func Equals[T ~uint8 | ~uint32](field string, v, want T) Cond {
	return Cond{Field: field, Op: OpEquals, Value: uint64(want), ok: v == want}
}

// Differs holds if v is not want.
func Differs[T ~uint8 | ~uint32](field string, v, want T) Cond {
	return Cond{Field: field, Op: OpDiffers, Value: uint64(want), ok: v != want}
}

// If adds a condition for a field that may itself be absent: the result holds
// only if there is true as well.
func (c Cond) If(there bool) Cond {
	c.ok = c.ok && there
	return c
}

// Is holds if ok is true. It serves conditions outside the message's fields;
// text describes them, as in "role is shield".
func Is(text string, ok bool) Cond {
	return Cond{Field: text, Op: OpIs, ok: ok}
}

// IsSet holds if the bit v is 1.
func IsSet(field string, v bool) Cond {
	return Cond{Field: field, Op: OpEquals, Value: 1, ok: v}
}
