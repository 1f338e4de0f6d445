package table

import (
	"errors"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/report"
)

// appendReason appends the text of an error: the position of the field, if the
// error has one, and the reason. If brief is set, the part that the status
// already shows is dropped.
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

// appendCount appends n and the name of a thing, in the plural if needed.
func appendCount(dst []byte, n int, thing string) []byte {
	dst = append(appendInt(dst, int64(n)), ' ')
	dst = append(dst, thing...)
	if n != 1 {
		dst = append(dst, 's')
	}
	return dst
}

// appendSeconds appends d in seconds with three decimals, aligned right in a
// column.
func appendSeconds(dst []byte, d time.Duration, width int) []byte {
	return display.AppendDecimal(dst, d < 0, magnitude(d)/uint64(time.Millisecond), 3, width)
}

// appendMicros is like appendSeconds, with six decimals.
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
