// Package caret shows where in an expression a mistake is.
package caret

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	hidden = '\u00B7' // replaces unprintable characters and takes one cell
	window = 60       // characters of a long expression that are shown on each side
)

// Place returns the column, from 1, and the length in characters of the bytes
// from pos to end.
func Place(expr string, pos, end int) (column, length int) {
	return utf8.RuneCountInString(expr[:pos]) + 1, max(1, utf8.RuneCountInString(expr[pos:end]))
}

// Lines returns two lines for a terminal: the expression, or the relevant part
// of a long one, and a mark below the mistake. It assumes that every character
// takes one cell, and replaces control characters.
func Lines(expr string, column, length int) string {
	var runes []rune
	for _, r := range expr { // an invalid byte counts as one character
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case !unicode.IsPrint(r) || unicode.Is(unicode.Mn, r):
			r = hidden
		}
		runes = append(runes, r)
	}
	at := min(max(column-1, 0), len(runes))
	from, to := 0, len(runes)
	if to > 2*window {
		from, to = max(0, at-window), min(to, at+window)
	}
	length = max(1, min(length, to-at))
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
