package cipher

// Every datagram starts with fresh state, so datagrams can be deciphered in
// parallel. Within a datagram each byte depends on the previous one. A vector
// unit that handles the same byte of 32 datagrams at once has the same latency,
// but yields 32 bytes.

const (
	lanes   = 32  // datagrams of a group, deciphered in parallel
	longest = 512 // longest datagram deciphered in this way, in bytes. The game sends none longer.
	fewest  = 6   // fewest datagrams for which vectors are faster
	side    = 8   // number of datagrams moved into and out of rows at once
	block   = 16  // number of bytes of each that are moved at once
)

// Slack is the number of spare bytes after a datagram that make a batch faster.
const Slack = 32

// A Batch deciphers many datagrams at once. Its zero value is ready for use. It
// is not safe for concurrent use.
type Batch struct {
	rows   [2]rows           // rows of two groups, for processors that handle two at once
	ends   [side][block]byte // partial blocks
	counts [longest + 2]int32
	sorted []place // sorted by length
}

// A rows has a group of datagrams: row i has byte i of each.
type rows [longest + block][lanes]byte

// A place is a datagram's source and destination.
type place struct {
	src, dst *byte
	i        int32 // its index
	n        int32 // its length, at most longest+1
}

// Decrypt deciphers each datagram in src to the slice of the same index and
// length in dst. They must not overlap. It is faster if all have a spare
// capacity of Slack bytes. In dst, the spare capacity is overwritten.
func (b *Batch) Decrypt(dst, src [][]byte) {
	if !useRows || len(src) < fewest {
		for i := range src {
			Decrypt(dst[i][:0], src[i])
		}
		return
	}
	one := func(places []place) {
		for _, p := range places {
			Decrypt(dst[p.i][:0], src[p.i])
		}
	}
	slack := b.sort(dst, src)
	begin, end := b.counts[1], b.counts[longest]
	one(b.sorted[:begin]) // nothing to decipher
	one(b.sorted[end:])
	rest := b.sorted[begin:end]
	for len(rest) >= fewest {
		var group, other []place
		group, rest = cut(rest)
		if usePairs {
			other, rest = cut(rest)
		}
		first, second := &b.rows[0], &b.rows[1]
		b.load(first, src, group, slack)
		if len(other) > 0 {
			b.load(second, src, other, slack)
			decryptPair(&first[1], &second[1], deciphered(group), pairs())
			b.store(second, dst, other, slack)
		} else {
			decryptRows(&first[1], deciphered(group))
		}
		b.store(first, dst, group, slack)
	}
	one(rest)
	clear(b.sorted) // drop references to the caller's memory
}

// cut returns the group of the longest datagrams. The last group, of the
// shortest ones, may then be incomplete.
func cut(places []place) (group, rest []place) {
	n := max(0, len(places)-lanes)
	return places[n:], places[:n]
}

// deciphered returns the number of rows to decipher for a group.
func deciphered(group []place) int { return int(group[len(group)-1].n) - 1 }

// sort collects the places of the datagrams, shortest first, since deciphering
// in parallel takes as long as for the longest one. Datagrams longer than n
// begin at counts[n]. It returns the least spare capacity.
func (b *Batch) sort(dst, src [][]byte) (slack int) {
	if cap(b.sorted) < len(src) {
		b.sorted = make([]place, len(src))
	}
	b.sorted = b.sorted[:len(src)]
	sorted, counts, dst := b.sorted, &b.counts, dst[:len(src)]
	clear(counts[:])
	for _, s := range src {
		counts[min(uint(len(s)), longest+1)]++
	}
	sum := int32(0)
	for n, c := range counts {
		counts[n] = sum
		sum += c
	}
	slack = Slack
	for i, s := range src {
		n := min(uint(len(s)), longest+1)
		p := &sorted[counts[n]]
		counts[n]++
		p.i, p.n = int32(i), int32(n)
		if n > 0 {
			d := dst[i]
			p.src, p.dst = &s[0], &d[0]
			slack = min(slack, cap(s)-len(s), cap(d)-len(s))
		}
	}
	return slack
}

// load puts byte i of each datagram into row i. Bytes after the end of a
// datagram decipher to garbage.
func (b *Batch) load(rows *rows, src [][]byte, group []place, slack int) {
	for lane := 0; lane < len(group); lane += side {
		part := group[lane:min(lane+side, len(group))]
		whole, blocks := split(part, slack)
		if whole > 0 {
			toRows(&rows[0][lane], &part[0], whole)
		}
		for at := whole * block; at < blocks*block; at += block {
			ends := b.spare()
			for i, p := range part {
				if s := src[p.i]; at < len(s) {
					copy(b.ends[i][:], s[at:])
				}
			}
			toRows(&rows[at][lane], &ends[0], 1)
		}
	}
}

// store copies the plaintext out of the rows.
func (b *Batch) store(rows *rows, dst [][]byte, group []place, slack int) {
	for lane := 0; lane < len(group); lane += side {
		part := group[lane:min(lane+side, len(group))]
		whole, blocks := split(part, slack)
		if whole > 0 {
			fromRows(&rows[0][lane], &part[0], whole)
		}
		for at := whole * block; at < blocks*block; at += block {
			ends := b.spare()
			fromRows(&rows[at][lane], &ends[0], 1)
			for i, p := range part {
				if d := dst[p.i][:p.n]; at < len(d) {
					copy(d[at:], b.ends[i][:])
				}
			}
		}
	}
}

// split returns the number of blocks that can be moved at once, and of all
// blocks. They are equal if there is spare room after each datagram.
func split(part []place, slack int) (whole, blocks int) {
	shortest, longest := int(part[0].n), int(part[len(part)-1].n)
	blocks = (longest + block - 1) / block
	if len(part) == side {
		whole = min(blocks, (shortest+slack)/block)
	}
	return whole, blocks
}

// spare returns the ends as places.
func (b *Batch) spare() (ends [side]place) {
	for i := range ends {
		ends[i].src, ends[i].dst = &b.ends[i][0], &b.ends[i][0]
	}
	return ends
}
