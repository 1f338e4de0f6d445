package filter

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/dissect/key"
)

// Names returns every valid left side of a comparison, in order: the keys of a
// record, the names of messages, the paths of fields, and the paths of the
// fields of each message.
func Names(catalog *decode.Catalog) []string { return newIndex(catalog).names() }

func (ix *index) names() []string {
	var all []string
	for _, k := range key.All() {
		all = append(append(all, k.Name), k.Aliases...)
	}
	for _, s := range ix.specs {
		all = append(all, s.Name)
	}
	for path, vs := range ix.paths {
		if key.Find(path) != nil {
			path = "fields." + path
		}
		all = append(all, path)
		for _, v := range vs {
			all = append(all, v.layout.spec.Name+"."+strings.TrimPrefix(path, "fields."))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// The tokens that can follow an operand and a comparison.
var (
	operators = []string{"==", "!=", "<", "<=", ">", ">=", "contains", "matches", "in", "and", "or"}
	joins     = []string{"and", "or"}
)

// Complete returns the completions of an unfinished expression for a shell: the
// expression with its last word completed or with another word. It offers field
// names part by part, because there are many.
func Complete(expression string, catalog *decode.Catalog) []string {
	if len(expression) > maxExpr {
		return nil
	}
	toks, err := lex(expression)
	if err != nil { // for example an open quote
		return nil
	}
	toks = toks[:len(toks)-1]
	word := ""
	if n := len(toks); n > 0 && toks[n-1].kind == tokWord && toks[n-1].end == len(expression) {
		word, toks = toks[n-1].text, toks[:n-1]
	}
	ix := newIndex(catalog)
	var offers []string
	switch left, place := before(toks); place {
	case atValue:
		offers = ix.values(left)
	case atOperand:
		offers = ix.steps(word)
	case atOperator:
		offers = operators
	case atJoin:
		offers = joins
	}
	start := expression[:len(expression)-len(word)]
	var all []string
	for _, o := range offers {
		if len(o) >= len(word) && strings.EqualFold(o[:len(word)], word) {
			all = append(all, start+o)
		}
	}
	return all
}

// A place is the kind of token that can follow.
type place uint8

const (
	atOperand place = iota
	atOperator
	atValue
	atJoin
)

// before returns the kind of token that can follow toks. For a value, it also
// returns the left operand.
func before(toks []token) (left string, at place) {
	n := len(toks)
	if n == 0 {
		return "", atOperand
	}
	// Inside a set, the token before the set decides.
	if k := toks[n-1].kind; k == tokBegin || k == tokComma || k == tokTo {
		for n > 0 && toks[n-1].kind != tokBegin {
			n--
		}
		n = max(n-1, 0)
	}
	if n == 0 {
		return "", atOperand
	}
	switch t := toks[n-1]; t.kind {
	case tokOp, tokMask:
		return operandBefore(toks[:n-1]), atValue
	case tokWord:
		switch {
		case opWords[lowered(t.text)] != opNone && n > 1:
			return operandBefore(toks[:n-1]), atValue
		case joinWords[lowered(t.text)] != 0:
			return "", atOperand
		case n > 1 && (toks[n-2].kind == tokOp || toks[n-2].kind == tokWord && opWords[lowered(toks[n-2].text)] != opNone):
			return "", atJoin
		}
		return "", atOperator
	case tokString, tokFinish:
		return "", atJoin
	case tokClose:
		return "", atOperator
	default:
		return "", atOperand
	}
}

// operandBefore returns the name of the last operand in toks.
func operandBefore(toks []token) string {
	for i := len(toks) - 1; i >= 0; i-- {
		switch t := toks[i]; {
		case t.kind == tokWord && !literal(t.text) && joinWords[lowered(t.text)] == 0:
			if i > 0 && toks[i-1].kind == tokMask { // the word is the name of a flag: skip it
				continue
			}
			return t.text
		case t.kind != tokWord && t.kind != tokMask && t.kind != tokClose:
			return ""
		}
	}
	return ""
}

// steps returns the completions of a word up to its next dot.
func (ix *index) steps(word string) []string {
	dots := strings.Count(word, ".")
	var all []string
	for _, name := range ix.names() {
		if strings.Count(name, ".") == dots {
			all = append(all, name)
		}
	}
	if dots == 0 {
		for _, f := range functions {
			all = append(all, f+"(")
		}
		all = append(all, "gamespy.", "ip.", "udp.")
	}
	return all
}

// values returns the named values.
func (ix *index) values(left string) []string {
	if k := key.Find(left); k != nil {
		switch {
		case k.Message || k.Opcode:
			var all []string
			for _, s := range ix.specs[:ix.game] {
				all = append(all, s.Name)
			}
			return all
		case k.Offer != nil:
			return k.Offer
		case classOf(k) == classBool:
			return []string{"true", "false"}
		}
		return k.Words
	}
	c := compiler{text: left, ix: ix}
	var vs []variant
	if catch(func() { vs, _ = c.resolve(token{text: left, end: len(left)}, left, true) }) != nil || vs == nil {
		return nil
	}
	var all []string
	for _, name := range newVocabulary(vs).names {
		if name = unquoted(name); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if len(all) == 0 && slices.ContainsFunc(vs, func(v variant) bool { return v.class() == classBool }) {
		all = []string{"true", "false"}
	}
	return all
}

// unquoted returns a value's name in a form without quotes, because shells
// interpret quotes.
func unquoted(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '_'
		case r < utf8.RuneSelf && (alnum(byte(r)) || r == '.' || r == '-'):
			return r
		}
		return -1
	}, name)
}
