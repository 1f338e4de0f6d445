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
	at     [side]*byte
	counts [longest + 2]int32
	order  []int32 // of datagrams, by length
}

// Decrypt deciphers each of the datagrams in src to the slice in dst with the
// same index, which has to be as long. They must not overlap. Where both have
// room for Slack bytes behind them, in their capacity, it is faster; that of dst
// is overwritten.
func (b *Batch) Decrypt(dst, src [][]byte) {
	if !useRows || len(src) < fewest {
		for i := range src {
			Decrypt(dst[i][:0], src[i])
		}
		return
	}
	order := b.sort(src)
	one := func(i int32) { Decrypt(dst[i][:0], src[i]) }
	for len(order) > 0 && len(src[order[0]]) < 2 { // nothing to decipher
		one(order[0])
		order = order[1:]
	}
	for last := len(order) - 1; last >= 0 && len(src[order[last]]) > longest; last-- {
		one(order[last])
		order = order[:last]
	}
	for len(order) >= fewest {
		group := order[:min(lanes, len(order))]
		order = order[len(group):]
		b.load(src, group)
		decryptRows(&b.rows[0], len(src[group[len(group)-1]])-1)
		b.store(dst, src, group)
	}
	for _, i := range order {
		one(i)
	}
}

// sort returns the indexes of the datagrams, the shortest first: those that are
// deciphered side by side take as long as the longest of them.
func (b *Batch) sort(src [][]byte) []int32 {
	if cap(b.order) < len(src) {
		b.order = make([]int32, len(src))
	}
	b.order = b.order[:len(src)]
	clear(b.counts[:])
	for _, s := range src {
		b.counts[min(len(s), longest+1)]++
	}
	sum := int32(0)
	for i, n := range b.counts {
		b.counts[i] = sum
		sum += n
	}
	for i, s := range src {
		at := &b.counts[min(len(s), longest+1)]
		b.order[*at] = int32(i)
		*at++
	}
	return b.order
}

// load puts byte i+1 of each datagram into row i. What is behind the end of a
// datagram deciphers to rubbish.
func (b *Batch) load(src [][]byte, group []int32) {
	for lane := 0; lane < len(group); lane += side {
		part := group[lane:min(lane+side, len(group))]
		whole, blocks := b.blocks(src, part, src)
		toRows(&b.rows[0][lane], &b.at, whole)
		for at := whole * block; at < blocks*block; at += block {
			for i, g := range part {
				if s := src[g][1:]; at < len(s) {
					copy(b.ends[i][:], s[at:])
				}
			}
			toRows(&b.rows[at][lane], b.spare(), 1)
		}
	}
}

// store takes the plaintext out of the rows.
func (b *Batch) store(dst, src [][]byte, group []int32) {
	for lane := 0; lane < len(group); lane += side {
		part := group[lane:min(lane+side, len(group))]
		whole, blocks := b.blocks(src, part, dst)
		fromRows(&b.rows[0][lane], &b.at, whole)
		for at := whole * block; at < blocks*block; at += block {
			fromRows(&b.rows[at][lane], b.spare(), 1)
			for i, g := range part {
				if d := dst[g][1:len(src[g])]; at < len(d) {
					copy(d[at:], b.ends[i][:])
				}
			}
		}
		for _, g := range part {
			dst[g][0] = src[g][0]
		}
	}
	clear(b.at[:]) // nothing of the caller's is kept
}

// blocks points to the second bytes of where some of the datagrams are, or are
// to be. It returns how many blocks can be moved at once, which is all of them
// where there is room behind each datagram, and how many there are.
func (b *Batch) blocks(src [][]byte, part []int32, where [][]byte) (whole, blocks int) {
	blocks = (len(src[part[len(part)-1]]) - 1 + block - 1) / block
	if len(part) < side {
		return 0, blocks
	}
	whole = blocks
	for i, g := range part {
		w := where[g]
		b.at[i] = &w[1]
		whole = min(whole, (cap(w)-1)/block)
	}
	return whole, blocks
}

// spare makes the ends the place to move to or from.
func (b *Batch) spare() *[side]*byte {
	for i := range b.ends {
		b.at[i] = &b.ends[i][0]
	}
	return &b.at
}
