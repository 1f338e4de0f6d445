package filter

import (
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect"
)

// A Filter is a compiled expression. It is not safe for concurrent use.
type Filter struct {
	// Start is the time from which rel counts. If zero, it is the time of the
	// first record.
	Start time.Time

	root node
	rel  bool
	game int // number of specs in the catalogue
	seen map[*decode.Spec]*shown

	epoch   uint64 // number of the current match, so that results of earlier ones are not valid
	walked  uint64 // epoch of the last match that walked the fields
	viewer  decode.Viewer
	visitor visitor
	text    []byte // buffer for a text
	values  display.Presenter
}

// Compile compiles an expression. The catalogue must be the one with which the
// records were decoded. A nil catalogue means the stock one. The error is an
// [*Error].
func Compile(expression string, catalog *decode.Catalog) (*Filter, error) {
	f, err := compile(expression, newIndex(catalog))
	if err != nil {
		return nil, err
	}
	return f, nil
}

// CheckColumn returns an error if the name is neither a key nor a field. The
// error is an [*Error] and suggests similar keys and fields, but no messages.
func CheckColumn(name string, catalog *decode.Catalog) error {
	ix := newIndex(catalog)
	if _, err := compile(name, ix); err == nil {
		return nil
	}
	c := newCompiler(name, ix)
	c.valued = true
	if _, err := c.compile(); err != nil {
		return err
	}
	return nil
}

// Match reports whether the filter is true for a record.
func (f *Filter) Match(r *dissect.Record) bool {
	f.epoch++
	if f.rel && f.Start.IsZero() && r.Datagram != nil {
		f.Start = r.Datagram.Time
	}
	return f.root.eval(f, r)
}

// A node is a part of a compiled expression.
type node interface {
	eval(f *Filter, r *dissect.Record) bool
	// cost returns the relative cost of a match. Cheaper parts are evaluated
	// first.
	cost() int
}

// The costs of nodes.
const (
	costKey   = 1
	costText  = 2
	costField = 10
)

// joined are nodes joined by tokAnd, tokOr or tokXor, or the one node after
// tokNot.
type joined struct {
	by   tokenKind
	list []node
}

func (n *joined) eval(f *Filter, r *dissect.Record) bool {
	odd := n.by == tokNot
	for _, e := range n.list {
		is := e.eval(f, r)
		switch n.by {
		case tokAnd, tokOr:
			if is == (n.by == tokOr) {
				return is
			}
		default:
			odd = odd != is
		}
	}
	return odd || n.by == tokAnd
}

func (n *joined) cost() int { return n.list[len(n.list)-1].cost() }

// A keyTest tests the values of a key, or the whole record.
type keyTest struct {
	// is reports whether the value with index i is accepted. If there is none, ok
	// is false.
	is     func(f *Filter, r *dissect.Record, i int) (is, ok bool)
	all    bool // all values must be accepted, and not only one
	ofKind bool // all records of a kind have the same values
	text   bool
}

func (n *keyTest) eval(f *Filter, r *dissect.Record) bool {
	for i := 0; ; i++ {
		is, ok := n.is(f, r, i)
		if !ok {
			return n.all && i > 0
		}
		if is != n.all {
			return is
		}
	}
}

func (n *keyTest) cost() int {
	if n.text {
		return costText
	}
	return costKey
}

// once returns a test of something that a record has at most once.
func once(is func(f *Filter, r *dissect.Record) bool) *keyTest {
	return &keyTest{is: func(f *Filter, r *dissect.Record, i int) (bool, bool) { return i == 0 && is(f, r), i == 0 }}
}

// has returns a test of whether a record has something.
func has(present func(r *dissect.Record) bool) *keyTest {
	return once(func(_ *Filter, r *dissect.Record) bool { return present(r) })
}

// each returns a test of the values of a getter.
func each[T any](get func(r *dissect.Record, i int) (T, bool), accept func(v T) bool, all bool) *keyTest {
	return &keyTest{all: all, is: func(_ *Filter, r *dissect.Record, i int) (bool, bool) {
		v, ok := get(r, i)
		return ok && accept(v), ok
	}}
}
