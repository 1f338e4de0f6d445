package dissect

import (
	"sync"

	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/packet"
	"github.com/bcdissect/bcdissect/dissect/transport"
)

// Limits of a batch: small enough for the processor's caches, and large enough
// to amortise the cost per batch.
const (
	batchDatagrams = 1024
	batchBytes     = 128 << 10
)

// A Batch has copies of datagrams on their way to a pipeline, and deciphers all
// of them at once. Its zero value is empty.
//
// Once deciphered, and until it is refilled, a batch may be pushed into any
// number of pipelines, also concurrently.
type Batch struct {
	n         int
	datagrams [batchDatagrams]Datagram
	src, dst  [batchDatagrams][]byte // source and destination of deciphering, empty for other traffic
	used      int                    // bytes of data
	data      []byte                 // the payloads, joined
	clear     []byte                 // the deciphered payloads, joined
}

// ciphers are shared by all batches, since the one that deciphered the last
// batch is still in the processor's caches.
var ciphers = sync.Pool{New: func() any { return new(cipher.Batch) }}

// Add copies a datagram to the end of the batch. It reports whether there was
// room. An empty batch has room for any datagram.
func (b *Batch) Add(d *Datagram) bool {
	i, at, payload := b.n, b.used, d.Payload
	n := at + len(payload)
	end := n + cipher.Slack
	if end > len(b.data) || uint(i) >= batchDatagrams {
		if i > 0 {
			return false
		}
		size := max(end, batchBytes)
		b.data, b.clear = make([]byte, size), make([]byte, size)
		return b.Add(d)
	}
	own := b.data[at:n:end]
	var src, dst []byte
	if d.Form == packet.Wire && likelyGame(payload) {
		src, dst = own, b.clear[at:n:end]
	}
	kept := &b.datagrams[i]
	*kept = *d
	kept.Payload, b.src[i], b.dst[i] = own, src, dst
	b.n, b.used = i+1, end
	copy(own, payload)
	return true
}

// Len returns the number of datagrams.
func (b *Batch) Len() int { return b.n }

// Last returns the last datagram. There must be one.
func (b *Batch) Last() *Datagram { return &b.datagrams[b.n-1] }

// Reset empties the batch. It keeps its memory unless that is exceptionally
// large.
func (b *Batch) Reset() {
	b.n, b.used = 0, 0
	if len(b.data) > batchBytes {
		b.data, b.clear = nil, nil
	}
}

// Decipher deciphers the datagrams that look like the game's. It skips others,
// which may be large. If one of them belongs to the game after all, the
// pipeline deciphers it.
func (b *Batch) Decipher() {
	if b.n == 1 { // a batch of one gains nothing
		b.dst[0] = cipher.Decrypt(b.dst[0][:0], b.src[0])
		return
	}
	c := ciphers.Get().(*cipher.Batch)
	c.Decrypt(b.dst[:b.n], b.src[:b.n])
	ciphers.Put(c)
}

// likelyGame reports whether the first message of a payload has a type of the
// game. About 3 % of other payloads also have one by chance.
func likelyGame(p []byte) bool {
	return len(p) > 2 && p[0] != '\\' && transport.Known(transport.Type(cipher.FirstType(p)))
}

// PushBatch works as Push for all datagrams of a deciphered batch.
func (p *Pipeline) PushBatch(b *Batch, emit func(*Record) error) error {
	return p.PushPart(b, 0, b.n, emit)
}

// PushPart works as PushBatch for the datagrams with indices from from up to,
// but not including, to.
func (p *Pipeline) PushPart(b *Batch, from, to int, emit func(*Record) error) error {
	defer p.doubles.settle()
	for i := from; i < to; i++ {
		if err := p.push(&b.datagrams[i], b.dst[i], emit); err != nil {
			return err
		}
	}
	return nil
}
