package filter

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/key"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// Limits of regular expressions. Matching time is proportional to their size
// and to the length of the text.
const (
	maxPattern  = 1000 // length of one in bytes
	maxProgram  = 1000 // instructions in one
	maxPrograms = 5000 // instructions in all of them
)

// maxOffer is the maximum number of words listed in an error.
const maxOffer = 11

// compiler turns expressions into nodes.
type compiler struct {
	text     string
	ix       *index
	valued   bool // only names with a value are accepted
	f        *Filter
	values   map[string]*vocabulary
	programs int
}

func compile(text string, ix *index) (*Filter, *Error) { return newCompiler(text, ix).compile() }

func newCompiler(text string, ix *index) *compiler {
	return &compiler{text: text, ix: ix, f: &Filter{seen: map[*decode.Spec]*shown{}}, values: map[string]*vocabulary{}}
}

// compile returns the filter. The methods below panic with the first mistake.
func (c *compiler) compile() (*Filter, *Error) {
	err := catch(func() {
		e := parse(c.text)
		c.f.game = c.ix.game
		for i, s := range c.ix.specs {
			c.f.seen[s] = &shown{id: i}
		}
		c.f.root = c.node(e)
	})
	return c.f, err
}

func (c *compiler) errorf(t token, format string, args ...any) *Error {
	return errorAt(c.text, t.pos, t.end, fmt.Sprintf(format, args...))
}

// node compiles a part of the expression. It puts cheap parts first, since the
// order of evaluation does not affect the result.
func (c *compiler) node(e *expr) node {
	if e.join == tokEnd {
		return c.test(e.test)
	}
	var list []node
	for _, sub := range e.list {
		n := c.node(sub)
		list = append(list, n)
	}
	slices.SortStableFunc(list, func(a, b node) int { return a.cost() - b.cost() })
	return &joined{e.join, list}
}

// test compiles a comparison or a bare name.
func (c *compiler) test(t *test) node {
	w := t.left.word
	base, element := c.index(t)
	if k := key.Find(base); k != nil {
		n := c.key(k, element, t)
		bare := t.op == opNone && t.left.masks == nil
		n.ofKind = k.Kind && !bare
		n.text = !bare && (classOf(k) == classText || classOf(k) == classBytes)
		return n
	}
	if w.text == wiresharkName && t.op == opNone && !t.left.valued() {
		return has(func(*dissect.Record) bool { return true })
	}
	vs, specs := c.resolve(w, base, c.valued || t.op != opNone || t.left.valued())
	if vs != nil {
		return c.field(vs, element, t)
	}
	switch {
	case element >= 0 || t.left.valued():
		panic(c.errorf(w, "%s is a message and has no value", base))
	case t.op != opNone:
		e := c.errorf(w, "%s is a message and has no value", base)
		e.Suggestions = []string{"name", base + "." + c.example(specs)}
		if e.Suggestions[1] == base+"." {
			e.Suggestions = e.Suggestions[:1]
		}
		panic(e)
	}
	n := has(func(r *dissect.Record) bool { return slices.Contains(specs, r.Spec) })
	n.ofKind = true
	return n
}

// example returns a field of one of the messages, or "" if they have none.
func (c *compiler) example(specs []*decode.Spec) string {
	for _, s := range specs {
		if len(s.Brief) > 0 && len(among(c.ix.paths[s.Brief[0]], specs)) > 0 {
			return s.Brief[0]
		}
	}
	return ""
}

// index splits a trailing [n] or slice off the left side of a test. If there is
// none, n is -1.
func (c *compiler) index(t *test) (base string, n int) {
	w := t.left.word
	at := strings.IndexByte(w.text, '[')
	if at < 0 {
		return w.text, -1
	}
	inside, ok := strings.CutSuffix(w.text[at+1:], "]")
	base = w.text[:at]
	w.pos += at
	if !ok || strings.IndexByte(inside, '[') >= 0 {
		panic(c.errorf(w, "an index must be at the end; a path into a list covers all its elements"))
	}
	if !strings.ContainsAny(inside, ":-") {
		n, e := strconv.Atoi(inside)
		if e != nil || n > maxOffset {
			panic(c.errorf(w, "the index is too large for any field"))
		}
		return base, n
	}
	s, ok := parseSlice(inside)
	switch {
	case !ok:
		panic(c.errorf(w, "a slice is [start:length], [first-last], [start:] or [:length]"))
	case t.left.len:
		panic(c.errorf(w, "len is for whole values, not for a part of one"))
	}
	t.left.slice = &s
	return base, -1
}

