package report

import (
	"fmt"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/dissect/measure"
)

// AppendSummary appends the totals of a tally as a few lines of text. It does
// not include the frequencies.
func AppendSummary(dst []byte, t *measure.Tally) []byte {
	if t.Frames > 0 {
		dst = fmt.Appendf(dst, "frames     %d in %.3f s\n", t.Frames, t.Duration.Round(time.Millisecond).Seconds())
	}
	dst = fmt.Appendf(dst, "datagrams  %d of the game, %d of GameSpy, %d malformed, %d other\n", t.Game, t.GameSpy, t.Malformed, t.Other)
	dst = fmt.Appendf(dst, "messages   %d: %d reliable, %d unreliable, %d duplicate, %d with errors\n", t.Messages, t.Reliable, t.Unreliable, t.Duplicates, t.Errors)
	dst = fmt.Appendf(dst, "fragments  %d: %d reassembled, %d incomplete\n", t.Fragments, t.Reassembled, t.Incomplete)
	return fmt.Appendf(dst, "game       %d messages, %d bytes, %d undecoded\n", t.Counted, t.PayloadBytes, t.ResidueBytes)
}

// AppendPercent appends a share as a percentage with two decimals.
func AppendPercent(dst []byte, share float64) []byte {
	return append(strconv.AppendFloat(dst, share*100, 'f', 2, 64), '%')
}
