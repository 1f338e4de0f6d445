// Package ascii checks whether text needs escaping.
package ascii

// Printable reports whether s consists of printable ASCII characters and has
// neither of two given characters.
func Printable[T ~string | ~[]byte](s T, neither, nor byte) bool {
	if len(s) < 8 {
		for i := range len(s) {
			if c := s[i]; c < ' ' || c >= 0x7F || c == neither || c == nor {
				return false
			}
		}
		return true
	}
	const each = 0x0101010101010101
	without, and := each*uint64(neither), each*uint64(nor)
	for rest := s; ; {
		b := rest[:8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		// Detects bytes below ' ', bytes of 0x7F or more, and the two characters,
		// which the XOR has turned into 0.
		if (w|(w-each*' ')|(w+each)|((w^without)-each)|((w^and)-each))&(each*0x80) != 0 {
			return false
		}
		switch {
		case len(rest) == 8:
			return true
		case len(rest) < 16: // the rest is shorter than a word, so read it with some of the bytes before it
			rest = s[len(s)-8:]
		default:
			rest = rest[8:]
		}
	}
}
