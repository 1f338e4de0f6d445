package tracelog

import (
	"bytes"
	"io"

	"github.com/bcdissect/bcdissect/dissect/cipher"
)

// longestDump is the number of bytes after which a dump ends.
const longestDump = 2048

// packets reads a packet trace: every UDP datagram of a process, as it called
// sendto and recvfrom.
type packets struct {
	lines
	clock
	plain, wire []byte
}

func newPackets(r io.Reader, remark func(string)) *packets {
	return &packets{lines: newLines(r, remark)}
}

// Next implements [Log].
func (p *packets) Next(r *Record) error {
	for {
		line, err := p.peek()
		if err != nil {
			return err
		}
		p.drop()
		var h head
		switch {
		case h.begin(line): // also of excerpts, which begin like a comment
			ok, err := p.record(&h, r)
			if ok || err != nil {
				return err
			}
		case len(line) > 0 && line[0] == '#':
			if date, is := bytes.CutPrefix(line, []byte("# Session started: ")); is {
				p.start(date)
			}
		case len(line) > 0 && line[0] == '[':
			p.skipped("not the first line of a record")
		}
	}
}

// record reads a record behind its time and number. It reports whether it could.
func (p *packets) record(h *head, r *Record) (bool, error) {
	if !h.direction() {
		p.skipped("the direction is none of S->C, C->S and S->?")
		return false, nil
	}
	peer, ok := h.peer()
	if !ok {
		p.skipped("the peer has no address")
		return false, nil
	}
	size, ok := h.value("len=", -1)
	if !ok || size < 0 {
		p.skipped("the record has no length")
		return false, nil
	}
	result, ok := h.value("rc=", size)
	if !ok {
		p.skipped("the result (rc) is no number")
		return false, nil
	}
	if !p.dated && !p.begun {
		p.remark("the log has no date: its days begin with 1970-01-01")
	}
	if !h.timed {
		h.time = p.last
	}
	*r = Record{Unsent: result < 0}
	r.Time, r.Digits, r.Full = p.at(h.time), 3, size
	if r.Src, r.Dst = peer, own; h.toPeer {
		r.Src, r.Dst = own, peer
	}
	number := p.number
	deciphered, wrong, err := p.dumps(size)
	switch {
	case err != nil:
		return false, err
	case wrong == "" && len(p.plain) > size:
		wrong = "the dump is longer than the datagram"
	}
	if wrong != "" {
		p.skippedAt(number, wrong)
		return false, nil
	}
	if r.Payload = p.plain; deciphered && (len(p.plain) == 0 || p.plain[0] != '\\') {
		p.wire = cipher.Encrypt(p.wire[:0], p.plain)
		r.Payload = p.wire
	}
	return true, nil
}

// dumps reads the lines of a record up to the next one, and the bytes of the
// dump into p.plain. It reports whether the log has deciphered them.
//
// Text from the network may stand before the dump and look like a dump and like
// another record. It is at most as long as the datagram, and a whole dump is
// longer than that: until as many bytes have passed, no record begins, and the
// last dump is the datagram's.
func (p *packets) dumps(size int) (deciphered bool, wrong string, err error) {
	p.plain = p.plain[:0]
	inside := true
	deciphered = true
	text, whole := 0, 0 // bytes to come that may be text; bytes of a whole dump behind text
	for {
		line, err := p.peek()
		if err == io.EOF { //nolint:errorlint // the end itself
			return deciphered, wrong, nil
		} else if err != nil {
			return deciphered, wrong, err
		}
		switch {
		case text > 0:
		case len(line) == 0 && len(p.plain) >= whole, len(line) > 0 && (line[0] == '[' || line[0] == '#'):
			return deciphered, wrong, nil
		}
		p.drop()
		text -= len(line) + 1
		switch trimmed := bytes.TrimLeft(line, " "); {
		case bytes.HasPrefix(line, []byte("  Text: ")):
			text, whole = size-(len(line)-len("  Text: "))-1, min(size, longestDump)
			inside = false
		case string(trimmed) == "Decrypted:", string(trimmed) == "Hex:":
			inside, deciphered = true, trimmed[0] == 'D'
			p.plain, wrong = p.plain[:0], ""
		case inside:
			var bad string
			if p.plain, inside, bad = dump(p.plain, line); wrong == "" {
				wrong = bad
			}
		}
	}
}
