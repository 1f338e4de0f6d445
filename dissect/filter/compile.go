package filter

import (
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
	maxPattern  = 1000 // bytes in one
	maxProgram  = 1000 // instructions in one
	maxPrograms = 5000 // instructions in all
)

// maxOffer is the maximum number of words listed in an error.
const maxOffer = 11

// compiler turns expressions into nodes.
type compiler struct {
	text     string
	ix       *index
	valued   bool // all names must have a value
	f        *Filter
	values   map[string]*vocabulary
	programs int
}

func compile(text string, ix *index) (*Filter, *Error) { return newCompiler(text, ix).compile() }

func newCompiler(text string, ix *index) *compiler {
	return &compiler{text: text, ix: ix, f: &Filter{seen: map[*decode.Spec]*shown{}}, values: map[string]*vocabulary{}}
}

func (c *compiler) compile() (*Filter, *Error) {
	e, err := parse(c.text)
	if err != nil {
		return nil, err
	}
	c.f.game = c.ix.game
	for i, s := range c.ix.specs {
		c.f.seen[s] = &shown{id: i}
	}
	c.f.root, err = c.node(e)
	return c.f, err
}

func (c *compiler) errorf(t token, format string, args ...any) *Error {
	return errorAt(c.text, t.pos, t.end, fmt.Sprintf(format, args...))
}