// one turns an index into a slice of one character.
func (o *operand) one(element int) { o.slice = &slice{from: element, length: 1} }

// valued reports whether the operand needs a name with a value.
func (o *operand) valued() bool { return o.len || o.masks != nil || o.shaped() }

// shaped reports whether a part of the value is compared, or its case changed.
func (o *operand) shaped() bool { return o.slice != nil || o.fold != asWritten }

// shape returns the shape of an operand of a class, or nil for the whole value.
func (c *compiler) shape(t *test, cl class) *shape {
	o := &t.left
	name := o.word.text
	switch {
	case !o.shaped():
		return nil
	case o.fold != asWritten && cl != classText && cl != classWord:
		panic(c.errorf(o.word, "%s is %s: upper and lower are for text", name, classNames[cl]))
	case cl != classText && cl != classWord && cl != classBytes:
		panic(c.errorf(o.word, "%s is %s: slices are for text and bytes", name, classNames[cl]))
	case t.op == opNone:
		panic(c.errorf(o.word, "compare it with a text, such as == \"a\""))
	}
	return &shape{slice: o.slice, fold: o.fold, bytes: cl == classBytes}
}

// resolve returns the fields or messages that a word names. If valued is set, a
// message is no match.
func (c *compiler) resolve(w token, base string, valued bool) ([]variant, []*decode.Spec) {
	if path, ok := strings.CutPrefix(base, "fields."); ok {
		if vs := c.ix.paths[path]; vs != nil {
			return vs, nil
		}
		w.pos += len("fields.")
		panic(c.errorf(w, "no message has a field %s", clip(path)).offer(nearest(path, c.ix.sorted())...))
	}
	if vs := c.ix.paths[base]; vs != nil {
		return vs, nil
	}
	if specs := specsOf(c.ix.specs, base); specs != nil {
		return nil, specs
	}
	head, path, dotted := strings.Cut(base, ".")
	specs := specsOf(c.ix.specs, head)
	if !dotted || specs == nil {
		panic(c.unknown(w, base, valued))
	}
	if vs := among(c.ix.paths[path], specs); vs != nil {
		return vs, nil
	}
	w.pos += len(head) + 1
	own := c.ix.own(specs)
	switch {
	case !slices.ContainsFunc(specs, (*decode.Spec).Known):
		panic(c.errorf(w, "%s has no fields: its layout is unknown", specs[0].Name))
	case len(own) == 0:
		panic(c.errorf(w, "%s has no fields", specs[0].Name))
	}
	panic(c.errorf(w, "%s has no field %s", specs[0].Name, clip(path)).offer(nearest(path, own)...))
}

// unknown returns the error for an unknown word. If valued is set, it suggests
// only keys and fields.
func (c *compiler) unknown(w token, base string, valued bool) *Error {
	e := c.errorf(w, "there is no field, message or key %s", clip(base))
	candidates := c.ix.sorted()
	if !valued {
		candidates = append(candidates, namesOf(c.ix.specs)...)
	}
	for _, k := range key.All() {
		candidates = append(append(candidates, k.Name), k.Aliases...)
	}
	if head, path, ok := strings.Cut(base, "."); ok {
		for _, name := range nearest(head, namesOf(c.ix.specs)) {
			for _, p := range c.ix.own(specsOf(c.ix.specs, name)) {
				candidates = append(candidates, name+"."+p)
			}
			if len(among(c.ix.paths[path], specsOf(c.ix.specs, name))) > 0 { // the path is right and only the message is wrong
				e.Suggestions = append(e.Suggestions, name+"."+path)
			}
		}
	}
	if e.Suggestions != nil {
		return e
	}
	e.Suggestions = nearest(base, candidates)
	return e
}

// known reports whether a word names something with a value.
func (c *compiler) known(word string) bool {
	if key.Find(word) != nil || c.ix.paths[strings.TrimPrefix(word, "fields.")] != nil {
		return true
	}
	head, path, ok := strings.Cut(word, ".")
	return ok && len(among(c.ix.paths[path], specsOf(c.ix.specs, head))) > 0
}

// mismatch returns the error for an operator that a class does not support.
func (c *compiler) mismatch(t *test, cl class) *Error {
	name := t.left.word.text
	if t.op == opNone {
		return c.errorf(t.left.masks[0], "%s is %s: & is for whole numbers", name, classNames[cl])
	}
	switch {
	case cl == classVector:
		return c.errorf(t.left.word, "%s is a vector: compare one of its components", name).offer(name+".x", name+".y", name+".z")
	case t.op == opContains || t.op == opMatches:
		return c.errorf(t.opTok, "%s is %s: %s is for text and bytes", name, classNames[cl], t.op)
	case t.op.order():
		return c.errorf(t.opTok, "%s is %s: %s is for numbers and times", name, classNames[cl], t.op)
	}
	return c.errorf(t.left.word, "%s is %s and cannot be compared", name, classNames[cl])
}

