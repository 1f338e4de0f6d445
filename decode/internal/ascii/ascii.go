// Package ascii tells quickly whether text needs no escaping.
package ascii

// Printable reports whether s is printable ASCII throughout and has neither of two
// characters.
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
		// Bytes below ' ', of 0x7F or more, and those that are 0 where one of the two is.
		if (w|(w-each*' ')|(w+each)|((w^without)-each)|((w^and)-each))&(each*0x80) != 0 {
			return false
		}
		switch {
		case len(rest) == 8:
			return true
		case len(rest) < 16: // the rest, less than a word, with some of the bytes before it
			rest = s[len(s)-8:]
		default:
			rest = rest[8:]
		}
	}
}
