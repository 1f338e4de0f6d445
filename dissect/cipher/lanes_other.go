//go:build !amd64 && !arm64

package cipher

// useRows is false, since there is no vector code.
const useRows = false

func decryptRows(*[lanes]byte, int) {}

func toRows(*byte, *place, int) {}

func fromRows(*byte, *place, int) {}
