package tracelog

import (
	"bufio"
	"bytes"
	"io"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// newMessages reads a message trace: every transport message that a process
// received, without its datagram and sender.
func newMessages(r io.Reader, remark func(string)) *textLog {
	remark("a message trace: it has only received messages of all clients, without senders and datagrams")
	t := &textLog{r: bufio.NewReaderSize(r, longestLine), remark: remark, session: "# Session: "}
	t.record = t.message
	return t
}

// message reads a record of a message trace.
func (t *textLog) message(h *head, r *Record) (wrong string, line int, err error) {
	line = t.number
	rest, is := bytes.CutPrefix(h.rest, []byte("MSG "))
	if !is {
		return "not a message (MSG)", line, nil
	}
	size := packet.FullUnknown // after it, the dump continues with other memory
	for word := range bytes.FieldsSeq(rest) {
		if value, is := bytes.CutPrefix(word, []byte("size=")); is {
			if size, is = decimal(value); !is {
				return "its size is not a number", line, nil
			}
		}
	}
	*r = Record{}
	r.Form, r.Full = packet.Message, size
	r.Time, r.Digits = t.timed(h), 3
	r.Src, r.Dst = unknown, own
	t.plain = t.plain[:0]
	for inside := true; ; t.drop() {
		text, err := t.peek()
		switch {
		case err == io.EOF: //nolint:errorlint // the end itself
		case err != nil:
			return "", 0, err
		case len(text) > 0 && text[0] != '[':
			if inside {
				t.plain, inside, wrong = dump(t.plain, text)
			}
			if wrong != "" {
				return wrong, t.number, nil
			}
			continue
		}
		if r.Payload = t.plain; len(t.plain) > size {
			wrong = "the dump is longer than the message"
		}
		return wrong, line, nil
	}
}
