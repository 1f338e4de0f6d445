package filter

import (
	"slices"

	"github.com/bcdissect/bcdissect/dissect"
)

// A verdict is the result of a node for all records of the same kind.
type verdict int8

const (
	never  verdict = -1
	varies verdict = 0
	always verdict = 1
)

// Judge reports whether the filter is true for all records with the transport
// type and the spec of r. If another record with these may give a different
// result, known is false.
func (f *Filter) Judge(r *dissect.Record) (is, known bool) {
	v := f.judge(f.root, r)
	return v == always, v != varies
}

func (f *Filter) judge(n node, r *dissect.Record) verdict {
	switch n := n.(type) {
	case *joined:
		least, most := always, never
		for _, e := range n.list {
			v := f.judge(e, r)
			least, most = min(least, v), max(most, v)
		}
		switch n.by {
		case tokAnd:
			return least
		case tokOr:
			return most
		case tokNot:
			return -least
		default:
		}
	case *atom:
		if !slices.Contains(n.specs, r.Spec) {
			return never
		}
	case *keyTest:
		if n.ofKind {
			if n.eval(f, r) {
				return always
			}
			return never
		}
	}
	return varies
}
