package filter

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/decode/plural"
	"github.com/bcdissect/bcdissect/dissect/internal/caret"
)

// An Error is a mistake in an expression.
type Error struct {
	Expr        string
	Column      int // column of the first wrong character, from 1. If something is missing, the column after the last character.
	Length      int // number of wrong characters, at least 1
	Message     string
	Suggestions []string // possible replacements, best first

	pos int // offset of the first wrong byte
}

// catch returns the mistake with which a step of the compiler panics, or nil if
// it does not.
func catch(step func()) (err *Error) {
	defer func() {
		if v := recover(); v != nil {
			var ok bool
			if err, ok = v.(*Error); !ok {
				panic(v)
			}
		}
	}()
	step()
	return nil
}

// offer adds suggestions.
func (e *Error) offer(suggestions ...string) *Error {
	e.Suggestions = suggestions
	return e
}

// Error returns the column, the reason and the suggestions.
func (e *Error) Error() string {
	return "filter: column " + strconv.Itoa(e.Column) + ": " + e.Reason()
}

// Reason returns the reason and the suggestions, without the column.
func (e *Error) Reason() string {
	if len(e.Suggestions) == 0 {
		return e.Message
	}
	return e.Message + "; did you mean " + plural.Or(e.Suggestions) + "?"
}

// Caret returns two lines for a terminal: the expression, or the relevant part
// of a long one, and a mark below the mistake. It assumes that every character
// takes one cell, and replaces control characters.
func (e *Error) Caret() string { return caret.Lines(e.Expr, e.Column, e.Length) }

// nearest returns the candidates most similar to word, best first. Candidates
// with word as their last part come first, since users often omit the rest of
// the path.
func nearest(word string, candidates []string) []string {
	var all []string
	for _, c := range candidates {
		if rest, ok := strings.CutSuffix(c, word); ok && strings.HasSuffix(rest, ".") && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	for _, c := range names.Nearest(word, candidates) {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all[:min(len(all), maxSuggestions)]
}

// maxSuggestions is the maximum number of suggestions in an error.
const maxSuggestions = 3
