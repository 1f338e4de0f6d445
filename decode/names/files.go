package names

import (
	_ "embed"
	"iter"
	"maps"
	"strings"
)

// FileHashes maps hashes to file names.
type FileHashes struct{}

// Name implements [decode.Names] by [FileName].
func (FileHashes) Name(v uint64) string { return byHash[v] }

// Values yields the known hashes with their names, in the order of the file
// check.
func (FileHashes) Values() iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		for name := range strings.FieldsSeq(fileNames) {
			if !yield(uint64(Hash(name)), name) {
				return
			}
		}
	}
}

// Files are the hashes of the names in the stock game's file check.
var Files FileHashes

// FileName returns the file or directory name with the given hash, or "" if it
// is not in the stock game. It also finds the game version, "60", which is sent
// as a hash.
func FileName(hash uint32) string { return byHash[uint64(hash)] }

// byHash is read-only.
var byHash = maps.Collect(Files.Values())

// fileNames are the names that the file check can request, in its order.
//
//go:embed files.txt
var fileNames string
