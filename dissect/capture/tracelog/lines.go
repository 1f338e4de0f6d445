package tracelog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// longestLine limits the length of a line. Programs write less than 2,000 bytes.
const longestLine = 64 << 10

// lines reads the lines of a text log, and looks one line ahead.
type lines struct {
	r      *bufio.Reader
	number int // of the current line, from 1
	line   []byte
	held   bool // line is yet to be used
	remark func(string)
}

func newLines(r io.Reader, remark func(string)) lines {
	return lines{r: bufio.NewReaderSize(r, longestLine), remark: remark}
}

// peek returns the next line without its end. It is valid until the next call
// of peek that follows a call of drop.
func (l *lines) peek() ([]byte, error) {
	if l.held {
		return l.line, nil
	}
	line, err := l.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.r.ReadSlice('\n')
		}
		l.skippedAt(l.number+1, fmt.Sprintf("the line has more than %d bytes", longestLine))
		line = tooLong
	case err != nil && len(line) == 0:
		return nil, err
	}
	l.number++
	l.line = bytes.TrimRight(line, "\r\n")
	if l.number == 1 {
		l.line = bytes.TrimPrefix(l.line, byteOrderMark)
	}
	l.held = true
	return l.line, nil
}

var tooLong = []byte("    too long")

// drop goes on to the next line.
func (l *lines) drop() { l.held = false }

// skipped remarks on a record that is skipped because of the current line.
func (l *lines) skipped(why string) { l.skippedAt(l.number, why) }

// skippedAt remarks on a record that is skipped because of a line.
func (l *lines) skippedAt(number int, why string) {
	l.remark(fmt.Sprintf("line %d: %s; the record is skipped", number, why))
}

// dump reads the next line as one of a hex dump, and appends its bytes to dst. It
// reports whether the line is one.
func dump(dst, line []byte) (_ []byte, ok bool, wrong string) {
	text := bytes.TrimLeft(line, " ")
	if len(line)-len(text) < 2 || len(text) < 5 || text[4] != ':' {
		return dst, false, ""
	}
	at := 0
	for _, c := range text[:4] {
		n, ok := digit(c)
		if !ok {
			return dst, false, ""
		}
		at = at<<4 | n
	}
	if at != len(dst) {
		return dst, true, fmt.Sprintf("the dump continues at %04X, not at %04X", at, len(dst))
	}
	text = bytes.TrimPrefix(text[5:], []byte(" "))
	for n := 0; n < 16 && len(text) >= 2; n++ {
		high, ok1 := digit(text[0])
		low, ok2 := digit(text[1])
		if !ok1 || !ok2 || len(text) > 2 && text[2] != ' ' {
			break
		}
		dst = append(dst, byte(high<<4|low))
		if text = text[2:]; len(text) > 0 {
			text = text[1:]
		}
	}
	return dst, true, ""
}

// digit returns the value of a hexadecimal digit.
func digit(c byte) (int, bool) {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0'), true
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10, true
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10, true
	}
	return 0, false
}

// clock makes times of the times of day in a log, which has at most one date.
type clock struct {
	day   time.Time     // midnight before the last time
	last  time.Duration // of day
	dated bool          // the log has a date
	begun bool
}

// start reads the date and time in the log's head.
func (c *clock) start(text []byte) {
	if t, err := time.Parse("2006-01-02 15:04:05", string(text)); err == nil && !c.begun {
		c.day, c.last = t.Truncate(24*time.Hour), t.Sub(t.Truncate(24*time.Hour))
		c.dated = true
	}
}

// at returns the time at a time of day.
func (c *clock) at(of time.Duration) time.Time {
	const back = 12 * time.Hour // a step back of more than this is midnight
	if c.day.IsZero() {
		c.day = time.Unix(0, 0).UTC()
	}
	if (c.begun || c.dated) && c.last-of > back {
		c.day = c.day.Add(24 * time.Hour)
	}
	c.last, c.begun = of, true
	return c.day.Add(of)
}

// timeOfDay reads "15:04:05.000".
func timeOfDay(b []byte) (time.Duration, bool) {
	if len(b) != 12 || b[2] != ':' || b[5] != ':' || b[8] != '.' {
		return 0, false
	}
	hour, ok1 := decimal(b[:2])
	minute, ok2 := decimal(b[3:5])
	second, ok3 := decimal(b[6:8])
	milli, ok4 := decimal(b[9:])
	if !ok1 || !ok2 || !ok3 || !ok4 || hour > 23 || minute > 59 || second > 60 {
		return 0, false
	}
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute +
		time.Duration(second)*time.Second + time.Duration(milli)*time.Millisecond, true
}

// decimal reads a number of at most nine digits.
func decimal(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 9 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
