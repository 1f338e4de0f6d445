package session

import (
	"encoding/binary"
	"math/bits"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect/packet"
)

// A host forwards most messages of a client to the other clients unchanged, and
// sends many of its own to all of them. Copies are recognised by their bytes. A
// message of the host is a copy of the oldest message with the same bytes, at
// most copyTime old, that its receiver has not had yet. A line that is typed
// twice is therefore two messages, each with its copies. For chat, where hosts
// rewrite the author's number, text and author are compared.
const copyTime = 30 * time.Second

// creationTime replaces copyTime for creations of objects, since new players
// receive them as long as the object exists.
const creationTime = 24 * time.Hour

// Sizes of the tables of originals: the number of buckets, a power of two, and
// of originals per bucket. Equal messages share a bucket. A held trigger makes
// ten of them before the first copy arrives.
const (
	updateBuckets, updatesInBucket = 512, 4 // several seconds of a full game
	otherBuckets, othersInBucket   = 64, 32

	creationBuckets, creationsInBucket = 32, 8
)

// An original is a message that may come back as a copy.
type original struct {
	at       int64  // nanoseconds
	received uint64 // bit set of the conversations that have had it or a copy
	author   *Player
	frame    int
	dialect  decode.Dialect // dialect of the author
	client   bool           // a client wrote it
	checked  bool           // see Conversation.Check
}

// originals are the recent messages of a game.
type originals struct {
	all     []original // one bucket after another
	digests []uint64   // digests of all. A separate array makes the search faster.
	next    []uint8    // for each bucket, the index of the next original in it
	size    int        // originals per bucket
	within  time.Duration
	clients bool // clients wrote some of them
}

// make allocates the table, unless it exists.
func (o *originals) make(buckets, size int, within time.Duration) {
	if o.all == nil {
		*o = originals{
			all: make([]original, buckets*size), digests: make([]uint64, buckets*size), next: make([]uint8, buckets),
			size: size, within: within,
		}
	}
}

// bucket returns the number of a digest's bucket.
func (o *originals) bucket(digest uint64) int { return int(digest & uint64(len(o.next)-1)) }

// find returns the original of a copy for a receiver, or nil. It is at most as old as
// within. The result sameAuthor reports whether all candidates have the same author.
func (o *originals) find(digest, receiver uint64, at int64, within time.Duration, author *Player) (best *original, sameAuthor bool) {
	from := o.bucket(digest) * o.size
	all := o.all[from : from+o.size]
	sameAuthor = true
	for i, d := range o.digests[from : from+o.size] {
		if d != digest {
			continue
		}
		e := &all[i]
		if e.received&receiver != 0 || uint64(at-e.at) > uint64(within) || // time never goes back
			author != nil && e.author != nil && e.author != author {
			continue
		}
		sameAuthor = sameAuthor && (best == nil || e.author == best.author)
		if best == nil || e.frame < best.frame {
			best = e
		}
	}
	return best, sameAuthor
}

// add keeps an original in place of the oldest of its bucket.
func (o *originals) add(digest uint64, e *original) (kept *original) {
	i := o.bucket(digest)
	at := i*o.size + int(o.next[i])
	kept = &o.all[at]
	*kept, o.digests[at] = *e, digest
	if o.next[i]++; int(o.next[i]) == o.size {
		o.next[i] = 0
	}
	return kept
}

// An Origin is the source of a game message.
type Origin struct {
	CopyOf int            // frame of the first sighting, 0 if this is it
	Author *Player        // author of the original, nil if it is the host or unknown
	Passed bool           // the host forwards a client's message
	Writer decode.Dialect // dialect of that client, or if there is none, of the sender
}

// UpdateOrigin works as Origin for ship updates, most of which are copies.
func (c *Conversation) UpdateOrigin(s Side, frame int, at int64, spec *decode.Spec, payload []byte) Origin {
	if g := c.game; g != nil && s == Host && g.updates.all != nil {
		if first, sameAuthor := g.updates.find(digest(payload), c.bit, at, copyTime, nil); first != nil {
			return c.copied(first, sameAuthor, s)
		}
	}
	return c.Origin(s, frame, at, spec, payload)
}

// HasOriginals reports whether a client of the game has sent ship updates that
// the host may pass onand for which Origin was called.
func (c *Conversation) HasOriginals() bool { return c.game != nil && c.game.updates.clients }

// Check records that the message of the last call of [Conversation.Origin]
// decodes to its last byte in any state of the session.
func (c *Conversation) Check() {
	if g := c.game; g != nil && g.original != nil && g.original.dialect != decode.Undecided {
		g.original.checked = true
	}
}

// Checked reports whether the message of the last call of [Conversation.Origin]
// is a copy of a checked one, in its author's dialect.
func (c *Conversation) Checked() bool {
	return c.game != nil && c.game.original != nil && c.game.original.checked
}

// Origin tracks a complete game message that is not a duplicate, and returns
// its source. The argument at is the time in nanoseconds since 1970. For an
// unknown opcode, spec is nil.
func (c *Conversation) Origin(s Side, frame int, at int64, spec *decode.Spec, payload []byte) Origin {
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
	d, e := digest(payload), original{at: at, frame: frame, dialect: own.Writer}
	if s == Client {
		e.author, e.client = c.player, true
		if spec != nil && spec.Relay != decode.RelayEcho && spec.Relay != decode.RelayTeam {
			e.received = c.bit // only echoes return to their author
		}
		o.clients = true
		g.original = o.add(d, &e)
		return own
	}
	g.original = nil
	return c.fromHost(o, d, &e, nil, spec)
}

// ChatOrigin is Origin for a line of chat.
func (c *Conversation) ChatOrigin(s Side, frame int, at int64, spec *decode.Spec, m *msg.Chat) Origin {
	g := c.game
	own := Origin{Writer: c.Dialect(s)}
	if g == nil {
		return own
	}
	o := &g.others
	o.make(otherBuckets, othersInBucket, copyTime)
	d, e := digest(m.Text)^uint64(spec.Code)<<32, original{at: at, frame: frame, dialect: own.Writer}
	if s == Client {
		e.author, e.client = c.player, true
		o.add(d, &e)
		return own
	}
	author := c.meant(Host, decode.Speaker, int64(m.Sender))
	from := c.fromHost(o, d, &e, author, spec)
	from.Writer = own.Writer // the dialect of the number, which the host may have rewritten
	if from.Author == nil {
		from.Author = author
	}
	return from
}

// fromHost returns the origin of a message from the host.
func (c *Conversation) fromHost(o *originals, digest uint64, e *original, author *Player, spec *decode.Spec) Origin {
	receiver := c.bit
	if spec != nil && spec.Relay == decode.RelaySlots {
		receiver = 0 // an object is created once, but a client that requests it gets the message again
	}
	within := o.within
	if spec != nil && c.asked && (spec.Code == msg.OpHostEvent || spec.Code == msg.OpScoreChange) {
		within = max(0, min(within, time.Duration(e.at-packet.Nanos(c.begun)))) // nobody is told of a loss before they came
	}
	if first, sameAuthor := o.find(digest, receiver, e.at, within, author); first != nil {
		return c.copied(first, sameAuthor, Host)
	}
	if spec != nil && (spec.Broadcast || passedOn(spec)) {
		e.received, e.author = c.bit, author
		o.add(digest, e)
	}
	return Origin{Writer: e.dialect}
}

// copied returns the origin of a copy. The argument sameAuthor comes from find.
func (c *Conversation) copied(first *original, sameAuthor bool, s Side) Origin {
	first.received |= c.bit
	if sameAuthor && first.client {
		c.game.original = first
		return Origin{CopyOf: first.frame, Author: first.author, Passed: true, Writer: first.dialect}
	}
	c.game.original = nil
	from := Origin{CopyOf: first.frame, Passed: first.client, Writer: c.Dialect(s)}
	if sameAuthor {
		from.Author = first.author
	}
	return from
}

// digest returns a hash that is almost unique. It is the same in every run and
// pipeline, and so is the eviction of originals.
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

// bitOf returns the bit of a game's n-th conversation.
func bitOf(n int) uint64 { return 1 << (uint(n) % 64) }
