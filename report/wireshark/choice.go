package wireshark

import "strings"

// A Choice is a set of fields. The nil Choice is that of all fields.
type Choice struct {
	fields   []bool // by id
	messages map[*node]bool
	count    int
	bytes    bool // some of the fields show the bytes of the datagram
}

// Choose returns the choice of the fields with these ids. Ids of no field are
// ignored.
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
		case f == a.table.other || f == a.table.element: // in any message
			c.messages[nil] = true
		}
	}
	return c
}

// Show makes later datagrams have the items of a choice only, and all expert
// information.
func (a *Annotator) Show(c *Choice) { a.chosen = c }

// Bytes reports whether the choice needs the bytes of the datagram.
func (c *Choice) Bytes() bool { return c == nil || c.bytes }

func (c *Choice) none() bool { return c != nil && c.count == 0 }

func (c *Choice) has(f *field) bool { return c == nil || f != nil && c.fields[f.id] }

// inside reports whether there may be a chosen field in a message.
func (c *Choice) inside(n *node) bool { return c == nil || c.messages[n] || c.messages[nil] }
