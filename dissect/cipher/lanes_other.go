//go:build !amd64

package cipher

// useRows is false where there is no vector form.
const useRows = false

func decryptRows(*[lanes]byte, int) {}

func toRows(*byte, *[8]*byte, int) {}

func fromRows(*byte, *[8]*byte, int) {}