// key compiles a comparison of a key.
func (c *compiler) key(k *key.Key, element int, t *test) *keyTest {
	cl := classOf(k)
	if element >= 0 && !t.left.len && cl == classText {
		t.left.one(element)
		element = -1
	}
	shape := c.shape(t, cl)
	bare := t.op == opNone && t.left.masks == nil
	switch {
	case t.left.len && bare:
		panic(c.errorf(t.left.word, "compare the length with a number"))
	case t.left.len || element >= 0:
		return c.sized(k, element, t)
	case t.left.masks != nil && cl != classNumber:
		panic(c.errorf(t.left.masks[0], "%s is %s: & is for whole numbers", k.Name, classNames[cl]))
	case bare:
		return has(k.Present)
	case k.Digits && shape == nil:
		if n := c.digits(k, t); n != nil {
			return n
		}
	}
	switch cl {
	case classNumber, classBool:
		about := &numeric{name: k.Name, bool: cl == classBool, whole: true, players: k.Player != nil}
		if k.Opcode {
			about.value, about.offer = c.opcode, namesOf(c.ix.specs[:c.ix.game])
		}
		n := c.numbers(about, t)
		if k.Player == nil || n.bits {
			return each(k.Int, n.whole, t.op.all())
		}
		return &keyTest{all: t.op.all(), is: func(_ *Filter, r *dissect.Record, i int) (bool, bool) {
			v, ok := k.Int(r, i)
			return ok && n.is(v, k.Player(r)), ok
		}}
	case classTime, classSeconds:
		return c.time(k, t)
	case classWord:
		ok := c.words(k, t, shape)
		get := wordOf(k)
		return once(func(f *Filter, r *dissect.Record) bool {
			i := get(f, r)
			return i >= 0 && i < len(ok) && ok[i]
		})
	case classText, classBytes:
		x := c.textOrBytes(cl, k.Name, t, k.Bare)
		x.shape = shape
		if get := bytesOf(k); get != nil {
			return once(func(f *Filter, r *dissect.Record) bool {
				b := get(f, r)
				return len(b) > 0 && x.hasBytes(b)
			})
		}
		if k.Search != nil && !t.op.equality() {
			return each(k.Search, x.has, false)
		}
		return each(k.Text, x.has, t.op.all())
	case classAddress:
		a := c.addresses(k.Name, t, k.Type != key.IP)
		return each(k.Addr, func(v netip.AddrPort) bool { return a.has(v.Addr(), v.Port()) }, t.op.all())
	default:
		panic(c.errorf(t.left.word, "%s has no value: compare %s", k.Name, k.Members))
	}
}

// digits compiles a comparison of texts with whole numbers. If a value is
// another text, it returns nil, and the value is a text without quotes.
func (c *compiler) digits(k *key.Key, t *test) *keyTest {
	whole := t.op.equality() || t.op.order()
	for _, v := range t.values {
		for _, side := range []token{v.lo, v.hi} {
			_, e := strconv.ParseInt(side.text, 10, 64)
			whole = whole && (e == nil && side.kind == tokWord || !v.span && side.text == "")
		}
	}
	if !whole {
		for i := range t.values {
			t.values[i].lo.kind = tokString
		}
		return nil
	}
	var n *numbers
	if catch(func() { n = c.numbers(&numeric{name: k.Name, whole: true}, t) }) != nil {
		return nil
	}
	get := func(r *dissect.Record, i int) (int64, bool) {
		for ; ; i++ {
			s, ok := k.Text(r, i)
			if !ok {
				return 0, false
			}
			if v, err := strconv.ParseInt(s.Raw(), 10, 64); err == nil {
				return v, true
			}
		}
	}
	return each(get, n.whole, t.op.all())
}

