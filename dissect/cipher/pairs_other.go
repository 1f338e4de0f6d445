//go:build !amd64

package cipher

// usePairs is false: there is no form for two groups.
var usePairs = false

type pairTables struct{}

func pairs() *pairTables { return nil }

func decryptPair(*[lanes]byte, *[lanes]byte, int, *pairTables) {}
