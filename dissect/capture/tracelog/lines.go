package tracelog

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// longestLine is the maximum length of a line. Programs write less than 2,000
// bytes.
const longestLine = 64 << 10

// A textLog reads the records of a text log, and looks one line ahead.
type textLog struct {
	clock
	r       *bufio.Reader
	number  int // number of the current line, from 1
	line    []byte
	held    bool   // line has not been used yet
	plain   []byte // bytes of a dump
	remark  func(string)
	session string // beginning of the line that has the date

	// record reads a record after its time and number, up to the line before the
	// next record. If it cannot, it returns the reason and the number of the line
	// that shows it.
	record func(h *head, r *Record) (wrong string, line int, err error)
	// excerpts allows records without a time, which begin like a comment.
	excerpts bool
}

// Next implements [Log].
func (t *textLog) Next(r *Record) error {
	for {
		line, err := t.peek()
		if err != nil {
			return err
		}
		t.drop()
		var h head
		switch {
		case h.begin(line) && (h.timed || t.excerpts):
			wrong, number, err := t.record(&h, r)
			if wrong == "" || err != nil {
				return err
			}
			t.skipped(number, wrong)
		case len(line) > 0 && line[0] == '#':
			if date, is := bytes.CutPrefix(line, []byte(t.session)); is {
				t.start(date)
			}
		case len(line) > 0 && line[0] == '[':
			t.skipped(t.number, "not the first line of a record")
		}
	}
}

// timed returns the time of a record, or the time of the record before if it
// has none.
func (t *textLog) timed(h *head) time.Time {
	if !t.dated && !t.begun {
		t.remark("the log has no date: its days begin with 1970-01-01")
	}
	if !h.timed {
		h.time = t.last
	}
	return t.at(h.time)
}

// peek returns the next line without its end. It is valid until peek is called
// again after drop.
func (t *textLog) peek() ([]byte, error) {
	if t.held {
		return t.line, nil
	}
	line, err := t.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = t.r.ReadSlice('\n')
		}
		t.skipped(t.number+1, fmt.Sprintf("the line has more than %d bytes", longestLine))
		line = tooLong
	case err != nil && len(line) == 0:
		return nil, err
	}
	t.number++
	t.line = bytes.TrimRight(line, "\r\n")
	if t.number == 1 {
		t.line = bytes.TrimPrefix(t.line, byteOrderMark)
	}
	t.held = true
	return t.line, nil
}

var tooLong = []byte("    too long")

// drop goes on to the next line.
func (t *textLog) drop() { t.held = false }

// skipped adds a remark about a record that is skipped because of a line.
func (t *textLog) skipped(number int, why string) {
	t.remark(fmt.Sprintf("line %d: %s; the record is skipped", number, why))
}

// dump reads the next line as a line of a hex dump, and appends its bytes to
// dst. It reports whether the line is one.
func dump(dst, line []byte) (_ []byte, ok bool, wrong string) {
	text := bytes.TrimLeft(line, " ")
	if len(line)-len(text) < 2 || len(text) < 5 || text[4] != ':' {
		return dst, false, ""
	}
	at, err := strconv.ParseUint(string(text[:4]), 16, 16)
	if err != nil {
		return dst, false, ""
	}
	if int(at) != len(dst) {
		return dst, true, fmt.Sprintf("the dump continues at %04X, not at %04X", at, len(dst))
	}
	text = bytes.TrimPrefix(text[5:], []byte(" "))
	for n := 0; n < 16 && len(text) >= 2; n++ {
		var c [1]byte
		if _, err := hex.Decode(c[:], text[:2]); err != nil || len(text) > 2 && text[2] != ' ' {
			break
		}
		dst = append(dst, c[0])
		if text = text[2:]; len(text) > 0 {
			text = text[1:]
		}
	}
	return dst, true, ""
}

// clock converts the times of day in a log, which has at most one date, to
// times.
type clock struct {
	day   time.Time     // midnight before the last time
	last  time.Duration // time of day of the last record
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
	const back = 12 * time.Hour // a larger step back means that midnight has passed
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
	n, err := strconv.ParseUint(string(b), 10, 31)
	return int(n), err == nil && len(b) <= 9
}
