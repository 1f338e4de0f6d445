package cipher

// decryptRows deciphers n rows in place. Row i holds byte i+1 of 32 datagrams.
//
//go:noescape
func decryptRows(rows *[lanes]byte, n int)

// toRows puts blocks of 16 bytes of eight datagrams into rows, beginning at
// row: that of the first byte, at the place of the first datagram.
//
//go:noescape
func toRows(row *byte, src *[8]*byte, blocks int)

// fromRows is the reverse of toRows.
//
//go:noescape
func fromRows(row *byte, dst *[8]*byte, blocks int)

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

func xgetbv() (low uint32)

// useRows reports whether the processor has AVX2, and the operating system
// keeps its registers.
var useRows = hasAVX2()

func hasAVX2() bool {
	const (
		osxsave, avx = 1 << 27, 1 << 28 // leaf 1, ECX
		avx2         = 1 << 5           // leaf 7, EBX
		registers    = 1<<1 | 1<<2      // XCR0: of SSE and AVX
	)
	if most, _, _, _ := cpuid(0, 0); most < 7 {
		return false
	}
	if _, _, c, _ := cpuid(1, 0); c&osxsave == 0 || c&avx == 0 || xgetbv()&registers != registers {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&avx2 != 0
}
