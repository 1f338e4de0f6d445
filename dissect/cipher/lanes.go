//go:build amd64 || arm64

package cipher

// decryptRows deciphers n rows in place. Row i holds byte i+1 of 32 datagrams.
//
//go:noescape
func decryptRows(rows *[lanes]byte, n int)

// toRows puts blocks of 16 bytes of eight datagrams into rows. row is the row
// of the first byte, at the lane of the first datagram.
//
//go:noescape
func toRows(row *byte, from *place, blocks int)

// fromRows is the reverse of toRows.
//
//go:noescape
func fromRows(row *byte, to *place, blocks int)
