package ndjson

import (
	"iter"
	"strconv"
	"time"

	"github.com/bcdissect/bcdissect/decode/display"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/report"
)

// appendSeconds appends d in seconds with the given number of decimals.
func appendSeconds(dst []byte, d time.Duration, digits int8) []byte {
	u := uint64(d)
	if d < 0 {
		dst, u = append(dst, '-'), -u
	}
	dst = strconv.AppendUint(dst, u/1e9, 10)
	return report.AppendFraction(dst, uint32(u%1e9), digits)
}

// appendPairs appends the members of an object. It adds a number to repeated
// keys: key, key_2, key_3.
func appendPairs(dst []byte, pairs iter.Seq2[wire.Untrusted, wire.Untrusted]) []byte {
	seen := map[string]int{} // number of times a key has occurred
	first := true
	for key, text := range pairs {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = display.AppendString(dst, unique(seen, key.Raw()))
		dst = append(dst, ':')
		dst = display.AppendString(dst, text)
	}
	return dst
}

// unique returns key, or key with the lowest number that makes it unique.
func unique(seen map[string]int, key string) string {
	name := key
	for seen[name] > 0 {
		seen[key]++
		name = key + "_" + strconv.Itoa(seen[key])
	}
	seen[name] = 1
	return name
}