// sized compiles a comparison of a key's length or of one of its bytes.
func (c *compiler) sized(k *key.Key, element int, t *test) *keyTest {
	if classOf(k) == classText && element >= 0 {
		panic(c.errorf(t.left.word, "len is for whole values, not for a part of one"))
	}
	if classOf(k) != classText && classOf(k) != classBytes || element >= 0 && classOf(k) != classBytes {
		panic(c.errorf(t.left.word, "%s is %s and has no parts", k.Name, classNames[classOf(k)]))
	}
	if element >= 0 && t.left.len {
		panic(c.errorf(t.left.word, "a byte has no length"))
	}
	whole := bytesOf(k)
	get := func(r *dissect.Record, i int) (int64, bool) {
		b := whole(c.f, r)
		switch {
		case i > 0 || element >= len(b) || len(b) == 0:
			return 0, false
		case element >= 0:
			return int64(b[element]), true
		case classOf(k) == classText:
			return int64(utf8.RuneCount(b)), true
		}
		return int64(len(b)), true
	}
	if k.Text != nil {
		get = func(r *dissect.Record, i int) (int64, bool) {
			s, ok := k.Text(r, i)
			return int64(utf8.RuneCountInString(s.Raw())), ok
		}
	}
	if t.op == opNone && t.left.masks == nil {
		return has(func(r *dissect.Record) bool { _, ok := get(r, 0); return ok })
	}
	n := c.numbers(&numeric{name: t.left.word.text, whole: true}, t)
	return each(get, n.whole, t.op.all())
}

// field compiles a comparison of fields. It omits fields that do not support
// the comparison, unless none does.
func (c *compiler) field(vs []variant, element int, t *test) node {
	vs = c.narrow(vs, element, t)
	a := &atom{view: vs[0].view, element: vs[0].element, all: t.op.all()}
	a.has = t.op == opNone && t.left.masks == nil
	ok := map[class]bool{}
	var first *Error
	for i := range vs {
		cl := vs[i].class()
		if _, done := ok[cl]; !done {
			err := catch(func() { c.compare(a, cl, vs, t) })
			ok[cl], first = err == nil, cmp.Or(first, err)
		}
	}
	kept := false
	for i := range vs {
		v := &vs[i]
		if !ok[v.class()] || t.left.masks != nil && !v.whole() {
			continue
		}
		kept = true
		c.f.want(v, a)
	}
	if !kept {
		panic(first)
	}
	return a
}

// narrow returns the variants that have the requested element, or a length.
func (c *compiler) narrow(vs []variant, element int, t *test) []variant {
	w := t.left.word
	if element < 0 && !t.left.len {
		if t.left.shaped() {
			return c.texty(vs, t)
		}
		return vs
	}
	var kept []variant
	for _, v := range vs {
		if v.view != display.Whole {
			continue
		}
		array := !v.group && (v.kind.Type() == decode.TypeShares || v.kind.Type() == decode.TypeBytes)
		switch {
		case t.left.len && element < 0:
			if v.list || array || v.class() == classText {
				v.view = viewLen
				kept = append(kept, v)
			}
		case t.left.len:
		case array || !v.group && element < len(v.kind.Components()):
			v.view, v.element = viewElement, element
			kept = append(kept, v)
		}
	}
	switch {
	case kept != nil && t.left.len && t.op == opNone && t.left.masks == nil:
		panic(c.errorf(w, "compare the length with a number"))
	case kept != nil:
		return kept
	case !t.left.len && slices.ContainsFunc(vs, func(v variant) bool { return v.class() == classText }):
		t.left.one(element)
		return c.texty(vs, t)
	case t.left.len:
		panic(c.errorf(w, "%s is %s and has no length", w.text, described(&vs[0])))
	case vs[0].list:
		panic(c.errorf(w, "a path into a list covers all its elements: omit [%d]", element))
	}
	panic(c.errorf(w, "%s is %s and has no [%d]", strings.TrimSuffix(w.text, fmt.Sprintf("[%d]", element)), described(&vs[0]), element))
}

// texty returns the variants that have text or bytes.
func (c *compiler) texty(vs []variant, t *test) (kept []variant) {
	var first *Error
	for _, v := range vs {
		err := catch(func() { c.shape(t, v.class()) })
		if first = cmp.Or(first, err); err == nil {
			kept = append(kept, v)
		}
	}
	if kept != nil {
		return kept
	}
	if vs[0].names != nil && vs[0].view == display.Whole || vs[0].who != decode.NoPlayer {
		first.Suggestions = []string{display.ValueName.Member(t.left.word.text)}
	}
	panic(first)
}

// described returns a description of a variant for errors.
func described(v *variant) string {
	switch {
	case v.list:
		return "a list"
	case v.group:
		return "a group of fields"
	}
	return classNames[v.class()]
}

