package bpf

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Error is a mistake in an expression.
type Error struct {
	Expr    string
	Column  int // first wrong character, from 1; after the last one if something is missing
	Length  int // number of wrong characters, at least 1
	Message string
}

// Error returns the column and the reason.
func (e *Error) Error() string {
	return "capture filter: column " + strconv.Itoa(e.Column) + ": " + e.Message
}

// fault makes the error for the bytes from pos to end.
func fault(expr string, pos, end int, message string) *Error {
	return &Error{
		Expr:    expr,
		Column:  utf8.RuneCountInString(expr[:pos]) + 1,
		Length:  max(1, utf8.RuneCountInString(expr[pos:end])),
		Message: message,
	}
}

const (
	hidden = '\u00B7' // replaces unprintable characters
	window = 60       // characters of a long expression shown on either side
)

// Caret returns two lines for a terminal: the expression, or the relevant part
// of a long one, and a mark below the mistake. Every character takes one cell,
// and control characters are replaced.
func (e *Error) Caret() string {
	var runes []rune
	for _, r := range e.Expr { // an invalid byte counts as one character
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case !unicode.IsPrint(r) || unicode.Is(unicode.Mn, r):
			r = hidden
		}
		runes = append(runes, r)
	}
	at := min(max(e.Column-1, 0), len(runes))
	from, to := 0, len(runes)
	if to > 2*window {
		from, to = max(0, at-window), min(to, at+window)
	}
	length := max(1, min(e.Length, to-at))
	before, after := "", ""
	if from > 0 {
		before = "..."
	}
	if to < len(runes) {
		after = "..."
	}
	return before + string(runes[from:to]) + after + "\n" +
		strings.Repeat(" ", len(before)+at-from) + "^" + strings.Repeat("~", length-1)
}
