package dissect

import (
	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Bounds of a batch. One with these is small enough for the caches of a
// processor, and large enough for what is done once for each to cost nothing.
const (
	batchDatagrams = 1024
	batchBytes     = 128 << 10
)

// A Batch holds copies of datagrams on their way to a pipeline. What can be
// found out of a datagram without those before it, its plaintext, it finds out
// for all of them at once. Its zero value is empty.
//
// Once it is deciphered, and until it is filled again, any number of pipelines
// may be given it, also at the same time.
type Batch struct {
	datagrams []Datagram
	data      []byte // their payloads, one after another
	clear     []byte // the same, deciphered
	src, dst  [][]byte
	cipher    cipher.Batch
}

// Add copies a datagram to the end of the batch. It reports whether there was
// room for it; in an empty batch there is.
func (b *Batch) Add(d *Datagram) bool {
	n := len(d.Payload)
	at, end := len(b.data), len(b.data)+n+cipher.Slack
	if end > cap(b.data) || len(b.datagrams) == batchDatagrams {
		if len(b.datagrams) > 0 {
			return false
		}
		size := max(end, batchBytes)
		b.data, b.clear = make([]byte, 0, size), make([]byte, size)
	}
	if b.datagrams == nil {
		b.datagrams = make([]Datagram, 0, batchDatagrams)
	}
	b.data = b.data[:end]
	b.datagrams = append(b.datagrams, *d)
	kept := &b.datagrams[len(b.datagrams)-1]
	kept.Payload = b.data[at : at+n : end]
	copy(kept.Payload, d.Payload)
	return true
}

// Len returns the number of datagrams.
func (b *Batch) Len() int { return len(b.datagrams) }

// Last returns the last datagram; there must be one.
func (b *Batch) Last() *Datagram { return &b.datagrams[len(b.datagrams)-1] }

// Reset empties the batch. It keeps its memory, unless that is unusually much.
func (b *Batch) Reset() {
	b.datagrams, b.data = b.datagrams[:0], b.data[:0]
	if cap(b.data) > batchBytes {
		b.data, b.clear = nil, nil
	}
}

// Decipher deciphers the datagrams that look like the game's. The others may be
// anything, and large; should one be the game's after all, the pipeline
// deciphers it.
func (b *Batch) Decipher() {
	b.src, b.dst = b.src[:0], b.dst[:0]
	at := 0
	for i := range b.datagrams {
		p := b.datagrams[i].Payload
		end := at + len(p) + cipher.Slack
		if likelyGame(p) {
			b.src = append(b.src, p)
			b.dst = append(b.dst, b.clear[at:at+len(p):end])
		} else {
			b.src = append(b.src, nil)
			b.dst = append(b.dst, nil)
		}
		at = end
	}
	b.cipher.Decrypt(b.dst, b.src)
}

// likelyGame reports whether the first bytes of a payload are those of a
// datagram of the game, which three of a hundred others are by chance.
func likelyGame(p []byte) bool {
	return maybeGame(p) && transport.Known(transport.Type(cipher.FirstType(p)))
}

// PushBatch is Push for all datagrams of a batch that has been deciphered.
func (p *Pipeline) PushBatch(b *Batch, emit func(*Record) error) error {
	for i := range b.datagrams {
		if err := p.push(&b.datagrams[i], b.dst[i], emit); err != nil {
			return err
		}
	}
	return nil
}