// compare sets an atom's comparison with fields of a class.
func (c *compiler) compare(a *atom, cl class, vs []variant, t *test) {
	if a.has {
		return
	}
	name := t.left.word.text
	if t.left.masks != nil && cl != classNumber && cl != classBool {
		panic(c.errorf(t.left.masks[0], "%s is %s: & is for whole numbers", name, classNames[cl]))
	}
	switch cl {
	case classNumber, classBool:
		if a.numbers == nil { // the fields of the other class already set the values
			a.numbers = c.numbers(c.numeric(name, vs), t)
		}
	case classText, classBytes:
		of := &a.texts
		if cl == classBytes {
			of = &a.bytes
		}
		*of = c.textOrBytes(cl, name, t, false)
		(*of).shape = c.shape(t, cl)
	case classAddress:
		a.addresses = c.addresses(name, t, false)
	case classVector:
		panic(c.mismatch(t, cl))
	default:
		i := slices.IndexFunc(vs, func(v variant) bool { return v.group })
		e := c.errorf(t.left.word, "%s is %s: name one of its fields", name, described(&vs[i]))
		prefix := vs[i].base + "."
		for _, path := range c.ix.own([]*decode.Spec{vs[i].layout.spec}) {
			if rest, ok := strings.CutPrefix(path, prefix); ok && len(e.Suggestions) < maxSuggestions && !strings.Contains(rest, ".") {
				e.Suggestions = append(e.Suggestions, name+"."+rest)
			}
		}
		panic(e)
	}
}

// A numeric describes the values of numeric fields.
type numeric struct {
	name    string
	bool    bool // true and false are valid values
	asked   bool // the expression contains true or false
	whole   bool // all fields are whole numbers
	players bool // the numbers are players, who have names
	// value returns the numbers with a name. If the numbers depend on the field,
	// it returns the names instead.
	value func(word string) (spans []float64, named []named)
	offer []string // names to suggest
}

// numeric returns the description of the numeric fields of a name.
func (c *compiler) numeric(name string, vs []variant) *numeric {
	n := &numeric{name: name}
	for i := range vs {
		v := &vs[i]
		n.bool = n.bool || v.class() == classBool
		n.whole = n.whole || v.whole()
		n.players = n.players || v.who != decode.NoPlayer && v.view == display.Whole
	}
	k := c.values[name]
	if k == nil {
		k = newVocabulary(vs)
		c.values[name] = k
	}
	if n.offer = k.names; k.names != nil {
		n.value = func(word string) ([]float64, []named) { return nil, k.find(word) }
	}
	return n
}

// A vocabulary is the value names of fields.
type vocabulary struct {
	names  []string
	exact  map[string][]named
	folded map[string][]named // indexed by folded name
}

func newVocabulary(vs []variant) *vocabulary {
	k := &vocabulary{exact: map[string][]named{}, folded: map[string][]named{}}
	for i := range vs {
		v := &vs[i]
		if v.view != display.Whole || v.names == nil {
			continue
		}
		for value, name := range decode.Values(v.names) {
			e := named{value, name, -1}
			if v.kind == decode.KindFlags8 {
				if value > 7 {
					continue
				}
				e = named{1 << value, name, int(value)}
			}
			if slices.Contains(k.exact[name], e) {
				continue
			}
			if k.exact[name] == nil {
				k.names = append(k.names, name)
			}
			k.exact[name] = append(k.exact[name], e)
			k.folded[fold(name)] = append(k.folded[fold(name)], e)
		}
	}
	return k
}

// find returns the values with exactly the given name, or else those with the
// same folded name.
func (k *vocabulary) find(name string) []named {
	if found := k.exact[name]; found != nil {
		return found
	}
	return k.folded[fold(name)]
}

// opcode returns the opcodes of the messages with a name.
func (c *compiler) opcode(word string) (spans []float64, _ []named) {
	for _, s := range specsOf(c.ix.specs[:c.ix.game], word) {
		spans = append(spans, float64(s.Code))
	}
	return spans, nil
}

