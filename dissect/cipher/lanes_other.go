//go:build !amd64 && !arm64

package cipher

// useRows is false: there is no vector form.
const useRows = false

func decryptRows(*[lanes]byte, int) {}

func toRows(*byte, *place, int) {}

func fromRows(*byte, *place, int) {}
