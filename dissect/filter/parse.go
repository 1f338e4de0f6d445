package filter

import (
	"fmt"
	"strings"
)

// Limits of an expression, to keep a match cheap. They are far above what
// people type.
const (
	maxExpr   = 64 << 10 // length in bytes
	maxDepth  = 100      // nested parentheses
	maxTests  = 1000     // comparisons and tests of presence
	maxValues = 1000     // values in a set
)

// An expr is a node of the syntax tree: a test, or several nodes joined.
type expr struct {
	join tokenKind // tokAnd, tokOr, tokXor or tokNot, or tokEnd for a test
	list []*expr
	test *test
}

// A test is a comparison or a bare field.
type test struct {
	left   operand
	op     op
	opTok  token
	values []values
}

// An operand is the left side of a comparison.
type operand struct {
	word  token
	len   bool       // compare the length
	fold  letterCase // compare the text in upper or lower case
	slice *slice     // part of the value, nil for all of it
	masks []token    // bit masks, if there are any
}

// Values is a single value or a range.
type values struct {
	lo, hi token
	span   bool
}

// both returns a token that spans a range, for errors.
func (v *values) both() token { return token{pos: v.lo.pos, end: v.hi.end} }

// parse returns the syntax tree of an expression. It panics with the first mistake.
func parse(text string) *expr {
	if len(text) > maxExpr {
		panic(errorAt(text[:maxExpr], 0, 0, fmt.Sprintf("the expression has %d bytes; the limit is %d", len(text), maxExpr)))
	}
	toks, err := lex(text)
	if err != nil {
		// The first mistake is reported.
		if len(toks) > 0 {
			toks = append(toks, token{kind: tokEnd, pos: err.pos, end: err.pos})
			p := parser{text: text, toks: toks}
			if e := catch(func() { p.whole() }); e != nil && e.Column < err.Column {
				panic(e)
			}
		}
		panic(err)
	}
	p := parser{text: text, toks: toks}
	return p.whole()
}

type parser struct {
	text  string
	toks  []token
	at    int
	depth int
	tests int
}

func (p *parser) peek() *token { return &p.toks[p.at] }

// take returns and consumes the next token. It never consumes the last one.
func (p *parser) take() token {
	t := p.toks[p.at]
	if t.kind != tokEnd {
		p.at++
	}
	return t
}

func (p *parser) errorf(t token, format string, args ...any) *Error {
	return errorAt(p.text, t.pos, t.end, fmt.Sprintf(format, args...))
}

func (p *parser) whole() *expr {
	if p.peek().kind == tokEnd {
		panic(p.errorf(*p.peek(), "the expression is empty"))
	}
	e := p.joined(tokOr)
	switch t := p.take(); t.kind {
	case tokEnd:
		return e
	case tokClose:
		panic(p.errorf(t, "there is no matching ("))
	case tokWord:
		if similar := nearest(lowered(t.text), operators); len(similar) > 0 { // for example in speed contans
			panic(p.errorf(t, "there is no operator %s", clip(t.text)).offer(similar...))
		}
		panic(p.errorf(t, "expected and, or, or a comparison before this"))
	case tokString, tokOpen, tokNot:
		panic(p.errorf(t, "expected and, or, or a comparison before this"))
	default:
		panic(p.errorf(t, "unexpected %s", t.text))
	}
}

// join consumes a joining token and reports whether there was one.
func (p *parser) join(kind tokenKind) bool {
	t := p.peek()
	if t.kind == tokWord {
		return joinWords[lowered(t.text)] == kind
	}
	return t.kind == kind
}

// lowered returns a word in lower case if it is all upper case, and otherwise
// unchanged.
func lowered(word string) string {
	if len(word) <= len("contains") && strings.ToUpper(word) == word {
		return strings.ToLower(word)
	}
	return word
}

