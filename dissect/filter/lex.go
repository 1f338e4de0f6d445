package filter

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bcdissect/bcdissect/dissect/internal/caret"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokWord
	tokString
	tokOp // a comparison, given by token.op
	tokAnd
	tokOr
	tokXor
	tokNot
	tokMask // &
	tokOpen
	tokClose
	tokBegin // {
	tokFinish
	tokComma
	tokTo // ..
)

// An op is a comparison operator.
type op uint8

const (
	opNone op = iota // tests presence
	opEq             // true if any value is equal
	opNe             // true if all values differ
	opAllEq
	opAnyNe
	opLt
	opLe
	opGt
	opGe
	opContains
	opMatches
	opIn
)

var opTexts = [...]string{
	opEq: "==", opNe: "!=", opAllEq: "===", opAnyNe: "!==", opLt: "<", opLe: "<=", opGt: ">", opGe: ">=",
	opContains: "contains", opMatches: "matches", opIn: "in",
}

func (o op) String() string { return opTexts[o] }

// equality reports whether the op tests for equality.
func (o op) equality() bool { return o >= opEq && o <= opAnyNe || o == opIn }

// order reports whether the op compares by order.
func (o op) order() bool { return o >= opLt && o <= opGe }

// negated reports whether the op accepts unequal values.
func (o op) negated() bool { return o == opNe || o == opAnyNe }

// all reports whether all values must match.
func (o op) all() bool { return o == opNe || o == opAllEq }

// opWords are the operators written as words.
var opWords = map[string]op{
	"eq": opEq, "ne": opNe, "lt": opLt, "le": opLe, "gt": opGt, "ge": opGe,
	"any_eq": opEq, "all_ne": opNe, "all_eq": opAllEq, "any_ne": opAnyNe,
	"contains": opContains, "matches": opMatches, "in": opIn,
}

// joinWords are the words that join comparisons.
var joinWords = map[string]tokenKind{"and": tokAnd, "or": tokOr, "xor": tokXor, "not": tokNot}

// symbols are the tokens other than words, longer ones before their prefixes.
var symbols = []struct {
	text string
	kind tokenKind
	op   op
}{
	{"!==", tokOp, opAnyNe},
	{"===", tokOp, opAllEq},
	{"==", tokOp, opEq},
	{"!=", tokOp, opNe},
	{"<=", tokOp, opLe},
	{">=", tokOp, opGe},
	{"<", tokOp, opLt},
	{">", tokOp, opGt},
	{"~", tokOp, opMatches},
	{"&&", tokAnd, 0},
	{"||", tokOr, 0},
	{"^^", tokXor, 0},
	{"!", tokNot, 0},
	{"&", tokMask, 0},
	{"(", tokOpen, 0},
	{")", tokClose, 0},
	{"{", tokBegin, 0},
	{"}", tokFinish, 0},
	{",", tokComma, 0},
	{"..", tokTo, 0},
}

// wrong maps operators of other languages to operators of filters.
var wrong = []struct{ text, instead string }{
	{"<>", "!="}, {"=~", "matches"}, {"=<", "<="}, {"=>", ">="}, {"=", "=="}, {"|", "||"},
}

// A token is a part of the expression.
type token struct {
	kind tokenKind
	op   op
	text string // text of the token. A string is without its quotes.
	pos  int    // offset in the expression in bytes
	end  int
}

// lex splits the expression into tokens. The last one is tokEnd.
func lex(expr string) ([]token, *Error) {
	var all []token
	for i := 0; ; {
		for i < len(expr) && strings.IndexByte(" \t\r\n", expr[i]) >= 0 {
			i++
		}
		if i == len(expr) {
			return append(all, token{kind: tokEnd, pos: i, end: i}), nil
		}
		t, err := next(expr, i)
		if err != nil {
			return all, err
		}
		all = append(all, t)
		i = t.end
	}
}

// next returns the token at offset i.
func next(expr string, i int) (token, *Error) {
	rest := expr[i:]
	if rest[0] == '"' || rest[0] == '\'' {
		return quoted(expr, i)
	}
	if n := wordLen(rest); n > 0 {
		return token{kind: tokWord, text: rest[:n], pos: i, end: i + n}, nil
	}
	if !strings.HasPrefix(rest, "==") {
		for _, w := range wrong {
			if strings.HasPrefix(rest, w.text) && !strings.HasPrefix(rest, "||") {
				e := errorAt(expr, i, i+len(w.text), w.text+" is not known")
				e.Suggestions = []string{w.instead}
				return token{}, e
			}
		}
	}
	for _, s := range symbols {
		if strings.HasPrefix(rest, s.text) {
			return token{kind: s.kind, op: s.op, text: s.text, pos: i, end: i + len(s.text)}, nil
		}
	}
	r, n := utf8.DecodeRuneInString(rest)
	if r == utf8.RuneError && n == 1 {
		return token{}, errorAt(expr, i, i+1, "the expression is not UTF-8 here")
	}
	return token{}, errorAt(expr, i, i+n, "unexpected character")
}

// quoted returns a string. A backslash escapes a quote.
func quoted(expr string, i int) (token, *Error) {
	quote := expr[i]
	for j := i + 1; j < len(expr); j++ {
		switch expr[j] {
		case '\\':
			j++
		case quote:
			return token{kind: tokString, text: expr[i+1 : j], pos: i, end: j + 1}, nil
		}
	}
	return token{}, errorAt(expr, i, len(expr), "a text without a closing "+string(quote))
}

// words matches a word: a bracketed IPv6 address with its port, or letters,
// digits and underscores with signs inside. A minus belongs to a word before a
// letter or digit, as in seq-gap and 2002-03-01, and a plus before a digit, as
// in 20:00:00+01:00. Brackets contain an index or a slice.
var words = regexp.MustCompile(`^(?:\[[\w:.%]*\](?::\d*)?` +
	`|(?:[-+][.\w]|\.\d|::|[\w\pL\p{Nd}])(?:[\w:/.\pL\p{Nd}]|-\w|\+\d|\[[\d:-]+\])*)`)

// wordLen returns the length of the word at the start of s, or 0 if there is
// none. Names, paths, numbers, addresses and times are words and need no
// quotes.
func wordLen(s string) int {
	word := words.FindString(s)
	if s[0] != '[' {
		word, _, _ = strings.Cut(word, "..") // two dots are a token
	}
	return len(word)
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// errorAt makes the error for the bytes from pos to end.
func errorAt(expr string, pos, end int, message string) *Error {
	column, length := caret.Place(expr, pos, end)
	return &Error{Expr: expr, Column: column, Length: length, Message: message, pos: pos}
}

// unquote interprets the escapes of a string: \n, \r, \t, \xHH, \uHHHH, and a
// backslash before any character other than a letter or digit. If an escape is
// wrong, bad is its offset.
func unquote(s string) (text string, bad int) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, -1
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		at := i
		i++ // safe, since a string never ends in a backslash
		switch c := s[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'x', 'u':
			digits := 2
			if c == 'u' {
				digits = 4
			}
			hex := s[i+1 : min(i+1+digits, len(s))]
			r, err := strconv.ParseUint(hex, 16, 32)
			if err != nil || len(hex) < digits {
				return "", at
			}
			b.WriteRune(rune(r))
			i += digits
		default:
			if alnum(c) && c != '_' {
				return "", at
			}
			b.WriteByte(c)
		}
	}
	return b.String(), -1
}
