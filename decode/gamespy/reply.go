package gamespy

import (
	"bytes"
	"iter"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// Limits of a reassembled reply.
const (
	// MaxParts is the maximum number of datagrams in a reply. Others are ignored.
	MaxParts = 32
	// MaxPart is the maximum size of a datagram in bytes. A longer one is
	// truncated.
	MaxPart = 2048
)

// A Reply reassembles the datagrams of a host's reply to one query.
type Reply struct {
	parts  map[int]Message // parts by their number, from 1
	last   int             // number of the last part, 0 until it arrives
	number string          // number of the query in the host's count
}

// Add takes a datagram, which must not change afterwards. It reports whether
// the datagram is a part of the reply.
func (r *Reply) Add(datagram []byte) bool {
	datagram = datagram[:min(len(datagram), MaxPart)]
	m := Parse(datagram)
	if m.Kind() != KindReply || !bytes.HasPrefix(datagram, []byte{'\\'}) {
		return false
	}
	number, part := "", 1
	if id, ok := m.Get("queryid"); ok {
		n, text, _ := strings.Cut(id.Raw(), ".")
		p, err := strconv.Atoi(text)
		if err != nil || p < 1 || p > MaxParts {
			return false
		}
		number, part = n, p
	}
	if r.parts == nil {
		r.parts, r.number = map[int]Message{}, number
	}
	if number != r.number {
		return false // the part belongs to the reply to another query
	}
	if _, again := r.parts[part]; again {
		return true
	}
	r.parts[part] = m
	if _, final := m.Get("final"); final {
		r.last = part
	}
	return true
}

// Complete reports whether all datagrams of the reply have arrived.
func (r *Reply) Complete() bool {
	for i := 1; i <= r.last; i++ {
		if _, ok := r.parts[i]; !ok {
			return false
		}
	}
	return r.last > 0
}

// Parts returns how many datagrams of the reply have arrived.
func (r *Reply) Parts() int { return len(r.parts) }

// Pairs returns the keys and values of the reply, in their order, as UTF-8.
func (r *Reply) Pairs() iter.Seq2[wire.Untrusted, wire.Untrusted] {
	return func(yield func(key, value wire.Untrusted) bool) {
		for i := 1; i <= MaxParts; i++ {
			for k, v := range r.parts[i].Pairs() {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

// Get returns the first value of a key.
func (r *Reply) Get(key string) (value wire.Untrusted, ok bool) {
	for k, v := range r.Pairs() {
		if k.Raw() == key {
			return v, true
		}
	}
	return "", false
}

// Players returns the names of the players, in the order of the reply.
func (r *Reply) Players() (names []wire.Untrusted) {
	for k, v := range r.Pairs() {
		if n, ok := strings.CutPrefix(k.Raw(), "player_"); ok {
			if _, err := strconv.ParseUint(n, 10, 16); err == nil {
				names = append(names, v)
			}
		}
	}
	return names
}
