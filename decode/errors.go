package decode

import (
	"errors"
	"fmt"
	"strconv"
)

// The reasons why a message does not decode, wrapped in an [*Error].
var (
	ErrShort = errors.New("message ends inside the field")
	ErrValue = errors.New("impossible value")
	ErrBits  = errors.New("impossible bit group")
	ErrState = errors.New("not decodable without state that the capture does not hold")
)

// An Error tells where and why decoding a message failed.
type Error struct {
	Message string // spec name, empty below the catalogue
	Field   string // path, such as subsystems.entries[2].power
	Offset  int    // offset in the payload, opcode included
	Need    int    // bytes that the field needs, with ErrShort
	Have    int    // bytes that were left, with ErrShort
	Detail  string // numbers for the message text
	Err     error  // one of the sentinels
}

// Error returns message, place, cause and numbers.
func (e *Error) Error() string {
	return fmt.Sprintf("decode: %s.%s at +%d: %s", e.Message, e.Field, e.Offset, e.Reason())
}

// Reason returns cause and numbers without the place.
func (e *Error) Reason() string { return string(e.AppendReason(nil)) }

// AppendReason appends the text of Reason.
func (e *Error) AppendReason(dst []byte) []byte {
	dst = append(dst, e.Err.Error()...)
	switch {
	case errors.Is(e.Err, ErrShort):
		dst = append(dst, " (need "...)
		dst = strconv.AppendInt(dst, int64(e.Need), 10)
		dst = append(dst, ", have "...)
		dst = strconv.AppendInt(dst, int64(e.Have), 10)
		dst = append(dst, ')')
	case e.Detail != "":
		dst = append(append(dst, ": "...), e.Detail...)
	}
	return dst
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }
