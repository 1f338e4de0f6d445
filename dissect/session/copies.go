package session

import (
	"encoding/binary"
	"math/bits"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
)

// A host passes most messages of a client on to the other clients, byte for
// byte, and sends many of its own to all of them. The copies are told by their
// bytes: a message of the host is a copy of the oldest message with the same
// bytes that came within copyTime and of which its receiver has not had a copy
// yet. So a line typed twice is two messages with as many copies each. Of chat,
// where hosts write another number for the author, the text and the author are
// compared.
const copyTime = 30 * time.Second

// creationTime is copyTime for the creation of an object, which newcomers get
// as long as the object is there.
const creationTime = 24 * time.Hour

// Sizes of the tables of originals: buckets, a power of two, and how many
// originals each has. Equal messages share a bucket; a trigger that is held
// makes ten of them before the first copy comes.
const (
	updateBuckets, updatesInBucket = 512, 4 // several seconds of a full game
	otherBuckets, othersInBucket   = 64, 32

	creationBuckets, creationsInBucket = 32, 8
)

// An original is a message that may come again as a copy.
type original struct {
	digest   uint64
	at       int64  // nanoseconds
	received uint64 // which conversations have had it or a copy, a bit each
	author   *Player
	frame    int
	dialect  decode.Dialect // of the one who wrote it
	client   bool           // a client wrote it
}

// originals are those of a game that were seen last.
type originals struct {
	all     []original // bucket after bucket
	digests []uint64   // of all, apart, since most of them are not it
	next    []uint8    // by bucket: the place of the next one
	size    int        // of a bucket
	within  time.Duration
}

// make gives the table its memory, unless it has it.
func (o *originals) make(buckets, size int, within time.Duration) {
	if o.all == nil {
		*o = originals{make([]original, buckets*size), make([]uint64, buckets*size), make([]uint8, buckets), size, within}
	}
}

// bucket returns the number of a digest's bucket.
func (o *originals) bucket(digest uint64) int { return int(digest & uint64(len(o.next)-1)) }

// find returns the original of a copy for a receiver, nil if there is none.
// Alone is whether all that may be it have the same author.
func (o *originals) find(digest, receiver uint64, at int64, author *Player) (best *original, alone bool) {
	from := o.bucket(digest) * o.size
	within := int64(o.within)
	alone = true
	for i, d := range o.digests[from : from+o.size] {
		if d != digest {
			continue
		}
		e := &o.all[from+i]
		if e.received&receiver != 0 || at-e.at > within || e.at-at > within ||
			author != nil && e.author != nil && e.author != author {
			continue
		}
		switch {
		case best == nil:
			best = e
		case e.author != best.author:
			alone = false
			fallthrough
		default:
			if e.frame < best.frame {
				best = e
			}
		}
	}
	return best, alone
}

func (o *originals) add(e *original) {
	i := o.bucket(e.digest)
	at := i*o.size + int(o.next[i])
	o.all[at], o.digests[at] = *e, e.digest
	if o.next[i]++; int(o.next[i]) == o.size {
		o.next[i] = 0
	}
}

// An Origin tells where a message of a game comes from.
type Origin struct {
	CopyOf int            // frame of the first sighting, 0 if this is the first
	Author *Player        // who wrote the original, nil if it is the host or not known
	Passed bool           // the host passes on the work of a client
	Writer decode.Dialect // the dialect of that client or else of the sender
}

// Origin takes note of a complete game message that repeats no earlier one, and
// tells where it comes from. Spec is nil for an unknown opcode.
func (c *Conversation) Origin(s Side, frame int, at time.Time, spec *decode.Spec, payload []byte) Origin {
	g := c.game
	own := Origin{Writer: c.Dialect(s)}
	if g == nil || len(payload) == 0 {
		return own
	}
	o := &g.others
	switch {
	case spec != nil && spec.Code == msg.OpStateUpdate:
		o = &g.updates
		o.make(updateBuckets, updatesInBucket, copyTime)
	case spec != nil && spec.Relay == decode.RelaySlots:
		o = &g.creations
		o.make(creationBuckets, creationsInBucket, creationTime)
	default:
		o.make(otherBuckets, othersInBucket, copyTime)
	}
	e := original{digest: digest(payload), at: at.UnixNano(), frame: frame, dialect: own.Writer}
	if s == Client {
		e.author, e.client = c.player, true
		if spec != nil && spec.Relay != decode.RelayEcho && spec.Relay != decode.RelayTeam {
			e.received = c.bit // only echoes come back to their author
		}
		o.add(&e)
		return own
	}
	return c.fromHost(o, &e, nil, spec)
}

// ChatOrigin is Origin for a line of chat.
func (c *Conversation) ChatOrigin(s Side, frame int, at time.Time, spec *decode.Spec, m *msg.Chat) Origin {
	g := c.game
	own := Origin{Writer: c.Dialect(s)}
	if g == nil {
		return own
	}
	o := &g.others
	o.make(otherBuckets, othersInBucket, copyTime)
	e := original{digest: digest(m.Text) ^ uint64(spec.Code)<<32, at: at.UnixNano(), frame: frame, dialect: own.Writer}
	if s == Client {
		e.author, e.client = c.player, true
		o.add(&e)
		return own
	}
	author := c.meant(Host, decode.Speaker, int64(m.Sender))
	from := c.fromHost(o, &e, author, spec)
	from.Writer = own.Writer // of the number, which the host may have written
	if from.Author == nil {
		from.Author = author
	}
	return from
}

// fromHost tells where a message of the host comes from.
func (c *Conversation) fromHost(o *originals, e *original, author *Player, spec *decode.Spec) Origin {
	receiver := c.bit
	if spec != nil && spec.Relay == decode.RelaySlots {
		receiver = 0 // an object is created once; who asks for it gets the message again
	}
	if first, alone := o.find(e.digest, receiver, e.at, author); first != nil {
		first.received |= c.bit
		from := Origin{CopyOf: first.frame, Author: first.author, Passed: first.client, Writer: e.dialect}
		if from.Passed {
			from.Writer = first.dialect
		}
		if !alone {
			from.Author, from.Writer = nil, e.dialect
		}
		return from
	}
	if spec != nil && (spec.Broadcast || passedOn(spec)) {
		e.received, e.author = c.bit, author
		o.add(e)
	}
	return Origin{Writer: e.dialect}
}

// digest returns a number for bytes that others hardly have. It is the same in
// every run and in every pipeline, and so is the choice of originals that make
// room for others.
func digest(b []byte) uint64 {
	const k0, k1 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
	h := uint64(len(b)) * k0
	var tail uint64
	if n := len(b); n >= 8 {
		tail = binary.LittleEndian.Uint64(b[n-8:])
		for ; len(b) > 8; b = b[8:] {
			h = mix(h^binary.LittleEndian.Uint64(b), k1)
		}
	} else {
		for i, c := range b {
			tail |= uint64(c) << (8 * i)
		}
	}
	return mix(mix(h^tail, k1), k0)
}

// mix multiplies and folds the product.
func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// bitOf returns the bit of the n-th conversation of a game.
func bitOf(n int) uint64 { return 1 << (uint(n) % 64) }
