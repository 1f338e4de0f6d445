package table

import (
	"errors"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/report"
)

// appendReason appends an error: the place of the field, if one is to blame,
// and the reason. brief leaves out the part that the status shows already.
func appendReason(dst []byte, err error, brief bool) []byte {
	e, ok := errors.AsType[*decode.Error](err)
	switch {
	case !ok:
		return report.AppendEscaped(dst, err.Error())
	case brief && e.Detail != "" && errors.Is(e.Err, decode.ErrState):
		return report.AppendEscaped(dst, e.Detail)
	}
	dst = report.AppendEscaped(dst, e.Field)
	dst = appendInt(append(dst, " at +"...), int64(e.Offset))
	dst = append(dst, ": "...)
	return report.AppendEscaped(dst, e.Reason())
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// appendCount appends a number of things.
func appendCount(dst []byte, n int, thing string) []byte {
	dst = append(appendInt(dst, int64(n)), ' ')
	dst = append(dst, thing...)
	if n != 1 {
		dst = append(dst, 's')
	}
	return dst
}

// appendSeconds appends d in seconds with three decimals, at the right end of a
// column.
func appendSeconds(dst []byte, d time.Duration, width int) []byte {
	return display.AppendDecimal(dst, d < 0, magnitude(d)/uint64(time.Millisecond), 3, width)
}

// appendMicros is appendSeconds with six decimals.
func appendMicros(dst []byte, d time.Duration, width int) []byte {
	return display.AppendDecimal(dst, d < 0, magnitude(d)/uint64(time.Microsecond), 6, width)
}

// magnitude returns d without its sign.
func magnitude(d time.Duration) uint64 {
	if d < 0 {
		return -uint64(d)
	}
	return uint64(d)
}
