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
	added  []*Spec // of specs, those that came by With
}

// NewCatalog returns a catalogue of specs, in numeric order. It panics if two
// have the same opcode or name: such a catalogue is a broken program.
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

// A NameError tells that a message cannot be added to a catalogue, since a name
// of it is taken.
type NameError struct {
	Spec  *Spec
	Name  string
	Taken *Spec // by this one
}

// Error returns who has the name.
func (e *NameError) Error() string {
	return fmt.Sprintf("the name %s is taken by %v %s", e.Name, e.Taken.Code, e.Taken.Name)
}

// With returns a catalogue that has specs, too. One whose opcode is new, or had
// only the spec that stands for the rest, gets it; one whose opcode is taken
// becomes an alternative of the spec that has it. It fails with a [*NameError]
// if names, in whatever case, are those of another message.
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
		// Whoever defines a message wants it, whatever else the opcode is for.
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

// like returns the spec with a name in whatever case, or nil.
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

// All returns the specs in numeric order. Alternatives follow the spec that has
// their opcode.
func (c *Catalog) All() []*Spec { return slices.Clone(c.specs) }
