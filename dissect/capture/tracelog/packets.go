package tracelog

import (
	"bufio"
	"bytes"
	"io"

	"github.com/bcdissect/bcdissect/dissect/cipher"
)

// longestDump is the maximum number of bytes in a dump.
const longestDump = 2048

// newPackets reads a packet trace: every UDP datagram of a process, as it called
// sendto and recvfrom.
func newPackets(r io.Reader, remark func(string)) *textLog {
	t := &textLog{r: bufio.NewReaderSize(r, longestLine), remark: remark, session: "# Session started: ", excerpts: true}
	var wire []byte
	t.record = func(h *head, r *Record) (wrong string, line int, err error) {
		line = t.number
		deciphered, wrong, err := t.packet(h, r)
		if r.Payload = t.plain; deciphered && (len(t.plain) == 0 || t.plain[0] != '\\') {
			wire = cipher.Encrypt(wire[:0], t.plain)
			r.Payload = wire
		}
		return wrong, line, err
	}
	return t
}

// packet reads a record of a packet trace, without its payload. It reports
// whether the log has deciphered the payload.
func (t *textLog) packet(h *head, r *Record) (deciphered bool, wrong string, err error) {
	if !h.direction() {
		return false, "the direction is none of S->C, C->S and S->?", nil
	}
	peer, ok := h.peer()
	if !ok {
		return false, "the peer has no address", nil
	}
	size, ok := h.value("len=", -1)
	if !ok || size < 0 {
		return false, "the record has no length", nil
	}
	result, ok := h.value("rc=", size)
	if !ok {
		return false, "the result (rc) is not a number", nil
	}
	*r = Record{Unsent: result < 0}
	r.Time, r.Digits, r.Full = t.timed(h), 3, size
	if r.Src, r.Dst = peer, own; h.toPeer {
		r.Src, r.Dst = own, peer
	}
	deciphered, wrong, err = t.dumps(size)
	if wrong == "" && len(t.plain) > size {
		wrong = "the dump is longer than the datagram"
	}
	return deciphered, wrong, err
}

// dumps reads the lines of a record up to the next one, and the bytes of the
// dump into t.plain. It reports whether the log has deciphered them.
//
// Text from the network may stand before the dump and look like a dump and like
// another record. It is at most as long as the datagram, and a whole dump is
// longer. Until so many bytes have passed, no record begins, and the last dump
// is the datagram's.
func (t *textLog) dumps(size int) (deciphered bool, wrong string, err error) {
	t.plain = t.plain[:0]
	inside := true
	deciphered = true
	text, whole := 0, 0 // bytes to come that may be text, and bytes of a whole dump after text
	for {
		line, err := t.peek()
		if err == io.EOF { //nolint:errorlint // the end itself
			return deciphered, wrong, nil
		} else if err != nil {
			return deciphered, wrong, err
		}
		switch {
		case text > 0:
		case len(line) == 0 && len(t.plain) >= whole, len(line) > 0 && (line[0] == '[' || line[0] == '#'):
			return deciphered, wrong, nil
		}
		t.drop()
		text -= len(line) + 1
		switch trimmed := bytes.TrimLeft(line, " "); {
		case bytes.HasPrefix(line, []byte("  Text: ")):
			text, whole = size-(len(line)-len("  Text: "))-1, min(size, longestDump)
			inside = false
		case string(trimmed) == "Decrypted:", string(trimmed) == "Hex:":
			inside, deciphered = true, trimmed[0] == 'D'
			t.plain, wrong = t.plain[:0], ""
		case inside:
			var bad string
			if t.plain, inside, bad = dump(t.plain, line); wrong == "" {
				wrong = bad
			}
		}
	}
}