// numbers compiles the values of a numeric comparison.
func (c *compiler) numbers(of *numeric, t *test) *numbers {
	n := &numbers{neg: t.op.negated()}
	c.mask(n, of, t)
	if t.op == opNone { // a bit mask without a comparison
		n.wide = ranges[float64]{{1, math.Inf(1)}}
		return n
	}
	if t.op == opContains || t.op == opMatches {
		e := c.errorf(t.opTok, "%s is a number: %s is for text and bytes", of.name, t.op)
		if of.players {
			e.Message = fmt.Sprintf("%s is a number: %s is for its name", of.name, t.op)
			e.Suggestions = []string{of.name + "_name"}
		}
		panic(e)
	}
	var wide, short []span[float64]
	for _, v := range t.values {
		if of.players && !v.span {
			if name, ok := c.player(t, v.lo); ok {
				n.players = append(n.players, name)
				continue
			}
		}
		x, named := c.number(of, t, v.lo)
		n.named = append(n.named, named...)
		if !v.span {
			for _, x := range x {
				switch {
				case !math.IsNaN(x):
					wide, short = append(wide, floats(t.op, x)), append(short, floats(t.op, single(x)))
				case !t.op.equality() || t.op == opIn:
					panic(c.errorf(v.lo, "NaN cannot be ordered or be in a set"))
				default:
					n.nan = true
				}
			}
			continue
		}
		y, alsoNamed := c.number(of, t, v.hi)
		switch {
		case named != nil || alsoNamed != nil || len(x) != 1 || len(y) != 1:
			panic(c.errorf(v.lo, "a range needs numbers, not names"))
		case math.IsNaN(x[0]) || math.IsNaN(y[0]) || x[0] > y[0]:
			panic(c.errorf(v.both(), "the range is empty"))
		}
		wide = append(wide, span[float64]{x[0], y[0]})
		short = append(short, span[float64]{single(x[0]), single(y[0])})
	}
	n.wide, n.short, n.bool = newRanges(wide), newRanges(short), of.asked
	return n
}

// player returns the player name in a token: a text, or a word that is neither
// a number nor a field.
func (c *compiler) player(t *test, v token) (name string, ok bool) {
	switch {
	case v.kind == tokString:
	case literal(v.text):
		return "", false
	case c.known(v.text):
		panic(c.fieldAsValue(v).offer(strconv.Quote(v.text)))
	}
	if t.op.order() {
		panic(c.errorf(v, "names have no order: write a number"))
	}
	return c.unquote(v), true
}

// number returns the number in a token. A name may stand for several numbers.
// If these depend on the field, the result is the names.
func (c *compiler) number(of *numeric, t *test, v token) (x []float64, named []named) {
	text := v.text
	if v.kind == tokString {
		text = c.unquote(v)
	} else if x, ok := parseNumber(text); ok {
		return []float64{x}, nil
	}
	if i := slices.Index([]string{"false", "true"}, strings.ToLower(text)); v.kind == tokWord && of.bool && i >= 0 {
		of.asked = true
		return []float64{float64(i)}, nil
	}
	if of.value != nil {
		x, named := of.value(text)
		if x != nil || named != nil {
			if t.op.order() {
				panic(c.errorf(v, "names have no order: write a number"))
			}
			return x, named
		}
	}
	panic(c.noNumber(of, v, text))
}

// noNumber returns the error for a value that is not a number.
func (c *compiler) noNumber(of *numeric, v token, text string) *Error {
	_, isNumber := parseNumber(text)
	switch {
	case v.kind == tokWord && c.known(text):
		return c.fieldAsValue(v)
	case isNumber: // a quoted number
		return c.errorf(v, "%s is a number, not text", of.name).offer(text)
	case of.value != nil:
		return c.errorf(v, "%s is never %s", of.name, clip(text)).offer(quote(nearest(text, of.offer))...)
	case of.bool:
		return c.errorf(v, "%s is true or false, not %s", of.name, clip(text)).offer("true", "false")
	}
	if v.kind == tokWord {
		return c.errorf(v, "%s is not a number (%s is numeric)", clip(text), of.name)
	}
	return c.errorf(v, "%s is a number, not text", of.name)
}

// mask compiles a bit mask.
func (c *compiler) mask(n *numbers, of *numeric, t *test) {
	if t.left.masks == nil {
		return
	}
	if !of.whole {
		panic(c.errorf(t.left.masks[0], "%s is not a whole number: & needs one", of.name))
	}
	n.bits, n.mask = true, math.MaxUint64
	for _, m := range t.left.masks {
		x, names := c.number(of, &test{op: opEq}, m)
		var mask uint64
		for i, name := range names {
			switch {
			case name.bit < 0:
				panic(c.errorf(m, "%s is not the name of a flag", clip(m.text)))
			case i > 0 && name.v != names[0].v:
				panic(c.errorf(m, "%s is a different flag in different messages: name the message, or write a number", clip(m.text)))
			}
			mask = name.v
			n.flags = append(n.flags, name)
		}
		if names == nil {
			if len(x) != 1 || x[0] != math.Trunc(x[0]) || x[0] < 0 || x[0] > math.MaxUint32 {
				panic(c.errorf(m, "bits must be a number from 0 to 0xFFFFFFFF"))
			}
			mask = uint64(x[0])
		}
		n.mask &= mask
	}
}

