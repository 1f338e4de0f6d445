// Package cryptopan replaces IP addresses with Crypto-PAn, the scheme of J. Xu,
// J. Fan, M. Ammar and S. Moon (2002). Addresses that share a prefix share a
// prefix of the same length after the replacement. All other relations between
// addresses are lost.
package cryptopan

import (
	"crypto/aes"
	"crypto/cipher"
)

// KeySize is the length of a key in bytes.
const KeySize = 2 * aes.BlockSize

// A Mapping replaces addresses.
type Mapping struct {
	block cipher.Block
	pad   [aes.BlockSize]byte
}

// New returns the mapping of a key. The key consists of the key of the cipher
// and the source of the padding.
func New(key [KeySize]byte) *Mapping {
	block, err := aes.NewCipher(key[:aes.BlockSize])
	if err != nil {
		panic(err) // cannot happen, since the size of the key is correct
	}
	m := &Mapping{block: block}
	block.Encrypt(m.pad[:], key[aes.BlockSize:])
	return m
}

// Map replaces an address of at most 16 bytes in place. It encrypts the bits
// before each bit, and flips the bit if the first bit of the result is set.
func (m *Mapping) Map(address []byte) {
	var flips, out [aes.BlockSize]byte
	in := m.pad // the bits before the current one, then padding
	for i := range len(address) * 8 {
		at, bit := i/8, byte(0x80)>>(i%8)
		m.block.Encrypt(out[:], in[:])
		if out[0]&0x80 != 0 {
			flips[at] |= bit
		}
		in[at] = in[at]&^bit | address[at]&bit
	}
	for i := range address {
		address[i] ^= flips[i]
	}
}