// joined parses an expression whose operators have this precedence or a higher
// one.
func (p *parser) joined(kind tokenKind) *expr {
	operand := p.negated
	switch kind { // parse an operand of the next higher precedence
	case tokOr:
		operand = func() *expr { return p.joined(tokXor) }
	case tokXor:
		operand = func() *expr { return p.joined(tokAnd) }
	default:
	}
	first := operand()
	if !p.join(kind) {
		return first
	}
	e := &expr{join: kind, list: []*expr{first}}
	for p.join(kind) {
		p.take()
		next := operand()
		e.list = append(e.list, next)
	}
	return e
}

// negated parses a test after any number of nots.
func (p *parser) negated() *expr {
	not := false
	for p.join(tokNot) {
		p.take()
		not = !not
	}
	e := p.primary()
	if !not {
		return e
	}
	return &expr{join: tokNot, list: []*expr{e}}
}

func (p *parser) primary() *expr {
	t := p.take()
	switch t.kind {
	case tokOpen:
		return p.parenthesis(t)
	case tokString:
		return p.reversed(t)
	case tokWord:
		if joinWords[lowered(t.text)] != 0 || opWords[lowered(t.text)] != opNone {
			panic(p.errorf(t, "expected a field, not %s", t.text))
		}
		if literal(t.text) {
			return p.reversed(t)
		}
		p.at--
		left := p.operand()
		return p.compared(left)
	case tokEnd:
		panic(p.errorf(t, "expected a field, but the expression ends"))
	default:
		panic(p.errorf(t, "expected a field, not %s", t.text))
	}
}

// parenthesis parses a parenthesised expression or operand.
func (p *parser) parenthesis(open token) *expr {
	if p.depth++; p.depth > maxDepth {
		panic(p.errorf(open, "more than %d nested parentheses", maxDepth))
	}
	e := p.joined(tokOr)
	p.depth--
	switch t := p.take(); t.kind {
	case tokClose:
	case tokEnd:
		panic(p.errorf(open, "this is never closed"))
	default:
		panic(p.errorf(t, "expected and, or, or ) before this"))
	}
	t := p.peek()
	switch o := p.peekOp(); {
	case e.join == tokEnd && e.test.op == opNone && (o != opNone || t.kind == tokMask || p.notIn()):
		left := e.test.left
		p.tests-- // it was counted as a test of presence
		p.masks(&left)
		return p.compared(left)
	case o != opNone:
		panic(p.errorf(*t, "the left side is true or false and has no value to compare"))
	}
	return e
}

// operand parses an operand with its masks.
func (p *parser) operand() operand {
	var o operand
	t := p.take()
	if p.peek().kind == tokOpen {
		switch lowered(t.text) {
		case "len":
			o.len = true
		case "upper":
			o.fold = upperCase
		case "lower":
			o.fold = lowerCase
		default:
			panic(p.errorf(t, "there is no function %s", clip(t.text)).offer(functions...))
		}
		p.take()
		if t = p.take(); t.kind != tokWord || literal(t.text) {
			panic(p.errorf(t, "expected a field"))
		}
		if c := p.take(); c.kind != tokClose {
			panic(p.errorf(c, "expected )"))
		}
	}
	if name, ok := strings.CutPrefix(t.text, wiresharkPrefix); ok && name != "" {
		t.text, t.pos = name, t.pos+len(wiresharkPrefix)
	}
	o.word = t
	p.masks(&o)
	return o
}

// The name of the game's protocol in Wireshark, and the prefix of its field
// names.
const (
	wiresharkName   = "bc"
	wiresharkPrefix = wiresharkName + "."
)

// masks parses the bit masks of an operand.
func (p *parser) masks(o *operand) {
	for p.peek().kind == tokMask {
		p.take()
		t := p.take()
		if t.kind != tokWord && t.kind != tokString {
			panic(p.errorf(t, "expected a number or the name of a flag"))
		}
		o.masks = append(o.masks, t)
	}
}

