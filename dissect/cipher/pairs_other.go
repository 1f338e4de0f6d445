//go:build !amd64

package cipher

// usePairs is false, since there is no vector code for two groups.
var usePairs = false

type pairTables struct{}

func pairs() *pairTables { return nil }

func decryptPair(*[lanes]byte, *[lanes]byte, int, *pairTables) {}
