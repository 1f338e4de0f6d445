package bpf

import (
	"golang.org/x/net/bpf"
)

// A field is a place in a packet.
type field struct {
	off    uint32
	size   int
	mask   uint32 // bits to compare
	behind bool   // off is relative to the end of the IPv4 header
}

const allBits = 0xffffffff

// A test compares a field with a number.
type test struct {
	field
	op  bpf.JumpTest
	val uint32
}

// A node is a test with its two successors, or one of the two end nodes. Nodes
// are immutable.
type node struct {
	test    test
	yes, no *node
	id      int // greater than its successors' ids
}

// A graph is a filter as nodes without duplicates.
type graph struct {
	nodes          []*node        // indexed by id
	known          map[node]*node // nodes without ids, to find duplicates
	accept, reject *node
}

func newGraph() *graph {
	g := &graph{known: make(map[node]*node)}
	g.accept, g.reject = g.add(node{}), g.add(node{})
	return g
}

func (g *graph) add(n node) *node {
	n.id = len(g.nodes)
	g.nodes = append(g.nodes, &n)
	return &n
}

// test returns the node for a test. If both outcomes lead to the same node, it
// returns that.
func (g *graph) test(t test, yes, no *node) *node {
	if yes == no {
		return yes
	}
	like := node{test: t, yes: yes, no: no}
	n := g.known[like]
	if n == nil {
		n = g.add(like)
		g.known[like] = n
	}
	return n
}

// A fact is the outcome of a test, linked to earlier facts.
type fact struct {
	before *fact
	depth  int
	test   test
	holds  bool
}

// common returns the facts shared by two paths.
func common(a, b *fact) *fact {
	for a != b {
		switch {
		case a == nil || b == nil:
			return nil
		case a.depth >= b.depth:
			a = a.before
		default:
			b = b.before
		}
	}
	return a
}

// decides reports whether the facts imply the outcome of a test, and the
// outcome. Only facts about the same field count: the first test of a field
// rejects packets that end before it, and so must be kept.
func (f *fact) decides(t test) (holds, known bool) {
	low, high := uint32(0), uint32(allBits)
	seen := false
	for ; f != nil; f = f.before {
		if f.test.field != t.field {
			continue
		}
		seen = true
		v := f.test.val
		switch {
		case f.test == t:
			return f.holds, true
		case f.test.op == bpf.JumpEqual && f.holds:
			low, high = max(low, v), min(high, v)
		case f.test.op == bpf.JumpGreaterOrEqual && f.holds:
			low = max(low, v)
		case f.test.op == bpf.JumpGreaterOrEqual && v > 0:
			high = min(high, v-1)
		case f.test.op == bpf.JumpGreaterThan && !f.holds:
			high = min(high, v)
		case f.test.op == bpf.JumpGreaterThan && v < allBits:
			low = max(low, v+1)
		}
	}
	if !seen {
		return false, false
	}
	switch t.op {
	case bpf.JumpEqual:
		return low == t.val, low == high || t.val < low || t.val > high
	case bpf.JumpGreaterOrEqual:
		return low >= t.val, low >= t.val || high < t.val
	case bpf.JumpGreaterThan:
		return low > t.val, low > t.val || high <= t.val
	default:
		return false, false
	}
}

// maxPasses is more than common expressions need.
const maxPasses = 10

// simplify removes tests implied by earlier ones, and tests without effect.
func (g *graph) simplify(start *node) *node {
	for range maxPasses {
		next := g.pass(start)
		if next == start {
			break
		}
		start = next
	}
	return start
}

func (g *graph) pass(start *node) *node {
	type way struct {
		taken   bool
		facts   *fact // facts common to all paths to the node
		yes, no *node
	}
	ways := make([]way, start.id+1)
	ways[start.id].taken = true
	// follow skips tests after n with an implied outcome.
	follow := func(f *fact, n *node) *node {
		for n != g.accept && n != g.reject {
			holds, known := f.decides(n.test)
			if !known {
				break
			}
			n = n.follow(holds)
		}
		if w := &ways[n.id]; w.taken {
			w.facts = common(w.facts, f)
		} else {
			w.taken, w.facts = true, f
		}
		return n
	}
	// Predecessors have greater ids, so all paths to a node are known.
	for id := start.id; id > g.reject.id; id-- {
		w := &ways[id]
		if !w.taken {
			continue
		}
		n, depth := g.nodes[id], 1
		if w.facts != nil {
			depth += w.facts.depth
		}
		w.yes = follow(&fact{w.facts, depth, n.test, true}, n.yes)
		w.no = follow(&fact{w.facts, depth, n.test, false}, n.no)
	}
	made := make([]*node, len(ways))
	for id := range ways {
		w := ways[id]
		switch {
		case id <= g.reject.id:
			made[id] = g.nodes[id]
		case w.taken:
			made[id] = g.test(g.nodes[id].test, made[w.yes.id], made[w.no.id])
		}
	}
	return made[start.id]
}

func (n *node) follow(holds bool) *node {
	if holds {
		return n.yes
	}
	return n.no
}
