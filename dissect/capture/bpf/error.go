package bpf

import (
	"strconv"

	"github.com/bcdissect/bcdissect/dissect/internal/caret"
)

// An Error is a mistake in an expression.
type Error struct {
	Expr    string
	Column  int // column of the first wrong character, from 1. If something is missing, the column after the last character.
	Length  int // number of wrong characters, at least 1
	Message string
}

// Error returns the column and the reason.
func (e *Error) Error() string {
	return "capture filter: column " + strconv.Itoa(e.Column) + ": " + e.Message
}

// fault makes the error for the bytes from pos to end.
func fault(expr string, pos, end int, message string) *Error {
	column, length := caret.Place(expr, pos, end)
	return &Error{expr, column, length, message}
}

// Caret returns two lines for a terminal: the expression, or the relevant part
// of a long one, and a mark below the mistake. It assumes that every character
// takes one cell, and replaces control characters.
func (e *Error) Caret() string { return caret.Lines(e.Expr, e.Column, e.Length) }
