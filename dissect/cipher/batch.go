package cipher

// State is fresh in every datagram, so any number can be deciphered side by
// side. Within one, a byte has to wait for the one before it; a vector unit
// that works on the same byte of 32 datagrams at once waits as long, and has 32
// bytes then.

const (
	lanes   = 32  // datagrams that are deciphered side by side
	longest = 512 // bytes of a datagram that is; the game sends none that is longer
	fewest  = 6   // datagrams for which the vectors pay
	side    = 8   // datagrams that are moved into rows and out of them at once,
	block   = 16  // and bytes of each
)

// Slack is how much room behind a datagram makes a batch faster.
const Slack = 32

// A Batch deciphers many datagrams at once. Its zero value is ready for use. It
// is not safe for concurrent use.
type Batch struct {
	rows   [longest + block][lanes]byte
	ends   [side][block]byte // what does not fill a block
	counts [longest + 2]int32
	sorted []place // by length
}

// A place is where a datagram is and where it goes.
type place struct {
	src, dst *byte
	i        int32 // its index
	n        int32 // its length, at most longest+1
}

// Decrypt deciphers each of the datagrams in src to the slice in dst with the
// same index, which has to be as long. They must not overlap. Where all have
// room for Slack bytes behind them, in their capacity, it is faster; that of dst
// is overwritten.
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
		group := rest[:min(lanes, len(rest))]
		rest = rest[len(group):]
		b.load(src, group, slack)
		decryptRows(&b.rows[1], int(group[len(group)-1].n)-1)
		b.store(dst, group, slack)
	}
	one(rest)
	clear(b.sorted) // nothing of the caller's is kept
}

// sort finds the places of the datagrams, the shortest first: those that are
// deciphered side by side take as long as the longest of them. Those that are
// longer than n begin at counts[n]. It returns how much room is behind each.
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

// load puts byte i of each datagram into row i. What is behind the end of a
// datagram deciphers to rubbish.
func (b *Batch) load(src [][]byte, group []place, slack int) {
	for lane := 0; lane < len(group); lane += side {
		part := group[lane:min(lane+side, len(group))]
		whole, blocks := split(part, slack)
		if whole > 0 {
			toRows(&b.rows[0][lane], &part[0], whole)
		}
		for at := whole * block; at < blocks*block; at += block {
			ends := b.spare()
			for i, p := range part {
				if s := src[p.i]; at < len(s) {
					copy(b.ends[i][:], s[at:])
				}
			}
			toRows(&b.rows[at][lane], &ends[0], 1)
		}
	}
}

// store takes the plaintext out of the rows.
func (b *Batch) store(dst [][]byte, group []place, slack int) {
	for lane := 0; lane < len(group); lane += side {
		part := group[lane:min(lane+side, len(group))]
		whole, blocks := split(part, slack)
		if whole > 0 {
			fromRows(&b.rows[0][lane], &part[0], whole)
		}
		for at := whole * block; at < blocks*block; at += block {
			ends := b.spare()
			fromRows(&b.rows[at][lane], &ends[0], 1)
			for i, p := range part {
				if d := dst[p.i][:p.n]; at < len(d) {
					copy(d[at:], b.ends[i][:])
				}
			}
		}
	}
}

// split returns how many blocks of some datagrams can be moved at once, which
// is all of them where there is room behind each, and how many there are.
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
