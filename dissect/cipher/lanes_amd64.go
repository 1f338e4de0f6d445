package cipher

import (
	"sync"

	"golang.org/x/sys/cpu"
)

// useRows reports whether the processor and the operating system support AVX2.
var useRows = cpu.X86.HasAVX2

// usePairs reports whether both support AVX-512 with permutations of bytes.
var usePairs = cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI

// decryptPair is decryptRows for n rows of two groups of datagrams.
//
//go:noescape
func decryptPair(a, b *[lanes]byte, n int, t *pairTables)

// pairTables are the columns of table for look-ups of 64 bytes at once. It lies
// on the heap, which aligns it.
type pairTables struct {
	e2, e3, e4, e5, f [2][256]byte // low bytes and high bytes
	v                 [256]byte    // X exclusive-or V, with the halves of V folded

	key0, cross, mul1, mul2, mul3, mul4, mul5 [lanes]uint16 // each repeated for all 32 words

	low, high [2 * lanes]byte // where those bytes are in two registers of words
}

var pairs = sync.OnceValue(makePairs)

func makePairs() *pairTables {
	t := new(pairTables)
	for i := range 256 {
		e, v, f := columns(byte(i))
		for k, to := range []*[2][256]byte{&t.e2, &t.e3, &t.e4, &t.e5, &t.f} {
			word := append(e[1:], f)[k]
			to[0][i], to[1][i] = byte(word), byte(word>>8)
		}
		t.v[i] = byte(v) ^ byte(v>>8) ^ byte(i)
	}
	for i := range lanes {
		t.key0[i], t.cross[i] = key[0], cross
		t.mul1[i], t.mul2[i], t.mul3[i], t.mul4[i], t.mul5[i] = mul, mul2, mul3, mul4, mul5
	}
	for i := range t.low { // the words of 16 bytes are in eight words of each register
		at := byte(i/16*16 + i%8*2 + i%16/8*64)
		t.low[i], t.high[i] = at, at+1
	}
	return t
}
