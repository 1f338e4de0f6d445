package bpf

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Error tells what is wrong with an expression, and where.
type Error struct {
	Expr    string
	Column  int // the first character at fault, from 1; after the last one if something is missing
	Length  int // characters at fault, 1 or more
	Message string
}

// Error returns the column and what is wrong.
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
	hidden = '\u00B7' // stands for what cannot be printed
	window = 60       // characters of a long expression that are shown on either side
)

// Caret returns two lines for a terminal: the expression, or the part of a long
// one that matters, and a mark below what is at fault. Every character takes
// one cell, and none is one that a terminal obeys.
func (e *Error) Caret() string {
	var runes []rune
	for _, r := range e.Expr { // a byte that is no character counts as one
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
