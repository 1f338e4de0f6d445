package wireshark

import "strings"

// A Choice is a set of fields. A nil Choice contains all fields.
type Choice struct {
	fields   []bool // indexed by ID
	messages map[*node]bool
	count    int
	bytes    bool // some of the fields show the bytes of the datagram
}

// Choose returns the choice of the fields with these IDs. It ignores unknown
// IDs.
func (a *Annotator) Choose(ids []int) *Choice {
	c := &Choice{fields: make([]bool, firstID+len(a.table.fields)), messages: map[*node]bool{}}
	for _, id := range ids {
		if id < firstID || id >= len(c.fields) || c.fields[id] {
			continue
		}
		f := a.table.fields[id-firstID]
		c.fields[id] = true
		c.count++
		c.bytes = c.bytes || f.form == formBytes || f.form == formIPv4
		message, _, _ := strings.Cut(f.name, ".")
		switch n := a.table.game[message]; {
		case n != nil:
			c.messages[n] = true
		case f == a.table.other || f == a.table.element: // these can occur in any message
			c.messages[nil] = true
		}
	}
	return c
}

// Show limits the items of later datagrams to the fields of a choice. Expert
// information is not limited.
func (a *Annotator) Show(c *Choice) { a.chosen = c }

// Bytes reports whether the choice needs the bytes of the datagram.
func (c *Choice) Bytes() bool { return c == nil || c.bytes }

func (c *Choice) none() bool { return c != nil && c.count == 0 }

func (c *Choice) has(f *field) bool { return c == nil || f != nil && c.fields[f.id] }

// inside reports whether a message can contain a chosen field.
func (c *Choice) inside(n *node) bool { return c == nil || c.messages[n] || c.messages[nil] }