// time compiles a comparison of the time.
func (c *compiler) time(k *key.Key, t *test) *keyTest {
	if t.op == opContains || t.op == opMatches {
		panic(c.mismatch(t, classOf(k)))
	}
	value := func(v token) int64 {
		read, example := parseTime, "2002-03-01T20:00:00Z"
		if classOf(k) == classSeconds {
			read, example = parseSeconds, "12.5, 1m30s or 00:01:30"
		}
		ns, ok := read(v.text)
		if !ok {
			panic(c.errorf(v, "%s is %s, such as %s", k.Name, classNames[classOf(k)], example))
		}
		return ns
	}
	var spans []span[int64]
	for _, v := range t.values {
		lo := value(v.lo)
		if !v.span {
			if s := ints(t.op, lo); s.lo <= s.hi {
				spans = append(spans, s)
			}
			continue
		}
		hi := value(v.hi)
		if lo > hi {
			panic(c.errorf(v.both(), "the range is empty"))
		}
		spans = append(spans, span[int64]{lo, hi})
	}
	in, rel, neg := newRanges(spans), classOf(k) == classSeconds, t.op.negated()
	c.f.rel = c.f.rel || rel
	return once(func(f *Filter, r *dissect.Record) bool {
		switch {
		case !k.Present(r):
			return false
		case rel:
			return in.has(int64(r.Datagram.Time.Sub(f.Start))) != neg
		}
		return in.has(packet.Nanos(r.Datagram.Time)) != neg
	})
}

// words compiles the values of a word comparison. The result tells for each of
// the key's words whether it matches.
func (c *compiler) words(k *key.Key, t *test, shape *shape) []bool {
	words, offer := k.Words, k.Offer
	if k.Message {
		words = make([]string, c.ix.game)
		for i, s := range c.ix.specs[:c.ix.game] {
			words[i] = s.Name
		}
		offer = namesOf(c.ix.specs[:c.ix.game])
	}
	if offer == nil {
		offer = words
	}
	ok := make([]bool, len(words))
	switch {
	case t.op == opContains || t.op == opMatches || shape != nil:
		x := c.textOrBytes(classText, k.Name, t, true)
		x.shape = shape
		for i, w := range words {
			ok[i] = x.has(wire.Untrusted(w))
		}
		return ok
	case t.op.order():
		panic(c.mismatch(t, classOf(k)))
	}
	for i := range ok {
		ok[i] = t.op.negated()
	}
	find := c.finder(k, words)
	for _, v := range t.values {
		if v.span {
			panic(c.errorf(v.both(), "%s is a word: a range needs numbers", k.Name))
		}
		text := c.unquote(v.lo)
		found := find(text)
		if found == nil {
			e := c.errorf(v.lo, "%s is never %s", k.Name, clip(text))
			if k.Message {
				e.Message = "there is no message " + clip(text)
				if specs := specsOf(c.ix.specs[c.ix.game:], text); specs != nil {
					e.Message = fmt.Sprintf("%s is a transport message without a name in records: write only %s", specs[0].Name, specs[0].Name)
				}
			}
			e.Suggestions = nearest(text, offer)
			if e.Suggestions == nil && len(offer) <= maxOffer {
				e.Message += fmt.Sprintf("; it is one of %s", strings.Join(offer, ", "))
			}
			panic(e)
		}
		for _, i := range found {
			ok[i] = !t.op.negated()
		}
	}
	return ok
}

// finder returns a function from a text to the indices of matching words.
func (c *compiler) finder(k *key.Key, words []string) func(text string) []int {
	if k.Message {
		return func(text string) (found []int) {
			for _, s := range specsOf(c.ix.specs[:c.ix.game], text) {
				found = append(found, slices.Index(c.ix.specs, s))
			}
			return found
		}
	}
	folded := map[string][]int{}
	for i, w := range words {
		folded[fold(w)] = append(folded[fold(w)], i)
	}
	return func(text string) []int { return folded[fold(text)] }
}

// unquote returns the text of a value.
func (c *compiler) unquote(v token) string {
	if v.kind != tokString {
		return v.text
	}
	text, bad := unquote(v.text)
	if bad >= 0 {
		at := v.pos + 1 + bad
		panic(errorAt(c.text, at, at+2, `in a text, \ begins \", \\, \n, \r, \t, \x41 or \u0041`))
	}
	return text
}

