package tracelog

import (
	"bytes"
	"math"
	"net/netip"
	"time"
)

// A head is the beginning of the first line of a record of a text log.
type head struct {
	time   time.Duration // time of day
	timed  bool          // the line has a time
	toPeer bool          // sent by the program that wrote the log
	rest   []byte
}

// begin reads the time and the number: "[23:59:52.000] #1 ". Excerpts in
// documents lack the time.
func (h *head) begin(line []byte) bool {
	*h = head{}
	if len(line) > 15 && line[0] == '[' && line[13] == ']' && line[14] == ' ' {
		if h.time, h.timed = timeOfDay(line[1:13]); !h.timed {
			return false
		}
		line = line[15:]
	}
	if len(line) == 0 || line[0] != '#' {
		return false
	}
	number, rest, found := bytes.Cut(line[1:], []byte(" "))
	_, ok := decimal(number)
	h.rest = bytes.TrimLeft(rest, " ")
	return ok && found
}

// direction reads the direction. The words are from a host's point of view, but
// a client writes the same ones: S->C marks a packet that the program sent.
func (h *head) direction() bool {
	word, rest, _ := bytes.Cut(h.rest, []byte(" "))
	switch string(word) {
	case "S->C", "S->?":
		h.toPeer = true
	case "C->S":
		h.toPeer = false
	default:
		return false
	}
	h.rest = bytes.TrimLeft(rest, " ")
	return true
}

// peer reads the address of the other side: "Peer#0(127.0.0.1:53589)" or only
// the address. It returns the zero address for "unknown" or if there is none.
func (h *head) peer() (netip.AddrPort, bool) {
	if bytes.HasPrefix(h.rest, []byte("len=")) {
		return unknown, true
	}
	word, rest, _ := bytes.Cut(h.rest, []byte(" "))
	h.rest = bytes.TrimLeft(rest, " ")
	if string(word) == "unknown" {
		return unknown, true
	}
	if bytes.HasPrefix(word, []byte("Peer#")) {
		_, word, _ = bytes.Cut(word, []byte("("))
		word = bytes.TrimSuffix(word, []byte(")"))
	}
	a, err := netip.ParseAddrPort(string(word))
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), err == nil
}

// value reads "key=N " with a decimal number. If the key is missing, it returns
// the argument missing.
func (h *head) value(key string, missing int) (n int, ok bool) {
	if !bytes.HasPrefix(h.rest, []byte(key)) {
		return missing, true
	}
	word, rest, _ := bytes.Cut(h.rest[len(key):], []byte(" "))
	h.rest = bytes.TrimLeft(rest, " ")
	negative := len(word) > 0 && word[0] == '-'
	if negative {
		word = word[1:]
	}
	if n, ok = decimal(word); !ok || n > math.MaxUint16 {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}
