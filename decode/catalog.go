package decode

import (
	"fmt"
	"slices"
)

// A Catalog is an immutable set of specs.
type Catalog struct {
	byCode [256]*Spec
	specs  []*Spec
}

// NewCatalog returns a catalogue of specs, in numeric order. It panics if two
// have the same opcode or name: such a catalogue is a broken program.
func NewCatalog(specs ...*Spec) *Catalog {
	c := &Catalog{specs: slices.Clone(specs)}
	slices.SortStableFunc(c.specs, func(a, b *Spec) int { return int(a.Code) - int(b.Code) })
	names := map[string]bool{}
	for _, s := range c.specs {
		if c.byCode[s.Code] != nil || names[s.Name] {
			panic(fmt.Sprintf("decode: %v %s is in the catalogue twice", s.Code, s.Name))
		}
		c.byCode[s.Code], names[s.Name] = s, true
	}
	for _, s := range c.specs {
		for op := int(s.Code) + 1; s.Rest && op < len(c.byCode); op++ {
			if c.byCode[op] == nil {
				c.byCode[op] = s
			}
		}
	}
	return c
}

// Lookup returns the spec of an opcode, or nil.
func (c *Catalog) Lookup(op Opcode) *Spec { return c.byCode[op] }

// Find returns the spec with the name, constant or alias, or nil.
func (c *Catalog) Find(name string) *Spec {
	for _, s := range c.specs {
		if s.HasName(name) {
			return s
		}
	}
	return nil
}

// All returns the specs in numeric order.
func (c *Catalog) All() []*Spec { return slices.Clone(c.specs) }