// peekOp returns the next token's comparison, or opNone.
func (p *parser) peekOp() op {
	t := p.peek()
	switch t.kind {
	case tokOp:
		return t.op
	case tokWord:
		return opWords[lowered(t.text)]
	default:
		return opNone
	}
}

// notIn reports whether "not in" follows.
func (p *parser) notIn() bool {
	if !p.join(tokNot) {
		return false
	}
	t := p.toks[p.at+1] // exists, since the last token is tokEnd
	return t.kind == tokWord && lowered(t.text) == "in"
}

// compared parses the right side of a comparison.
func (p *parser) compared(left operand) *expr {
	if p.tests++; p.tests > maxTests {
		panic(p.errorf(left.word, "more than %d comparisons", maxTests))
	}
	e := &expr{test: &test{left: left}}
	negated := p.notIn()
	if negated {
		p.take()
	}
	if e.test.op = p.peekOp(); e.test.op == opNone {
		return e
	}
	e.test.opTok = p.take()
	if e.test.op == opIn {
		p.set(e.test)
		if negated {
			e = &expr{join: tokNot, list: []*expr{e}}
		}
		return e
	}
	v := p.value()
	e.test.values = []values{{lo: v}}
	switch t := p.peek(); {
	case t.kind == tokMask:
		panic(p.errorf(*t, "& belongs to the field, before the comparison"))
	case p.peekOp() != opNone:
		panic(p.errorf(*t, "comparisons do not chain: join them with and"))
	}
	return e
}

// value consumes a value.
func (p *parser) value() token {
	t := p.take()
	switch t.kind {
	case tokWord, tokString:
		return t
	case tokEnd:
		panic(p.errorf(t, "expected a value, but the expression ends"))
	default:
		panic(p.errorf(t, "expected a value, not %s", t.text))
	}
}

// set parses the values of an in.
func (p *parser) set(t *test) {
	if b := p.take(); b.kind != tokBegin {
		panic(p.errorf(b, "expected { and values"))
	}
	for {
		lo := p.value()
		v := values{lo: lo}
		if p.peek().kind == tokTo {
			p.take()
			v.span = true
			v.hi = p.value()
		}
		if t.values = append(t.values, v); len(t.values) > maxValues {
			panic(p.errorf(lo, "more than %d values in a set", maxValues))
		}
		switch d := p.take(); d.kind {
		case tokFinish:
			return
		case tokComma:
		case tokWord, tokString: // Wireshark before version 4 separates values by spaces
			p.at--
		default:
			panic(p.errorf(d, "expected , or }"))
		}
	}
}

// mirrored maps comparisons to those with exchanged sides, or opNone if there
// is none.
var mirrored = [opIn + 1]op{
	opEq: opEq, opNe: opNe, opAllEq: opAllEq, opAnyNe: opAnyNe, opLt: opGt, opLe: opGe, opGt: opLt, opGe: opLe,
}

// reversed parses a comparison with its value on the left.
func (p *parser) reversed(v token) *expr {
	o := mirrored[p.peekOp()]
	if o == opNone {
		panic(p.errorf(v, "expected a field, not a value"))
	}
	opTok := p.take()
	if t := p.peek(); t.kind != tokWord || literal(t.text) {
		panic(p.errorf(*t, "expected a field"))
	}
	left := p.operand()
	if p.tests++; p.tests > maxTests {
		panic(p.errorf(left.word, "more than %d comparisons", maxTests))
	}
	if p.peekOp() != opNone {
		panic(p.errorf(*p.peek(), "comparisons do not chain: join them with and"))
	}
	return &expr{test: &test{left: left, op: o, opTok: opTok, values: []values{{lo: v}}}}
}

// functions are the functions of an operand.
var functions = []string{"len", "upper", "lower"}

// literal reports whether a word can only be a value. Names begin with a
// letter.
func literal(word string) bool {
	c := word[0]
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == ':' || c == '['
}

// clip shortens a text for an error.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
