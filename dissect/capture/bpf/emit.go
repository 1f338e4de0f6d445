package bpf

import (
	"slices"

	"golang.org/x/net/bpf"
)

// An emitter writes the program of a graph from its end to its start. Jumps
// only lead forward, so their targets are known when they are written.
type emitter struct {
	g      *graph
	header uint32 // offset of the IPv4 header
	snap   uint32
	held   []registers
	place  []int // place of each node, counted from the end, from 1
	prog   []bpf.Instruction
}

// registers are the known contents of the registers.
type registers struct {
	reached bool
	a       field // field in register A, size 0 if unknown
	x       bool  // register X has the length of the IPv4 header
}

func newEmitter(g *graph, start *node, header, snap uint32) *emitter {
	e := &emitter{g: g, header: header, snap: snap, held: make([]registers, start.id+1), place: make([]int, start.id+1)}
	e.held[start.id].reached = true
	for id := start.id; id > g.reject.id; id-- {
		if r := e.held[id]; r.reached {
			n := g.nodes[id]
			after := registers{reached: true, a: n.test.field, x: r.x || n.test.behind}
			e.meet(n.yes, after)
			e.meet(n.no, after)
		}
	}
	e.node(start)
	return e
}

// meet records the registers at a node.
func (e *emitter) meet(n *node, with registers) {
	r := &e.held[n.id]
	if !r.reached {
		*r = with
		return
	}
	if r.a != with.a {
		r.a = field{}
	}
	r.x = r.x && with.x
}

func (e *emitter) program() []bpf.Instruction {
	slices.Reverse(e.prog)
	return e.prog
}

func (e *emitter) write(i bpf.Instruction) { e.prog = append(e.prog, i) }

// node writes a node before its successors.
func (e *emitter) node(n *node) {
	if e.place[n.id] != 0 {
		return
	}
	if !e.end(n) {
		e.node(n.yes)
		e.node(n.no)
		e.jump(n)
		e.load(n.test.field, e.held[n.id])
	}
	e.place[n.id] = len(e.prog)
}

// end writes one of the two end nodes. It reports false for others.
func (e *emitter) end(n *node) bool {
	ret := bpf.RetConstant{}
	if n == e.g.accept {
		ret.Val = e.snap
	} else if n != e.g.reject {
		return false
	}
	e.write(ret)
	return true
}

// maxSkip is the reach of a conditional jump.
const maxSkip = 255

func (e *emitter) jump(n *node) {
	// A target out of reach needs a bridge: an adjacent jump. The other branch
	// then skips one more instruction.
	if e.skip(n.no) > maxSkip-1 {
		e.bridge(n.no)
	}
	if e.skip(n.yes) > maxSkip {
		e.bridge(n.yes)
	}
	e.write(bpf.JumpIf{Cond: n.test.op, Val: n.test.val, SkipTrue: uint8(e.skip(n.yes)), SkipFalse: uint8(e.skip(n.no))})
}

// skip returns the number of instructions between the next one and a node.
func (e *emitter) skip(to *node) int { return len(e.prog) - e.place[to.id] }

// bridge writes a jump to a node, and makes it the node's place.
func (e *emitter) bridge(to *node) {
	if !e.end(to) {
		e.write(bpf.Jump{Skip: uint32(e.skip(to))})
	}
	e.place[to.id] = len(e.prog)
}

// load writes the instructions that load a field into register A, unless it is
// there.
func (e *emitter) load(f field, r registers) {
	if r.a == f {
		return
	}
	if f.mask != allBits {
		e.write(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: f.mask})
	}
	if !f.behind {
		e.write(bpf.LoadAbsolute{Off: f.off, Size: f.size})
		return
	}
	e.write(bpf.LoadIndirect{Off: f.off, Size: f.size})
	if !r.x {
		e.write(bpf.LoadMemShift{Off: e.header})
	}
}
