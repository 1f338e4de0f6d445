package tracelog

import (
	"bytes"
	"io"

	"github.com/bcdissect/bcdissect/dissect/packet"
)

// messages reads a message trace: every transport message that a process
// received, without its datagram and sender.
type messages struct {
	lines
	clock
	bytes []byte
}

func newMessages(r io.Reader, remark func(string)) *messages {
	remark("a message trace: it holds received messages alone, without senders and datagrams, those of all clients mixed")
	return &messages{lines: newLines(r, remark)}
}

// Next implements [Log].
func (m *messages) Next(r *Record) error {
	for {
		line, err := m.peek()
		if err != nil {
			return err
		}
		m.drop()
		var h head
		switch {
		case len(line) > 0 && line[0] == '#':
			if date, is := bytes.CutPrefix(line, []byte("# Session: ")); is {
				m.start(date)
			}
		case h.begin(line):
			ok, err := m.record(&h, r)
			if ok || err != nil {
				return err
			}
		case len(line) > 0 && line[0] == '[':
			m.skipped("not the first line of a record")
		}
	}
}

// record reads a record behind its time and number. It reports whether it could.
func (m *messages) record(h *head, r *Record) (bool, error) {
	rest, is := bytes.CutPrefix(h.rest, []byte("MSG "))
	if !is {
		m.skipped("it is no message (MSG)")
		return false, nil
	}
	size := packet.FullUnknown // the dump then goes on with other memory
	for word := range bytes.FieldsSeq(rest) {
		if value, is := bytes.CutPrefix(word, []byte("size=")); is {
			if size, is = decimal(value); !is {
				m.skipped("its size is no number")
				return false, nil
			}
		}
	}
	if !m.dated && !m.begun {
		m.remark("the log has no date: its days begin with 1970-01-01")
	}
	*r = Record{}
	r.Form, r.Full = packet.Message, size
	r.Time, r.Digits = m.at(h.time), 3
	r.Src, r.Dst = unknown, own
	m.bytes = m.bytes[:0]
	number := m.number
	for inside := true; ; m.drop() {
		line, err := m.peek()
		switch {
		case err == io.EOF: //nolint:errorlint // the end itself
		case err != nil:
			return false, err
		case len(line) > 0 && line[0] != '[':
			if !inside {
				continue
			}
			var wrong string
			if m.bytes, inside, wrong = dump(m.bytes, line); wrong != "" {
				m.skipped(wrong)
				return false, nil
			}
			continue
		}
		if len(m.bytes) > size {
			m.skippedAt(number, "the dump is longer than the message")
			return false, nil
		}
		r.Payload = m.bytes
		return true, nil
	}
}
