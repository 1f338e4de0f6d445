package names

import (
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"strings"
	"sync"
)

// Hash returns the hash of a file or directory name in the file check. Case
// matters. Files and nested directories are hashed by bare name. The requested
// directory is hashed as a whole path without a trailing slash.
func Hash(s string) uint32 {
	t := hashTables()
	var h [4]uint8
	for i := range len(s) {
		for k := range h {
			h[k] = t[k][s[i]^h[k]]
		}
	}
	return binary.BigEndian.Uint32(h[:])
}

// FileHash returns the file check's hash of a file's content. It ignores the
// content's second 32-bit word, since compiled Python has a time stamp there.
// If one to three bytes remain after the last whole word, it does as the game
// does: it hashes the first of them, sign-extended, once per remaining byte.
func FileHash(content []byte) uint32 {
	var h uint32
	for n := 0; len(content) >= 4; n++ {
		if n != 1 {
			h = bits.RotateLeft32(h^binary.LittleEndian.Uint32(content), 1)
		}
		content = content[4:]
	}
	for range content {
		h = bits.RotateLeft32(h^uint32(int32(int8(content[0]))), 1)
	}
	return h
}

//go:embed hash.txt
var hashText string

// hashTables are the tables that Hash uses.
var hashTables = sync.OnceValue(func() *[4][256]uint8 {
	var t [4][256]uint8
	_, digits, _ := strings.Cut(hashText, "\n")
	b, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
	if err != nil {
		panic("names: " + err.Error()) // a test parses the tables
	}
	for i := range t {
		copy(t[i][:], b[i*len(t[i]):])
	}
	return &t
})
