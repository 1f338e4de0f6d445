package report

import (
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/dissect/measure"
)

// AppendSummary appends the totals of a tally, without the frequencies: a few
// lines of text, each with a line end.
func AppendSummary(dst []byte, t *measure.Tally) []byte {
	item := func(n int64, thing string) {
		dst = strconv.AppendInt(dst, n, 10)
		dst = append(append(dst, ' '), thing...)
	}
	next := func(n int64, thing string) {
		dst = append(dst, ", "...)
		item(n, thing)
	}
	if t.Frames > 0 {
		dst = append(dst, "frames     "...)
		dst = strconv.AppendInt(dst, t.Frames, 10)
		dst = append(dst, " in "...)
		dst = strconv.AppendFloat(dst, t.Duration.Round(time.Millisecond).Seconds(), 'f', 3, 64)
		dst = append(dst, " s\n"...)
	}
	dst = append(dst, "datagrams  "...)
	item(t.Game, "of the game")
	next(t.GameSpy, "of GameSpy")
	next(t.Malformed, "malformed")
	next(t.Other, "other\n")
	dst = append(dst, "messages   "...)
	dst = strconv.AppendInt(dst, t.Messages, 10)
	dst = append(dst, ": "...)
	item(t.Reliable, "reliable")
	next(t.Unreliable, "unreliable")
	next(t.Duplicates, "duplicate")
	next(t.Errors, "with errors\n")
	dst = append(dst, "fragments  "...)
	dst = strconv.AppendInt(dst, t.Fragments, 10)
	dst = append(dst, ": "...)
	item(t.Reassembled, "reassembled")
	next(t.Incomplete, "incomplete\n")
	dst = append(dst, "game       "...)
	item(t.Counted, "messages")
	next(t.PayloadBytes, "bytes")
	next(t.ResidueBytes, "undecoded\n")
	return dst
}

// AppendPercent appends a share of a whole in per cent with two decimals.
func AppendPercent(dst []byte, share float64) []byte {
	return append(strconv.AppendFloat(dst, share*100, 'f', 2, 64), '%')
}
