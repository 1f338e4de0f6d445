package filter

import (
	"slices"

	"github.com/bcdissect/bcdissect/dissect"
)

// A verdict is the result of a node for all records of a kind.
type verdict int8

const (
	never  verdict = -1
	varies verdict = 0
	always verdict = 1
)

// Judge reports whether the filter holds for a record that has the transport type
// and the spec of r, if these alone decide: known is false if another record of
// the kind may differ.
func (f *Filter) Judge(r *dissect.Record) (is, known bool) {
	v := f.judge(f.root, r)
	return v == always, v != varies
}

func (f *Filter) judge(n node, r *dissect.Record) verdict {
	switch n := n.(type) {
	case allOf:
		least := always
		for _, e := range n {
			least = min(least, f.judge(e, r))
		}
		return least
	case anyOf:
		most := never
		for _, e := range n {
			most = max(most, f.judge(e, r))
		}
		return most
	case not:
		return -f.judge(n.node, r)
	case isMessageOf:
		return verdictOf(n.eval(f, r))
	case *atom:
		if !f.hasAtom(r, n) {
			return never
		}
	case *numberKey, *wordKey, *textKey:
		if slices.Contains(f.ofKind, n) {
			return verdictOf(n.eval(f, r))
		}
	}
	return varies
}

func verdictOf(is bool) verdict {
	if is {
		return always
	}
	return never
}

// hasAtom reports whether messages of r's spec have one of the fields of an atom.
func (f *Filter) hasAtom(r *dissect.Record, a *atom) bool {
	s := f.find(r.Spec)
	return s != nil && slices.ContainsFunc(s.byDialect[:], func(b *branch) bool { return b != nil && slices.Contains(b.atoms(nil), a) })
}