// node compiles a part of the expression. It puts cheap parts first, since the
// order of evaluation does not affect the result.
func (c *compiler) node(e *expr) (node, *Error) {
	if e.join == tokEnd {
		return c.test(e.test)
	}
	var list []node
	for _, sub := range e.list {
		n, err := c.node(sub)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	slices.SortStableFunc(list, func(a, b node) int { return a.cost() - b.cost() })
	return &joined{e.join, list}, nil
}

// test compiles a comparison or a bare name.
func (c *compiler) test(t *test) (node, *Error) {
	w := t.left.word
	base, element, err := c.index(t)
	if err != nil {
		return nil, err
	}
	if k := key.Find(base); k != nil {
		n, err := c.key(k, element, t)
		if err != nil {
			return nil, err
		}
		bare := t.op == opNone && t.left.masks == nil
		n.ofKind = k.Kind && !bare
		n.text = !bare && (classOf(k) == classText || classOf(k) == classBytes)
		return n, nil
	}
	if w.text == wiresharkName && t.op == opNone && !t.left.valued() {
		return has(func(*dissect.Record) bool { return true }), nil
	}
	vs, specs, err := c.resolve(w, base, c.valued || t.op != opNone || t.left.valued())
	if err != nil {
		return nil, err
	}
	if vs != nil {
		return c.field(vs, element, t)
	}
	switch {
	case element >= 0 || t.left.valued():
		return nil, c.errorf(w, "%s is a message and has no value", base)
	case t.op != opNone:
		e := c.errorf(w, "%s is a message and has no value", base)
		e.Suggestions = []string{"name", base + "." + c.example(specs)}
		if e.Suggestions[1] == base+"." {
			e.Suggestions = e.Suggestions[:1]
		}
		return nil, e
	}
	n := has(func(r *dissect.Record) bool { return slices.Contains(specs, r.Spec) })
	n.ofKind = true
	return n, nil
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

// index splits a trailing [n] or slice off the left side of a test; n is -1 if
// there is none.
func (c *compiler) index(t *test) (base string, n int, err *Error) {
	w := t.left.word
	at := strings.IndexByte(w.text, '[')
	if at < 0 {
		return w.text, -1, nil
	}
	inside, ok := strings.CutSuffix(w.text[at+1:], "]")
	base = w.text[:at]
	w.pos += at
	if !ok || strings.IndexByte(inside, '[') >= 0 {
		return "", 0, c.errorf(w, "an index must be at the end; a path into a list covers all its elements")
	}
	if !strings.ContainsAny(inside, ":-") {
		n, e := strconv.Atoi(inside)
		if e != nil || n > maxOffset {
			return "", 0, c.errorf(w, "the index is too large for any field")
		}
		return base, n, nil
	}
	s, ok := parseSlice(inside)
	switch {
	case !ok:
		return "", 0, c.errorf(w, "a slice is [start:length], [first-last], [start:] or [:length]")
	case t.left.len:
		return "", 0, c.errorf(w, "len is for whole values, not for a part of one")
	}
	t.left.slice = &s
	return base, -1, nil
}

// one turns an index into a slice of one character.
func (o *operand) one(element int) { o.slice = &slice{from: element, length: 1} }

// valued reports whether the operand is more than a name.
func (o *operand) valued() bool { return o.len || o.masks != nil || o.shaped() }

// shaped reports whether a part of the value is compared, or its case changed.
func (o *operand) shaped() bool { return o.slice != nil || o.fold != asWritten }

// shape returns the shape of an operand of a class; nil for the whole value.
func (c *compiler) shape(t *test, cl class) (*shape, *Error) {
	o := &t.left
	name := o.word.text
	switch {
	case !o.shaped():
		return nil, nil
	case o.fold != asWritten && cl != classText && cl != classWord:
		return nil, c.errorf(o.word, "%s is %s: upper and lower are for text", name, classNames[cl])
	case cl != classText && cl != classWord && cl != classBytes:
		return nil, c.errorf(o.word, "%s is %s: slices are for text and bytes", name, classNames[cl])
	case t.op == opNone:
		return nil, c.errorf(o.word, "compare it with a text, such as == \"a\"")
	}
	return &shape{slice: o.slice, fold: o.fold, bytes: cl == classBytes}, nil
}

// resolve returns the fields or messages named by a word. A valued one is not a
// message.
func (c *compiler) resolve(w token, base string, valued bool) ([]variant, []*decode.Spec, *Error) {
	if path, ok := strings.CutPrefix(base, "fields."); ok {
		if vs := c.ix.paths[path]; vs != nil {
			return vs, nil, nil
		}
		w.pos += len("fields.")
		return nil, nil, c.errorf(w, "no message has a field %s", clip(path)).offer(nearest(path, c.ix.sorted())...)
	}
	if vs := c.ix.paths[base]; vs != nil {
		return vs, nil, nil
	}
	if specs := specsOf(c.ix.specs, base); specs != nil {
		return nil, specs, nil
	}
	head, path, dotted := strings.Cut(base, ".")
	specs := specsOf(c.ix.specs, head)
	if !dotted || specs == nil {
		return nil, nil, c.unknown(w, base, valued)
	}
	if vs := among(c.ix.paths[path], specs); vs != nil {
		return vs, nil, nil
	}
	w.pos += len(head) + 1
	own := c.ix.own(specs)
	switch {
	case !slices.ContainsFunc(specs, (*decode.Spec).Known):
		return nil, nil, c.errorf(w, "%s has no fields: its layout is unknown", specs[0].Name)
	case len(own) == 0:
		return nil, nil, c.errorf(w, "%s has no fields", specs[0].Name)
	}
	return nil, nil, c.errorf(w, "%s has no field %s", specs[0].Name, clip(path)).offer(nearest(path, own)...)
}

// unknown returns the error for an unknown word. Only keys and fields are
// similar to a valued one.
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
			if len(among(c.ix.paths[path], specsOf(c.ix.specs, name))) > 0 { // only the message is wrong
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
func (c *compiler) key(k *key.Key, element int, t *test) (*keyTest, *Error) {
	cl := classOf(k)
	if element >= 0 && !t.left.len && cl == classText {
		t.left.one(element)
		element = -1
	}
	shape, err := c.shape(t, cl)
	bare := t.op == opNone && t.left.masks == nil
	switch {
	case err != nil:
		return nil, err
	case t.left.len && bare:
		return nil, c.errorf(t.left.word, "compare the length with a number")
	case t.left.len || element >= 0:
		return c.sized(k, element, t)
	case t.left.masks != nil && cl != classNumber:
		return nil, c.errorf(t.left.masks[0], "%s is %s: & is for whole numbers", k.Name, classNames[cl])
	case bare:
		return has(k.Present), nil
	case k.Digits && shape == nil:
		if n := c.digits(k, t); n != nil {
			return n, nil
		}
	}
	switch cl {
	case classNumber, classBool:
		about := &numeric{name: k.Name, bool: cl == classBool, whole: true, players: k.Player != nil}
		if k.Opcode {
			about.value, about.offer = c.opcode, namesOf(c.ix.specs[:c.ix.game])
		}
		n, err := c.numbers(about, t)
		switch {
		case err != nil:
			return nil, err
		case k.Player == nil || n.bits:
			return each(k.Int, n.whole, t.op.all()), nil
		}
		return &keyTest{all: t.op.all(), is: func(_ *Filter, r *dissect.Record, i int) (bool, bool) {
			v, ok := k.Int(r, i)
			return ok && n.is(v, k.Player(r)), ok
		}}, nil
	case classTime, classSeconds:
		return c.time(k, t)
	case classWord:
		ok, err := c.words(k, t, shape)
		if err != nil {
			return nil, err
		}
		get := wordOf(k)
		return once(func(f *Filter, r *dissect.Record) bool {
			i := get(f, r)
			return i >= 0 && i < len(ok) && ok[i]
		}), nil
	case classText, classBytes:
		x, err := c.textOrBytes(cl, k.Name, t, k.Bare)
		if err != nil {
			return nil, err
		}
		x.shape = shape
		if get := bytesOf(k); get != nil {
			return once(func(f *Filter, r *dissect.Record) bool {
				b := get(f, r)
				return len(b) > 0 && x.hasBytes(b)
			}), nil
		}
		if k.Search != nil && !t.op.equality() {
			return each(k.Search, x.has, false), nil
		}
		return each(k.Text, x.has, t.op.all()), nil
	case classAddress:
		a, err := c.addresses(k.Name, t, k.Type != key.IP)
		if err != nil {
			return nil, err
		}
		return each(k.Addr, func(v netip.AddrPort) bool { return a.has(v.Addr(), v.Port()) }, t.op.all()), nil
	default:
		return nil, c.errorf(t.left.word, "%s has no value: compare %s", k.Name, k.Members)
	}
}

// digits compiles a comparison of texts with whole numbers, or returns nil if a
// value is another text. Such a value is then a text without quotes.
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
	n, err := c.numbers(&numeric{name: k.Name, whole: true}, t)
	if err != nil {
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
func (c *compiler) sized(k *key.Key, element int, t *test) (*keyTest, *Error) {
	if classOf(k) == classText && element >= 0 {
		return nil, c.errorf(t.left.word, "len is for whole values, not for a part of one")
	}
	if classOf(k) != classText && classOf(k) != classBytes || element >= 0 && classOf(k) != classBytes {
		return nil, c.errorf(t.left.word, "%s is %s and has no parts", k.Name, classNames[classOf(k)])
	}
	if element >= 0 && t.left.len {
		return nil, c.errorf(t.left.word, "a byte has no length")
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
		return has(func(r *dissect.Record) bool { _, ok := get(r, 0); return ok }), nil
	}
	n, err := c.numbers(&numeric{name: t.left.word.text, whole: true}, t)
	if err != nil {
		return nil, err
	}
	return each(get, n.whole, t.op.all()), nil
}

// field compiles a comparison of fields. It omits fields that do not support
// the comparison, unless that is all of them.
func (c *compiler) field(vs []variant, element int, t *test) (node, *Error) {
	vs, err := c.narrow(vs, element, t)
	if err != nil {
		return nil, err
	}
	a := &atom{view: vs[0].view, element: vs[0].element, all: t.op.all()}
	a.has = t.op == opNone && t.left.masks == nil
	ok := map[class]bool{}
	var first *Error
	for i := range vs {
		cl := vs[i].class()
		if _, done := ok[cl]; !done {
			err := c.compare(a, cl, vs, t)
			ok[cl] = err == nil
			if first == nil {
				first = err
			}
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
		return nil, first
	}
	return a, nil
}

// narrow returns the variants that have the requested length or element.
func (c *compiler) narrow(vs []variant, element int, t *test) ([]variant, *Error) {
	w := t.left.word
	if element < 0 && !t.left.len {
		if t.left.shaped() {
			return c.texty(vs, t)
		}
		return vs, nil
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
		return nil, c.errorf(w, "compare the length with a number")
	case kept != nil:
		return kept, nil
	case !t.left.len && slices.ContainsFunc(vs, func(v variant) bool { return v.class() == classText }):
		t.left.one(element)
		return c.texty(vs, t)
	case t.left.len:
		return nil, c.errorf(w, "%s is %s and has no length", w.text, described(&vs[0]))
	case vs[0].list:
		return nil, c.errorf(w, "a path into a list covers all its elements: omit [%d]", element)
	}
	return nil, c.errorf(w, "%s is %s and has no [%d]", strings.TrimSuffix(w.text, fmt.Sprintf("[%d]", element)), described(&vs[0]), element)
}

// texty returns the variants that have text or bytes.
func (c *compiler) texty(vs []variant, t *test) (kept []variant, err *Error) {
	for _, v := range vs {
		_, e := c.shape(t, v.class())
		if e == nil {
			kept = append(kept, v)
		} else if err == nil {
			err = e
		}
	}
	if kept != nil {
		return kept, nil
	}
	if vs[0].names != nil && vs[0].view == display.Whole || vs[0].who != decode.NoPlayer {
		err.Suggestions = []string{display.ValueName.Member(t.left.word.text)}
	}
	return nil, err
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
func (c *compiler) compare(a *atom, cl class, vs []variant, t *test) (err *Error) {
	if a.has {
		return nil
	}
	name := t.left.word.text
	if t.left.masks != nil && cl != classNumber && cl != classBool {
		return c.errorf(t.left.masks[0], "%s is %s: & is for whole numbers", name, classNames[cl])
	}
	switch cl {
	case classNumber, classBool:
		if a.numbers == nil { // otherwise the other class has values
			a.numbers, err = c.numbers(c.numeric(name, vs), t)
		}
	case classText, classBytes:
		of := &a.texts
		if cl == classBytes {
			of = &a.bytes
		}
		if *of, err = c.textOrBytes(cl, name, t, false); err == nil {
			(*of).shape, err = c.shape(t, cl)
		}
	case classAddress:
		a.addresses, err = c.addresses(name, t, false)
	case classVector:
		err = c.mismatch(t, cl)
	default:
		i := slices.IndexFunc(vs, func(v variant) bool { return v.group })
		e := c.errorf(t.left.word, "%s is %s: name one of its fields", name, described(&vs[i]))
		prefix := vs[i].base + "."
		for _, path := range c.ix.own([]*decode.Spec{vs[i].layout.spec}) {
			if rest, ok := strings.CutPrefix(path, prefix); ok && len(e.Suggestions) < maxSuggestions && !strings.Contains(rest, ".") {
				e.Suggestions = append(e.Suggestions, name+"."+rest)
			}
		}
		err = e
	}
	return err
}

// A numeric describes the values of numeric fields.
type numeric struct {
	name    string
	bool    bool // true and false are valid values
	asked   bool // the expression uses true or false
	whole   bool // all are whole numbers
	players bool // the numbers stand for players, who have names
	// value returns the numbers with a name, or the names that depend on the
	// field.
	value func(word string) (spans []float64, named []named)
	offer []string // names for suggestions
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
	folded map[string][]named // by folded name
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
func (c *compiler) numbers(of *numeric, t *test) (*numbers, *Error) {
	n := &numbers{neg: t.op.negated()}
	if err := c.mask(n, of, t); err != nil {
		return nil, err
	}
	if t.op == opNone { // a bit mask alone
		n.wide = ranges[float64]{{1, math.Inf(1)}}
		return n, nil
	}
	if t.op == opContains || t.op == opMatches {
		e := c.errorf(t.opTok, "%s is a number: %s is for text and bytes", of.name, t.op)
		if of.players {
			e.Message = fmt.Sprintf("%s is a number: %s is for its name", of.name, t.op)
			e.Suggestions = []string{of.name + "_name"}
		}
		return nil, e
	}
	var wide, short []span[float64]
	for _, v := range t.values {
		if of.players && !v.span {
			if name, ok, err := c.player(t, v.lo); err != nil {
				return nil, err
			} else if ok {
				n.players = append(n.players, name)
				continue
			}
		}
		x, named, err := c.number(of, t, v.lo)
		if err != nil {
			return nil, err
		}
		n.named = append(n.named, named...)
		if !v.span {
			for _, x := range x {
				switch {
				case !math.IsNaN(x):
					wide, short = append(wide, floats(t.op, x)), append(short, floats(t.op, single(x)))
				case !t.op.equality() || t.op == opIn:
					return nil, c.errorf(v.lo, "NaN cannot be ordered or part of a set")
				default:
					n.nan = true
				}
			}
			continue
		}
		y, alsoNamed, err := c.number(of, t, v.hi)
		switch {
		case err != nil:
			return nil, err
		case named != nil || alsoNamed != nil || len(x) != 1 || len(y) != 1:
			return nil, c.errorf(v.lo, "a range needs numbers, not names")
		case math.IsNaN(x[0]) || math.IsNaN(y[0]) || x[0] > y[0]:
			return nil, c.errorf(v.both(), "the range is empty")
		}
		wide = append(wide, span[float64]{x[0], y[0]})
		short = append(short, span[float64]{single(x[0]), single(y[0])})
	}
	n.wide, n.short, n.bool = newRanges(wide), newRanges(short), of.asked
	return n, nil
}

// player returns the player name in a token: a text, or a word that is neither
// a number nor a field.
func (c *compiler) player(t *test, v token) (name string, ok bool, err *Error) {
	switch {
	case v.kind == tokString:
	case literal(v.text):
		return "", false, nil
	case c.known(v.text):
		return "", false, c.fieldAsValue(v).offer(strconv.Quote(v.text))
	}
	if t.op.order() {
		return "", false, c.errorf(v, "names have no order: write a number")
	}
	name, err = c.unquote(v)
	return name, err == nil, err
}

// number returns the number in a token. A name may give several numbers, or the
// names that depend on the field.
func (c *compiler) number(of *numeric, t *test, v token) (x []float64, named []named, err *Error) {
	text := v.text
	if v.kind == tokString {
		if text, err = c.unquote(v); err != nil {
			return nil, nil, err
		}
	} else if x, ok := parseNumber(text); ok {
		return []float64{x}, nil, nil
	}
	if i := slices.Index([]string{"false", "true"}, strings.ToLower(text)); v.kind == tokWord && of.bool && i >= 0 {
		of.asked = true
		return []float64{float64(i)}, nil, nil
	}
	if of.value != nil {
		x, named := of.value(text)
		if x != nil || named != nil {
			if t.op.order() {
				return nil, nil, c.errorf(v, "names have no order: write a number")
			}
			return x, named, nil
		}
	}
	return nil, nil, c.noNumber(of, v, text)
}

// noNumber returns the error for a value that is not a number.
func (c *compiler) noNumber(of *numeric, v token, text string) *Error {
	_, isNumber := parseNumber(text)
	switch {
	case v.kind == tokWord && c.known(text):
		return c.fieldAsValue(v)
	case isNumber: // quoted
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
func (c *compiler) mask(n *numbers, of *numeric, t *test) *Error {
	if t.left.masks == nil {
		return nil
	}
	if !of.whole {
		return c.errorf(t.left.masks[0], "%s is not a whole number: & needs one", of.name)
	}
	n.bits, n.mask = true, math.MaxUint64
	for _, m := range t.left.masks {
		x, names, err := c.number(of, &test{op: opEq}, m)
		if err != nil {
			return err
		}
		var mask uint64
		for i, name := range names {
			switch {
			case name.bit < 0:
				return c.errorf(m, "%s is not the name of a flag", clip(m.text))
			case i > 0 && name.v != names[0].v:
				return c.errorf(m, "%s is a different flag in different messages: name the message, or write a number", clip(m.text))
			}
			mask = name.v
			n.flags = append(n.flags, name)
		}
		if names == nil {
			if len(x) != 1 || x[0] != math.Trunc(x[0]) || x[0] < 0 || x[0] > math.MaxUint32 {
				return c.errorf(m, "bits must be a number from 0 to 0xFFFFFFFF")
			}
			mask = uint64(x[0])
		}
		n.mask &= mask
	}
	return nil
}

// time compiles a comparison of the time.
func (c *compiler) time(k *key.Key, t *test) (*keyTest, *Error) {
	if t.op == opContains || t.op == opMatches {
		return nil, c.mismatch(t, classOf(k))
	}
	value := func(v token) (int64, *Error) {
		read, example := parseTime, "2002-03-01T20:00:00Z"
		if classOf(k) == classSeconds {
			read, example = parseSeconds, "12.5, 1m30s or 00:01:30"
		}
		ns, ok := read(v.text)
		if !ok {
			return 0, c.errorf(v, "%s is %s, such as %s", k.Name, classNames[classOf(k)], example)
		}
		return ns, nil
	}
	var spans []span[int64]
	for _, v := range t.values {
		lo, err := value(v.lo)
		if err != nil {
			return nil, err
		}
		if !v.span {
			if s := ints(t.op, lo); s.lo <= s.hi {
				spans = append(spans, s)
			}
			continue
		}
		hi, err := value(v.hi)
		switch {
		case err != nil:
			return nil, err
		case lo > hi:
			return nil, c.errorf(v.both(), "the range is empty")
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
	}), nil
}

// words compiles the values of a word comparison: for each of the key's words,
// whether it matches.
func (c *compiler) words(k *key.Key, t *test, shape *shape) ([]bool, *Error) {
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
		x, err := c.textOrBytes(classText, k.Name, t, true)
		if err != nil {
			return nil, err
		}
		x.shape = shape
		for i, w := range words {
			ok[i] = x.has(wire.Untrusted(w))
		}
		return ok, nil
	case t.op.order():
		return nil, c.mismatch(t, classOf(k))
	}
	for i := range ok {
		ok[i] = t.op.negated()
	}
	find := c.finder(k, words)
	for _, v := range t.values {
		if v.span {
			return nil, c.errorf(v.both(), "%s is a word: a range needs numbers", k.Name)
		}
		text, err := c.unquote(v.lo)
		if err != nil {
			return nil, err
		}
		found := find(text)
		if found == nil {
			e := c.errorf(v.lo, "%s is never %s", k.Name, clip(text))
			if k.Message {
				e.Message = "there is no message " + clip(text)
				if specs := specsOf(c.ix.specs[c.ix.game:], text); specs != nil {
					e.Message = fmt.Sprintf("%s is a transport message without a name in records: write %s alone", specs[0].Name, specs[0].Name)
				}
			}
			e.Suggestions = nearest(text, offer)
			if e.Suggestions == nil && len(offer) <= maxOffer {
				e.Message += fmt.Sprintf("; it is one of %s", strings.Join(offer, ", "))
			}
			return nil, e
		}
		for _, i := range found {
			ok[i] = !t.op.negated()
		}
	}
	return ok, nil
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
func (c *compiler) unquote(v token) (string, *Error) {
	if v.kind != tokString {
		return v.text, nil
	}
	text, bad := unquote(v.text)
	if bad >= 0 {
		at := v.pos + 1 + bad
		return "", errorAt(c.text, at, at+2, `in a text, \ begins \", \\, \n, \r, \t, \x41 or \u0041`)
	}
	return text, nil
}

// textOrBytes compiles the values of a comparison of texts or bytes. A bare text
// is a name itself.
func (c *compiler) textOrBytes(cl class, name string, t *test, bare bool) (*texts, *Error) {
	switch {
	case t.op == opMatches:
		return c.regexp(t.values[0].lo)
	case t.op.order():
		return nil, c.mismatch(t, cl)
	}
	x := &texts{neg: t.op.negated()}
	for _, v := range t.values {
		if v.span {
			return nil, c.errorf(v.both(), "%s is %s: a range needs numbers", name, classNames[cl])
		}
		value := c.textOf
		if cl == classBytes {
			value = c.bytesOf
		}
		s, err := value(name, v.lo, bare)
		if err != nil {
			return nil, err
		}
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
	return x, nil
}

// textOf returns the text in a token.
func (c *compiler) textOf(name string, v token, bare bool) (string, *Error) {
	text, err := c.unquote(v)
	var e *Error
	switch {
	case err != nil || v.kind == tokString:
		return text, err
	case literal(text):
		e = c.errorf(v, "%s is text, not a number", name)
	case !bare && c.known(text):
		e = c.fieldAsValue(v)
	default:
		return text, nil
	}
	e.Suggestions = []string{strconv.Quote(text)}
	return "", e
}

// fieldAsValue returns the error for a field in the place of a value.
func (c *compiler) fieldAsValue(v token) *Error {
	return c.errorf(v, "%s is a field: fields cannot be compared with each other", clip(v.text))
}

// bytesOf returns the bytes in a token.
func (c *compiler) bytesOf(name string, v token, _ bool) (string, *Error) {
	if v.kind == tokWord {
		b, ok := parseBytes(v.text)
		if !ok {
			return "", c.errorf(v, "%s is bytes, such as 0a0b or 0a:0b, or a text in quotes", name)
		}
		return string(b), nil
	}
	text, err := c.unquote(v)
	b := wire.AppendTextOf(nil, text)
	if err == nil && wire.Text(b).Raw() != text {
		err = c.errorf(v, "the text has characters outside Windows-1252")
	}
	return string(b), err
}

// regexp compiles a regular expression. It removes only the backslashes that
// escape quotes.
func (c *compiler) regexp(v token) (*texts, *Error) {
	pattern := strings.ReplaceAll(v.text, `\"`, `"`)
	pattern = strings.ReplaceAll(pattern, `\'`, `'`)
	if len(pattern) > maxPattern {
		return nil, c.errorf(v, "the regular expression has %d bytes; the limit is %d", len(pattern), maxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		reason := err.Error()
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			reason = e.Code.String() + ": " + e.Expr
		}
		return nil, c.errorf(v, "not a regular expression: %s", reason)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, c.errorf(v, "not a regular expression: %v", err)
	}
	if c.programs += len(prog.Inst); len(prog.Inst) > maxProgram || c.programs > maxPrograms {
		return nil, c.errorf(v, "the regular expression is too large")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, c.errorf(v, "not a regular expression: %v", err)
	}
	return &texts{re: re}, nil
}

// addresses compiles the values of an address comparison.
func (c *compiler) addresses(name string, t *test, ports bool) (*addresses, *Error) {
	if !t.op.equality() {
		return nil, c.mismatch(t, classAddress)
	}
	x := &addresses{neg: t.op.negated()}
	value := func(v token) (address, *Error) {
		a, ok := parseAddress(v.text)
		switch {
		case !ok:
			example := "10.0.0.5 or 10.0.0.0/8"
			if ports {
				example = "10.0.0.5, 10.0.0.0/8 or 10.0.0.5:22101"
			}
			return a, c.errorf(v, "%s is an address, such as %s", name, example)
		case a.port >= 0 && !ports:
			return a, c.errorf(v, "%s is an address without a port", name)
		}
		return a, nil
	}
	for _, v := range t.values {
		a, err := value(v.lo)
		if err != nil {
			return nil, err
		}
		if v.span {
			b, err := value(v.hi)
			switch {
			case err != nil:
				return nil, err
			case a.net.IsValid() || b.net.IsValid() || a.port >= 0 || b.port >= 0:
				return nil, c.errorf(v.both(), "a range needs plain addresses")
			case b.hi.Less(a.lo) || a.lo.Is4() != b.hi.Is4():
				return nil, c.errorf(v.both(), "the range is empty")
			}
			a.hi = b.hi
		}
		x.any = append(x.any, a)
	}
	return x, nil
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
