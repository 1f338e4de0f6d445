package cipher

// Feedback puts the same plaintext byte into all ten key bytes, so the key is
// always the original one combined with a single byte X in each of its bytes,
// the exclusive-or of all plaintext so far. Hence the five key words of a step,
// advanced or not, depend only on X, and its five rounds become additions.
// Modulo 2^16, with S = M*R + A (R the running sum of the generator and A the
// cross term, both left over from the previous byte), the sums after the rounds
// are
//
//	R1 = S + E1(X), R2 = M*S + E2(X), ... R5 = M^4*S + E5(X)
//
// and the next S is M^5*S + F(X). The key byte is the exclusive-or of both
// halves of R1 ^ R2 ^ R3 ^ R4 ^ R5 ^ V(X), with V the combined advanced key
// words. Seven numbers for each X replace the key schedule.

const (
	mul   = 0x4E35 // M, the generator's factor
	cross = 0x015A // C, the factor of the cross terms

	mul2 = mul * mul & 0xFFFF
	mul3 = mul2 * mul & 0xFFFF
	mul4 = mul3 * mul & 0xFFFF
	mul5 = mul4 * mul & 0xFFFF
)

// key is "AlbyRules!" as five big-endian words.
var key = [5]uint16{0x416C, 0x6279, 0x5275, 0x6C65, 0x7321}

// columns returns E1..E5, V and F for one X.
func columns(x byte) (e [5]uint16, v, f uint16) {
	z := uint16(x) * 0x0101
	var advanced, before uint16 // word and cross term of the previous round
	for i, k := range key {
		w := k ^ z ^ advanced
		t := cross * w
		if i == 0 {
			e[i] = t
		} else {
			e[i] = mul*(e[i-1]+uint16(i)) + t + before
		}
		advanced = mul*w + 1
		v ^= advanced
		before = t
	}
	return e, v, mul*e[4] + before
}

// shift is the position of a row's numbers in their words. It makes a byte of X
// at that position an offset into the table, since rows have 1<<shift bytes:
// the compiler turns table[x>>shift&0xFF] into one AND, without a shift between
// a byte and the look-up for the next.
const shift = 5

// A row holds the numbers for one X. Deciphering a byte must wait for the
// previous one, so the speed depends on the length of that chain: the look-up,
// one addition, the exclusive-ors. To save look-ups, two numbers share a word,
// the second one 32 bits above the first. Multiplying S, cut to 16 bits, by two
// factors in the same layout gives two sums at once. A lower sum stays below
// 2^32 (its maximum is (2^16-1) * (mul2+1)), so it never reaches the upper one;
// bits above the lower 16 of either are garbage and dropped at the end.
type row struct {
	e12, e34 uint64
	e5f      uint64
	v        uint64 // V, its halves folded, ^ X: a byte
}

const (
	mul12 = 1 | mul<<32
	mul34 = mul2 | mul3<<32
	mul5f = mul4 | mul5<<32
)

// combine returns R1 ^ R2 ^ R3 ^ R4 ^ R5 and the next S. V joins after the
// fold, as a byte, and so may be looked up last: there are four look-ups, and a
// processor starts two or three at a time. Both loops compute the sums
// themselves, because that makes the compiler keep this order.
func combine(r12, r34, r5f uint64) (acc, next uint64) {
	r1234 := r12 ^ r34
	return r1234 ^ r5f ^ r1234>>32, r5f >> 32 & (0xFFFF << shift)
}

// table has a row for each X. It is read-only.
var table = makeTable()

func makeTable() (t [256]row) {
	pair := func(lo, hi uint16) uint64 {
		return (uint64(lo) | uint64(hi)<<32) << shift
	}
	for i := range t {
		x := byte(i)
		e, v, f := columns(x)
		t[i] = row{
			e12: pair(e[0], e[1]),
			e34: pair(e[2], e[3]),
			e5f: pair(e[4], f),
			v:   uint64(byte(v)^byte(v>>8)^x) << shift,
		}
	}
	return t
}
