package decode

import (
	"fmt"
	"slices"
	"strings"
)

// A Catalog is an immutable set of specs.
type Catalog struct {
	byCode [256]*Spec
	specs  []*Spec
	added  []*Spec // specs added by With
}

// NewCatalog returns a catalogue of specs, in numeric order. It panics on a
// duplicate opcode or name, which is a programming error.
func NewCatalog(specs ...*Spec) *Catalog {
	c := &Catalog{}
	for _, s := range specs {
		c.specs = append(append(c.specs, s), s.Alternatives...)
	}
	slices.SortStableFunc(c.specs, func(a, b *Spec) int { return int(a.Code) - int(b.Code) })
	names := map[string]bool{}
	for _, s := range c.specs {
		first := c.byCode[s.Code]
		if first != nil && !slices.Contains(first.Alternatives, s) || names[s.Name] {
			panic(fmt.Sprintf("decode: %v %s is in the catalogue twice", s.Code, s.Name))
		}
		if names[s.Name] = true; first == nil {
			c.byCode[s.Code] = s
		}
	}
	for _, s := range c.specs {
		for op := int(s.Code) + 1; s.CatchAll && op < len(c.byCode); op++ {
			if c.byCode[op] == nil {
				c.byCode[op] = s
			}
		}
	}
	return c
}

// A NameError reports a message that cannot be added to a catalogue because one
// of its names is taken.
type NameError struct {
	Spec  *Spec
	Name  string
	Taken *Spec // the spec that has the name
}

// Error names the message, the name and its present owner.
func (e *NameError) Error() string {
	return fmt.Sprintf("the name %s is taken by %v %s", e.Name, e.Taken.Code, e.Taken.Name)
}

// With returns a catalogue extended by specs. A spec with a new opcode, or one
// covered only by the catch-all spec, is added. A spec with a known opcode
// becomes an alternative of the existing one. With returns a [*NameError] if a
// name is taken by another message, ignoring case.
func (c *Catalog) With(specs ...*Spec) (*Catalog, error) {
	n := &Catalog{byCode: c.byCode, specs: slices.Clone(c.specs), added: slices.Clone(c.added)}
	for _, s := range specs {
		for _, name := range s.Names() {
			if taken := n.like(name); taken != nil {
				return nil, &NameError{s, name, taken}
			}
		}
		n.specs, n.added = append(n.specs, s), append(n.added, s)
		old := n.byCode[s.Code]
		if old == nil || old.CatchAll {
			n.byCode[s.Code] = s
			continue
		}
		both := *old
		// Added messages come before the alternatives of the game.
		at := slices.IndexFunc(old.Alternatives, func(a *Spec) bool { return !slices.Contains(n.added, a) })
		if at < 0 {
			at = len(old.Alternatives)
		}
		both.Alternatives = slices.Insert(slices.Clone(old.Alternatives), at, s)
		n.byCode[s.Code] = &both
		n.specs[slices.Index(n.specs, old)] = &both
	}
	slices.SortStableFunc(n.specs, func(a, b *Spec) int { return int(a.Code) - int(b.Code) })
	return n, nil
}

// like returns the spec with the given name, ignoring case, or nil.
func (c *Catalog) like(name string) *Spec {
	for _, s := range c.specs {
		if slices.ContainsFunc(s.Names(), func(n string) bool { return strings.EqualFold(n, name) }) {
			return s
		}
	}
	return nil
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

// All returns the specs in numeric order. Alternatives follow the main spec of
// their opcode.
func (c *Catalog) All() []*Spec { return slices.Clone(c.specs) }