// textOrBytes compiles the values of a comparison of texts or bytes. If bare is
// set, the text is a name, which needs no quotes.
func (c *compiler) textOrBytes(cl class, name string, t *test, bare bool) *texts {
	switch {
	case t.op == opMatches:
		return c.regexp(t.values[0].lo)
	case t.op.order():
		panic(c.mismatch(t, cl))
	}
	x := &texts{neg: t.op.negated()}
	for _, v := range t.values {
		if v.span {
			panic(c.errorf(v.both(), "%s is %s: a range needs numbers", name, classNames[cl]))
		}
		value := c.textOf
		if cl == classBytes {
			value = c.bytesOf
		}
		s := value(name, v.lo, bare)
		switch t.op {
		case opContains:
			x.contains, x.part = true, []byte(s)
		case opIn:
			if x.many == nil {
				x.many = map[string]struct{}{}
			}
			x.many[s] = struct{}{}
		default:
			x.one = s
		}
	}
	return x
}

// textOf returns the text in a token.
func (c *compiler) textOf(name string, v token, bare bool) string {
	text := c.unquote(v)
	var e *Error
	switch {
	case v.kind == tokString:
		return text
	case literal(text):
		e = c.errorf(v, "%s is text, not a number", name)
	case !bare && c.known(text):
		e = c.fieldAsValue(v)
	default:
		return text
	}
	e.Suggestions = []string{strconv.Quote(text)}
	panic(e)
}

// fieldAsValue returns the error for a field in the place of a value.
func (c *compiler) fieldAsValue(v token) *Error {
	return c.errorf(v, "%s is a field: fields cannot be compared with each other", clip(v.text))
}

// bytesOf returns the bytes in a token.
func (c *compiler) bytesOf(name string, v token, _ bool) string {
	if v.kind == tokWord {
		b, ok := parseBytes(v.text)
		if !ok {
			panic(c.errorf(v, "%s is bytes, such as 0a0b or 0a:0b, or a text in quotes", name))
		}
		return string(b)
	}
	text := c.unquote(v)
	b := wire.AppendTextOf(nil, text)
	if wire.Text(b).Raw() != text {
		panic(c.errorf(v, "the text has characters outside Windows-1252"))
	}
	return string(b)
}

// regexp compiles a regular expression. It removes only the backslashes that
// escape quotes.
func (c *compiler) regexp(v token) *texts {
	pattern := strings.ReplaceAll(v.text, `\"`, `"`)
	pattern = strings.ReplaceAll(pattern, `\'`, `'`)
	if len(pattern) > maxPattern {
		panic(c.errorf(v, "the regular expression has %d bytes; the limit is %d", len(pattern), maxPattern))
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		reason := err.Error()
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			reason = e.Code.String() + ": " + e.Expr
		}
		panic(c.errorf(v, "not a regular expression: %s", reason))
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		panic(c.errorf(v, "not a regular expression: %v", err))
	}
	if c.programs += len(prog.Inst); len(prog.Inst) > maxProgram || c.programs > maxPrograms {
		panic(c.errorf(v, "the regular expression is too large"))
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		panic(c.errorf(v, "not a regular expression: %v", err))
	}
	return &texts{re: re}
}

// addresses compiles the values of an address comparison.
func (c *compiler) addresses(name string, t *test, ports bool) *addresses {
	if !t.op.equality() {
		panic(c.mismatch(t, classAddress))
	}
	x := &addresses{neg: t.op.negated()}
	value := func(v token) address {
		a, ok := parseAddress(v.text)
		switch {
		case !ok:
			example := "10.0.0.5 or 10.0.0.0/8"
			if ports {
				example = "10.0.0.5, 10.0.0.0/8 or 10.0.0.5:22101"
			}
			panic(c.errorf(v, "%s is an address, such as %s", name, example))
		case a.port >= 0 && !ports:
			panic(c.errorf(v, "%s is an address without a port", name))
		}
		return a
	}
	for _, v := range t.values {
		a := value(v.lo)
		if v.span {
			b := value(v.hi)
			switch {
			case a.net.IsValid() || b.net.IsValid() || a.port >= 0 || b.port >= 0:
				panic(c.errorf(v.both(), "a range needs plain addresses"))
			case b.hi.Less(a.lo) || a.lo.Is4() != b.hi.Is4():
				panic(c.errorf(v.both(), "the range is empty"))
			}
			a.hi = b.hi
		}
		x.any = append(x.any, a)
	}
	return x
}

// quote quotes the words that need it.
func quote(words []string) []string {
	for i, w := range words {
		if w == "" || wordLen(w) != len(w) || literal(w) {
			words[i] = strconv.Quote(w)
		}
	}
	return words
}
