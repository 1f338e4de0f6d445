package filter

import (
	"net/netip"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A Filter is a compiled expression. It is not safe for concurrent use.
type Filter struct {
	// Start is the origin of rel; if zero, it is the time of the first record.
	Start time.Time

	root node
	rel  bool
	game int         // number of the catalogue's specs
	seen [256]*shown // the specs by their code

	ofKind []node // those of keys that all records of a kind share

	epoch   uint64 // counts matches, so that results of earlier ones are stale
	walked  uint64 // last match that walked the fields
	viewer  decode.Viewer
	visitor visitor
	text    []byte // buffer for a text
	values  display.Presenter
}

// Compile compiles an expression about messages of a catalogue, which must be
// that of the records; nil means the stock catalogue. The error is an [*Error].
func Compile(expression string, catalog *decode.Catalog) (*Filter, error) {
	f, err := compile(expression, newIndex(catalog))
	if err != nil {
		return nil, err
	}
	return f, nil
}

// CheckColumn returns the error for a name that is neither a key nor a field,
// with similar ones; messages are not among them. The error is an [*Error].
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

// Match reports whether the filter holds for a record.
func (f *Filter) Match(r *dissect.Record) bool {
	f.epoch++
	if f.rel && f.Start.IsZero() && r.Datagram != nil {
		f.Start = r.Datagram.Time
	}
	return f.root.eval(f, r)
}

// find returns the needed fields of a spec, or nil for an unknown spec.
func (f *Filter) find(s *decode.Spec) *shown {
	if s == nil {
		return nil
	}
	k := f.seen[s.Code]
	for k != nil && k.spec != s {
		k = k.next
	}
	return k
}

// A node is a part of a compiled expression.
type node interface {
	eval(f *Filter, r *dissect.Record) bool
	// cost returns the relative cost of a match; cheaper parts are evaluated
	// first.
	cost() int
}

// The costs of nodes.
const (
	costKey   = 1
	costText  = 2
	costField = 10
)

type allOf []node

func (n allOf) eval(f *Filter, r *dissect.Record) bool {
	for _, e := range n {
		if !e.eval(f, r) {
			return false
		}
	}
	return true
}

func (n allOf) cost() int { return n[len(n)-1].cost() }

type anyOf []node

func (n anyOf) eval(f *Filter, r *dissect.Record) bool {
	for _, e := range n {
		if e.eval(f, r) {
			return true
		}
	}
	return false
}

func (n anyOf) cost() int { return n[len(n)-1].cost() }

type oddOf []node

func (n oddOf) eval(f *Filter, r *dissect.Record) bool {
	odd := false
	for _, e := range n {
		odd = odd != e.eval(f, r)
	}
	return odd
}

func (n oddOf) cost() int { return n[len(n)-1].cost() }

type not struct{ node }

func (n not) eval(f *Filter, r *dissect.Record) bool { return !n.node.eval(f, r) }

// isMessageOf matches records of some messages.
type isMessageOf []*decode.Spec

func (n isMessageOf) eval(_ *Filter, r *dissect.Record) bool {
	for _, s := range n {
		if r.Spec == s {
			return true
		}
	}
	return false
}

func (n isMessageOf) cost() int { return costKey }

// hasKey matches records that have a key.
type hasKey func(r *dissect.Record) bool

func (n hasKey) eval(_ *Filter, r *dissect.Record) bool { return n(r) }
func (n hasKey) cost() int                              { return costKey }

// numberKey compares numbers of the record.
type numberKey struct {
	get  func(r *dissect.Record, i int) (int64, bool)
	want *numbers
	all  bool

	player func(r *dissect.Record) string // name of the player with the number; nil if the key is not a player
}

func (n *numberKey) eval(_ *Filter, r *dissect.Record) bool {
	for i := 0; ; i++ {
		v, ok := n.get(r, i)
		if !ok {
			return n.all && i > 0
		}
		var is bool
		if n.player != nil && !n.want.bits {
			is = n.want.is(v, n.player(r))
		} else {
			is = n.want.whole(v)
		}
		if is != n.all {
			return !n.all
		}
	}
}

func (n *numberKey) cost() int { return costKey }

// timeKey compares the time, or the time since the start.
type timeKey struct {
	rel bool
	has bool // presence is enough
	in  ranges[int64]
	neg bool
}

func (n *timeKey) eval(f *Filter, r *dissect.Record) bool {
	if r.Datagram == nil || r.Datagram.Time.IsZero() {
		return false
	}
	if n.has {
		return true
	}
	var ns int64
	if n.rel {
		ns = int64(r.Datagram.Time.Sub(f.Start))
	} else {
		ns = packet.Nanos(r.Datagram.Time)
	}
	return n.in.has(ns) != n.neg
}

func (n *timeKey) cost() int { return costKey }

// wordKey compares a word from a small set.
type wordKey struct {
	get func(f *Filter, r *dissect.Record) int
	ok  []bool
}

func (n *wordKey) eval(f *Filter, r *dissect.Record) bool {
	i := n.get(f, r)
	return i >= 0 && i < len(n.ok) && n.ok[i]
}

func (n *wordKey) cost() int { return costKey }

// textKey compares texts of the record.
type textKey struct {
	get  func(r *dissect.Record, i int) (string, bool)
	want *texts
	all  bool
}

func (n *textKey) eval(_ *Filter, r *dissect.Record) bool {
	for i := 0; ; i++ {
		s, ok := n.get(r, i)
		if !ok {
			return n.all && i > 0
		}
		if n.want.has(s) != n.all {
			return !n.all
		}
	}
}

func (n *textKey) cost() int { return costText }

// bytesKey compares bytes of the record.
type bytesKey struct {
	get  func(f *Filter, r *dissect.Record) []byte
	want *texts
}

func (n *bytesKey) eval(f *Filter, r *dissect.Record) bool {
	b := n.get(f, r)
	return len(b) > 0 && n.want.hasBytes(b)
}

func (n *bytesKey) cost() int { return costText }

// addressKey compares addresses of the record.
type addressKey struct {
	get  func(r *dissect.Record, i int) (netip.AddrPort, bool)
	want *addresses
	all  bool
}

func (n *addressKey) eval(_ *Filter, r *dissect.Record) bool {
	for i := 0; ; i++ {
		a, ok := n.get(r, i)
		if !ok {
			return n.all && i > 0
		}
		if n.want.has(a.Addr(), a.Port()) != n.all {
			return !n.all
		}
	}
}

func (n *addressKey) cost() int { return costKey }
